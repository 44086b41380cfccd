#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# export.sh SEAM
# Description: what export writes of recordings of the kernel's own deferral is
# what its format wants, as independent readers see it, with the stacks that
# script prints; files are replaced whole or not at all, and what is left out
# is told.
. "$(dirname "$0")/cli.sh"
golden=$here/../golden
seam=$(realpath "$seam")

bad_usage() {
	fails 2 'folded.* are formats' "$seam" export &&
		fails 2 "'x' is not a format; folded" \
			"$seam" export --to x &&
		fails 2 'cookie or order' \
			"$seam" export --to folded --join tid &&
		fails 2 'named with -i' "$seam" export --to folded x &&
		"$seam" export --help | grep -q '^usage: seam export'
}

bad_files() {
	: >"$dir/empty"
	cp "$golden/groups/single.data" "$dir/rec"
	ln -s rec "$dir/link"
	fails 1 'No such file' "$seam" export --to folded \
		-i "$dir/none" -o "$dir/out.folded" &&
		fails 1 'the file is empty' "$seam" export --to folded \
			-i "$dir/empty" -o "$dir/out.folded" &&
		! [ -e "$dir/out.folded" ]
}

# As the recording's mappings have them, read by themselves.
build_ids() {
	"$seam" export --to "$1" -i "$golden/deferred/sig.data" \
		-o "$dir/ids.$1" 2>/dev/null &&
		python3 "$here/export-build-ids.py" "$1" "$dir/ids.$1" \
			"$golden/deferred/sig.data"
}

# As markers of the first thread.
lost_marked() {
	same_stacks firefox deferred/lost-m1-pf || return
	python3 - "$dir/lost-m1-pf.firefox.out" <<'END'
import collections, json, sys
d = json.load(open(sys.argv[1]))
lost = collections.Counter()
for m in d["threads"][0]["markers"]["data"]:
    lost[[k for k in m if k != "type"][0]] += \
        m.get("records", 0) + m.get("samples", 0)
assert lost == {"records": 848, "samples": 848}, lost
END
}

# Not all of its lines are of interest: of another kernel it says so first.
told() {
	words=$1
	shift
	"$@" >"$dir/out" 2>"$dir/err"
	[ $? = 1 ] && [ ! -s "$dir/out" ] && grep -q -- "$words" "$dir/err" &&
		return
	cat "$dir/err"
	return 1
}

bad_outputs() {
	mkdir -p "$dir/folder"
	cp "$golden/groups/single.data" "$dir/rec"
	ln -sf rec "$dir/link"
	ln -sf /proc/self/fd/1 "$dir/stdout"
	mkfifo "$dir/fifo"
	set -- "$seam" export --to folded -i "$dir/rec"
	told 'the recording itself' "$@" -o "$dir/rec" &&
		told 'the recording itself' "$@" -o "$dir/link" &&
		told 'the recording itself' "$seam" export --to folded -i - \
			-o "$dir/rec" <"$dir/rec" &&
		told 'no regular file' "$@" -o "$dir/stdout" &&
		told 'no regular file; .-o -. writes' "$@" -o "$dir/fifo" &&
		told "$dir/folder: Is a directory" "$@" -o "$dir/folder" &&
		told "$dir/no/x: No such file" "$@" -o "$dir/no/x" &&
		cmp "$dir/rec" "$golden/groups/single.data" || return
	[ ! -w /dev/full ] || {
		"$@" -o - >/dev/full 2>"$dir/err"
		[ $? = 1 ] && grep -q 'writing the output: No space' "$dir/err"
	}
}

# What reads the old file meanwhile keeps it, and no half of a new one stays.
replaced() {
	set -- "$seam" export --to folded -i "$golden/groups/group.data"
	mkdir "$dir/r"
	echo old >"$dir/r/x"
	exec 7<"$dir/r/x"
	"$@" -o "$dir/r/x" 2>/dev/null || return
	[ "$(cat <&7)" = old ] && ! grep -q old "$dir/r/x" &&
		[ "$(ls -A "$dir/r")" = x ] &&
		[ "$(stat -c %a "$dir/r/x")" = 600 ] &&
		"$@" -o - 2>/dev/null </dev/null | cmp - "$dir/r/x" &&
		(cd "$dir/r" && "$@" 2>/dev/null && cmp x perf.folded) || return
	exec 7<&-
	# Without standard streams it is the same, and has no messages in it.
	"$@" -o "$dir/r/y" 2>&- && cmp "$dir/r/x" "$dir/r/y" &&
		"$@" -o "$dir/r/z" <&- >&- 2>&- && cmp "$dir/r/x" "$dir/r/z"
}

