#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# bench/run.sh BUILD [OPTION]...
# Measures seam beside perf, in one run, and prints one table. README.md says
# what is measured; bench.py --help has the options. Exit 77, with the reason,
# where that cannot be.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$1
shift

if [ "$(id -u)" != 0 ]; then
	echo "bench: recording with BPF needs root: try 'sudo make bench'"
	exit 77
fi
# The load of system calls is not built by default.
ninja -C "$build" tests/progs/syscalls-gcc-O2 >/dev/null || :
perf=${SEAM_PERF:-$("$here/../tools/peers.sh")}
exec /usr/bin/python3 -B "$here/bench.py" --build "$build" --perf "$perf" "$@"
