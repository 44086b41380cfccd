#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Description: tools/check-kernels.sh counts cases and not kernels, and fails
# where one of them could not be had, by its reason, or died.
here=$(cd "$(dirname "$0")/../.." && pwd)
. "$here/tools/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/one" <<'END'
#!/bin/sh
case $2 in
good) echo '# a kernel'; echo 'ok 1 - a'; echo 'ok 2 - b # SKIP no b'; echo 1..2 ;;
bad) echo 'ok 1 - a'; echo 'not ok 2 - b'; echo '# why b'; echo 1..2; exit 1 ;;
dies) echo 'ok 1 - a'; exit 3 ;;
mute) exit 0 ;;
none*) echo 'check-kernel: no qemu'; exit 77 ;;
esac
END
chmod +x "$work/one"

# expect NAME STATUS 'CLOSING LINE' 'TEXT THAT MUST BE SHOWN' VERSION...
expect() {
	name=$1 wanted=$2 closing=$3 text=$4
	shift 4
	SEAM_CHECK_KERNEL=$work/one "$here/tools/check-kernels.sh" build "$@" \
		>"$work/out" 2>&1
	status=$?
	if [ "$status" = "$wanted" ] &&
			[ "$(tail -n 1 "$work/out")" = "$closing" ] &&
			grep -qxF -- "$text" "$work/out"; then
		ok "$name"
	else
		not_ok "$name" "status $status" "$(cat "$work/out")"
	fi
}

expect 'cases are counted, and skips said' 0 '1 passed, 0 failed, 1 skipped' \
	'skipped: Linux good: b: no b' good
expect 'a kernel that cannot be had is a failure, by its reason' 1 \
	'1 passed, 1 failed, 1 skipped' \
	'FAILED: Linux none: it did not run: check-kernel: no qemu' none good
expect 'so is each of them' 1 '0 passed, 2 failed, 0 skipped' \
	'FAILED: Linux none2: it did not run: check-kernel: no qemu' none none2
expect 'a case that fails is named' 1 '2 passed, 1 failed, 1 skipped' \
	'FAILED: Linux bad: b' bad good
expect 'of each kernel there is a count' 1 '2 passed, 1 failed, 1 skipped' \
	'Linux bad: 1 passed, 1 failed, 0 skipped' good bad
expect 'a status is a failure' 1 '1 passed, 1 failed, 0 skipped' \
	'FAILED: Linux dies: exit status 3' dies
expect 'silence is a failure' 1 '0 passed, 1 failed, 0 skipped' \
	'FAILED: Linux mute: no case ran' mute
tap_done
