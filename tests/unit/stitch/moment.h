/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* This program's own stack, and recordings of it that are laid out by hand. */
#ifndef TESTS_UNIT_STITCH_MOMENT_H
#define TESTS_UNIT_STITCH_MOMENT_H

#define IMAGE_WORDS 65536

#include "../perfdata/image.h"

#include <inttypes.h>
#include <sys/uio.h>

#include "core/err.h"
#include "core/uapi.h"
#include "stitch/stitch.h"
#include "unwind/perf-regs.h"

#define STACK_MAX 8192 /* bytes */
#define EXACT_IP PERF_RECORD_MISC_EXACT_IP
#define FRAMES_MAX 64

enum { AX, BX, CX, DX, SI, DI, BP, SP, IP, FLAGS, N_REGS = 18 };

/* One moment of this program: registers, by perf's order, and stack. */
struct moment {
	uint64_t regs[N_REGS];
	uint8_t stack[16 + STACK_MAX]; /* room in front for a call's words */
	size_t size;
	uint64_t callers[2]; /* return addresses that must be in it */
};

static struct moment now;

/* A call of it leaves a word for rbx; see test-moments.c. */
__asm__(".text\n"
	".type push_first, @function\n"
	"push_first:\n"
	".cfi_startproc\n"
	"push %rbx\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbx, -16\n"
	"pop %rbx\n"
	".cfi_def_cfa_offset 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size push_first, . - push_first\n");
void push_first(void);

/* What can be had of the stack, to its end or the room's. */
static void copy_stack(struct moment *m)
{
	struct iovec from = {(void *)(uintptr_t)m->regs[SP], 0};
	struct iovec to = {m->stack + 16, 0};

	for (m->size = 0; m->size < STACK_MAX; m->size += 64) {
		from.iov_len = to.iov_len = 64;
		from.iov_base = (void *)(uintptr_t)(m->regs[SP] + m->size);
		to.iov_base = m->stack + 16 + m->size;
		if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != 64)
			break;
	}
}

__attribute__((noipa)) static void take(struct moment *m)
{
	m->callers[0] = (uint64_t)(uintptr_t)__builtin_return_address(0);
	__asm__ volatile("mov %%rbx, 8(%0)\n"
			 "mov %%rbp, 48(%0)\n"
			 "mov %%rsp, 56(%0)\n"
			 "mov %%r12, 112(%0)\n"
			 "mov %%r13, 120(%0)\n"
			 "mov %%r14, 128(%0)\n"
			 "mov %%r15, 136(%0)\n"
			 "lea 1f(%%rip), %%rax\n"
			 "mov %%rax, 64(%0)\n"
			 "jmp 1f\n"
			 "call *%%rax\n" /* so that 1 is behind some call */
			 "1: nop\n"
			 :
			 : "r"(m->regs)
			 : "rax", "memory");
	m->regs[AX] = 1;
	copy_stack(m);
}

/* What sanitizers put in looks as if it might jump elsewhere. */
__attribute__((noipa, no_sanitize("address"),
	       no_sanitize("undefined"))) static void
outer(struct moment *m)
{
	m->callers[1] = (uint64_t)(uintptr_t)__builtin_return_address(0);
	take(m);
	__asm__ volatile("" : : "r"(m) : "memory");
}

/* And recordings of it find no folder for tables. */
static void take_now(void)
{
	setenv("XDG_CACHE_HOME", "/proc", 1);
	outer(&now);
}

static const struct perf_event_attr clock_attr = {
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
		       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
		       PERF_SAMPLE_STACK_USER,
	.sample_regs_user = SEAM_PERF_REGS_MASK,
	.sample_stack_user = STACK_MAX,
	.exclude_callchain_user = 1,
};

static void add_map(struct image *m, uint32_t pid, const uint64_t at[3],
		    const char *path)
{
	size_t words = strlen(path) / 8 + 1;
	char text[4096] = "";

	strcpy(text, path);
	add_header(m, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, 9 + words);
	add(m, pair(pid, pid));
	add(m, at[0]);
	add(m, at[1] - at[0]);
	add(m, at[2]);
	add(m, 0);
	add(m, 1);
	add(m, 0);
	add(m, pair(5, 2));
	for (size_t i = 0; i < words; i++) {
		uint64_t w;

		memcpy(&w, text + 8 * i, 8);
		add(m, w);
	}
}

