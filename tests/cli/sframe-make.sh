#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# sframe-make.sh SEAM
# Description: executables and libraries of every kind that got an SFrame
# section run as before, show it to readelf, and keep all else; what could
# not run as before is refused with its reason and nothing written.
. "$(dirname "$0")/cli.sh"
golden=$here/../golden/sframe
sid=$("$here/../../tools/peer-binutils.sh" --where sid 2>"$dir/no-sid") || sid=

# refused WORDS FILE: one line of reason, and no file.
refused() {
	fails 1 "$1" "$seam" sframe make "$2" -o "$dir/refused" &&
		[ ! -e "$dir/refused" ]
}

# clean FILE: readelf has nothing to say against it; one segment, one section,
# at one place, loaded; and check finds nothing.
clean() {
	readelf -lSW "$1" >"$dir/readelf" 2>"$dir/err" || return
	[ ! -s "$dir/err" ] || { cat "$dir/err"; return 1; }
	python3 - "$dir/readelf" "$seam" "$1" <<'END'
import re, subprocess, sys
text = open(sys.argv[1]).read()
segments = re.findall(r"^  (LOOS\+0x474e554|GNU_SFRAME) +0x(\w+) 0x(\w+) "
                      r"0x\w+ 0x(\w+) 0x\w+ R +0x8$", text, re.M)
assert len(segments) == 1, text
off, svma, size = (int(x, 16) for x in segments[0][1:])
section = re.search(r"\.sframe +(\S+) +(\w+) (\w+) (\w+) 00 +A +0 +0 +8$",
                    text, re.M)
if section:
    assert section[1] in ("LOOS+0xffffff4", "GNU_SFRAME"), section[1]
    assert [int(x, 16) for x in section.groups()[1:]] == [svma, off, size]
loads = [[int(x, 16) for x in m] for m in re.findall(
    r"^  LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x(\w+) ", text, re.M)]
assert loads == sorted(loads, key=lambda l: l[1]), loads
assert [l for l in loads if l[1] <= svma and svma + size <= l[1] + l[2]
        and svma - l[1] == off - l[0]], (loads, segments)
done = subprocess.run([sys.argv[2], "sframe", "check", sys.argv[3]],
                      text=True, capture_output=True)
assert done.stdout == f"{sys.argv[3]}: well\n", done.stdout
END
}

# same_elsewhere OLD NEW: all bytes of OLD are where they were, but for the
# ELF header.
same_elsewhere() {
	size=$(($(stat -c %s "$1") - 64))
	cmp -i 64 -n $size "$1" "$2"
}

# binutils_read FILE [PREFIX]: objdump of the newest binutils prints what dump
# prints. Where it is not at hand one line at the end says so.
binutils_read() {
	[ -n "$sid" ] || return 0
	echo "$1" >>"$dir/shown"
	"$sid/${2:-}objdump" --sframe "$1" >"$dir/theirs" &&
		"$seam" sframe dump "$1" >"$dir/ours" &&
		cmp "$dir/ours" "$dir/theirs" && echo "$1" >>"$dir/read"
}

# build NAME FLAG...
build() {
	name=$1
	shift
	"${CXX:-g++}" -O1 "$@" "$here/sframe-prog.cc" -o "$dir/$name"
}

runs() {
	name=$1
	"$dir/$name" >"$dir/before"
	[ $? = 7 ] || return
	"$seam" sframe make "$dir/$name" -o "$dir/$name.sf" >"$dir/said" ||
		return
	"$dir/$name.sf" >"$dir/after"
	[ $? = 7 ] || return
	echo 'sframe 0503dee2' | cat "$dir/before" - | cmp - "$dir/after" &&
		clean "$dir/$name.sf" &&
		same_elsewhere "$dir/$name" "$dir/$name.sf" || return
	# Once more, to the same bytes.
	"$seam" sframe make "$dir/$name.sf" -o "$dir/again" >"$dir/said" &&
		cmp "$dir/$name.sf" "$dir/again" || return
	[ "$name" = bare ] || binutils_read "$dir/$name.sf"
}

kind() {
	if build "$@" 2>"$dir/err"; then
		check "a $1 program runs" runs "$1"
	else
		skip "a $1 program runs" "it cannot be linked here"
	fi
}

