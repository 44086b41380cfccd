#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# check-made.sh WRITE-MADE
# Description: whatever names and weights there are, independent readers take
# each format and find in it the stacks of the folded one, with U+FFFD for
# what is no UTF-8, and the mark of guessed frames.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../tools/tap.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

same_stacks() {
	"$1" "$2" $4 >"$dir/$3" || return
	python3 "$here/../../cli/export-read.py" "$3" "$dir/$3" \
		>"$dir/stacks" || return
	cmp "$dir/stacks" "$dir/wanted"
}

# Files by the first letter of their names.
build_ids() {
	id=abcd010203000000000000000000000000000000
	python3 "$here/../../cli/export-build-ids.py" "$1" "$dir/$1" \
		a=$id '['=$id
}

# And so in whatever parts it is looked through.
same_parts() {
	for part in 1 2 4 16; do
		same_stacks "$1" "$2" "$3" $part || return
	done
}

folded_parts() {
	for part in 1 128; do
		"$1" 0 $part | cmp - "$dir/folded" || return
	done
}

# So it is in each format, which has the same stacks.
marked() {
	LC_ALL=C grep -qa ';? perhaps' "$dir/folded" &&
		! LC_ALL=C sed 's/? perhaps//g' "$dir/folded" | grep -qa perhaps
}

"$1" 0 >"$dir/folded" || exit 1
# Each byte that is none of a character's, as the folded one shows it; control
# characters, which others have as they are; names beyond 16 KiB; in one order.
python3 - "$dir/folded" >"$dir/wanted" <<'END'
import re, sys
text = open(sys.argv[1], "rb").read().decode("utf-8")
def shown(escape):
    byte = int(escape[1], 16)
    return chr(byte) if byte < 0x80 else "\ufffd"
text = re.sub(r"\\x([0-9a-f]{2})", shown, text)
text = re.sub("a{20000}", "a" * 16384 + "...", text)
sys.stdout.reconfigure(encoding="utf-8", newline="\n")
for line in sorted(text.split("\n")[:-1],
                   key=lambda line: line.rsplit(" ", 1)[0]):
    print(line)
END
check 'guessed frames have their mark' marked
check 'folded has them in parts' folded_parts "$1"
n=0
for format in speedscope pprof firefox chrome; do
	n=$((n + 1))
	[ $format != pprof ] || command -v protoc >/dev/null || {
		skip pprof 'there is no protoc'
		continue
	}
	check "$format has all stacks" same_stacks "$1" $n $format
	check "$format has them in parts" same_parts "$1" $n $format
	[ $format != speedscope ] || continue # which has no place for them
	check "$format has the build-ids, of the kernel as well" \
		build_ids $format
done
tap_done
