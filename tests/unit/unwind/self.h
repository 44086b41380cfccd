/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * This process as the target of a dump: its mappings, and a capture of its
 * own registers and stack.
 */
#ifndef SEAM_TESTS_UNWIND_SELF_H
#define SEAM_TESTS_UNWIND_SELF_H

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "unwind/dump.h"

#define SELF_OBJECTS 32
#define SELF_IPS 512
#define SELF_STACK (256 * 1024)

struct self {
	struct self_map {
		uint64_t start, end; /* avma */
		struct seam_mapping map;
	} maps[SELF_OBJECTS];
	size_t num_maps;
};

struct capture {
	struct seam_regs regs;
	uint8_t stack[SELF_STACK];
	uint64_t stack_avma;
	size_t stack_size;
	void *backtrace[SELF_IPS]; /* libgcc's view of the same stack */
	int num_backtrace;
};

static inline int self_open(struct dl_phdr_info *info, struct seam_elf **ret)
{
	const char *path =
		info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
	int fd, rc;

	/* The vDSO lies in memory only; two pages hold every known one, and
	 * its section headers come last. */
	if (info->dlpi_addr == getauxval(AT_SYSINFO_EHDR)) {
		const ElfW(Ehdr) *ehdr = (const void *)info->dlpi_addr;

		return seam_elf_open_mem(ehdr,
					 ehdr->e_shoff +
						 (size_t)ehdr->e_shnum *
							 ehdr->e_shentsize,
					 ret, NULL);
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = seam_elf_open_fd(fd, 0, ret, NULL);
	close(fd);
	return rc;
}

static inline int self_add(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct self *self = ctx;
	struct seam_elf *elf = NULL;
	struct seam_cfi *cfi = NULL;

	(void)size;
	if (!self_open(info, &elf))
		seam_cfi_open(elf, &cfi, NULL);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) ||
		    self->num_maps == SELF_OBJECTS)
			continue;
		self->maps[self->num_maps++] = (struct self_map){
			.start = start,
			.end = start + ph->p_memsz,
			.map.bias = info->dlpi_addr,
			.map.elf = elf,
			.map.cfi = cfi,
		};
	}
	return 0;
}

static inline int self_find(void *ctx, uint64_t avma, struct seam_mapping *ret)
{
	const struct self *self = ctx;

	for (size_t i = 0; i < self->num_maps; i++) {
		if (avma < self->maps[i].start || avma >= self->maps[i].end)
			continue;
		*ret = self->maps[i].map;
		return 0;
	}
	return -ENOENT;
}

/* The end of the stack that sp lies in, as /proc/self/maps has it. */
static inline uint64_t self_stack_end(uint64_t sp)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long start, end, found = 0;
	char line[512];

	while (f && !found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && sp >= start &&
		    sp < end)
			found = end;
	}
	if (f)
		fclose(f);
	return found;
}

/*
 * Registers and stack of the caller's own frame, at this very instruction.
 * A macro: a function would have a frame of its own.
 */
#define CAPTURE_REGS(c)                                                        \
	do {                                                                   \
		uint64_t *r_ = (c)->regs.r;                                    \
                                                                               \
		__asm__ volatile("mov %%rbx, 3*8(%0)\n\t"                      \
				 "mov %%rbp, 6*8(%0)\n\t"                      \
				 "mov %%rsp, 7*8(%0)\n\t"                      \
				 "mov %%r12, 12*8(%0)\n\t"                     \
				 "mov %%r13, 13*8(%0)\n\t"                     \
				 "mov %%r14, 14*8(%0)\n\t"                     \
				 "mov %%r15, 15*8(%0)\n\t"                     \
				 "lea 0f(%%rip), %%rax\n"                      \
				 "0:\tmov %%rax, 16*8(%0)\n\t"                 \
				 :                                             \
				 : "D"(r_)                                     \
				 : "rax", "memory");                           \
		(c)->regs.valid =                                              \
			1u << 3 | 1u << 6 | 1u << 7 | 0xfu << 12 | 1u << 16;   \
	} while (0)

/* from: sp or below. What lies above sp does not change while this runs,
 * except for the caller's own locals. */
static inline void capture_stack(struct capture *c, uint64_t from)
{
	uint64_t size = self_stack_end(from) - from;
	void *to;

	c->stack_avma = from;
	c->stack_size = size < SELF_STACK ? size : SELF_STACK;
	/* Not memcpy: AddressSanitizer's forbids what lies between locals. */
	to = c->stack;
	size = c->stack_size;
	__asm__ volatile("rep movsb"
			 : "+D"(to), "+S"(from), "+c"(size)
			 :
			 : "memory");
}

static inline struct seam_dump self_dump(struct self *self,
					 const struct capture *c)
{
	return (struct seam_dump){
		.regs = c->regs,
		.stack_avma = c->stack_avma,
		.stack = c->stack,
		.stack_size = c->stack_size,
		.find = self_find,
		.ctx = self,
	};
}

#endif
