/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What is said of files and programs names them, and those names are shown as
 * base/plain.h has it. A message is made first and written at once, so that
 * those of several programs do not mix: what standard error's stream would
 * write is in pieces, of 128 bytes from glibc 2.37 on. Each part of one may end
 * with the newline that is meant, and any other is a name's.
 */
#ifndef SEAM_CLI_MESSAGES_H
#define SEAM_CLI_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct message {
	char *text;
	size_t len;
	bool is_cut; /* there was no memory */
};

__attribute__((format(printf, 2, 3))) void message_add(struct message *m,
						       const char *format, ...);
/* On standard error; m is empty then. */
void message_say(struct message *m);
/* A message of one part. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

/* For what libraries say: a stream to the same file in whose place it is put,
 * as stderr. Return: where it cannot be had, stream itself. */
FILE *messages_plain(FILE *stream);

#endif
