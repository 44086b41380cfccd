/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* seam record --merge: the recording for perf before 6.19. */
#ifndef SEAM_CLI_RECORD_MERGE_H
#define SEAM_CLI_RECORD_MERGE_H

/* Replaces a recording that is written, by its merged form. What cannot be
 * merged is left as it is. Return: 0; 1: said on stderr. */
int record_merge(const char *path);

#endif
