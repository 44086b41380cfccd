#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# fuzz/run.sh BUILD [PARSER]...
# Builds every harness with clang, libFuzzer, ASan and UBSan in BUILD, and
# fuzzes each, or those named, FUZZ_SECONDS long (60), from its corpus, as
# many at a time as there are processors.
# New inputs are kept in BUILD/corpus/PARSER; a crashing one in BUILD/crashes,
# to be copied into fuzz/corpus/PARSER with the fix. Exit 1 if there was one.
set -eu

seconds=${FUZZ_SECONDS:-60}

# BUILD PARSER: says one thing at its end, so that those at once do not mix.
fuzz_one() {
	mkdir -p "$1/corpus/$2" "$1/crashes"
	seeds=
	[ ! -d "fuzz/corpus/$2" ] || seeds=fuzz/corpus/$2
	log=$1/fuzz-$2.log
	if "$1/fuzz/fuzz-$2" -max_total_time="$seconds" \
			-timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
			-artifact_prefix="$1/crashes/$2-" \
			"$1/corpus/$2" $seeds >"$log" 2>&1; then
		echo "fuzz: $2, $seconds s:" $(sed -n \
			's/^stat::number_of_executed_units: *//p' "$log") inputs
	else
		printf 'fuzz: %s failed:\n%s\n' "$2" "$(tail -n 40 "$log")"
		return 1
	fi
}

if [ "$1" = --one ]; then
	fuzz_one "$2" "$3"
	exit
fi
build=$1
shift
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$here"

CC=clang-14 tools/build.sh "$build" -Dfuzz=true -Db_lundef=false \
	-Db_sanitize=address,undefined -Dc_args=-fsanitize=fuzzer-no-link
[ $# != 0 ] || set -- $(cd fuzz && ls fuzz-*.c | sed 's/^fuzz-//; s/\.c$//')
printf '%s\n' "$@" |
		xargs -P "$(nproc)" -I '{}' fuzz/run.sh --one "$build" '{}' || {
	echo "fuzz: something failed; inputs are in $build/crashes"
	exit 1
}
