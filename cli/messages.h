/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What is said of files and programs names them, and those names are shown as
 * base/plain.h has it, wherever they come from: libraries' messages too. What
 * is said at once on standard error is a line, or a part of one: it ends with
 * the newline that is meant, and any other is a name's. */
#ifndef SEAM_CLI_MESSAGES_H
#define SEAM_CLI_MESSAGES_H

#include <stdio.h>

/* A stream to the same file in whose place it is put, as stderr. Return: where
 * it cannot be had, stream itself. */
FILE *messages_plain(FILE *stream);

#endif
