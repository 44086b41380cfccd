/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What is said of files and programs names them, and those names are shown as
 * base/plain.h has it, wherever they come from: libraries' messages too. */
#ifndef SEAM_CLI_MESSAGES_H
#define SEAM_CLI_MESSAGES_H

#include <stdio.h>

/* A stream to the same file in whose place it is put, as stderr; its lines end
 * where they did. Return: where it cannot be had, stream itself. */
FILE *messages_plain(FILE *stream);

#endif
