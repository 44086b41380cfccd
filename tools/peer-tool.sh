#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Brings a tool from another suite of Debian, with the libraries it needs, into
# a private folder, and prints the path of a wrapper that runs it on this
# machine. Not installed: trace-cmd's plugins are perf's too, whose output they
# change, and samply is in no older suite.
#
#   tools/peer-tool.sh trace-cmd|samply            fetch if absent, print the path
#   tools/peer-tool.sh --where trace-cmd|samply    fetch nothing (77 if absent)
#
# As in peers.sh, nothing of the system is changed. Folder: the tool's name in
# $SEAM_PEERS, else in /var/cache/seam-peers as root, else in
# $XDG_CACHE_HOME/seam-peers. Exit 77, with the reason, if not to be had.
set -eu

where_only=
if [ "${1:-}" = --where ]; then
	where_only=1
	shift
fi
tool=${1:-}
case $tool in
trace-cmd) suite=trixie min_version=3.3 ;;
samply) suite=sid min_version=0.13 ;;
*)
	echo "usage: tools/peer-tool.sh [--where] trace-cmd|samply" >&2
	exit 2
	;;
esac
here=$(cd "$(dirname "$0")" && pwd)
. "$here/private-apt.sh"

base=$(private_folder)/$tool
done_mark=$base/done
wrapper=$base/bin/$tool

cannot() {
	echo "peer-tool: no $tool: $*" >&2
	exit 77
}

# trace-cmd knows no --version, and fails after it has told it.
runs() {
	"$wrapper" --version 2>&1 | grep -Eq "^$tool (version )?[0-9]"
}

has_tool() {
	[ -f "$done_mark" ] && runs
}

fetch() {
	private_apt_init "$base" "$suite"
	private_apt_fetch "$base/root" "$min_version" "$tool"
	private_wrapper "$wrapper" "$base/root" "usr/bin/$tool"
	runs || cannot "it does not run"
	echo "$version" >"$done_mark"
}

if [ -n "$where_only" ]; then
	has_tool || cannot "not fetched; 'make peers' brings it"
	echo "$wrapper"
	exit 0
fi

private_once has_tool fetch
echo "$wrapper"
