#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# views.sh SEAM
# Description: script and report on a recording of the kernel's own deferral:
# the formats agree with each other, are what their man pages say, and every
# wrong use has one line of reason and the right status.
. "$(dirname "$0")/cli.sh"
golden=$here/../golden/deferred
unset NO_COLOR

bad_usage() {
	fails 2 "'--bogus'" "$seam" script --bogus &&
		fails 2 "'-i'" "$seam" report -i &&
		fails 2 'named with -i' "$seam" script perf.data &&
		fails 2 'is not a format' "$seam" script --format xml &&
		fails 2 'max-stack' "$seam" script --max-stack 0 &&
		fails 2 'cookie or order' "$seam" script --join tid &&
		fails 2 'cookie or order' "$seam" report --join '' &&
		fails 2 'are no fields' "$seam" script -F ip &&
		fails 2 "'-F'" "$seam" script -F &&
		fails 2 'percent-limit' "$seam" report --percent-limit x
}

bad_files() {
	head -c 50 "$golden/sig.data" >"$dir/short"
	: >"$dir/empty"
	fails 1 'No such file.*seam record' "$seam" script -i "$dir/none" &&
		fails 1 'offset 50: the file ends inside' \
			"$seam" report -i "$dir/short" &&
		fails 1 'the file is empty' "$seam" report -i "$dir/empty" &&
		fails 1 'no perf.data file' "$seam" script -i "$0" &&
		fails 1 'the folder is no recording' "$seam" script -i "$dir" &&
		fails 1 "no event 'x'; it has 'cpu-clock'" \
			"$seam" script -i "$golden/sig.data" --event x
}

help_texts() {
	"$seam" script --help | grep -q '^usage: seam script' &&
		"$seam" report -h | grep -q '^usage: seam report'
}

# A recording that was cut off is used as far as it goes.
cut_off() {
	head -c 20000 "$golden/sig.data" >"$dir/cut"
	"$seam" script -i "$dir/cut" >"$dir/out" 2>"$dir/err" || return
	grep -q 'cpu-clock' "$dir/out" && grep -q 'cut: offset 19952: the file'\
' ends 15632 bytes before its data; the last record is cut; what lies' \
		"$dir/err" || return
	"$seam" report --json -i "$dir/cut" >"$dir/out" 2>"$dir/err" &&
		python3 -c 'import json, sys
d = json.load(sys.stdin)
assert d["damaged"] and d["damage"]["offset"] == 19952, d["damage"]
assert d["damage"]["file"] == "data" and "15632 bytes" in d["damage"]["reason"]
assert d["malformed_records"] == 0 and "malformed" not in d' <"$dir/out"
}

# Of a folder of files the one is named; the others are read to their ends.
cut_in_folder() {
	mkdir "$dir/parts" && cp "$golden/sig.data" "$dir/parts/data" &&
		printf '\104\0\0\0\0\0\10\0\1\0\0\0' >"$dir/parts/data.0" ||
		return
	"$seam" report --json -i "$dir/parts" >"$dir/out" 2>"$dir/err" &&
		grep -q 'parts/data.0: offset 8: the data ends inside a record' \
			"$dir/err" &&
		grep -q '"file":"data.0","offset":8,' "$dir/out"
}

# Files that are missing between others, a recording in place of one, and one
# that is cut: each is told or counted, and the rest is read. perf writes no 02.
odd_folder() {
	mkdir "$dir/odd" && touch "$dir/odd/data.02" && cp "$golden/sig.data" "$dir/odd/data" &&
		cp "$golden/user-only.data" "$dir/odd/data.1" &&
		printf '\104\0\0\0\0\0\10\0\1' >"$dir/odd/data.3" || return
	"$seam" script -i "$golden/sig.data" >"$dir/want" &&
		"$seam" script -i "$dir/odd" >"$dir/out" 2>"$dir/err" &&
		cmp "$dir/want" "$dir/out" || return
	grep -q 'odd/data.0: offset 0: the folder has no such file; nothing' \
		"$dir/err" && grep -q "odd: of the folder's other files 3 are \
damaged too" "$dir/err" || return
	touch "$dir/odd/data.0"
	"$seam" report --json -i "$dir/odd" >"$dir/out" 2>"$dir/err" &&
		grep -q '"file":"data.1","offset":0,"reason":"it has a header'\
'.*"files":3}' "$dir/out"
}