/* All code of this program. */
static void add_maps(struct image *m, uint32_t pid)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4352], prot[8], path[4096];
	uint64_t at[3];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line,
			   "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64
			   " %*s %*s %4095s",
			   &at[0], &at[1], prot, &at[2], path) == 5 &&
		    prot[2] == 'x')
			add_map(m, pid, at, path);
	fclose(f);
}

/* What is 0 is as in a sample of this program in user mode. */
struct with {
	uint16_t misc;
	uint32_t tid;
	bool no_regs;
	size_t room; /* of the copy */
	size_t skip; /* of the stack's room in front: 16, but behind calls */
	uint64_t ip;
	const uint64_t *chain;
	size_t n_chain;
	bool intr; /* the event asks for REGS_INTR */
};

static void add_sample(struct image *m, const struct moment *of,
		       struct with with)
{
	static uint64_t time_ns;
	size_t room = with.room ? with.room : of->size;
	const uint8_t *stack = of->stack + 16 - with.skip;
	size_t at = m->n;
	uint64_t w;

	add(m, 0);
	add(m, with.ip ? with.ip : of->regs[IP]);
	add(m, pair(5, with.tid ? with.tid : 5));
	add(m, ++time_ns);
	add(m, with.n_chain);
	for (size_t i = 0; i < with.n_chain; i++)
		add(m, with.chain[i]);
	add(m, with.no_regs ? 0 : 2);
	for (size_t i = 0; !with.no_regs && i < N_REGS; i++)
		add(m, of->regs[i]);
	add(m, with.no_regs ? 0 : room);
	for (size_t i = 0; !with.no_regs && i < room; i += 8) {
		memcpy(&w, stack + i, 8);
		add(m, w);
	}
	if (!with.no_regs)
		add(m, room);
	if (with.intr)
		add(m, 0); /* there are none */
	m->w[at] = pair(PERF_RECORD_SAMPLE,
			(with.misc ? with.misc : PERF_RECORD_MISC_USER) |
				(uint32_t)(8 * (m->n - at)) << 16);
}

struct read {
	struct seam_pd_reader *r;
	struct seam_stitch *s;
	struct seam_stitched out;
};

static void start_as(struct image *m, struct perf_event_attr attr)
{
	memset(m, 0, sizeof(*m));
	begin(m, &attr, 1);
	add_maps(m, 5);
}

static void start(struct image *m, bool precise)
{
	struct perf_event_attr attr = clock_attr;

	attr.precise_ip = precise ? 2 : 0;
	start_as(m, attr);
}

/* Its registers are those that PEBS has stored. */
static inline void start_pebs(struct image *m)
{
	struct perf_event_attr attr = clock_attr;

	attr.precise_ip = 2;
	attr.sample_type |= PERF_SAMPLE_REGS_INTR;
	attr.sample_regs_intr = attr.sample_regs_user;
	start_as(m, attr);
}

static void open_all(struct read *in, const struct image *m)
{
	in->r = open_image(m);
	assert_int_equal(seam_stitch_new(in->r, &in->s), 0);
}

static void next(struct read *in, enum seam_half half, int end)
{
	assert_int_equal(seam_stitch_next(in->s, &in->out), 1);
	assert_int_equal(in->out.half, half);
	assert_string_equal(seam_err_name(in->out.end), seam_err_name(end));
}

static void close_all(struct read *in)
{
	assert_int_equal(seam_stitch_next(in->s, &in->out), 0);
	seam_stitch_free(in->s);
	seam_pd_close(in->r);
}

static void check_frames(const struct seam_stitched *out, size_t at)
{
	assert_true(out->n_frames > at + 2);
	assert_int_equal(out->frames[at].ip, now.regs[IP]);
	assert_int_equal(out->frames[at + 1].ip, now.callers[0]);
	assert_int_equal(out->frames[at + 2].ip, now.callers[1]);
}

#endif
