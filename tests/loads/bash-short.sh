#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# bash starting thousands of short processes.
. "$(dirname "$0")/lib.sh"

prepare() {
	need bash
}

load() {
	args bash -c 'for ((i = 0; i < 3000; i++)); do /bin/true; done'
}

load_main "$@"
