#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# sframe.sh SEAM
# Description: seam sframe's verbs: wrong use and malformed input have one
# reason and the right status; what stat says adds up.
. "$(dirname "$0")/cli.sh"
golden=$here/../golden/sframe

bad_usage() {
	fails 2 'which verb' "$seam" sframe &&
		fails 2 "'bogus' is no verb" "$seam" sframe bogus &&
		fails 2 'which file' "$seam" sframe dump &&
		fails 2 'which file' "$seam" sframe check --json &&
		fails 2 "not 'b' as well" "$seam" sframe dump a b &&
		fails 2 "'--bogus'" "$seam" sframe stat --bogus a &&
		fails 2 "'-o'" "$seam" sframe dump -o x a &&
		fails 2 'where to' "$seam" sframe make a &&
		fails 2 'neither -o' "$seam" sframe make a -o b --in-place &&
		fails 2 'neither -o' "$seam" sframe make a --in-place --detached
}

help_texts() {
	"$seam" sframe --help | grep -q '^usage: seam sframe VERB' || return
	for verb in dump check stat make; do
		"$seam" sframe $verb -h |
			grep -q "^usage: seam sframe $verb" || return
	done
}

bad_files() {
	: >"$dir/empty"
	printf '\342\336\003' >"$dir/short"
	fails 1 'No such file' "$seam" sframe dump "$dir/none" &&
		fails 1 'not a regular file' "$seam" sframe check "$dir" &&
		fails 1 'could hold an ELF' "$seam" sframe stat "$dir/empty" &&
		fails 1 'ELF magic' "$seam" sframe dump "$0" &&
		fails 1 'has no SFrame section' "$seam" sframe dump "$seam" &&
		fails 1 'has no SFrame section' "$seam" sframe check "$seam" &&
		fails 1 'offset 0x3: .*ends inside its header' \
			"$seam" sframe dump "$dir/short"
}

# Fields of a section are overwritten, one at a time, in an ELF file.
malformed() {
	python3 - "$seam" "$golden/v3/amd64-static.exe" "$dir/m" <<'END'
import json, struct, subprocess, sys
seam, source, out = sys.argv[1:]


def sframe(*args):
    done = subprocess.run([seam, "sframe", *args], text=True,
                          capture_output=True)
    return done.returncode, done.stdout


sf = json.loads(sframe("dump", "--json", source)[1])
data, base = open(source, "rb").read(), sf["offset"]
first = sf["functions"][0]
attr, row = first["rows_at"] - 5, first["rows"][0]["at"]
second = sf["functions"][1]
# offset, format, value; the code and the offset that must be told
cases = [
    (0, "<H", 0xdee3, "sframe-magic", 0),
    (2, "B", 4, "sframe-version", 2),
    (3, "B", 0x85, "sframe-flags", 3),
    (4, "B", 9, "sframe-abi", 4),
    (8, "<I", 1 << 30, "sframe-layout", 8),
    (16, "<I", 0xffffffff, "sframe-layout", 16),
    (24, "<I", 0xfffffff0, "sframe-layout", 16),
    (second["at"], "<q", -1 << 40, "sframe-func", second["at"]),
    (second["at"] + 8, "<I", 0xffffffff, "sframe-func", second["at"]),
    (first["at"] + 12, "<I", 0x7fffffff, "sframe-func", first["at"] + 12),
    (attr, "<H", 0xffff, "sframe-func", attr),
    (attr + 2, "B", 3, "sframe-func", attr + 2),
    (attr + 2, "B", 0x10, "sframe-func", attr + 4),
    (attr + 3, "B", 2, "sframe-func", attr + 3),
    (attr + 4, "B", 1, "sframe-func", attr + 4),
    (row, "B", 255, "sframe-row", row),
    (row + 1, "B", 0x63, "sframe-row", row + 1),
    (row + 1, "B", 0x1f, "sframe-row", None),
]
for at, form, value, code, told in cases:
    bad = bytearray(data)
    struct.pack_into(form, bad, base + at, value)
    open(out, "wb").write(bad)
    status, text = sframe("check", "--json", out)
    answer = json.loads(text)
    what = (at, form, value, text)
    assert status == 1 and not answer["well"], what
    finding = answer["findings"][0]
    assert finding["severity"] == "malformed", what
    assert finding["code"] == code, what
    assert finding["where"] == ".sframe" and finding["reason"], what
    assert told is None or finding["offset"] == told, what
    status, text = sframe("check", out)
    assert status == 1 and text == (
        f"{out}: malformed: .sframe, offset {finding['offset']:#x}: "
        f"{finding['reason']}\n"), text
    # Nothing crashes on it, whatever it prints.
    for verb in ("dump", "stat"):
        status, text = sframe(verb, out)
        assert status in (0, 1), (verb, what)
for size in range(0, sf["size"], 7):
    open(out, "wb").write(data[base:base + size])
    for verb in ("check", "dump"):
        assert sframe(verb, out)[0] == 1, (verb, size)
END
}

