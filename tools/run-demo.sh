#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# tools/run-demo.sh BUILD
# What `make run` shows: records Debian's python3 at work, prints some of its
# whole stacks, the hottest paths and the recorder's summary.
set -eu

build=$1
here=$(cd "$(dirname "$0")/.." && pwd)
python=/usr/bin/python3

if [ "$(id -u)" != 0 ]; then
	echo "seam: 'make run' records with BPF, which needs root: try" \
	     "'sudo make run'." >&2
	echo "'$build/seam doctor' says what works without." >&2
	exit 1
fi

mkdir -p "$build/demo"
data=$build/demo/perf.data
note=$build/demo/summary
echo "seam: recording $python examples/demo.py"
if ! "$build/seam" record -o "$data" -- "$python" "$here/examples/demo.py" \
		2>"$note"; then
	cat "$note" >&2
	exit 1
fi

# pick WHAT PATTERN LINES [NOT]: the shortest sample with a line like this, at
# least so many lines and none like NOT: something to see, and not too much.
pick() {
	echo
	echo "--- $1:"
	awk -v RS= -v pattern="$2" -v least="$3" -v avoid="${4:-^$}" '
	$0 ~ pattern && $0 !~ avoid {
		depth = split($0, lines, "\n")
		if (depth >= least && (!shortest || depth < shortest)) {
			shortest = depth
			stack = $0
		}
	}
	END { print stack != "" ? stack : "(none in this recording)" }' \
		"$build/demo/script"
}

"$build/seam" script -i "$data" >"$build/demo/script"
pick 'the interpreter at work, from its innermost function to _start' \
	'_PyEval_EvalFrameDefault' 25 'kernel'
pick 'a sample inside write(): the kernel above, the program below' \
	'(ksys|sys)_write' 15
echo
echo '--- the recorder'"'"'s summary:'
cat "$note"
echo
echo "More: $build/seam report -i $data"
