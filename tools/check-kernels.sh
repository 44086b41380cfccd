#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# tools/check-kernels.sh BUILD VERSION...
# Runs check-kernel.sh of each version, one after the other, and shows what it
# says. Then what was skipped, and why, what failed, and how many cases of each
# kernel there were. The last line is the count, and nothing else is on it:
#     N passed, N failed, N skipped
# A kernel that cannot be had is a failure, by its reason: what was named did not
# run. Who cannot have one names the others.
# SEAM_CHECK_KERNEL: what to run instead of check-kernel.sh.
set -eu

build=$1
shift
one=${SEAM_CHECK_KERNEL:-$(dirname "$0")/check-kernel.sh}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$work/all"

# count_of WHAT FILE: passed, failed or skipped.
count_of() {
	case $1 in
	failed) grep -c '^not ok' "$2" ;;
	skipped) grep -c '^ok .* # SKIP' "$2" ;;
	passed) grep '^ok ' "$2" | grep -vc ' # SKIP' ;;
	esac || :
}

counts() {
	echo "$(count_of passed "$1") passed, $(count_of failed "$1") failed," \
		"$(count_of skipped "$1") skipped"
}

# Whatever ends it, there is a case that says so.
run_one() {
	status=0
	{ "$one" "$build" "$1" 2>&1 || echo "$?" >"$work/status"; } |
		tee "$work/out"
	[ ! -s "$work/status" ] || read -r status <"$work/status"
	rm -f "$work/status"
	if [ "$status" = 77 ]; then
		reason=$(grep . "$work/out" | tail -n 1)
		echo "not ok 1 - it did not run: $reason" >"$work/out"
	else
		grep -q '^not ok' "$work/out" || [ "$status" = 0 ] ||
			echo "not ok - exit status $status" | tee -a "$work/out"
		grep -Eq '^(not )?ok ' "$work/out" ||
			echo 'not ok - no case ran' | tee -a "$work/out"
	fi
	sed -En "/^(not )?ok/ s/^((not )?ok)[^-]*/\1 Linux $1: /p" \
		"$work/out" >"$work/$1"
	cat "$work/$1" >>"$work/all"
}

for version; do
	echo "== Linux $version"
	run_one "$version"
done
echo
sed -n 's/^ok \(.*\) # SKIP \(.*\)$/skipped: \1: \2/p' "$work/all" |
	sed 's/: - /: /'
sed -n 's/^not ok /FAILED: /p' "$work/all" | sed 's/: - /: /'
for version; do
	echo "Linux $version: $(counts "$work/$version")"
done
counts "$work/all"
[ "$(count_of failed "$work/all")" = 0 ]
