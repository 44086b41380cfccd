#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# bench/run.sh BUILD [OPTION]...
# bench/run.sh BUILD convert [--rounds N] [FILE]...
# bench/run.sh BUILD scale [OPTION]...
# bench/run.sh BUILD clients [OPTION]...
# bench/run.sh BUILD copies [OPTION]...
# bench/run.sh BUILD views [OPTION]...
# Measures seam beside perf, in one run, and prints one table; or making SFrame
# of .eh_frame beside elfutils; or what threads, processes and libraries by the
# thousand take; or what recordings of one program at once cost it; or reading a
# recording of perf record --call-graph dwarf.
# README.md says what is measured; bench.py --help, and that of the others,
# has the options. Exit 77, with the reason, where that cannot be.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$1
shift

# Of another kind: it records nothing, and needs neither root nor perf.
if [ "${1:-}" = convert ]; then
	shift
	ninja -C "$build" bench/convert >/dev/null
	exec /usr/bin/python3 -B "$here/convert.py" "$build" "$@"
fi
if [ $# = 0 ]; then
	sh "$0" "$build" convert
	echo
fi
# Likewise; not with options, which are bench.py's.
if [ $# = 0 ] && [ -x "$build/bench/bench-backtrace" ]; then
	"$build/bench/bench-backtrace"
	echo
fi
if [ $# = 0 ] && [ -x "$build/bench/bench-lookup" ]; then
	"$build/bench/bench-lookup" /usr/bin/python3
	echo
fi
# Sizes, with the binutils that 'make peers' fetches.
if [ $# = 0 ]; then
	"$here/table-size.sh" "$build" || [ $? = 77 ]
	echo
fi
if [ "$(id -u)" != 0 ]; then
	echo "bench: recording with BPF needs root: try 'sudo make bench'"
	exit 77
fi
# The load of system calls is not built by default.
ninja -C "$build" tests/progs/syscalls-gcc-O2 >/dev/null || :
if [ "${1:-}" = scale ]; then
	shift
	exec /usr/bin/python3 -B "$here/scale.py" --seam "$build/seam" "$@"
fi
if [ "${1:-}" = clients ]; then
	shift
	ninja -C "$build" bench/request-cost >/dev/null
	exec /usr/bin/python3 -B "$here/clients.py" "$build" "$@"
fi
perf=${SEAM_PERF:-$("$here/../tools/peers.sh")}
if [ "${1:-}" = views ]; then
	shift
	exec /usr/bin/python3 -B "$here/views.py" "$build" --perf "$perf" "$@"
fi
if [ "${1:-}" = copies ]; then
	shift
	exec /usr/bin/python3 -B "$here/copies.py" "$build" --perf "$perf" "$@"
fi
exec /usr/bin/python3 -B "$here/bench.py" --build "$build" --perf "$perf" "$@"