# What contradicts itself is left out: here a sample's chain, of two entries.
malformed() {
	python3 - "$golden/sig.data" "$dir/lie" <<'END' || return
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
begin, size = struct.unpack_from("<QQ", data, 40)
at = begin
while struct.unpack_from("<I", data, at)[0] != 22:
    at += struct.unpack_from("<H", data, at + 6)[0]
struct.pack_into("<Q", data, at + 16, 1 << 40)
open(sys.argv[2], "wb").write(data)
open(sys.argv[2] + ".at", "w").write(str(at))
END
	"$seam" script -i "$dir/lie" 2>&1 >/dev/null | grep -q \
"lie: offset $(cat "$dir/lie.at"): a record is malformed; such records, 1,"
}

# A pipe has one stream: of what else lies beside it nothing is known.
pipe_in_folder() {
	mkdir "$dir/folder" && cp "$golden/pipe.data" "$dir/folder/data" &&
		"$seam" script -i "$dir/folder" >"$dir/alone" 2>"$dir/err" &&
		! grep -q 'other files' "$dir/err" &&
		: >"$dir/folder/data.0" &&
		"$seam" script -i "$dir/folder" >"$dir/out" 2>"$dir/err" &&
		grep -q "folder's other files are not read" "$dir/err" &&
		cmp "$dir/alone" "$dir/out"
}

standard_input() {
	"$seam" script -i - <"$golden/pipe.data" >"$dir/a" 2>/dev/null &&
		cat "$golden/pipe.data" | "$seam" script -i - >"$dir/b" \
			2>/dev/null &&
		[ -s "$dir/a" ] && cmp "$dir/a" "$dir/b"
}

# As perf record has left them of the recorded kernel, which is not this one.
kept_kallsyms() {
	kept=$dir/home/.debug/.build-id/8a/55a05d35a15fe072cfd7e22593672daae112af
	mkdir -p "$kept" || return
	printf '%s\n' 'ffffffff81000000 T _stext' 'ffffffff81000000 T _text' \
		'ffffffff82237a60 T do_syscall_64' \
		'ffffffff82238000 T none' >"$kept/kallsyms"
	HOME=$dir/home "$seam" script -i "$golden/sys-nofp.data" \
		>"$dir/out" 2>"$dir/err" &&
		grep -q 'ffffffff82237b41 do_syscall_64+0xe1 (\[kernel' \
			"$dir/out" &&
		! grep -q 'does not run here' "$dir/err" || return
	# Whoever may write it could give it any name.
	chmod o+w "$kept/kallsyms"
	HOME=$dir/home "$seam" script -i "$golden/sys-nofp.data" \
		>"$dir/out" 2>"$dir/err" &&
		! grep -q do_syscall_64 "$dir/out" &&
		grep -q 'kallsyms: not taken for .*everybody may' "$dir/err" &&
		grep -q 'does not run here' "$dir/err" || return
	HOME=$dir/home "$seam" inject -i "$golden/sys-nofp.data" \
		-o "$dir/merged" 2>"$dir/err" &&
		grep -q 'kallsyms: not taken for .*everybody may' "$dir/err" ||
		return
	chmod o-w "$kept/kallsyms"
	# Given by hand they are taken, and none of its vDSO's names from here.
	HOME=$dir "$seam" script -i "$golden/two-events.data" \
		--kallsyms "$kept/kallsyms" >"$dir/out" 2>"$dir/err" &&
		grep -q '\[unknown\] (\[vdso\])' "$dir/out" &&
		! grep -q 'vdso_.*(\[vdso\])' "$dir/out"
}

# Of a kernel that is all door, before anything is saved: no copy that was taken
# in it is believed, also where it is merged.
doubted() {
	copies=$golden/../dwarf/cut.data
	printf '%s\n' 'ffffffff80000000 T _text' \
		'ffffffff80000010 T __entry_text_start' \
		'fffffffffff00000 T __entry_text_end' \
		'fffffffffff00010 T x64_setup_rt_frame' \
		'fffffffffff00020 T none' >"$dir/symbols"
	"$seam" script -i "$copies" --no-inline >"$dir/none" 2>/dev/null &&
		"$seam" script -i "$copies" --no-inline \
			--kallsyms "$dir/symbols" >"$dir/some" 2>/dev/null &&
		"$seam" inject -i "$copies" --kallsyms "$dir/symbols" \
			-o "$dir/merged" 2>/dev/null &&
		"$seam" script -i "$dir/merged" --no-inline >"$dir/merged.txt" \
			2>/dev/null || return
	unsure=$(grep -c '\[unsure\]' "$dir/some")
	[ "$unsure" -gt 0 ] && ! grep -q '\[unsure\]' "$dir/none" &&
		[ "$unsure" = "$(grep -c '\[unsure\]' "$dir/merged.txt")" ]
}

