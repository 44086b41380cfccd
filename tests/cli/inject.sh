#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# inject.sh SEAM
# Description: inject writes a new recording whole or not at all, never over
# the one that it reads; what is not deferred is copied as it is; what was
# merged, cut off or missing is told, and every wrong use has one line of
# reason and the right status.
. "$(dirname "$0")/cli.sh"
golden=$here/../golden

bad_usage() {
	fails 2 "'--bogus'" "$seam" inject --bogus &&
		fails 2 'where to write is not said' "$seam" inject &&
		fails 2 'named with -i' "$seam" inject -o x perf.data &&
		"$seam" inject -h | grep -q '^usage: seam inject'
}

bad_files() {
	echo '0000000000000000 T _text' >"$dir/hidden"
	fails 1 'No such file' "$seam" inject -i "$dir/none" -o "$dir/new" &&
		fails 1 'no perf.data file' "$seam" inject -i "$0" \
			-o "$dir/new" &&
		fails 1 'Is a directory' "$seam" inject \
			-i "$golden/deferred/sig.data" -o "$dir" &&
		fails 1 'no regular file' "$seam" inject \
			-i "$golden/deferred/sig.data" -o /dev/null &&
		fails 1 'No such file' "$seam" inject \
			-i "$golden/deferred/sig.data" -o "$dir/none/new" &&
		fails 1 'none: No such file' "$seam" inject --kallsyms "$dir/none" \
			-i "$golden/deferred/sig.data" -o "$dir/new" &&
		fails 1 "no kernel's /proc/kallsyms" "$seam" inject \
			--kallsyms "$0" \
			-i "$golden/deferred/sig.data" -o "$dir/new" &&
		fails 1 'null: it is no regular file' "$seam" inject \
			--kallsyms /dev/null \
			-i "$golden/deferred/sig.data" -o "$dir/new" &&
		fails 1 'it has no addresses' "$seam" inject \
			--kallsyms "$dir/hidden" \
			-i "$golden/deferred/sig.data" -o "$dir/new" &&
		[ ! -e "$dir/new" ]
}

# Under any of its names, and as a file of the folder that is read.
own_input() {
	mkdir "$dir/own" && cp "$golden/deferred/sig.data" "$dir/own/data" &&
		ln "$dir/own/data" "$dir/hard" &&
		ln -s own/data "$dir/soft" || return
	for out in own/data hard soft; do
		fails 1 'the recording that is read' "$seam" inject \
			-i "$dir/own/data" -o "$dir/$out" || return
	done
	fails 1 'the recording that is read' "$seam" inject \
		-i "$dir/own" -o "$dir/own/new" || return
	command=$(realpath "$seam")
	(cd "$dir/own" && fails 1 'the recording that is read' \
		"$command" inject -i . -o new) || return
	fails 1 'the recording that is read' "$seam" inject -i - \
		-o "$dir/own/data" <"$dir/own/data" || return
	cmp "$golden/deferred/sig.data" "$dir/own/data" &&
		[ "$(ls "$dir/own")" = data ]
}

# What was there stays until all of the new is; nothing is left beside it.
all_or_nothing() {
	mkdir "$dir/full" && echo old >"$dir/full/out" || return
	(
		trap '' XFSZ
		ulimit -f 8
		fails 1 'File too large' "$seam" inject \
			-i "$golden/deferred/sig.data" -o "$dir/full/out"
	) || return
	[ "$(cat "$dir/full/out")" = old ] && [ "$(ls "$dir/full")" = out ] ||
		return
	"$seam" inject -f -i "$golden/deferred/sig.data" -o "$dir/full/out" \
		2>/dev/null && [ "$(ls "$dir/full")" = out ] &&
		"$seam" script -i "$dir/full/out" 2>/dev/null | grep -q w-fp &&
		[ "$(stat -c %a "$dir/full/out")" = 600 ]
}

