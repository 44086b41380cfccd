#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# tools/setup.sh GROUP...
# Installs, by apt, the packages of these groups of tools/packages.txt that
# are missing, and says which and why. Does nothing when none is missing.
# SEAM_NO_SETUP=1: install nothing, believe the caller.
set -eu

list=$(dirname "$0")/packages.txt
[ -z "${SEAM_NO_SETUP:-}" ] || exit 0

# The packages of the groups given: "name why", each once; not those whose
# second word is a command that is there.
wanted() {
	awk -v groups=" $* " '
	/^\[/ { on = index(groups, " " substr($1, 2, length($1) - 2) " "); next }
	on && /^[a-z0-9]/ && !seen[$1]++ {
		name = $1
		command = $2 ~ /^#/ ? "-" : $2
		sub(/^[^#]*#?[ \t]*/, "")
		print name, command, $0
	}' "$list" | while read -r name command why; do
		[ "$command" != - ] && command -v "$command" >/dev/null ||
			echo "$name $why"
	done
}

missing() {
	wanted "$@" | while read -r name why; do
		state=$(dpkg-query -W -f '${db:Status-Status}' "$name" \
			2>/dev/null) || state=none
		[ "$state" = installed ] || echo "$name $why"
	done
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "seam: this machine has no apt, so nothing is installed here." >&2
	echo "Needed are the counterparts of these Debian packages:" >&2
	wanted "$@" | sed 's/^\([^ ]*\) /  \1\t/' | expand -t 24 >&2
	echo "With them in place: SEAM_NO_SETUP=1 make ..." >&2
	exit 1
fi

need=$(missing "$@")
[ -n "$need" ] || exit 0

if [ "$(id -u)" != 0 ]; then
	echo "seam: missing packages; install them as root:" >&2
	echo "  apt-get install" $(echo "$need" | cut -d' ' -f1) >&2
	exit 1
fi

# Another caller, of any tree, may be installing the same: wait, look again.
exec 9</var/lib/dpkg
flock 9
need=$(missing "$@")
[ -n "$need" ] || exit 0
echo "seam: installing, by apt:"
echo "$need" | sed 's/^\([^ ]*\) /  \1\t/' | expand -t 24
names=$(echo "$need" | cut -d' ' -f1)

export DEBIAN_FRONTEND=noninteractive
# Wait for another apt to finish instead of failing.
apt="apt-get -q -y -o DPkg::Lock::Timeout=-1"
apt="$apt -o Acquire::Retries=3 -o Dpkg::Use-Pty=0"
apt="$apt --no-install-recommends"

update() {
	echo "seam: $1: reading the package lists"
	$apt update 9<&- >/dev/null || {
		echo "seam: 'apt-get update' failed (its words are above);" \
		     "is there a network, and a Debian mirror in the" \
		     "sources?" >&2
		exit 1
	}
}

unknown() {
	for name in $names; do
		apt-cache policy "$name" 2>/dev/null |
			grep -q '^  Candidate: [^(]' || echo "$name"
	done
}

updated=
if [ -n "$(unknown)" ]; then
	update "not every package is known yet"
	updated=1
	none=$(unknown)
	if [ -n "$none" ]; then
		echo "seam: this system's apt sources do not have:" $none >&2
		echo "seam is built and tested on Debian 12 (bookworm)." >&2
		exit 1
	fi
fi
# Lists that are stale name files that the mirror no longer has.
if ! $apt install $names 9<&- >/dev/null; then
	[ -z "$updated" ] || exit 1
	update "the install failed, perhaps by stale lists"
	$apt install $names 9<&- >/dev/null
fi
