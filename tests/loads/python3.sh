#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# Debian's python3: an interpreter's deep, irregular C stacks.
. "$(dirname "$0")/lib.sh"

prepare() {
	need /usr/bin/python3
}

load() {
	args /usr/bin/python3 "$here/python3.py"
}

load_main "$@"
