#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Description: what keeps two builds apart (tools/made-as.sh) is another for
# other sources, names of files, versions and flags, and the same for the same
# wherever the tree lies.
here=$(cd "$(dirname "$0")/../.." && pwd)
. "$here/tools/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir -p one/part two/part
echo 'int a;' | tee one/part/a.c >two/part/a.c

# made VERSION FLAGS ROOT: what that build would be.
made() {
	"$here/tools/made-as.sh" NAME "$1" "$2" out dep "$work/$3" part &&
		sed -n 's/^#define NAME //p' out
}

# expect NAME SAME|OTHER VERSION FLAGS ROOT
usual=$(made 1 '-DX=1 -O2' one)
expect() {
	name=$1 wanted=$2
	shift 2
	now=$(made "$@")
	[ "$now" = "$usual" ] && is=same || is=other
	if [ -n "$now" ] && [ $is = "$wanted" ]; then
		ok "$name"
	else
		not_ok "$name" "$usual" "$now"
	fi
}

expect 'the same' same 1 '-DX=1 -O2' one
expect 'the same elsewhere' same 1 '-DX=1 -O2' two
expect 'other flags' other 1 '-DX=2 -O2' one
expect 'no flags' other 1 '' one
expect 'another version' other 2 '-DX=1 -O2' one
echo 'int b;' >two/part/a.c
expect 'another source' other 1 '-DX=1 -O2' two
echo 'int a;' >two/part/a.c
mv two/part/a.c two/part/b.c
expect 'another name' other 1 '-DX=1 -O2' two
tap_done
