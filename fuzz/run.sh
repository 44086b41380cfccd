#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# fuzz/run.sh BUILD [PARSER]...
# Builds every harness with clang, libFuzzer, ASan and UBSan in BUILD, and
# fuzzes each, or those named, FUZZ_SECONDS long (60), from its corpus.
# New inputs are kept in BUILD/corpus/PARSER; a crashing one in BUILD/crashes,
# to be copied into fuzz/corpus/PARSER with the fix. Exit 1 if there was one.
set -eu

build=$1
shift
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$here"
seconds=${FUZZ_SECONDS:-60}

CC=clang-14 tools/build.sh "$build" -Dfuzz=true -Db_lundef=false \
	-Db_sanitize=address,undefined -Dc_args=-fsanitize=fuzzer-no-link
[ $# != 0 ] || set -- $(cd fuzz && ls fuzz-*.c | sed 's/^fuzz-//; s/\.c$//')
mkdir -p "$build/crashes"
failed=0
for parser; do
	mkdir -p "$build/corpus/$parser"
	seeds=
	[ ! -d "fuzz/corpus/$parser" ] || seeds=fuzz/corpus/$parser
	log=$build/fuzz-$parser.log
	echo "fuzz: $parser, $seconds s"
	if "$build/fuzz/fuzz-$parser" -max_total_time="$seconds" \
			-timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
			-artifact_prefix="$build/crashes/$parser-" \
			"$build/corpus/$parser" $seeds >"$log" 2>&1; then
		sed -n 's/^stat::number_of_executed_units: */  inputs: /p' \
			"$log"
	else
		failed=1
		echo "fuzz: $parser failed:"
		tail -n 40 "$log"
	fi
done
exit "$failed"
