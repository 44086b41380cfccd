/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What seam serve may do once it is at work. */
#ifndef SEAM_CLI_SERVE_RIGHTS_H
#define SEAM_CLI_SERVE_RIGHTS_H

#include <stdbool.h>

/* Gives up all rights but to open what others have mapped, for good: of the
 * process that does so for us. Return: 0 or -errno. */
int serve_confine_opener(void);
/* The same of the rest, which needs none, and of all files but those that it
 * keeps; *ret_has_files: not of these, since the kernel has no Landlock. */
int serve_confine(bool *ret_has_files);

#endif
