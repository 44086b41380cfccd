#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Prints where this machine gets Debian from: "MIRROR KEYRING" on one line,
# read from the system's own apt sources (both formats). The mirror is that
# of the release's own suite; the keyring is the entry's Signed-By, or
# Debian's archive keyring where the entry names none.
#
# Description: used by peers.sh and check-fresh.sh, which bring other suites
# of Debian into private folders without touching the system's sources.
set -eu

fallback=/usr/share/keyrings/debian-archive-keyring.gpg
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
etc=${SEAM_APT_ETC:-/etc/apt}

# deb [options] URI SUITE COMPONENT...
one_line() {
	sed -n 's/#.*//; s/^[ \t]*deb[ \t]\{1,\}//p' "$@" |
	awk -v want="$codename" '{
		key = ""
		if ($1 ~ /^\[/) {
			while ($1 != "" || NF) {
				if (match($1, /signed-by=[^] ]*/))
					key = substr($1, RSTART + 10, RLENGTH - 10)
				last = ($1 ~ /\]$/)
				sub(/^[^ \t]+[ \t]*/, "")
				if (last)
					break
			}
		}
		for (i = 3; i <= NF; i++)
			if ($2 == want && $i == "main")
				print $1, key
	}'
}

# Stanzas of "Field: value" lines, a blank line between them.
deb822() {
	for file; do
		cat "$file"
		echo
	done | awk -v want="$codename" '
	function stanza_end(  n, words, i, ok) {
		if (types ~ /(^| )deb( |$)/ && enabled != "no" &&
		    (" " comps " ") ~ / main /) {
			n = split(suites, words, " ")
			for (i = 1; i <= n; i++)
				if (words[i] == want) {
					split(uris, words, " ")
					print words[1], key
					break
				}
		}
		types = uris = suites = comps = key = enabled = field = ""
	}
	/^#/ { next }
	/^[ \t]*$/ { stanza_end(); next }
	{
		value = $0
		if ($0 !~ /^[ \t]/) {
			field = tolower($1)
			sub(/:.*/, "", field)
			sub(/^[^:]*:[ \t]*/, "", value)
		}
		if (field == "types") types = types " " value
		if (field == "uris") uris = uris " " value
		if (field == "suites") suites = suites " " value
		if (field == "components") comps = comps " " value
		if (field == "signed-by") key = value
		if (field == "enabled") enabled = tolower(value)
	}
	END { stanza_end() }'
}

found=$(
	for file in "$etc/sources.list" "$etc"/sources.list.d/*.list; do
		[ -f "$file" ] && one_line "$file"
	done
	for file in "$etc"/sources.list.d/*.sources; do
		[ -f "$file" ] && deb822 "$file"
	done
	:
)
found=$(echo "$found" | sed -n 1p)
mirror=${found%% *}
keyring=${found#"$mirror"}
keyring=${keyring# }
if [ -z "$mirror" ]; then
	echo "apt-sources.sh: no source of Debian '$codename' main under $etc" >&2
	exit 1
fi
# An embedded key or none at all: the archive's keyring.
[ -f "$keyring" ] || keyring=$fallback
echo "$mirror $keyring"
