/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Memory that reading waits for. */
#ifndef SEAM_TESTS_CAPTURE_NEVER_H
#define SEAM_TESTS_CAPTURE_NEVER_H

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Return: a page that nobody brings until *ret_fd is closed; NULL: this
 * machine cannot. */
static inline void *never(int *ret_fd)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register reg = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*ret_fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (*ret_fd < 0)
		return NULL;
	reg.range.start = (uint64_t)(uintptr_t)page;
	reg.range.len = 4096;
	return ioctl(*ret_fd, UFFDIO_API, &api) ||
			       ioctl(*ret_fd, UFFDIO_REGISTER, &reg)
		       ? NULL
		       : page;
}

#endif
