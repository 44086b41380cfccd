#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# openssl's assembly for sha512: CFA expressions in its hottest leaves.
. "$(dirname "$0")/lib.sh"

prepare() {
	need openssl
}

load() {
	args openssl speed -seconds 3 -bytes 8192 sha512
}

load_main "$@"
