// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/boot.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool seam_boot_id(char to[static SEAM_BOOT_ID_SIZE])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, to, SEAM_BOOT_ID_SIZE);

	if (fd >= 0)
		close(fd);
	return n == SEAM_BOOT_ID_SIZE;
}

bool seam_is_this_boot(const char id[static SEAM_BOOT_ID_SIZE])
{
	char now[SEAM_BOOT_ID_SIZE];

	return seam_boot_id(now) && !memcmp(id, now, sizeof(now));
}