no_section_headers() {
	python3 - "$dir/pie" "$dir/bare" <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
phoff, = struct.unpack_from("<Q", data, 32)
end = 0
for i in range(struct.unpack_from("<H", data, 56)[0]):
    kind, _, off, _, _, size = struct.unpack_from("<IIQQQQ", data,
                                                  phoff + 56 * i)
    if kind == 1:
        end = max(end, off + size)
struct.pack_into("<Q", data, 40, 0)
struct.pack_into("<HH", data, 60, 0, 0)
open(sys.argv[2], "wb").write(data[:end])
END
	chmod 755 "$dir/bare"
	runs bare
}

# The whole of what a program loads, the loader included.
libraries() {
	mkdir "$dir/lib"
	for file in $(ldd "$dir/pie" | grep -o '/[^ ]*'); do
		"$seam" sframe make "$file" -o "$dir/lib/$(basename "$file")" \
			>"$dir/said" || return
		clean "$dir/lib/$(basename "$file")" || return
	done
	loader=$(basename "$(readelf -lW "$dir/pie" |
		sed -n 's/.*interpreter: \(.*\)]/\1/p')")
	"$dir/lib/$loader" --library-path "$dir/lib" "$dir/pie.sf" \
		>"$dir/after"
	[ $? = 7 ] && LD_LIBRARY_PATH=$dir/lib ldd "$dir/pie.sf" |
		grep -q "$dir/lib/libstdc++" || return
	[ "$(grep -c '^sframe 0503dee2$' "$dir/after")" = \
		$(($(find "$dir/lib" -type f | wc -l) + 1)) ] ||
		{ cat "$dir/after"; return 1; }
}

large() {
	big=$("${CXX:-g++}" -print-prog-name=cc1plus)
	"$seam" sframe make "$big" -o "$dir/cc1plus" >"$dir/said" &&
		same_elsewhere "$big" "$dir/cc1plus" &&
		clean "$dir/cc1plus" || return
	echo 'int f(int x) { try { throw x; } catch (int y) { return y; } }' \
		>"$dir/a.cc"
	"$big" -quiet -O2 "$dir/a.cc" -o "$dir/a.s" &&
		"$dir/cc1plus" -quiet -O2 "$dir/a.cc" -o "$dir/b.s" &&
		cmp "$dir/a.s" "$dir/b.s"
}

# A linker's section gives way where it is: the table is no larger.
over_linkers() {
	for name in amd64-so.so amd64-ibt.so amd64-pie.exe; do
		"$seam" sframe make --json "$golden/v3/$name" -o "$dir/$name" \
			>"$dir/said" && clean "$dir/$name" &&
			binutils_read "$dir/$name" &&
			grep -q '"in_place":true' "$dir/said" || return
	done
	"$seam" sframe stat --json "$dir/amd64-ibt.so" | grep -q '"differ":0'
}

detached() {
	"$seam" sframe make --detached "$dir/pie" -o "$dir/pie.sframe" \
		>"$dir/said" || return
	python3 - "$seam" "$dir/pie.sf" "$dir/pie.sframe" <<'END'
import json, os, subprocess, sys
inside, alone = (json.loads(subprocess.run(
    [sys.argv[1], "sframe", "dump", "--json", path], check=True,
    capture_output=True).stdout) for path in sys.argv[2:])
assert inside["functions"] == alone["functions"]
assert inside["address"] and not alone["address"]
assert alone["size"] == os.path.getsize(sys.argv[3])
END
}

# For who reads only version 2: in place of one of version 3 and alone, the same
# rules as the CFI, and a program that runs.
version_2() {
	"$seam" sframe make --format 2 "$dir/pie.sf" -o "$dir/v2" \
		>"$dir/said" && binutils_read "$dir/v2" || return
	"$seam" sframe make --format 2 --detached "$dir/pie" \
		-o "$dir/v2.sframe" >"$dir/said" || return
	"$dir/v2" >"$dir/after"
	[ $? = 7 ] && head -n -1 "$dir/after" | cmp - "$dir/before" || return
	python3 - "$seam" "$dir/pie.sf" "$dir/v2" "$dir/v2.sframe" <<'END' || return
import json, subprocess, sys


def seam(*args):
    return json.loads(subprocess.run([sys.argv[1], "sframe", *args], check=True,
                                     capture_output=True).stdout)


three, two, alone = (seam("dump", "--json", path) for path in sys.argv[2:])
assert (three["version"], two["version"], alone["version"]) == (3, 2, 2)
assert [f["start"] for f in two["functions"]] == [
    f["start"] for f in alone["functions"]]
# What version 2 cannot say is no rule, never another.
stat = seam("stat", "--json", sys.argv[3])
assert stat["differ"] == 0 and stat["agree"] == stat["rule"] > 0, stat
assert {f["start"] for f in two["functions"]} <= {
    f["start"] for f in three["functions"]}
END
	"$seam" sframe make --format 4 "$dir/pie" -o "$dir/v4" 2>"$dir/err"
	[ $? = 2 ] && grep -q "takes 2 or 3, not '4'" "$dir/err" &&
		[ ! -e "$dir/v4" ]
}