full_disk() {
	[ -w /dev/full ] || return 0
	"$seam" script -i "$golden/sig.data" >/dev/full 2>"$dir/err"
	[ $? = 1 ] && grep -q 'writing the output: No space' "$dir/err"
}

formats_agree() {
	for format in perf folded json; do
		"$seam" script -i "$golden/$1.data" --format $format \
			>"$dir/$format" 2>/dev/null || return
	done
	"$seam" report -i "$golden/$1.data" --json >"$dir/report" \
		2>/dev/null || return
	python3 - "$dir" <<'END'
import collections, json, sys
d = sys.argv[1]
samples = [json.loads(line) for line in open(d + "/json")]
heads = [l for l in open(d + "/perf") if l[0] not in "\t\n"]
assert len(heads) == len(samples) > 0
for head, s in zip(heads, samples):
    assert head.startswith(f"{s['comm']} {s['tid']:7} "), head
    ns = s["time_ns"]
    assert f" {ns // 10**9}.{ns // 1000 % 10**6:06}: " in head, head
    assert f"{s['period']:10} " in head and head.endswith(": \n"), head
frames = [l.split()[0] for l in open(d + "/perf") if l[0] == "\t"
          and not l.endswith("([seam])\n")]
assert frames == [f["ip"][2:] for s in samples for f in s["frames"]]
count, lines = 0, []
for line in open(d + "/folded"):
    stack, n = line.rsplit(" ", 1)
    lines.append(stack)
    count += int(n)
assert count == len(samples) and lines == sorted(set(lines))
depths = collections.Counter(
    len(s["frames"]) + 1 + (s.get("end") in ("lost", "pending"))
    for s in samples)
folded = collections.Counter()
for line in open(d + "/folded"):
    stack, n = line.rsplit(" ", 1)
    folded[stack.count(";") + 1] += int(n)
assert depths == folded, (depths, folded)
report = json.load(open(d + "/report"))
ends = collections.Counter(s.get("end", "not said") for s in samples)
assert report["samples"] == len(samples)
assert report["wanted"] == len(samples) - ends["no-user"]
assert report["not_said"] == ends["not said"]
for name, n in report["end"].items():
    assert n == ends[name], (name, n)
for e in report["events"]:
    mine = [s for s in samples if s["event"] == e["event"]]
    nodes = e["nodes"]
    assert e["samples"] == len(mine)
    assert e["weight"] == nodes[0]["total"] == sum(s["period"] for s in mine)
    below = collections.Counter()
    for i, n in enumerate(nodes):
        if "parent" in n:
            assert n["parent"] < i
            below[n["parent"]] += n["total"]
    for i, n in enumerate(nodes):
        assert n["total"] == n["self"] + below[i], n
    assert sum(n["self"] for n in nodes) == e["weight"]
    for f in e["functions"]:
        assert f["self"] <= f["total"] <= e["weight"], f
END
}

# ASCII where the locale is not UTF-8; no colours where there is no terminal.
plain_text() {
	LC_ALL=C "$seam" report -i "$golden/sig.data" >"$dir/c" 2>/dev/null &&
		LC_ALL=C.UTF-8 "$seam" report --stdio -i "$golden/sig.data" \
			>"$dir/utf8" 2>/dev/null || return
	! LC_ALL=C grep -q '[^ -~]' "$dir/c" && grep -q '|- ' "$dir/c" &&
		grep -q '├─ ' "$dir/utf8" &&
		! grep -q "$(printf '\033')" "$dir/utf8" &&
		grep -q '^Samples: 218, of which 21[0-9] want' "$dir/c"
}

depth() {
	"$seam" script -i "$golden/threads-fp.data" --max-stack 2 2>/dev/null |
		awk '/^\t/ { if (++n > 2) exit 1; next } { n = 0 }'
}

# By order a lost record and a late sample cost a wrong stack each.
join_rules() {
	for name in lost-m1-pf two-events; do
		"$seam" script -i "$golden/$name.data" >"$dir/default" \
			2>"$dir/err" &&
			"$seam" script --join cookie -i "$golden/$name.data" \
				2>/dev/null | cmp - "$dir/default" &&
			! grep 'another cookie' "$dir/err" &&
			"$seam" script --join order -i "$golden/$name.data" \
				2>&1 >"$dir/order" |
			grep -q ' 1 samples have the stack of another cookie' ||
			return
		# The other's wrong stack happens to look like the right one.
		[ "$name" = two-events ] ||
			! cmp -s "$dir/order" "$dir/default" || return
	done
}

