// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/far.h"

#include <stddef.h>

#define FUSE_MAGIC 0x65735546
/* Of fuse and fuseblk; virtiofs, which the host serves like a disk, has the
 * same magic, and no such name behind its own. */
#define FS_HAS_SUBTYPE 4

bool seam_is_far(uint64_t fs_magic, uint64_t fs_flags)
{
	static const uint32_t others[] = {
		0x6969, /* NFS */
		0x517b, /* SMB */
		0xff534d42, /* CIFS */
		0xfe534d42, /* SMB 2 */
		0x01021997, /* 9P */
		0x00c36400, /* Ceph */
		0x5346414f, /* AFS */
		0x6b414653, /* the kernel's own AFS */
		0x73757245, /* Coda */
		0x0bd00bd0, /* Lustre */
		0x20030528, /* OrangeFS */
		0x786f4256, /* VirtualBox's shared folders */
	};

	if (fs_magic == FUSE_MAGIC)
		return fs_flags & FS_HAS_SUBTYPE;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (fs_magic == others[i])
			return true;
	return false;
}
