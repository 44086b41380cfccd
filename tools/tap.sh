# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# TAP for shell tests: source it, call these, end with 'tap_done'.
#   ok NAME            not_ok NAME [DETAIL]...      skip NAME REASON
#   check NAME CMD...  ok if CMD succeeds; its output is shown if it fails
# Every test that is no cmocka program speaks TAP: tools/run-tests.py counts
# these lines. A script that cannot run at all prints why and exits 77.

tap_count=0
tap_failed=0

ok() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1"
}

not_ok() {
	tap_count=$((tap_count + 1))
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_count - $1"
	shift
	[ $# = 0 ] || printf '%s\n' "$@" | sed 's/^/# /'
}

skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

check() {
	tap_name=$1
	shift
	if tap_out=$("$@" 2>&1); then
		ok "$tap_name"
	else
		not_ok "$tap_name" "$tap_out"
	fi
}

# The files of this tree that are, or are about to be, committed.
tree_files() {
	git -c safe.directory='*' ls-files --cached --others \
		--exclude-standard -- "$@" | sort -u |
	while read -r tap_file; do
		[ ! -f "$tap_file" ] || echo "$tap_file"
	done
}

tap_done() {
	echo "1..$tap_count"
	[ "$tap_failed" = 0 ]
	exit
}