# An object may have several .eh_frame, as groups of sections do: the table is
# that of the same objects with these put together by ld.
several_sections() {
	for i in 1 2 3; do
		"${CC:-gcc}" -O2 -c -ffunction-sections -xc - \
			-o "$dir/part$i.o" <<-END || return
		void other(int *);
		int a$i(int n) { int v[$i + 9]; other(v); return v[n]; }
		int b$i(int n) { int v[n]; other(v); return v[$i]; }
		END
	done
	ld -r --unique=.eh_frame "$dir"/part?.o -o "$dir/several.o" &&
		ld -r "$dir"/part?.o -o "$dir/joined.o" || return
	[ "$(readelf -SW "$dir/several.o" | grep -c ' \.eh_frame ')" = 3 ] &&
		[ "$(readelf -SW "$dir/joined.o" |
			grep -c ' \.eh_frame ')" = 1 ] || return
	for file in several joined; do
		"$seam" sframe make --detached "$dir/$file.o" \
			-o "$dir/$file.sframe" >"$dir/said" || return
	done
	grep -q ': 6 functions, ' "$dir/said" &&
		cmp "$dir/several.sframe" "$dir/joined.sframe"
}

mode_kept() {
	cp "$dir/pie" "$dir/mode" && chmod 4710 "$dir/mode" &&
		ln "$dir/mode" "$dir/link" && "$seam" sframe make \
			"$dir/mode" -o "$dir/mode2" >"$dir/said" &&
		[ "$(stat -c %a "$dir/mode2")" = 4710 ] &&
		cmp "$dir/mode2" "$dir/pie.sf" &&
		"$seam" sframe make --in-place "$dir/mode" >"$dir/said" &&
		[ "$(stat -c %a "$dir/mode")" = 4710 ] &&
		cmp "$dir/mode" "$dir/pie.sf" && cmp "$dir/link" "$dir/pie"
}

# attributes FILE [NAME=HEX]...: sets those, then prints what there is.
attributes() {
	python3 - "$@" <<'END'
import os, sys
for name, value in (a.split("=") for a in sys.argv[2:]):
    os.setxattr(sys.argv[1], name, bytes.fromhex(value))
for name in sorted(os.listxattr(sys.argv[1])):
    print(name, os.getxattr(sys.argv[1], name).hex())
END
}

# A capability that is no secret: CAP_NET_RAW, as ping has it. The list lets
# one more user read and execute, so that the group's bits are its mask.
capability=security.capability=0100000200200000000000000000000000000000
list=0200000001000700ffffffff02000500feff000004000500ffffffff
list=${list}10000500ffffffff20000000ffffffff
list=system.posix_acl_access=$list

attributes_kept() {
	cp "$dir/pie" "$dir/attr"
	chmod 750 "$dir/attr"
	attributes "$dir/attr" user.seam=6f6e65 user.empty= \
		"$capability" "$list" >"$dir/wanted" || return
	attributes "$dir/attr" security.ima=0102 >/dev/null
	"$seam" sframe make "$dir/attr" -o "$dir/attr2" >/dev/null &&
		attributes "$dir/attr2" | diff "$dir/wanted" - &&
		[ "$(stat -c %a "$dir/attr2")" = 750 ] &&
		"$seam" sframe make --in-place "$dir/attr" >/dev/null &&
		attributes "$dir/attr" | diff "$dir/wanted" -
}

attributes_lost() {
	setpriv --bounding-set -setfcap "$seam" sframe make "$dir/attr" \
		-o "$dir/attr3" >/dev/null 2>"$dir/err" || return
	[ "$(cat "$dir/err")" = "seam sframe make: $dir/attr3:\
 security.capability was not kept: Operation not permitted" ] &&
		attributes "$dir/attr3" >"$dir/has" &&
		grep -v "^security.capability" "$dir/wanted" |
		diff - "$dir/has"
}

