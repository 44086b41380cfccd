// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The tables in the kernel, and the keys that they are known by. */
#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>

#include "kernel/kernel-priv.h"

int seam_kernel_key_prog(const struct seam_kernel *k)
{
	return bpf_program__fd(k->skel->progs.seam_key);
}

int seam_kernel_ask_key(int prog, int fd, struct seam_key_args *args)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = args,
		    .ctx_size_in = sizeof(*args));
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	int err;

	if (at == MAP_FAILED)
		return -errno;
	args->addr = (uint64_t)(uintptr_t)at;
	err = bpf_prog_test_run_opts(prog, &run);
	munmap(at, 4096);
	if (err)
		return err;
	return args->err ? -ENOENT : 0;
}

int seam_kernel_key_of_fd(struct seam_kernel *k, int fd,
			  struct seam_file_key *ret, uint64_t *ret_mtime_ns)
{
	struct seam_key_args args = {0};
	int err = seam_kernel_ask_key(seam_kernel_key_prog(k), fd, &args);

	if (err)
		return err;
	*ret = args.key;
	if (ret_mtime_ns)
		*ret_mtime_ns = args.mtime_ns;
	return 0;
}

bool seam_kernel_is_near(struct seam_kernel *k, int fd)
{
	struct seam_key_args args = {0};

	return !seam_kernel_ask_key(seam_kernel_key_prog(k), fd, &args) &&
	       args.is_near;
}

uint8_t *seam_kernel_arena(struct seam_kernel *k,
			   struct seam_arena_part *ret_files,
			   struct seam_arena_part *ret_made)
{
	uint64_t made =
		SEAM_MADE_OFFSET + seam_kernel_client(k) * SEAM_MADE_SIZE;

	*ret_files =
		(struct seam_arena_part){SEAM_TABLES_OFFSET, SEAM_MADE_OFFSET};
	*ret_made = (struct seam_arena_part){made, made + SEAM_MADE_SIZE};
	return k->arena;
}

void seam_kernel_arena_used(struct seam_kernel *k, uint64_t end)
{
	uint32_t number = seam_kernel_client(k);
	bool is_made = end > SEAM_MADE_OFFSET;
	uint64_t begin = is_made ? SEAM_MADE_OFFSET + number * SEAM_MADE_SIZE
				 : SEAM_TABLES_OFFSET;
	uint64_t *used = is_made ? &k->common->used_made[number]
				 : &k->common->used_files;

	/* Nobody else writes there: the owner, or who has the number. */
	if (end - begin > __atomic_load_n(used, __ATOMIC_RELAXED))
		__atomic_store_n(used, end - begin, __ATOMIC_RELAXED);
}

static struct bpf_map *map_of(struct seam_kernel *k,
			      const struct seam_file_key *key)
{
	return SEAM_KEY_IS_OWN(key->kind) ? k->skel->maps.made_tables
					  : k->skel->maps.tables;
}

uint32_t seam_kernel_table_id(struct seam_kernel *k)
{
	return __atomic_add_fetch(&k->common->next_id, 1, __ATOMIC_SEQ_CST);
}

int seam_kernel_table_next(struct seam_kernel *k,
			   const struct seam_file_key *key,
			   struct seam_file_key *ret)
{
	return bpf_map__get_next_key(k->skel->maps.tables, key, ret,
				     sizeof(*ret));
}

int seam_kernel_own_table_next(struct seam_kernel *k,
			       const struct seam_file_key *key,
			       struct seam_file_key *ret)
{
	return bpf_map__get_next_key(k->skel->maps.made_tables, key, ret,
				     sizeof(*ret));
}

int seam_kernel_table_put(struct seam_kernel *k,
			  const struct seam_file_key *key,
			  const struct seam_table_ref *ref)
{
	return bpf_map__update_elem(map_of(k, key), key, sizeof(*key), ref,
				    sizeof(*ref), BPF_ANY);
}

int seam_kernel_table_get(struct seam_kernel *k,
			  const struct seam_file_key *key,
			  struct seam_table_ref *ret)
{
	return bpf_map__lookup_elem(map_of(k, key), key, sizeof(*key), ret,
				    sizeof(*ret), 0);
}

int seam_kernel_table_drop(struct seam_kernel *k,
			   const struct seam_file_key *key)
{
	return bpf_map__delete_elem(map_of(k, key), key, sizeof(*key), 0);
}

bool seam_kernel_hears_made(const struct seam_kernel *k)
{
	return bpf_program__autoload(k->skel->progs.seam_prctl);
}

void seam_kernel_tables_changed(struct seam_kernel *k)
{
	__atomic_fetch_add(&k->common->generation, 1, __ATOMIC_SEQ_CST);
}
