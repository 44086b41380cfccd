/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Who gives the bytes of a disk, by the kernel's name for it. Drivers make the
 * names; majors would not do, as ublk has that of disks of all kinds.
 */
#ifndef SEAM_CORE_DISK_H
#define SEAM_CORE_DISK_H

#include "core/env.h"

enum seam_disk {
	SEAM_DISK_OWN, /* for all that its name tells */
	/* A file elsewhere, or a daemon or a server itself. */
	SEAM_DISK_SERVED,
	/* Another disk or several, of which kind is not looked at. */
	SEAM_DISK_BETWEEN,
};

/* A name that begins with these n letters, of at most 8. */
SEAM_INLINE bool seam_disk_begins(uint64_t name, uint64_t with, uint32_t n)
{
	return !((name ^ with) << (64 - 8 * n));
}

#define SEAM_DISK_2(a, b) ((uint64_t)(a) | (uint64_t)(b) << 8)
#define SEAM_DISK_4(a, b, c, d) (SEAM_DISK_2(a, b) | SEAM_DISK_2(c, d) << 16)

/* name: its first 8 bytes, the first one lowest. */
SEAM_INLINE enum seam_disk seam_disk_kind(uint64_t name)
{
	if (seam_disk_begins(name, SEAM_DISK_4('l', 'o', 'o', 'p'), 4) ||
	    seam_disk_begins(name, SEAM_DISK_4('n', 'b', 'd', 0), 3) ||
	    seam_disk_begins(name, SEAM_DISK_4('u', 'b', 'l', 'k'), 4) ||
	    seam_disk_begins(name, SEAM_DISK_4('r', 'b', 'd', 0), 3) ||
	    seam_disk_begins(name, SEAM_DISK_4('r', 'n', 'b', 'd'), 4) ||
	    seam_disk_begins(name, SEAM_DISK_4('d', 'r', 'b', 'd'), 4))
		return SEAM_DISK_SERVED;
	if (seam_disk_begins(name, SEAM_DISK_4('d', 'm', '-', 0), 3) ||
	    seam_disk_begins(name, SEAM_DISK_2('m', 'd'), 2) ||
	    seam_disk_begins(name, SEAM_DISK_4('b', 'c', 'a', 'c'), 4))
		return SEAM_DISK_BETWEEN;
	return SEAM_DISK_OWN;
}

#endif