# What a symbolic link leads to is written over, not the link.
link_kept() {
	mkdir -p "$dir/lib" && cp "$dir/pie" "$dir/lib/real" &&
		ln -s lib/real "$dir/soft" &&
		"$seam" sframe make --in-place "$dir/soft" >"$dir/said" &&
		[ "$(readlink "$dir/soft")" = lib/real ] &&
		grep -q "^$dir/soft: " "$dir/said" &&
		cmp "$dir/lib/real" "$dir/pie.sf"
}

not_over_input() {
	cp "$dir/pie" "$dir/input"
	ln -s input "$dir/symlink"
	for out in "$dir/input" "$dir/symlink" "$dir/../$(basename \
		"$dir")/input"; do
		"$seam" sframe make "$dir/input" -o "$out" 2>"$dir/err"
		[ $? = 1 ] && grep -q -- '--in-place' "$dir/err" || return
	done
	cmp "$dir/input" "$dir/pie" || return
	"$seam" sframe make "$dir/input" -o "$dir/none/x" 2>"$dir/err"
	[ $? = 1 ] && grep -q 'none/x: No such file' "$dir/err" || return
	"$seam" sframe make "$dir/input" -o "$dir" 2>"$dir/err"
	[ $? = 1 ] && grep -q 'Is a directory' "$dir/err" || return
	# No half-written file stays behind, either.
	[ -z "$(find "$dir" -name '*.??????' -newer "$dir/input" -type f)" ]
}

# patch NAME PYTHON [FROM]: a copy of the program in which the headers say otherwise.
patch() {
	python3 - "$dir/${3:-pie}" "$dir/$1" "$2" <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
phoff, = struct.unpack_from("<Q", data, 32)
num, = struct.unpack_from("<H", data, 56)
loads = [phoff + 56 * i for i in range(num)
         if struct.unpack_from("<I", data, phoff + 56 * i)[0] == 1]


def get(form, at):
    return struct.unpack_from(form, data, at)[0]


def put(form, at, value):
    struct.pack_into(form, data, at, value)


exec(sys.argv[3])
open(sys.argv[2], "wb").write(data)
END
}

refusals() {
	{ cat "$dir/pie"; echo payload; } >"$dir/payload"
	refused 'offset 0x[0-9a-f]*: bytes follow that no header' \
		"$dir/payload" &&
	refused 'relocatable' "$golden/v3/amd64-plain.o" || return
	patch order 'a, b = loads[1:3]
data[a:a + 56], data[b:b + 56] = data[b:b + 56], data[a:a + 56]'
	patch huge 'put("<Q", loads[-1] + 40, 4 << 30)'
	patch prelinked 'dyn = [phoff + 56 * i for i in range(num)
       if get("<I", phoff + 56 * i) == 2][0]
at = get("<Q", dyn + 8)
while get("<Q", at):
    at += 16
put("<Q", at, 0x6ffffdf5)'
	patch outside 'put("<Q", get("<Q", 40) + 64 * 5 + 32, 1 << 40)'
	patch bias 'for at in loads:
    put("<Q", at + 16, get("<Q", at + 16) + 8)'
	# An old table that is said to lie where code does.
	patch shared 'at, n = get("<Q", 40), get("<H", 60)
code, old = [next(i for i in range(at, at + 64 * n, 64) if f(i)) for f in (
    lambda i: get("<Q", i + 16) <= get("<Q", 24)
    < get("<Q", i + 16) + get("<Q", i + 32),
    lambda i: get("<I", i + 4) == 0x6ffffff4)]
put("<Q", old + 24, get("<Q", code + 24))' pie.sf
	patch named 'at = next(i for i in range(phoff, phoff + 56 * num, 56)
          if get("<I", i) == 0x6474e554)
for i in (8, 16, 24):
    put("<Q", at + i, get("<Q", 24))' bare.sf
	patch packed 'import zlib
at = get("<Q", 40) + 64 * get("<H", 62)
off, size = get("<Q", at + 24), get("<Q", at + 32)
packed = struct.pack("<IIQQ", 1, 0, size, 1) + zlib.compress(
    bytes(data[off:off + size]))
