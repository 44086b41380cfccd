# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Print a history for git fast-import: files that grow and change."""

import random
import sys

COMMITS, FILES, LINES = 1200, 40, 500


def main():
    rng = random.Random(1)
    files = [["line %d of %d %x" % (n, f, rng.getrandbits(64))
              for n in range(LINES)] for f in range(FILES)]
    out = sys.stdout
    for commit in range(COMMITS):
        out.write("commit refs/heads/main\ncommitter A <a@b> %d +0000\n"
                  "data 6\nchange\n" % (1700000000 + commit))
        chosen = range(FILES) if commit == 0 else rng.sample(range(FILES), 8)
        for number in chosen:
            lines = files[number]
            for _ in range(12):
                at = rng.randrange(len(lines))
                lines[at:at + rng.randrange(3)] = [
                    "changed %x" % rng.getrandbits(48)]
            text = "\n".join(lines) + "\n"
            out.write("M 100644 inline dir%d/file%d.c\ndata %d\n%s\n"
                      % (number % 5, number, len(text), text))
    out.write("done\n")


main()
