#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Brings the binutils of another suite of Debian, for x86-64, aarch64 and
# s390x, with the libraries they need, into a private folder. Prints the
# folder of wrappers that run them on this machine: as, ld, objdump, readelf,
# objcopy and strip, and the same behind aarch64-linux-gnu- and
# s390x-linux-gnu-.
#
#   tools/peer-binutils.sh SUITE            fetch if absent, print the folder
#   tools/peer-binutils.sh --where SUITE    fetch nothing (77 if absent)
#
# SFrame by what the assembler writes: bookworm version 1, trixie version 2,
# sid version 3. As in peers.sh, nothing of the system is changed. Folder:
# binutils-SUITE in $SEAM_PEERS, else in /var/cache/seam-peers as root, else
# in $XDG_CACHE_HOME/seam-peers. Exit 77, with the reason, if not to be had.
set -eu

where_only=
if [ "${1:-}" = --where ]; then
	where_only=1
	shift
fi
suite=${1:-sid}
case $suite in
bookworm) min_version=2.40 ;;
trixie) min_version=2.44 ;;
*) min_version=2.47 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
. "$here/private-apt.sh"

base=$(private_folder)/binutils-$suite
done_mark=$base/done
targets='x86_64 aarch64 s390x'
programs='as ld objdump readelf objcopy strip'

cannot() {
	echo "peer-binutils: no binutils of $suite: $*" >&2
	exit 77
}

has_binutils() {
	[ -f "$done_mark" ] && "$base/bin/as" --version >/dev/null 2>&1
}

write_wrappers() {
	for target in $targets; do
		for program in $programs; do
			name=$target-linux-gnu-$program
			[ "$target" = x86_64 ] && short=$program || short=$name
			private_wrapper "$base/bin/$short" "$base/root" \
				"usr/bin/$name"
		done
	done
}

fetch() {
	private_apt_init "$base" "$suite"
	private_apt_fetch "$base/root" "$min_version" binutils \
		binutils-aarch64-linux-gnu binutils-s390x-linux-gnu
	write_wrappers
	"$base/bin/as" --version >/dev/null || cannot "its gas does not run"
	echo "$version" >"$done_mark"
}

if [ -n "$where_only" ]; then
	has_binutils || cannot "not fetched"
	echo "$base/bin"
	exit 0
fi

private_once has_binutils fetch
echo "$base/bin"