# Of a file that cannot grow on, the signal ends it where it writes.
ended_by_signal() {
	mkdir "$dir/ended" && echo old >"$dir/ended/out" || return
	(
		ulimit -c 0
		ulimit -f 8
		"$seam" inject -i "$golden/deferred/sig.data" \
			-o "$dir/ended/out" 2>/dev/null
	) && return 1
	[ "$(cat "$dir/ended/out")" = old ] && [ "$(ls "$dir/ended")" = out ]
}

# Attributes of 144 bytes, as perf 7.3.4 writes them, in either byte order:
# no byte behind them moves, and the samples are what they were.
as_it_is() {
	python3 - "$golden" "$dir/swapped" <<'END' || return
import sys
sys.path.insert(0, sys.argv[1] + "/deferred")
from swap import swap
with open(sys.argv[1] + "/groups/group.data", "rb") as old:
    with open(sys.argv[2], "wb") as new:
        new.write(swap(old.read()))
END
	for data in "$golden/groups/group.data" "$dir/swapped"; do
		"$seam" inject -i "$data" -o "$dir/same" \
			>"$dir/out" 2>"$dir/err" &&
			grep -q 'no sample waits for .* copied as it is, but' \
				"$dir/err" && [ ! -s "$dir/out" ] &&
			[ "$(cmp -l "$data" "$dir/same" | wc -l)" -lt 400 ] &&
			[ "$(stat -c %s "$data")" = \
				"$(stat -c %s "$dir/same")" ] &&
			"$seam" script -i "$data" >"$dir/a" &&
			"$seam" script -i "$dir/same" | cmp - "$dir/a" &&
			[ -s "$dir/a" ] &&
			"$seam" inject -i "$dir/same" -o "$dir/again" \
				2>"$dir/err" &&
			grep -q 'copied as it is$' "$dir/err" &&
			cmp "$dir/same" "$dir/again" || return
	done
}

# This machine's perf, of Debian 12, opens no longer attributes.
as_perf_reads() {
	"$seam" inject -i "$golden/groups/group.data" -o "$dir/same" \
		2>/dev/null &&
		! perf script -i "$golden/groups/group.data" \
			>/dev/null 2>&1 &&
		perf script -i "$dir/same" 2>/dev/null |
		grep -q 'cpu-clock'
}

# In records that it does not know: as many samples as perf 7.3.4 printed of the
# recording. The copy is not compressed, and copied again it stays.
not_compressed() {
	for name in zstd zpipe; do
		data=$golden/versions/7.2-$name
		"$seam" inject -i "$data.data" -o "$dir/plain" 2>"$dir/err" &&
			grep -q 'as it is, but not compressed' "$dir/err" &&
			"$seam" script -i "$data.data" >"$dir/a" &&
			"$seam" script -i "$dir/plain" | cmp - "$dir/a" &&
			"$seam" inject -i "$dir/plain" -o "$dir/again" \
				2>"$dir/err" &&
			grep -q 'copied as it is$' "$dir/err" &&
			cmp "$dir/plain" "$dir/again" || return
	done
}

as_perf_inflates() {
	for name in zstd zpipe; do
		data=$golden/versions/7.2-$name
		"$seam" inject -i "$data.data" -o "$dir/plain" 2>/dev/null &&
			n=$(zcat "$data.script.gz" | grep -c '^[^[:space:]]') &&
			[ "$n" -gt 0 ] &&
			perf script -i "$dir/plain" >"$dir/a" 2>/dev/null &&
			[ "$(grep -c '^[^[:space:]]' "$dir/a")" = "$n" ] ||
			return
	done
}

# What perf 6.1 does not know says something: nothing is written.
says_more() {
	python3 - "$golden/groups/group.data" "$dir/more" <<'END' || return
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
first, = struct.unpack_from("<Q", data, 24)
data[first + 136] = 1
open(sys.argv[2], "wb").write(data)
END
	fails 1 'more: not written: .* beyond its 128th byte, and perf 6.1' \
		"$seam" inject -i "$dir/more" -o "$dir/none" &&
		[ ! -e "$dir/none" ]
}

