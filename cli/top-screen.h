/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Where seam top shows its tables: all of a terminal, or line after line. */
#ifndef SEAM_CLI_TOP_SCREEN_H
#define SEAM_CLI_TOP_SCREEN_H

#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

#include "report/strbuf.h"

struct top_screen {
	bool is_terminal;
	int keys; /* the terminal's; -1: none are read */
	struct termios was, raw;
};

void top_screen_open(struct top_screen *s);
/* The terminal is as it was. While a SIGTSTP stops the program it is, too. */
void top_screen_close(struct top_screen *s);
/* Whether that was so since the last call: nothing is on the screen. */
bool top_screen_resumed(void);
/* As much of the text as there is room for, or all of it and an empty line.
 * Return: 0 or -1, with errno. */
int top_screen_show(const struct top_screen *s, const struct seam_strbuf *text);
/* Until there is standard input to read, a key, a signal, or the time.
 * Return: the key, or what else it was. */
enum { TOP_INPUT = -1, TOP_TIME = -2 };
int top_screen_wait(const struct top_screen *s, uint64_t until_ns);

#endif
