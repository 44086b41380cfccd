/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The kernel side has one table, which a test says the state of. */
#ifndef SEAM_TESTS_ONE_TABLE_H
#define SEAM_TESTS_ONE_TABLE_H

#include <errno.h>

#include "pager/tables-priv.h"

static uint32_t table_state; /* enum seam_table_state; 0: there is none */

int __wrap_seam_kernel_table_get(struct seam_kernel *k,
				 const struct seam_file_key *key,
				 struct seam_table_ref *ret);
int __wrap_seam_kernel_table_get(struct seam_kernel *k,
				 const struct seam_file_key *key,
				 struct seam_table_ref *ret)
{
	(void)k;
	(void)key;
	*ret = (struct seam_table_ref){.state = table_state};
	return table_state ? 0 : -ENOENT;
}

#endif
