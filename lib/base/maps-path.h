/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * /proc/PID/maps has a newline in a file's name as "\012", and a backslash as
 * it is: of a name with these four characters it does not say which it is. perf
 * takes such names into its recordings; what the kernel records itself is as
 * the file is called.
 */
#ifndef SEAM_LIB_BASE_MAPS_PATH_H
#define SEAM_LIB_BASE_MAPS_PATH_H

#include <stdbool.h>

/* Whether it may be another name. */
bool seam_maps_path_is_unsure(const char *path);
/* That other name. Caller frees. NULL: it is sure, or there is no memory. */
char *seam_maps_path_other(const char *path);

/* Whether it is core/arch.h's page for probes. */
bool seam_maps_is_probe_page(const char *path);

#endif