put("<Q", at + 8, get("<Q", at + 8) | 0x800)
put("<Q", at + 24, len(data))
put("<Q", at + 32, len(packed))
data += packed'
	refused 'names are compressed' "$dir/packed" &&
	refused 'to be replaced overlaps' "$dir/shared" &&
		refused 'it names is no SFrame' "$dir/named" &&
		refused 'overlap or are out of order' "$dir/order" &&
		refused 'over 1 GiB larger' "$dir/huge" &&
		refused 'prelinked' "$dir/prelinked" &&
		refused 'a section lies outside' "$dir/outside" &&
		refused 'first segment is not where' "$dir/bias"
}

# A header without a type says nothing of the file. What it has there ran over
# the end of all numbers, and zeros were written until the disk was full.
inactive() {
	patch null 'at, n = get("<Q", 40), get("<H", 60)
old = next(i for i in range(at, at + 64 * n, 64)
           if get("<I", i + 4) == 0x6ffffff4)
put("<I", old + 4, 0)
put("<Q", old + 24, len(data) + 64)
put("<Q", old + 32, (1 << 64) - len(data) - 48)' pie.sf
	chmod +x "$dir/null"
	(
		trap '' XFSZ
		ulimit -f 65536
		"$seam" sframe make "$dir/null" -o "$dir/null.sf"
	) && clean "$dir/null.sf" || return
	"$dir/null.sf" >"$dir/after"
	[ $? = 7 ]
}

# Of a file that cannot grow on, the signal ends it where it writes.
ended_by_signal() {
	mkdir "$dir/ended" && cp /bin/true "$dir/ended/x" || return
	(
		ulimit -c 0
		ulimit -f 8
		"$seam" sframe make --in-place "$dir/ended/x" 2>/dev/null
	) && return 1
	cmp /bin/true "$dir/ended/x" && [ "$(ls -A "$dir/ended")" = x ]
}

no_cfi() {
	"${CC:-gcc}" -nostdlib -static -fno-asynchronous-unwind-tables \
		-xc - -o "$dir/bare-c" <<-END || return
	void _start(void) { for (;;); }
	END
	refused 'no function of the file has CFI' "$dir/bare-c" || return
	# One has CFI, of which no rule can be made.
	for file in "$dir/bare-c" "$golden/v3/amd64-left-out.o"; do
		fails 1 'no function of the file has CFI' "$seam" sframe make \
			--detached "$file" -o "$dir/refused" &&
			[ ! -e "$dir/refused" ] || return
	done
}

other_machines() {
	for file in aarch64-static.exe aarch64-static-be.exe s390x-so.so; do
		"$seam" sframe make --json "$golden/v3/$file" -o "$dir/$file" \
			>"$dir/said" && clean "$dir/$file" || return
		binutils_read "$dir/$file" "${file%%-*}-linux-gnu-" || return
		"$seam" sframe stat --json "$dir/$file" |
			grep -q '"differ":0' || return
	done
}

kind pie -pie
kind no-pie -no-pie
kind static -static
kind static-pie -static-pie
kind stripped -pie -s
kind one-segment -pie -Wl,-z,noseparate-code
kind large-pages -no-pie -Wl,-z,max-page-size=0x200000
kind gold -pie -fuse-ld=gold
check 'a program without section headers runs' no_section_headers
check 'libraries and the loader serve' libraries
check 'a large program runs' large
check "linkers' sections are replaced in their place" over_linkers
check 'files of other machines' other_machines
check 'detached is the same table' detached
check 'version 2 for who reads only that' version_2
check 'several sections of CFI are one' several_sections
check 'the mode is kept, other links too' mode_kept
: >"$dir/probe"
if attributes "$dir/probe" user.seam=00 "$capability" "$list" >"$dir/out" 2>&1
then
	check 'extended attributes are kept, but for signatures' \
		attributes_kept
	check 'one that may not be set is named' attributes_lost
else
	skip 'extended attributes are kept' 'they cannot be set here'
fi
check 'a symbolic link stays one' link_kept
check 'the input is not written over' not_over_input
check 'what would not run as before is refused' refusals
check 'a header without a type clears nothing' inactive
check 'a signal leaves nothing half done' ended_by_signal
check 'a file without CFI is refused' no_cfi
if [ -n "$sid" ]; then
	check "binutils' newest objdump reads them all" \
		cmp "$dir/shown" "$dir/read"
else
	skip "binutils' newest objdump reads them all" "$(cat "$dir/no-sid")"
fi
tap_done