# What is less than certain, and what serves nobody, is told.
joins_told() {
	"$seam" report -i "$golden/two-events.data" 2>/dev/null |
		grep -q '^Joined: 1 after their stack (late)$' &&
		"$seam" report -i "$golden/overwrite.data" 2>/dev/null |
		grep -q '^User stacks for none: 1 may be of lost samples$' &&
		"$seam" report --json --join order \
			-i "$golden/lost-m1-pf.data" 2>/dev/null |
		grep -q '"by_order_differs":1,'
}

check 'bad usage is refused' bad_usage
check 'bad files are refused' bad_files
check 'help is given' help_texts
check 'a cut recording is used' cut_off
check 'a file of a folder that is cut is named' cut_in_folder
check 'of a folder each file that is missing or odd is told' odd_folder
check 'a record that contradicts itself is told' malformed
check 'files beside a pipe are not passed over unsaid' pipe_in_folder
check 'standard input is read' standard_input
check 'a full disk is told' full_disk
for name in sig two-events pending lost-m1-pf threads-fp; do
	check "formats agree on $name" formats_agree $name
done
check 'joining by order is told from joining by cookie' join_rules
# Record 99 is nobody's, 11 is AUX; a stream may go on with either.
passed_over() {
	{
		cat "$golden/pipe.data"
		printf '\143\0\0\0\0\0\010\0'
		printf '\013\0\0\0\0\0\010\0\377\0\0\0\0\0\010\0'
	} >"$dir/more"
	"$seam" report -i "$dir/more" 2>/dev/null |
		grep -q '^Passed over: aux 1, unknown 2$' &&
		"$seam" report --json -i "$dir/more" 2>/dev/null |
		grep -q '"passed_over":{"aux":1,"unknown":2}' &&
		! "$seam" report -i "$golden/pipe.data" 2>/dev/null |
		grep '^Passed over'
}

# A long stream goes to a file in TMPDIR.
no_tmpdir() {
	{
		printf PERFILE2
		head -c 40000000 /dev/zero
	} | TMPDIR="$dir/none" fails 1 'TMPDIR cannot keep' \
		"$seam" report -i -
}

# Nor is it read for ever to be told that it is none.
endless() {
	fails 1 'no perf.data file' "$seam" script -i /dev/zero &&
		fails 1 'no perf.data file' "$seam" report -i - </dev/zero &&
		mkfifo "$dir/log" || return
	{
		echo 'a line of a log that goes on' >&9
		fails 1 'no perf.data file' "$seam" script -i - <&9
	} 9<>"$dir/log"
}

# What there is no room for is counted, and what came before is used.
full_tmpdir() {
	python3 -c '
import struct, sys
filler = struct.pack("<IHH", 60, 0, 65528) + bytes(65520)
data = open(sys.argv[1], "rb").read() + filler * 800
open(sys.argv[2], "wb").write(data)' "$golden/pipe.data" "$dir/long" || return
	kept=$((40000 * 512))
	missed=$(($(stat -c %s "$dir/long") - kept))
	begin=$(stat -c %s "$golden/pipe.data")
	whole=$((begin + (kept - begin) / 65528 * 65528))
	(
		trap '' XFSZ
		ulimit -f 40000
		cat "$dir/long" | TMPDIR=$dir "$seam" script --window all -i - \
			>"$dir/out" 2>"$dir/err"
	) && grep -q -- "-: offset $whole: TMPDIR has no room for the last $missed\
 bytes; the last record is cut" "$dir/err" || return
	"$seam" script -i "$golden/pipe.data" 2>/dev/null | cmp - "$dir/out"
}

# A file's that came by a pipe too ends for want of room, not by a cut.
full_tmpdir_of_file() {
	python3 -c '
import struct, sys
filler = struct.pack("<IHH", 60, 0, 65528) + bytes(65520)
data = bytearray(open(sys.argv[1], "rb").read())
at, size = struct.unpack_from("<QQ", data, 40)
data[at + size:] = filler * 800
struct.pack_into("<Q", data, 48, len(data) - at)
data[72:80] = bytes(8)
open(sys.argv[2], "wb").write(data)' "$golden/sig.data" "$dir/long" || return
	missed=$(($(stat -c %s "$dir/long") - 40000 * 512))
	(
		trap '' XFSZ
		ulimit -f 40000
		cat "$dir/long" | TMPDIR=$dir "$seam" script -i - \
			>"$dir/out" 2>"$dir/err"
	) && grep -q "TMPDIR has no room for the last $missed bytes" "$dir/err"
}

