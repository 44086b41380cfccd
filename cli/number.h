/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Numbers on the command line. */
#ifndef SEAM_CLI_NUMBER_H
#define SEAM_CLI_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* A number with B, K, M or G behind it where units says so. Return: 0 or
 * -EINVAL. */
int cli_number(const char *s, bool units, uint64_t *ret);

#endif
