/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SEAM_LIB_BASE_BOOT_H
#define SEAM_LIB_BASE_BOOT_H

#include <stdbool.h>

#define SEAM_BOOT_ID_SIZE 36 /* without an end */

/* The kernel's name for this boot of it. Return: whether it tells. */
bool seam_boot_id(char to[static SEAM_BOOT_ID_SIZE]);
/* Whether it is this boot's. */
bool seam_is_this_boot(const char id[static SEAM_BOOT_ID_SIZE]);

#endif