# What the file, and not the section, has wrong.
misplaced() {
	python3 - "$seam" "$golden" "$dir/m" <<'END'
import json, struct, subprocess, sys
seam, golden, out = sys.argv[1:]


def check(path):
    done = subprocess.run([seam, "sframe", "check", "--json", path],
                          text=True, capture_output=True)
    return done.returncode, json.loads(done.stdout)


def findings(answer, severity):
    return [f["where"] for f in answer["findings"]
            if f["severity"] == severity]


for name in ("v3/amd64-static.exe", "v3/amd64-so.so",
             "v3/s390x-so.so", "v3/aarch64-static-be.exe"):
    status, answer = check(f"{golden}/{name}")
    assert status == 0 and answer["well"] and not answer["findings"], answer
status, answer = check(f"{golden}/v2/amd64-static.exe")
assert status == 0 and answer["well"], answer
assert findings(answer, "no-loader") == [".sframe"], answer
data = bytearray(open(f"{golden}/v3/amd64-static.exe", "rb").read())
phoff, = struct.unpack_from("<Q", data, 32)
for i in range(struct.unpack_from("<H", data, 56)[0]):
    at = phoff + 56 * i
    if struct.unpack_from("<I", data, at)[0] == 0x6474e554:
        struct.pack_into("<Q", data, at + 16, 0x1234)
        open(out, "wb").write(data)
        assert findings(check(out)[1], "misplaced") == ["PT_GNU_SFRAME"]
        struct.pack_into("<I", data, at, 0)
open(out, "wb").write(data)
assert findings(check(out)[1], "misplaced") == ["program headers"]
END
}

# What a linker that does not know SFrame makes of two tables: one section with
# both, or two sections where their types differ.
not_merged() {
	command -v ld.gold >/dev/null ||
		{ echo '# no ld.gold'; return 0; }
	for versions in '3 3' '2 3'; do
		ld.gold -r "$golden/v${versions% *}/amd64-so.o" \
			"$golden/v${versions#* }/amd64-plain.o" \
			-o "$dir/two" || return
		"$seam" sframe check --json "$dir/two" >>"$dir/both" || return
	done
	readelf -SW "$dir/two" >"$dir/sections" || return
	python3 - "$seam" "$golden/v3/amd64-so.o" "$dir" <<'END'
import json, re, subprocess, sys
seam, first, folder = sys.argv[1:]
one, two = [json.loads(line) for line in open(f"{folder}/both")]
dump = json.loads(subprocess.run([seam, "sframe", "dump", "--json", first],
                                 capture_output=True).stdout)


def told(answer):
    assert answer["well"] and len(answer["findings"]) == 1, answer
    finding = answer["findings"][0]
    assert finding["severity"] == "misplaced", finding
    return finding["where"], finding["offset"]


assert told(one) == (".sframe", (dump["size"] + 7) & ~7), one
offsets = [int(x, 16) for x in re.findall(
    r"\] \.sframe +\S+ +\w+ (\w+) ", open(f"{folder}/sections").read())]
assert len(offsets) == 2 and told(two) == ("section header", offsets[1]), two
END
}

# The parts are the whole, in text and JSON; ld's wrong .plt.got is seen.
stat_adds_up() {
	"$seam" sframe stat --json "$seam" "$golden/v3/amd64-ibt.so" \
		>"$dir/json" || return
	"$seam" sframe stat --json --made "$golden/v3/amd64-ibt.so" \
		>>"$dir/json" || return
	"$seam" sframe stat "$golden/v3/amd64-ibt.so" >"$dir/text" || return
	python3 - "$dir/json" "$dir/text" <<'END'
import json, re, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
text = open(sys.argv[2]).read()
for s in lines:
    assert s["cfi"] == s["rule"] + s["hole"] <= s["code"], s
    assert s["rule"] == s["agree"] + s["differ"] + s["unsaid"], s
    assert s["hole"] == sum(s["holes"].values()), s
    assert s["boundaries"] >= s["functions"], s
own, linked, made = lines
assert own["made"] and not own["differ"] and own["rule"] > 100000, own
assert own["bytes"]["sframe"] == 0 < own["bytes"]["made"], own
assert not linked["made"] and linked["differ"] == 16, linked
assert linked["bytes"]["sframe"] > 0, linked
assert made["made"] and not made["differ"], made
assert re.search(r"^  differs +16 .*\n    first at 0x3d0$", text, re.M), text
END
}

full_disk() {
	[ -w /dev/full ] || return 0
	"$seam" sframe dump "$golden/v3/amd64-so.so" >/dev/full 2>"$dir/err"
	[ $? = 1 ] && grep -q 'writing the output: No space' "$dir/err"
}

