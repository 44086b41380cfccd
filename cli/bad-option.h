/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Says in our words which option getopt did not take, and what lists those that
 * there are. With opterr 0, which main() sets. */
#ifndef SEAM_CLI_BAD_OPTION_H
#define SEAM_CLI_BAD_OPTION_H

/* command: as it is called, "record". Return: 2, the exit status. */
int bad_option(const char *command, char **argv);

#endif
