// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <string.h>
#include <unistd.h>

#include "base/boot.h"
#include "symbol/kernel-code.h"
#include "table/folder.h"

#define NAME "kernel.c1"
#define MAGIC "seamkco"

/* The file is this. */
struct kept {
	char magic[8];
	uint64_t hash; /* of what follows */
	char boot_id[SEAM_BOOT_ID_SIZE + 4];
	uint64_t sought; /* by who wrote it */
	struct seam_kernel_entry entry;
	struct seam_kernel_doors doors;
};

static uint64_t hash_of(const struct kept *k)
{
	return seam_cache_hash(0, k->boot_id,
			       sizeof(*k) - offsetof(struct kept, boot_id));
}

static bool is_good(const struct kept *k)
{
	return !memcmp(k->magic, MAGIC, sizeof(k->magic)) &&
	       k->hash == hash_of(k) &&
	       k->sought == seam_kernel_code_sought() &&
	       seam_is_this_boot(k->boot_id);
}

static bool recall(int dir, struct kept *ret)
{
	struct stat st;
	int fd = seam_cache_read(dir, NAME, &st);
	bool is;

	if (fd < 0)
		return false;
	is = st.st_size == sizeof(*ret) &&
	     !seam_cache_read_all(fd, ret, sizeof(*ret)) && is_good(ret);
	close(fd);
	return is;
}

static void keep(int dir, struct kept *k)
{
	struct iovec part = {k, sizeof(*k)};

	memcpy(k->magic, MAGIC, sizeof(k->magic));
	if (!seam_boot_id(k->boot_id))
		return;
	k->sought = seam_kernel_code_sought();
	k->hash = hash_of(k);
	seam_cache_write(dir, NAME, &part, 1);
}

int seam_kernel_code_here(struct seam_kernel_entry *ret,
			  struct seam_kernel_doors *ret_doors)
{
	struct kept kept = {0};
	int dir = -1, err = 0;

	if (seam_cache_folder(NULL, &dir) || !recall(dir, &kept)) {
		kept = (struct kept){0};
		err = seam_kernel_code_read(NULL, &kept.entry, &kept.doors);
		if (!err && dir >= 0)
			keep(dir, &kept);
	}
	if (dir >= 0)
		close(dir);
	*ret = kept.entry;
	*ret_doors = kept.doors;
	return err;
}
