// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/serve-rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/serve-filter.h"
#include "cli/serve-landlock.h"
#include "kernel/share.h"

/* Newer than the headers of Debian 12's oldest kernel. */
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* What opening the files that other users' processes have mapped takes. */
#define OPENING                                                                \
	(1ULL << CAP_SYS_PTRACE | 1ULL << CAP_DAC_READ_SEARCH |                \
	 1ULL << CAP_CHECKPOINT_RESTORE)

static int keep_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		return -errno;
	for (int i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(keep >> 32 * i);
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

static int keep_rights(uint64_t keep)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* Up to the last that the kernel knows. Where we may not, whoever
	 * started us has seen to it. */
	for (unsigned long cap = 0; cap < 64; cap++)
		if (!(keep >> cap & 1))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	return keep_capabilities(keep);
}

int serve_confine_opener(void)
{
	int err = keep_rights(OPENING);

	return err ? err : serve_filter_opener();
}

int serve_confine(bool *ret_has_files)
{
	/* The maps are open already, and are root's own. */
	int err = keep_rights(0);

	if (!err)
		err = serve_landlock(NULL, SEAM_SHARE_FOLDER);
	*ret_has_files = err == -EOPNOTSUPP;
	return err && err != -EOPNOTSUPP ? err : serve_filter();
}
