/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Says which files were not taken for the recording's, and why (elf/doubt.h).
 */
#ifndef SEAM_CLI_DOUBTS_H
#define SEAM_CLI_DOUBTS_H

#include "symbol/symbol.h"

/* doubted was not taken for path, by its build-id. */
void doubts_say_file(const char *path, const char *doubted);
void doubts_say(const struct seam_symbolizer *syms);
/* In one line, why frames have no names: their files are stripped. */
void doubts_say_stripped(const struct seam_symbolizer *syms);

#endif
