/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Files that are taken for another because of what they say of themselves. A
 * build-id is soon forged, and so is a checksum; so such a file has to be one
 * of those who may decide what is shown here anyway: of root, of the user, and,
 * by sudo, of the user who ran that (SUDO_UID); and none that everybody may
 * write. SEAM_TRUST names more users, by number, with commas between them; or
 * all.
 */
#ifndef SEAM_LIB_ELF_DOUBT_H
#define SEAM_LIB_ELF_DOUBT_H

#include <stdbool.h>
#include <sys/stat.h>

/* What opens files returns this of one in doubt. */
#define SEAM_DOUBTED (-EKEYREJECTED)

/* Whether the user has said so. */
bool seam_trusts_all(void);
bool seam_is_doubted(const struct stat *st);

/*
 * Opens a regular file to read; flags: more of open's. may_doubt: one in doubt
 * is not opened. Return: the descriptor; -EINVAL: it is none such;
 * SEAM_DOUBTED; or another -errno.
 */
int seam_doubt_open(const char *path, int flags, bool may_doubt,
		    struct stat *ret_st);

#define SEAM_DOUBT_SIZE 96
/* Of one in doubt, the reason and what is to be done. */
void seam_doubt_say(const struct stat *st, char ret[static SEAM_DOUBT_SIZE]);

#endif
