// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The tables in the kernel, and the keys that they are known by. */
#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>

#include "capture/kernel-priv.h"

int seam_kernel_key_of_fd(struct seam_kernel *k, int fd,
			  struct seam_file_key *ret, uint64_t *ret_mtime_ns)
{
	struct seam_key_args args = {0};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &args,
		    .ctx_size_in = sizeof(args));
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	int err;

	if (at == MAP_FAILED)
		return -errno;
	args.addr = (uint64_t)(uintptr_t)at;
	err = bpf_prog_test_run_opts(bpf_program__fd(k->skel->progs.seam_key),
				     &run);
	munmap(at, 4096);
	if (err)
		return err;
	if (args.err)
		return -ENOENT;
	*ret = args.key;
	if (ret_mtime_ns)
		*ret_mtime_ns = args.mtime_ns;
	return 0;
}

uint8_t *seam_kernel_arena(struct seam_kernel *k, size_t *ret_first,
			   size_t *ret_size)
{
	*ret_first = SEAM_TABLES_OFFSET;
	*ret_size = k->arena_size;
	return k->arena;
}

int seam_kernel_table_put(struct seam_kernel *k,
			  const struct seam_file_key *key,
			  const struct seam_table_ref *ref)
{
	return bpf_map__update_elem(k->skel->maps.tables, key, sizeof(*key),
				    ref, sizeof(*ref), BPF_ANY);
}

int seam_kernel_table_get(struct seam_kernel *k,
			  const struct seam_file_key *key,
			  struct seam_table_ref *ret)
{
	return bpf_map__lookup_elem(k->skel->maps.tables, key, sizeof(*key),
				    ret, sizeof(*ret), 0);
}

int seam_kernel_table_drop(struct seam_kernel *k,
			   const struct seam_file_key *key)
{
	return bpf_map__delete_elem(k->skel->maps.tables, key, sizeof(*key), 0);
}

void seam_kernel_tables_changed(struct seam_kernel *k)
{
	__atomic_fetch_add(&k->skel->data_seam->seam_tables_generation, 1,
			   __ATOMIC_SEQ_CST);
}
