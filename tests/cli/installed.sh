#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# installed.sh BUILD
# Description: what is installed is all that others build on: the whole tool of
# examples/ is made from the installed headers, library, object and pkg-config
# file alone, by the commands of the installed seam_request(3), and the examples
# without BPF programs as well.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../tools/tap.sh"
build=$(cd "$1" && pwd)
examples=$(cd "$here/../../examples" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

installed() {
	DESTDIR=$dir/root meson install -C "$build" --no-rebuild --quiet
}
check 'it is installed' installed
pc=$(find "$dir/root" -name seam.pc)
page=$(find "$dir/root" -name 'seam_request.3*')
# As if it lay where it was built for.
prefix=$(sed -n 's/^prefix=//p' "$pc")
sed -i "s|^prefix=.*|prefix=$dir/root$prefix|" "$pc"
PKG_CONFIG_PATH=$(dirname "$pc")
LD_LIBRARY_PATH=$(pkg-config --variable=libdir "$pc")
export PKG_CONFIG_PATH LD_LIBRARY_PATH

check 'its command runs' "$dir/root$prefix/bin/seam" --version
check 'it has what the page says is linked to a tool' \
	test -s "$(pkg-config --variable=request_object seam)"
check 'its unit names its command' grep -q \
	"^ExecStart=$prefix/bin/seam serve" \
	"$(find "$dir/root" -name seam-serve.service)"

# Nothing but the tool's own three files is here.
mkdir "$dir/tool"
cd "$dir/tool" || exit 1
cp "$examples/latency.c" "$examples/latency.bpf.c" .
case $page in *.gz) gzip -dc "$page" ;; *) cat "$page" ;; esac |
	sed -n '/^clang/,/^\.Ed/{/^\.Ed/!p}' | sed 's/\\e$/\\/' >commands
check 'the page has the commands' grep -q '^cc .*latency\.c' commands
PATH=$PATH:/usr/sbin
check 'the tool is made by them' sh -e commands
check 'it wants to be told a process' sh -c \
	'./latency 2>said; [ $? = 2 ] && grep -qx "usage: .*latency PID MS" said'

for source in "$examples"/*.c; do
	case $source in *.bpf.c) continue ;; esac
	[ ! -f "${source%.c}.bpf.c" ] || continue
	# shellcheck disable=SC2046
	check "$(basename "$source") is compiled and linked" cc -O2 -Wall -Werror \
		"$source" $(pkg-config --cflags --libs seam) -o example
done
tap_done
