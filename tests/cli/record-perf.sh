#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# record-perf.sh SEAM
# Description: options that perf record has are taken where they mean the same
# here, and what stands for no way to stacks, or cannot be merged, is refused
# before anything is recorded.
. "$(dirname "$0")/cli.sh"

refuses() {
	words=$1
	shift
	fails 2 "$words" "$seam" record -o "$dir/none" "$@" -- true &&
		[ ! -e "$dir/none" ]
}

# An option behind them is what is complained of.
takes() {
	fails 2 "record: -z '20'" "$seam" record "$@" -z 20 -- true
}

for way in '' frames dwar dwarf8192 fp-defer; do
	check "--call-graph '$way' is refused" \
		refuses 'want fp, dwarf or lbr' --call-graph "$way"
done
for way in fp dwarf lbr dwarf,8192 fp,defer; do
	check "--call-graph $way" takes --call-graph "$way"
done
check 'the long names of perf record' takes --event cpu-clock --freq 99 \
	--output x --all-cpus --mmap-pages 64 -g -q
check 'the short ones' takes -e cpu-clock -c 1000 -o x -a -m 64 -g -q
check '--merge' takes --merge
check 'stacks alone cannot be merged' refuses 'exclude each other' \
	--merge --stacks-only
tap_done
