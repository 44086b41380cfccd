#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# sqlite3: a virtual machine, B-trees, sorting.
. "$(dirname "$0")/lib.sh"

prepare() {
	need sqlite3
}

load() {
	args sqlite3 :memory: ".read $here/sqlite3.sql"
}

load_main "$@"
