#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# examples.sh SEAM EXAMPLES
# Description: the examples do what they say: a crash prints its stack, another
# process's stack has the frames that gdb sees, and a section's rows are printed,
# or it is refused; and code can be made, whose stacks tests/live/made.py looks
# at.
. "$(dirname "$0")/cli.sh"
examples=$2

"$examples/example-crash" 2>"$dir/crash"
status=$?
check 'a crash ends with its signal' test "$status" = 139
check 'its stack is whole' grep -q '^outermost$' "$dir/crash"
check 'and has libc below main' sh -c \
	'[ "$(grep -c example-crash "$0")" -ge 4 ] && grep -q libc.so "$0"' \
	"$dir/crash"

sleep 60 &
pid=$!
# It has to be asleep, not on its way there.
until grep -q '^State:.*sleeping' "/proc/$pid/status" &&
	[ "$(cat "/proc/$pid/comm")" = sleep ]; do :; done
"$examples/example-stack-of" "$pid" >"$dir/ours" 2>"$dir/err"
status=$?
if grep -q '^ptrace:' "$dir/err"; then
	skip 'the stack of another process' 'ptrace is not allowed'
else
	check 'the stack of another process is whole' test "$status" = 0
	gdb -nx -q -batch -p "$pid" -ex 'set backtrace past-main on' -ex bt \
		>"$dir/gdb" 2>/dev/null
	check 'as many frames as gdb sees' test \
		"$(grep -c '^0x' "$dir/ours")" = "$(grep -c '^#' "$dir/gdb")"
fi
kill "$pid"

"$seam" sframe make --detached -o "$dir/section" /bin/true >"$dir/out" 2>&1
check 'the rows of a section' "$examples/example-rows" "$dir/section"
"$examples/example-rows" "$dir/section" >"$dir/rows"
check 'it has functions and rows' sh -c \
	'grep -q "^0x.* bytes$" "$0" && grep -q "cfa=r7+8" "$0"' "$dir/rows"
printf 'xx' | dd of="$dir/section" conv=notrunc 2>/dev/null
"$examples/example-rows" "$dir/section" 2>"$dir/err"
check 'a broken section is refused' test $? = 1
check 'and the reason said' grep -q 'offset 0: ' "$dir/err"

check 'code that is made at run time is taken' "$examples/example-jit" 0.01
tap_done
