# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""TAP about recordings that are written for the test, each in a folder."""

import tempfile


def each(tests, check):
    """tests: (name, ...). check(folder, ...) gives whether it is good, and what to
    say if not. Return: the exit status."""
    failed = 0
    print(f'1..{len(tests)}')
    for i, (name, *test) in enumerate(tests, 1):
        with tempfile.TemporaryDirectory() as folder:
            ok, text = check(folder, *test)
        failed += not ok
        print(f'{"ok" if ok else "not ok"} {i} - {name}')
        if not ok:
            print('#', text.replace('\n', '\n# '))
    return failed > 0