# Of a file that cannot grow on, the signal ends it where it writes.
ended_by_signal() {
	mkdir "$dir/e" && echo old >"$dir/e/x" || return
	(
		ulimit -c 0
		ulimit -f 1
		"$seam" export --to chrome -i "$golden/groups/group.data" \
			-o "$dir/e/x" 2>/dev/null
	) && return 1
	[ "$(cat "$dir/e/x")" = old ] && [ "$(ls -A "$dir/e")" = x ]
}

counts_told() {
	"$seam" export --to folded -o "$dir/out" \
		-i "$golden/deferred/lost-m1-pf.data" 2>"$dir/err" || return
	tail -n 1 "$dir/err" | grep -q "$dir/out: 196 samples, 0 whole, \
195 not said, 1 not whole (lost 1), 848 samples and 848 records lost$" || {
		cat "$dir/err"
		return 1
	}
}

# A pipe whose writer ended before it had told its events.
no_events() {
	printf 'PERFILE2\020\0\0\0\0\0\0\0' >"$dir/bare" || return
	for format in folded speedscope pprof firefox chrome; do
		"$seam" export --to $format -i "$dir/bare" \
			-o "$dir/bare.$format" 2>"$dir/err" || return
		grep -q 'bare.*: 0 samples' "$dir/err" || return
	done
	python3 -m json.tool "$dir/bare.firefox" >"$dir/out" &&
		python3 -m json.tool "$dir/bare.chrome" >"$dir/out" &&
		python3 -m json.tool "$dir/bare.speedscope" >"$dir/out" &&
		gzip -t <"$dir/bare.pprof" && [ ! -s "$dir/bare.folded" ] &&
		"$seam" script -i "$dir/bare" && "$seam" report -i "$dir/bare" &&
		"$seam" report --json -i "$dir/bare" >"$dir/out" &&
		"$seam" inject -i "$dir/bare" -o "$dir/bare.merged" &&
		"$seam" inject --unmerge -i "$dir/bare" -o "$dir/bare.apart"
}

# As script's folded stacks are, which have tests of their own.
same_stacks() {
	set -- "$1" "$golden/$2.data" "$dir/${2##*/}"
	for format in folded json; do
		[ -e "$3.$format" ] || "$seam" script --format $format \
			-i "$2" >"$3.$format" 2>/dev/null || return
	done
	mv "$3.json" "$3.folded.json" 2>/dev/null
	"$seam" export --to "$1" -i "$2" -o "$3.$1.out" 2>/dev/null ||
		return
	if [ "$1" = folded ]; then
		cmp "$3.folded" "$3.$1.out"
	else
		python3 "$here/export-read.py" "$1" "$3.$1.out" "$3.folded"
	fi
}

terminal() {
	python3 - "$seam" "$golden/groups/single.data" <<'END'
import os, subprocess, sys
ours, theirs = os.openpty()
done = subprocess.run([sys.argv[1], "export", "--to", "pprof", "-i",
                       sys.argv[2], "-o", "-"], stdout=theirs,
                      stderr=subprocess.PIPE, text=True)
assert done.returncode == 2, done
assert "standard output is a terminal" in done.stderr, done
END
}

check 'bad usage is refused' bad_usage
check 'what is not text is for no terminal' terminal
check 'bad files are refused' bad_files
check 'bad outputs are refused' bad_outputs
check 'a file is replaced whole' replaced
check 'a signal leaves nothing half done' ended_by_signal
check 'a recording of no event is one of no sample' no_events
check 'counts are told' counts_told
check 'what was lost is marked' lost_marked
for format in folded speedscope pprof firefox chrome; do
	[ $format != pprof ] || command -v protoc >/dev/null || {
		skip pprof 'there is no protoc'
		continue
	}
	for name in deferred/pending deferred/threads-fp deferred/two-events \
		deferred/two-events-a deferred/zstd groups/group-inherit; do
		check "$format has the stacks of $name" \
			same_stacks $format $name
	done
done
for form in pprof firefox chrome; do
	[ $form != pprof ] || command -v protoc >/dev/null || {
		skip "$form has the build-ids" 'there is no protoc'
		continue
	}
	check "$form has the build-ids" build_ids $form
done
tap_done
