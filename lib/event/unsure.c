// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "event/unsure.h"

#include <errno.h>
#include <string.h>

#include "event/fail.h"
#include "symbol/kernel-code.h"

int seam_unsure_open(struct seam_kernel_entry *ret, struct seam_errinfo *reterr)
{
	int err = seam_kernel_code_read(NULL, ret, NULL);

	if (err == -EACCES)
		return seam_fail(reterr, err,
				 "/proc/kallsyms hides the addresses of the "
				 "code at which registers cannot be believed: "
				 "run as root, with kernel.kptr_restrict below "
				 "2");
	if (err)
		return seam_fail(
			reterr, -ENOTSUP,
			"/proc/kallsyms does not say where this kernel "
			"writes its tasks' registers (%s)",
			strerror(-err));
	return 0;
}
