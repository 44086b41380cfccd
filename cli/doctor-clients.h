/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What seam doctor says of those that record now. */
#ifndef SEAM_CLI_DOCTOR_CLIENTS_H
#define SEAM_CLI_DOCTOR_CLIENTS_H

#include <jansson.h>

#include "kernel/share.h"

/* Nothing, if there are none. */
void doctor_print_clients(const struct seam_share_list *list);
/* An array of groups; NULL: out of memory. */
json_t *doctor_clients_json(const struct seam_share_list *list);
/* An array of who shares with nobody; likewise. */
json_t *doctor_alone_json(const struct seam_share_list *list);

#endif
