# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# An apt of our own, for packages of other suites of Debian: source it, then
#   private_folder                     prints where such packages are kept
#   private_apt_init FOLDER SUITE...   the state is in FOLDER/apt
#   private_apt COMMAND...             apt-get with that state
#   private_apt_version PACKAGE        its newest version, or nothing
#   private_apt_fetch ROOT MINIMUM PACKAGE [PACKAGE]...
#                                      unpacks them below ROOT, the first not
#                                      older than MINIMUM; its version: $version
#   private_wrapper FILE ROOT PROGRAM  a FILE that runs ROOT's PROGRAM here
#   private_once HAS FETCH             in $base, where HAS fails: FETCH, alone
# The mirror and the keyring are those of the system's own sources; nothing
# of the system is changed, and nothing is taken to be installed.
# $here is the tree's tools folder; cannot REASON... says why not and ends.

private_folder() {
	if [ -n "${SEAM_PEERS:-}" ]; then
		echo "$SEAM_PEERS"
	elif [ "$(id -u)" = 0 ]; then
		echo /var/cache/seam-peers
	else
		echo "${XDG_CACHE_HOME:-$HOME/.cache}/seam-peers"
	fi
}

private_apt_init() {
	command -v apt-get >/dev/null || cannot "this is not a Debian machine"
	sources=$("$here/apt-sources.sh") || cannot "no Debian mirror is known"
	mirror=${sources%% *}
	keyring=${sources#* }
	[ -f "$keyring" ] || cannot "the keyring $keyring is missing"
	apt_state=$1/apt
	shift
	mkdir -p "$apt_state/lists/partial" \
		"$apt_state/cache/archives/partial"
	: >"$apt_state/status"
	for suite_name; do
		printf 'deb [signed-by=%s] %s %s main\n' \
			"$keyring" "$mirror" "$suite_name"
	done >"$apt_state/sources.list"
	cat >"$apt_state/apt.conf" <<-CONF
	Dir::Etc::sourcelist "$apt_state/sources.list";
	Dir::Etc::sourceparts "/dev/null";
	Dir::Etc::preferences "/dev/null";
	Dir::Etc::preferencesparts "/dev/null";
	Dir::State "$apt_state";
	Dir::State::status "$apt_state/status";
	Dir::Cache "$apt_state/cache";
	APT::Sandbox::User "";
	APT::Install-Recommends "false";
	APT::Get::Assume-Yes "true";
	Acquire::Languages "none";
	Acquire::Retries "3";
	CONF
}

# The system's configuration is read first (a proxy may be in it).
private_apt() {
	APT_CONFIG=$apt_state/apt.conf apt-get -qq "$@"
}

private_apt_version() {
	APT_CONFIG=$apt_state/apt.conf apt-cache madison "$1" |
		awk -F'|' 'NR == 1 { gsub(/ /, "", $2); print $2 }'
}

private_apt_unpack() {
	rm -rf "$1"
	mkdir -p "$1/usr/bin" "$1/usr/lib" "$1/usr/sbin"
	# As in every merged-/usr system; the packages do not bring these.
	for name in bin lib sbin; do
		ln -s "usr/$name" "$1/$name"
	done
	for deb in "$apt_state"/cache/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" |
			tar -x --no-same-owner --keep-directory-symlink \
			    -C "$1" || cannot "could not unpack $deb"
	done
	rm -f "$apt_state"/cache/archives/*.deb
}

private_apt_fetch() {
	fetch_root=$1
	fetch_min=$2
	shift 2
	fetch_me=$(basename "$0" .sh)
	[ "$(uname -m)" = x86_64 ] || cannot "only x86-64 is supported yet"
	echo "$fetch_me: reading $mirror" >&2
	private_apt update >&2 || cannot "apt could not read the package lists"
	version=$(private_apt_version "$1")
	[ -n "$version" ] || cannot "no suite has $1"
	dpkg --compare-versions "$version" ge "$fetch_min" ||
		cannot "the newest is $version, not $fetch_min or later"
	echo "$fetch_me: fetching $1 $version and its libraries" >&2
	package=$1
	shift
	private_apt --download-only install "$package=$version" "$@" >&2 ||
		cannot "apt could not fetch the packages"
	private_apt_unpack "$fetch_root.new"
	rm -rf "$fetch_root"
	mv "$fetch_root.new" "$fetch_root"
}

# With its own suite's loader and libraries, none of this machine's.
private_wrapper() {
	mkdir -p "$(dirname "$1")"
	cat >"$1.new" <<-WRAPPER
	#!/bin/sh
	lib=$2/usr/lib/x86_64-linux-gnu
	exec "\$lib/ld-linux-x86-64.so.2" --argv0 "${3##*/}" \\
		--library-path "\$lib" "$2/$3" "\$@"
	WRAPPER
	chmod 755 "$1.new"
	mv "$1.new" "$1"
}

# One fetch at a time: others wait for it and then find it done.
private_once() {
	mkdir -p "$base" 2>/dev/null || cannot "$base cannot be made"
	base=$(cd "$base" && pwd)
	exec 9>"$base/lock"
	flock 9
	"$1" || "$2"
}
