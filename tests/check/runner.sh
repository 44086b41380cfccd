#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Description: tools/run-tests.py counts cases and not programs, finds every
# kind of failure, and prints the reason of each skip.
here=$(cd "$(dirname "$0")/../.." && pwd)
. "$here/tools/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# project NAME 'SHELL TEXT' [MORE test() ARGUMENTS]: a test program each.
project() {
	printf '#!/bin/sh\n%s\n' "$2" >"$work/$1.sh"
	chmod +x "$work/$1.sh"
	echo "test('$1', find_program('$1.sh'), suite: 'unit'${3:-})" \
		>>"$work/meson.build"
}

# expect NAME STATUS 'CLOSING LINE' [TEXT THAT MUST BE SHOWN]
expect() {
	rm -rf build
	meson setup -q build >setup.log 2>&1 || meson setup build >setup.log
	env -u SEAM_SUMMARY "$here/tools/run-tests.py" build >out 2>&1
	status=$?
	if [ "$status" = "$2" ] && [ "$(tail -n 1 out)" = "$3" ] &&
			grep -qF -- "${4:-}" out; then
		ok "$1"
	else
		not_ok "$1" "status $status" "$(cat setup.log out)"
	fi
	echo "project('t', meson_version: '>=1.0')" >meson.build
}

echo "project('t', meson_version: '>=1.0')" >meson.build
project tap 'echo 1..3; echo ok 1 - a; echo ok 2 - b; echo "ok 3 - c # SKIP no c"'
project plain 'exit 0'
expect 'cases are counted' 0 '3 passed, 0 failed, 1 skipped' \
	'skipped: tap: c: no c'

project bad 'echo 1..2; echo ok 1 - a; echo not ok 2 - b; echo "# why b"; exit 1'
expect 'a failed case is shown' 1 '1 passed, 1 failed, 0 skipped' 'why b'

project short 'echo 1..3; echo ok 1 - a'
expect 'cases that never ran are a failure' 1 \
	'1 passed, 1 failed, 0 skipped' '3 cases were planned, 1 ran'

project dies 'echo 1..1; echo ok 1 - a; kill -SEGV $$'
expect 'a crash after the last case is a failure' 1 \
	'1 passed, 1 failed, 0 skipped' 'exit status'

project plain 'echo broken; exit 3'
expect 'an exit status is a failure, with its output' 1 \
	'0 passed, 1 failed, 0 skipped' 'broken'

project cannot 'echo no such kernel; exit 77'
expect 'a skipped program says why' 0 '0 passed, 0 failed, 1 skipped' \
	'skipped: cannot: no such kernel'

project cmocka 'echo 1..2; echo ok 1 - a; echo no compiler; \
echo "not ok 2 # SKIP b"; echo "# ok - tests"'
expect "cmocka's skip is none of its failures" 0 \
	'1 passed, 0 failed, 1 skipped' 'skipped: cmocka: b: no compiler'

expect 'no test at all is a failure' 1 '0 passed, 1 failed, 0 skipped' \
	'no test ran'
tap_done
