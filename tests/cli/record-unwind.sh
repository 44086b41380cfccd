#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# record-unwind.sh SEAM
# Description: orders of unwinding (--unwind) and engines that cannot be are
# refused by reason, and those that can be are not.
. "$(dirname "$0")/cli.sh"

# Refused before anything is recorded: not even a file is made.
refuses() {
	fails 2 "record: --unwind '$1': $2" \
		"$seam" record -o "$dir/none" --unwind "$1" -- true &&
		[ ! -e "$dir/none" ]
}

# An option behind it is what is complained of.
takes() {
	fails 2 "record: -F '0'" "$seam" record --unwind "$1" -F 0 -- true
}

for value in '' , sframe, ,fp dwarf SFRAME 'sframe fp' sframe,fpx gues guess-; do
	check "--unwind '$value'" refuses "$value" 'want sframe, fp, guess'
done
for value in guess,fp guess-all,sframe fp,guess,sframe guess,guess-all; do
	check "--unwind $value" refuses "$value" 'guess and guess-all come last'
done
for value in fp,fp sframe,fp,sframe fp,sframe,fp; do
	check "--unwind $value" refuses "$value" 'each comes once'
done
for value in sframe fp guess guess-all sframe,fp fp,sframe sframe,guess \
	sframe,fp,guess fp,sframe,guess-all; do
	check "--unwind $value" takes "$value"
done

# Each engine is one that is taken.
engines() {
	fails 2 "want auto, deferred, immediate, native or dump; 'seam doctor'" \
		"$seam" record --engine "$1" -- true || return
	for engine in auto deferred immediate native dump; do
		fails 2 "record: -F '0'" \
			"$seam" record --engine "$engine" -F 0 -- true || return
	done
}
for value in '' dwarf DUMP; do
	check "--engine '$value': all that there are are named" engines "$value"
done
tap_done
