#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Brings perf from Debian's trixie-backports, with the libraries it needs,
# into a private folder, to compare with. Prints the path of a wrapper that
# runs it on this machine.
#
#   tools/peers.sh            fetch if absent, print the wrapper's path
#   tools/peers.sh --where    print the path, fetch nothing (77 if absent)
#
# The system's apt sources give the mirror and the keyring; only the suite
# differs, in an apt state of our own. Nothing of the system is changed.
# Folder: $SEAM_PEERS, else /var/cache/seam-peers as root, else
# $XDG_CACHE_HOME/seam-peers. Exit 77, with the reason, if it cannot be had.
set -eu

suite=trixie
min_version=7.3.4
here=$(cd "$(dirname "$0")" && pwd)
. "$here/private-apt.sh"

base=$(private_folder)
done_mark=$base/perf-done
wrapper=$base/bin/perf

cannot() {
	echo "peers: no perf >= $min_version: $*" >&2
	exit 77
}

has_perf() {
	[ -f "$done_mark" ] && [ -x "$wrapper" ] &&
		"$wrapper" --version >/dev/null 2>&1
}

fetch() {
	private_apt_init "$base" "$suite" "$suite-backports"
	private_apt_fetch "$base/perf" "$min_version" linux-perf
	private_wrapper "$wrapper" "$base/perf" usr/bin/perf
	"$wrapper" --version >/dev/null ||
		cannot "the unpacked perf does not run"
	echo "$version" >"$done_mark"
}

if [ "${1:-}" = --where ]; then
	has_perf || cannot "not fetched; 'make peers' brings it"
	echo "$wrapper"
	exit 0
fi

private_once has_perf fetch
# A place in the tree that documents can name; the folder itself is shared.
ln -sfn "$base" "$here/../.peers" 2>/dev/null || :
echo "$wrapper"