# What a pipe's recording says, as a file: the form's size of a header, and all
# that a pipe's has, merged, apart, and in the other byte order.
file_of_pipe() {
	python3 - "$golden" "$dir" <<-'END' || return
		import sys
		sys.path.insert(0, sys.argv[1] + "/deferred")
		from swap import swap
		with open(sys.argv[1] + "/deferred/pipe.data", "rb") as old:
		    with open(sys.argv[2] + "/swapped-pipe", "wb") as new:
		        new.write(swap(old.read()))
	END
	for data in "$golden/deferred/pipe.data" "$dir/swapped-pipe" \
		"$golden/dwarf/pipe.data" "$golden"/versions/*pipe.data; do
		for unmerge in '' --unmerge; do
			"$seam" inject $unmerge -i "$data" -o "$dir/file" \
				2>"$dir/err" &&
				"$seam" inject $unmerge -i - -o - <"$data" \
					2>/dev/null >"$dir/piped" &&
				"$seam" inject $unmerge -i - -o "$dir/again" \
					<"$data" 2>/dev/null &&
				cmp "$dir/file" "$dir/again" &&
				[ "$(head -c 16 "$dir/file" | tail -c 8 |
					tr -d '\0')" = h ] &&
				"$seam" script -i "$dir/file" >"$dir/a" \
					2>"$dir/err-a" &&
				"$seam" script -i "$dir/piped" 2>"$dir/err-b" |
				cmp - "$dir/a" && [ -s "$dir/a" ] || return
		done
	done
	"$seam" inject -i "$golden/versions/6.1-zpipe.data" -o "$dir/file" \
		2>&1 | grep -q \
		'copied as it is, but not compressed, in the form for files$' &&
		"$seam" inject -i "$dir/file" -o "$dir/again" 2>&1 |
		grep -q 'copied as it is$' && cmp "$dir/file" "$dir/again"
}

# Of each event its name, of each sample its stack.
as_perf_reads_files() {
	for name in deferred/pipe versions/6.1-pipe versions/6.12-zpipe \
		versions/7.2-pipe; do
		data=$golden/$name.data
		"$seam" inject -i "$data" -o "$dir/file" 2>/dev/null &&
			"$seam" inject -i - -o - <"$data" 2>/dev/null \
				>"$dir/piped" &&
			perf script --no-inline -i "$dir/file" >"$dir/a" \
				2>/dev/null &&
			perf script --no-inline -i - <"$dir/piped" \
				2>/dev/null | cmp - "$dir/a" &&
			[ -s "$dir/a" ] && grep -q cpu-clock "$dir/a" &&
			perf report --header-only -i "$dir/file" \
				>"$dir/a" 2>/dev/null &&
			grep -q '^# hostname : ' "$dir/a" &&
			grep -q '^# event : name = cpu-clock' "$dir/a" ||
			return
	done
}

# Whatever there is no memory for, it is the recording that takes too much.
no_memory() {
	data=$golden/deferred/big-syscall.data
	most=4000000 least=0
	(ulimit -v $most && "$seam" inject -i "$data" -o "$dir/new") \
		2>/dev/null || return 0 # sanitized, it wants more
	while [ $((most - least)) -gt 64 ]; do
		kib=$(((most + least) / 2))
		(ulimit -v $kib && "$seam" inject -i "$data" \
			-o "$dir/new") >/dev/null 2>&1 &&
			most=$kib || least=$kib
	done
	for less in 0 100 200 300 400 500 600 700 800; do
		(ulimit -v $((least - less)) && "$seam" inject -i "$data" \
			-o "$dir/never") 2>"$dir/err" && return 1
		! grep "$dir/never" "$dir/err" && [ ! -e "$dir/never" ] ||
			return
	done
}

standard_input() {
	"$seam" inject -i "$golden/deferred/pipe.data" -o "$dir/a" \
		2>/dev/null &&
		cat "$golden/deferred/pipe.data" |
		"$seam" inject -i - -o "$dir/b" 2>/dev/null &&
		cmp "$dir/a" "$dir/b"
}

told() {
	"$seam" inject -i "$golden/deferred/lost-m1-pf.data" -o "$dir/new" \
		2>"$dir/err" &&
		grep -q ': 196 samples, 195 got their user stack, 1 did not$' \
			"$dir/err" &&
		grep -q ': 1 lost: the record of the stack' "$dir/err" &&
		grep -q ': 1 user stacks left out: they serve no' "$dir/err" &&
		"$seam" inject -i "$golden/deferred/pending.data" \
			-o "$dir/new" 2>&1 | grep -q ': 1 pending: the task'
}

# Copies whose program is nowhere, which the merged recording has not.
lacking() {
	sed 's,/bin/true,/no/where,g' \
		"$here/../../fuzz/corpus/perfdata/stack-copies.data" \
		>"$dir/copies"
	"$seam" report -i "$dir/copies" 2>"$dir/before" >/dev/null &&
		grep -q 'copies: 3 stacks end in /no/where: there is no' \
			"$dir/before" &&
		"$seam" inject -i "$dir/copies" -o "$dir/new" 2>"$dir/err" &&
		grep -qxF "$(cat "$dir/before")" "$dir/err" &&
		grep -q ': 3 no-table: a frame' "$dir/err"
}

# The same count, by name, in what was merged.
counted() {
	for name in lost-m1-pf pending two-events; do
		"$seam" inject -i "$golden/deferred/$name.data" \
			-o "$dir/new" 2>/dev/null &&
			"$seam" report --json -i "$dir/new" 2>/dev/null \
				>"$dir/after" &&
			"$seam" report --json \
				-i "$golden/deferred/$name.data" \
				2>/dev/null >"$dir/before" || return
		python3 - "$dir" <<'END' || return
import json, sys
a, b = (json.load(open(sys.argv[1] + "/" + n)) for n in ("before", "after"))
for key in ("samples", "wanted", "not_said", "end"):
    assert a[key] == b[key], (key, a[key], b[key])
END
	done
}

cut_off() {
	head -c 20000 "$golden/deferred/sig.data" >"$dir/cut"
	"$seam" inject -i "$dir/cut" -o "$dir/new" 2>"$dir/err" &&
		grep -q 'cut: offset 19952: the file ends' "$dir/err" &&
		"$seam" script -i "$dir/cut" >"$dir/a" 2>/dev/null &&
		"$seam" script -i "$dir/new" >"$dir/b" 2>"$dir/err" &&
		! grep -q 'offset' "$dir/err" && cmp "$dir/a" "$dir/b"
}

# Records of their own again; twice changes nothing, and a file of the
# recording is as safe as before.
unmerged() {
	"$seam" inject -i "$golden/deferred/lost-m1-pf.data" \
		-o "$dir/whole" 2>/dev/null &&
		"$seam" inject --unmerge -i "$dir/whole" -o "$dir/apart" \
			2>"$dir/err" &&
		grep -q ': 196 samples, 196 have a record for their user' \
			"$dir/err" &&
		"$seam" report --json -i "$dir/apart" 2>/dev/null |
		grep -q '"lost": *1' &&
		"$seam" inject --unmerge -i "$dir/apart" -o "$dir/again" \
			2>"$dir/err" &&
		grep -q 'apart: no user stacks are in .* copied as it is' \
			"$dir/err" && cmp "$dir/apart" "$dir/again" &&
		fails 1 'the recording that is read' "$seam" inject \
			--unmerge -i "$dir/whole" -o "$dir/whole"
}

# A recording that ends inside its build-ids: the copy has those that are whole,
# and that the others are lost is told now, as it cannot be of the copy.
cut_build_ids() {
	python3 - "$golden/dwarf/cut.data" "$dir/some" <<-'END' || return
		import struct, sys
		with open(sys.argv[1], "rb") as f:
		    data = f.read()
		table = sum(struct.unpack_from("<QQ", data, 40))
		bits, = struct.unpack_from("<Q", data, 72)
		before = bin(bits & 3).count("1")  # build-ids have bit 2
		at, size = struct.unpack_from("<QQ", data, table + 16 * before)
		with open(sys.argv[2], "wb") as f:
		    f.write(data[:at + size // 2])
	END
	for unmerge in '' --unmerge; do
		"$seam" inject $unmerge -i "$dir/some" -o "$dir/ids" \
			2>"$dir/err" &&
			grep -q 'inside what it says of itself; lost are some'\
' build-ids, ' "$dir/err" &&
			grep -q 'the build-ids of some of its files are lost' \
				"$dir/err" || return
	done
}

# By a pipe, as in the middle of a pipeline, it is what a file gets, but for the
# form.
to_pipe() {
	data=$golden/deferred/pipe.data
	"$seam" inject -i "$data" -o "$dir/file" 2>"$dir/err" || return
	cat "$data" | "$seam" inject -i - -o - 2>"$dir/err" |
		cat >"$dir/piped"
	grep -q 'standard output: [0-9]* samples' "$dir/err" &&
		"$seam" inject -i "$dir/piped" -o "$dir/again" 2>/dev/null &&
		cmp "$dir/file" "$dir/again" || return
	# Again, and of a damaged one: as it is, and as far as it goes.
	"$seam" inject -i - -o - <"$dir/piped" 2>"$dir/err" |
		cmp - "$dir/piped" || return
	head -c 20000 "$data" | "$seam" inject -i - -o - 2>"$dir/err" |
		"$seam" script -i - 2>/dev/null | grep -q cpu-clock &&
		grep -q 'what lies before was used' "$dir/err" &&
		fails 1 'the form for files' "$seam" inject \
			-i "$golden/deferred/sig.data" -o - || return
	# A disk that is full, and a reader that does not want it.
	"$seam" inject -i "$data" -o - >/dev/full 2>"$dir/err"
	[ $? = 1 ] && grep -q 'standard output: No space' "$dir/err"
}

check 'bad usage is refused' bad_usage
check 'build-ids that were cut off are told' cut_build_ids
check 'bad files are refused' bad_files
check 'the recording that is read is never written' own_input
check 'a new recording is there whole or not at all' all_or_nothing
check 'a signal leaves nothing half done' ended_by_signal
check 'what is not deferred is copied as it is' as_it_is
check 'what perf 6.1 cannot decompress is not compressed' not_compressed
check 'what perf 6.1 cannot know is refused' says_more
case $(perf --version 2>/dev/null) in
'perf version 6.1.'*)
	check 'perf 6.1 reads the copy' as_perf_reads
	check 'perf 6.1 reads the copy of what it cannot' as_perf_inflates
	check 'perf 6.1 reads the file of a pipe' as_perf_reads_files
	;;
*)
	skip 'perf 6.1 reads the copy' 'this machine has no perf 6.1'
	skip 'perf 6.1 reads the copy of what it cannot' \
		'this machine has no perf 6.1'
	skip 'perf 6.1 reads the file of a pipe' 'this machine has no perf 6.1'
	;;
esac
check 'a file is made of a pipe' file_of_pipe
check 'what takes too much memory is the input' no_memory
check 'standard input is read' standard_input
check 'what became of samples is told' told
check 'files that copies lacked are told' lacking
check 'what was merged is unmerged' unmerged
check 'the merged recording counts as the recording' counted
check 'a pipe is merged to a pipe' to_pipe
check 'a cut recording is merged as far as it goes' cut_off
tap_done
