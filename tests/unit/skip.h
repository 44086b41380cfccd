/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* cmocka's skip() takes no reason: what is printed before it is one. */
#ifndef SEAM_TESTS_SKIP_H
#define SEAM_TESTS_SKIP_H

#define skip_since(reason)                                                     \
	do {                                                                   \
		print_message("# %s\n", reason);                               \
		skip();                                                        \
	} while (0)

#endif
