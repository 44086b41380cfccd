#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# perl: regular expressions, hashes, sorting, deep recursion.
. "$(dirname "$0")/lib.sh"

prepare() {
	need perl
}

load() {
	args perl "$here/perl.pl"
}

load_main "$@"
