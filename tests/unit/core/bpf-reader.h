/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Loads read.bpf.c, and asks it. */
#ifndef SEAM_TESTS_CORE_BPF_READER_H
#define SEAM_TESTS_CORE_BPF_READER_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/core/read-bpf.h"

struct bpf_reader {
	struct bpf_object *obj;
	int fd; /* of the program */
	uint8_t *map; /* of map_size bytes */
	size_t map_size;
	uint8_t *bytes; /* where a section is to lie */
};

/* Where the arena is mapped, clear of AddressSanitizer's shadow. A multiple of
 * 4 GiB makes BPF's addresses offsets. */
#define BPF_READER_ARENA_ADDR (1ULL << 45)
/* Newer than the headers of Debian 12. */
#define BPF_READER_JCOND 0xe5

/* Return: 0, or why the kernel does not take the program. */
static inline int bpf_reader_takes(const struct bpf_insn *insns, size_t num)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = BPF_F_SLEEPABLE);
	int fd = bpf_prog_load(BPF_PROG_TYPE_SYSCALL, "probe", "GPL", insns,
			       num, &opts);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* What is missing here, or NULL. What the verifier thinks of the reader is no
 * part of it. */
static inline const char *bpf_reader_missing(void)
{
	const struct bpf_insn zero = {.code = BPF_ALU64 | BPF_MOV | BPF_K};
	/* Over one instruction: older kernels refuse one that goes nowhere. */
	const struct bpf_insn may_goto = {.code = BPF_READER_JCOND, .off = 1};
	const struct bpf_insn leave = {.code = BPF_JMP | BPF_EXIT};
	const struct bpf_insn plain[] = {zero, leave};
	const struct bpf_insn loop[] = {zero, may_goto, zero, leave};
	int err = bpf_reader_takes(plain, 2);

	if (err == -EPERM || err == -EACCES)
		return "no right to load BPF programs";
	if (err)
		return "the kernel has no BPF programs of type syscall";
	if (bpf_reader_takes(loop, 4))
		return "the kernel's BPF lacks may_goto (Linux 6.9)";
	return NULL;
}

static inline int bpf_reader_map(struct bpf_reader *r, bool is_arena)
{
	struct bpf_map *map = bpf_object__find_map_by_name(r->obj, "sections");
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = READ_MAP_SIZE + (is_arena ? READ_ARENA_AT : 0);
	void *at = is_arena ? (void *)BPF_READER_ARENA_ADDR : NULL;

	r->map_size = (size + page - 1) & ~(page - 1);
	r->map = mmap(at, r->map_size, PROT_READ | PROT_WRITE,
		      MAP_SHARED | (is_arena ? MAP_FIXED_NOREPLACE : 0),
		      bpf_map__fd(map), 0);
	if (r->map == MAP_FAILED)
		return -errno;
	r->bytes = r->map + (is_arena ? READ_ARENA_AT : 0);
	return 0;
}

static inline void bpf_reader_fini(struct bpf_reader *r)
{
	if (r->map && r->map != MAP_FAILED)
		munmap(r->map, r->map_size);
	bpf_object__close(r->obj);
	*r = (struct bpf_reader){0};
}

/* elf: the object. Return: 0 or -errno; libbpf has printed the verifier's
 * words. */
static inline int bpf_reader_load(const void *elf, size_t size, bool is_arena,
				  struct bpf_reader *ret)
{
	struct bpf_reader r = {.obj = bpf_object__open_mem(elf, size, NULL)};
	struct bpf_program *prog;
	int err;

	if (!r.obj)
		return -errno;
	if (is_arena)
		bpf_map__set_map_extra(
			bpf_object__find_map_by_name(r.obj, "sections"),
			BPF_READER_ARENA_ADDR);
	err = bpf_object__load(r.obj);
	if (!err)
		err = bpf_reader_map(&r, is_arena);
	prog = bpf_object__find_program_by_name(r.obj, "read_rule");
	r.fd = prog ? bpf_program__fd(prog) : -ENOENT;
	if (err || r.fd < 0) {
		bpf_reader_fini(&r);
		return err ? err : -ENOENT;
	}
	*ret = r;
	return 0;
}

/* What lies behind a section is none of the reader's business. */
static inline void bpf_reader_put(struct bpf_reader *r, const uint8_t *bytes,
				  size_t size)
{
	size_t left = READ_MAP_SIZE - size;

	memcpy(r->bytes, bytes, size);
	memset(r->bytes + size, 0xa5, left < 64 ? left : 64);
}

static inline int bpf_reader_ask(const struct bpf_reader *r,
				 struct read_args *args)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = args,
		    .ctx_size_in = sizeof(*args));
	int err = bpf_prog_test_run_opts(r->fd, &run);

	return err ? err : (int)run.retval;
}

#endif