check 'bad usage is refused' bad_usage
check 'help is given' help_texts
check 'bad files are refused' bad_files
check 'malformed sections are refused by offset and reason' malformed
check 'misplaced sections are told' misplaced
check 'tables that were not merged are told' not_merged
# The C++ library's way into a landing pad, as objdump finds it.
known_bad() {
	lib=$(cc -print-file-name=libgcc_s.so.1)
	[ -f "$lib" ] || return
	"$seam" sframe stat --json --known-bad "$lib" >"$dir/json" || return
	"$seam" sframe stat --json --known-bad \
		"$golden/v3/aarch64-static-be.exe" >>"$dir/json" || return
	"$seam" sframe stat --known-bad "$lib" >"$dir/text" || return
	"$seam" sframe stat --json "$lib" | grep -q known_bad && return 1
	objdump -d --no-show-raw-insn "$lib" >"$dir/code" || return
	python3 - "$dir/json" "$dir/text" "$dir/code" <<'END'
import json, re, sys
lib, other = [json.loads(line) for line in open(sys.argv[1])]
text, code = [open(path).read() for path in sys.argv[2:]]
leaps = [(int(a, 16), int(b, 16)) for a, b in re.findall(
    r"^ +(\w+):\tmov +%rcx,%rsp\n +\w+:\tpop +%rcx\n +(\w+):\tjmp +\*%rcx",
    code, re.M)]
bad = {name: [(r["start"], r["end"]) for r in lib["known_bad"]
              if r["name"] == name] for name in ("EH_RETURN", "EH_JUMP")}
assert leaps and bad["EH_JUMP"] == [(a, b + 2) for a, b in leaps], bad
assert [end for _, end in bad["EH_RETURN"]] == [a for a, _ in leaps], bad
size = sum(r["end"] - r["start"] for r in lib["known_bad"])
assert re.search(fr"^  known bad CFI +{size} ", text, re.M), text
assert other["known_bad"] == [], other
END
}

# A linkage table of 32 TiB, and one function of 4 GiB in blocks of a byte, in
# a segment that says it is a PiB long: the file has 4 KiB of it. And FDEs that
# claim these over and over.
claims() {
	python3 - "$dir" <<'END'
import struct, sys
def entry(body):
    body += bytes(-(len(body) + 4) % 8)
    return struct.pack("<I", len(body)) + body
cie = entry(bytes(4) + b"\1zR\0\1\x78\x10\1\0\x0c\7\x08\x90\1")
plt = b"\x0f\x0b\x77\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x22"
def make(name, ranges, program):
    eh = cie
    for start, size in ranges:
        eh += entry(struct.pack("<IQQB", len(eh) + 4, start, size, 0) + program)
    rows = bytes([0, 3, 8])
    section = struct.pack("<HBBBbbBIIIIIiIIIBBH", 0xdee2, 2, 5, 3, 0, -8, 0,
                          1, 1, len(rows), 0, 20, 256 - 2048 - 28, 0xf0000000,
                          0, 1, 0x10, 1, 0) + rows
    names = b"\0.eh_frame\0.sframe\0.shstrtab\0"
    data = bytearray(4096)
    data[2048:2048 + len(section)] = section
    data[3072:3072 + len(names)] = names
    at = len(data)
    data += eh
    headers = [(0, 0, 0, 0, 0), (1, 1, 2, at, len(eh)),
               (11, 1, 2, 2048, len(section)), (19, 3, 0, 3072, len(names))]
    off = len(data)
    for n, kind, flags, place, size in headers:
        data += struct.pack("<IIQQQQIIQQ", n, kind, flags, place if flags
                            else 0, place, size, 0, 0, 8, 0)
    data[:64] = b"\x7fELF\2\1\1" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 256, 64, off, 0, 64, 56, 1, 64, 4, 3)
    data[64:120] = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 1 << 50, 1 << 50,
                               4096)
    open(f"{sys.argv[1]}/{name}", "wb").write(data)
make("claim-plt", [(256, 1 << 45)], plt)
make("claim-blocks", [(256, 0xe0000000)], b"")
make("claim-once", [(256, 1024)], b"")
make("claim-often", [(256, 1024)] * 1000, b"")
END
	for name in plt blocks; do
		"$seam" sframe stat "$dir/claim-$name" >"$dir/out" &&
			grep -q '^  covered by CFI  *0 ' "$dir/out" || return
	done
	"$seam" sframe stat "$dir/claim-once" >"$dir/out" &&
		grep -q '^  covered by CFI  *1024 ' "$dir/out" &&
		fails 1 'claims the same code' "$seam" sframe stat \
			"$dir/claim-often"
}

# A name may have orders to a terminal, and more than one line.
plain_names() {
	name=$dir/new$(printf '\nline\033[2J')
	cp "$golden/v3/amd64-plain.o" "$name" || return
	for verb in dump check stat; do
		"$seam" sframe $verb "$name" >"$dir/out" 2>"$dir/err"
		grep -qF '/new\x0aline\x1b[2J:' "$dir/out" "$dir/err" &&
			! grep -q '^line' "$dir/out" "$dir/err" || return
	done
	cp "$seam" "$name" && "$seam" sframe make -o "$name" "$seam" >"$dir/out" &&
		grep -qF '/new\x0aline\x1b[2J: ' "$dir/out" &&
		[ "$(wc -l <"$dir/out")" = 1 ]
}

check 'names are one line, without orders' plain_names
check 'what stat says adds up' stat_adds_up
check 'stat measures what a file has' claims
check 'stat knows CFI that is wrong' known_bad
check 'a full disk is told' full_disk
tap_done