# What is to have the kernel's symbols and has none is no reason to go on.
bad_kallsyms() {
	for command in script report; do
		fails 1 '/nope: No such file' "$seam" $command --kallsyms \
			"$dir/nope" -i "$golden/sig.data" &&
			fails 1 'it has no kernel symbols' "$seam" $command \
				--kallsyms /etc/passwd -i "$golden/sig.data" ||
			return
	done
	fails 1 'it has no kernel symbols' "$seam" export --to folded \
		--kallsyms /etc/passwd -i "$golden/sig.data" -o "$dir/none"
}

# Of another kernel, whose release is lost by the cut.
cut_kernel() {
	head -c 20000 "$golden/sys-nofp.data" >"$dir/cut"
	"$seam" script -i "$dir/cut" >"$dir/out" 2>"$dir/err" || return
	grep -q "release is not in it.*have no names" "$dir/err" &&
		grep -q '^	ffffffff81.* \[unknown\] (\[kernel' "$dir/out" &&
		! grep '\[kernel' "$dir/out" | grep -v unknown
}

help_of() {
	"$seam" -h >"$dir/out" 2>"$dir/err" &&
		grep -q '^usage: seam COMMAND' "$dir/out" &&
		"$seam" help | cmp - "$dir/out" || return
	for command in record report script top export inject sframe serve \
		doctor; do
		"$seam" $command --help >"$dir/out" &&
			grep -q "^usage: seam $command" "$dir/out" &&
			"$seam" help $command | cmp - "$dir/out" || return
	done
	fails 2 "'nothing' is not a command" "$seam" help nothing
}

esc=$dir/esc$(printf '\033[2J')
# A command's name is what the program says, and the terminal may be root's:
# an order of the old kind, one in UTF-8, and a byte that is no UTF-8. So may a
# file's be.
escaped() {
	LC_ALL=C sed 's/w-fp\x00/\x1b\xc2\x9b\xff\x00/g' "$golden/sig.data" >"$esc" &&
		[ "$(stat -c %s "$esc")" = "$(stat -c %s "$golden/sig.data")" ]
}

no_orders() {
	escaped && "$seam" "$@" -i "$esc" >"$dir/out" 2>"$dir/err" &&
		grep -qF '\x1b\xc2\x9b\xff' "$dir/out" &&
		! LC_ALL=C grep -q "$(printf '[\033\233\377]')" "$dir/out" "$dir/err"
}

no_json_orders() {
	escaped && "$seam" "$@" -i "$esc" >"$dir/out" 2>"$dir/err" &&
		grep -qF '\u001b\u009b\ufffd' "$dir/out" &&
		! LC_ALL=C grep -q "$(printf '[\033\233\377]')" "$dir/out"
}

# Messages too, the C library's and those that name files.
no_orders_said() {
	"$seam" script -i "$dir/$(printf '\033[2\302\233\377')" 2>"$dir/out"
	[ $? = 1 ] && grep -qF '/\x1b[2\xc2\x9b\xff: No such file' "$dir/out" || return
	"$seam" "$(printf '\033[2')" 2>"$dir/out"
	[ $? = 2 ] && grep -qF "'\x1b[2' is not a command" "$dir/out"
}

# A name may have a newline and more.
newline=$dir/new$(printf '\nline')
one_line_said() {
	fails 1 '/new\\x0aline: No such file' "$seam" script -i "$newline" &&
		fails 1 '/new\\x0aline: ' "$seam" sframe check "$newline" &&
		fails 2 "'new.x0aline' is not a command" "$seam" "$(printf 'new\nline')"
}

check 'report prints no orders to the terminal' no_orders report
check 'script prints none' no_orders script
check 'script prints none in folded stacks' no_orders script --format folded
check 'script prints none in JSON' no_json_orders script --format json
check 'report prints none in JSON' no_json_orders report --json
check 'messages hold none' no_orders_said
check 'a message that names a file is one line' one_line_said
check 'a stream that cannot be kept is told' no_tmpdir
check "a file's that cannot be kept as a pipe is told" full_tmpdir_of_file
check 'kernel symbols that are not there are an error' bad_kallsyms
check 'a cut recording of another kernel has no names of this one' cut_kernel
check 'help of each command, and of all' help_of
check 'what is no recording is not read to an end that it may not have' endless
check 'a stream that cannot be kept whole is used as far as it is' full_tmpdir
check 'joins are told' joins_told
check 'records that are passed over are counted' passed_over
check "perf's copy of another kernel's symbols" kept_kallsyms
check 'copies are doubted by the symbols that are given' doubted
check 'text is plain where it must be' plain_text
check '--max-stack cuts' depth
tap_done
