# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Asking again until something is there."""

import time

PAUSE_S = 0.2
TRIES = 5000 # on a machine however slow


def tries(what):
    """With a pause between them; at last an error that names it."""
    for _ in range(TRIES):
        yield
        time.sleep(PAUSE_S)
    raise OSError("no end of " + what)
