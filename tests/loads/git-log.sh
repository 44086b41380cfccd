#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# git log -p over a made repository: diff, zlib, long call chains.
. "$(dirname "$0")/lib.sh"

prepare() {
	need git
	git init -q --bare "$1/repo"
	/usr/bin/python3 "$here/git-history.py" | git -C "$1/repo" fast-import --quiet
}

load() {
	args git -C "$1/repo" --no-pager log -p main
}

load_main "$@"
