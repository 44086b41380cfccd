#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# xz with several threads.
. "$(dirname "$0")/lib.sh"

prepare() {
	need xz
	/usr/bin/python3 -c '
import random
rng = random.Random(1)
words = ["%x" % rng.getrandbits(rng.randrange(8, 40)) for _ in range(5000)]
for _ in range(160000):
    print(" ".join(rng.choices(words, k=8)))' >"$1/words"
}

load() {
	args xz -T4 -4 --block-size=1MiB -k -c "$1/words"
}

load_main "$@"
