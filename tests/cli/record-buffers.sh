#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# record-buffers.sh SEAM
# Description: sizes of buffers (-m) that cannot be are refused by name, and
# those that can be are not.
. "$(dirname "$0")/cli.sh"

# Refused before anything is recorded: not even a file is made.
refuses() {
	fails 2 "record: -m '$1': want a power of two of pages" \
		"$seam" record -o "$dir/none" -m "$1" -- true &&
		[ ! -e "$dir/none" ]
}

# An option behind it is what is complained of.
takes() {
	fails 2 "record: -F '0'" "$seam" record "$@" -F 0 -- true
}

for value in '' 0 -1 +3 3 1000 65537 131072 99999999999999999999 x 4X 4KK \
	'1 2' 0K 257M 99999999999G; do
	check "-m '$value'" refuses "$value"
done
for value in 1 2 512 65536 1B 4096B 5000B 4K 5k 1M 256M; do
	check "-m $value" takes -m "$value"
done
check "--mmap-pages" takes --mmap-pages 1
check "--mmap-pages=" takes --mmap-pages=4K
check "no value" fails 2 'record --help' sh -c '"$0" record -m 2>&1 >/dev/null |
	tail -1 >&2; exit 2' "$seam"
tap_done
