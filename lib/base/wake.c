// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/wake.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int seam_wake_open(void)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

/* Fails alone where it has been woken 2^64 times and not heard. */
void seam_wake(int fd)
{
	const uint64_t one = 1;

	(void)!write(fd, &one, sizeof(one));
}

void seam_wake_heard(int fd)
{
	uint64_t n;

	(void)!read(fd, &n, sizeof(n));
}
