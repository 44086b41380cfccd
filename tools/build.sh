#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# tools/build.sh [--tests] FOLDER [MESON OPTION]...
# Sets FOLDER up if that has not been done, then builds, with --tests what
# only tests need too. Callers wait for one another; a set-up that failed
# half-way is done again, and so is one without tests when they are wanted: the
# programs that these need may not have been there.
set -eu

targets=all
tests=
if [ "$1" = --tests ]; then
	targets='all meson-test-prereq'
	tests=1
	shift
fi
build=$1
shift
cd "$(dirname "$0")/.."

for tool in meson ninja; do
	command -v "$tool" >/dev/null || {
		echo "seam: $tool is missing; tools/setup.sh installs all" \
		     "that building needs" >&2
		exit 1
	}
done

exec 9<tools/build.sh
flock 9
if [ ! -f "$build/build.ninja" ]; then
	meson setup "$build" "$@" 9<&-
elif [ -n "$tests" ] && [ ! -f "$build/seam-tests" ]; then
	meson setup --reconfigure "$build" "$@" 9<&-
fi
[ -z "$tests" ] || : >"$build/seam-tests"
ninja -C "$build" -k 0 $targets 9<&-
