#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Brings Debian's trace-cmd, with the libraries it needs, into a private
# folder, and prints the path of a wrapper that runs it on this machine. Not
# installed: its plugins are perf's too, whose output they change.
#
#   tools/peer-trace-cmd.sh            fetch if absent, print the path
#   tools/peer-trace-cmd.sh --where    fetch nothing (77 if absent)
#
# As in peers.sh, nothing of the system is changed. Folder: trace-cmd in
# $SEAM_PEERS, else in /var/cache/seam-peers as root, else in
# $XDG_CACHE_HOME/seam-peers. Exit 77, with the reason, if not to be had.
set -eu

suite=trixie
min_version=3.3
here=$(cd "$(dirname "$0")" && pwd)
. "$here/private-apt.sh"

base=$(private_folder)/trace-cmd
done_mark=$base/done
wrapper=$base/bin/trace-cmd

cannot() {
	echo "peer-trace-cmd: no trace-cmd: $*" >&2
	exit 77
}

# It knows no --version, and fails after it has told it.
runs() {
	"$wrapper" --version 2>&1 | grep -q "trace-cmd version"
}

has_trace_cmd() {
	[ -f "$done_mark" ] && runs
}

fetch() {
	private_apt_init "$base" "$suite"
	private_apt_fetch "$base/root" "$min_version" trace-cmd
	private_wrapper "$wrapper" "$base/root" usr/bin/trace-cmd
	runs || cannot "it does not run"
	echo "$version" >"$done_mark"
}

if [ "${1:-}" = --where ]; then
	has_trace_cmd || cannot "not fetched; 'make peers' brings it"
	echo "$wrapper"
	exit 0
fi

private_once has_trace_cmd fetch
echo "$wrapper"
