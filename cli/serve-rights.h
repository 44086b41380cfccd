/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What seam serve may do once it is at work. */
#ifndef SEAM_CLI_SERVE_RIGHTS_H
#define SEAM_CLI_SERVE_RIGHTS_H

/* Gives up all rights but those to look into other users' processes and files,
 * for good. Return: 0 or -errno. */
int serve_drop_rights(void);

#endif
