// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: samples that hold a copy of their stack are unwound: this
 * program's own stack, in a recording laid out by hand. One that is cut says
 * so, and what size would have done; registers of another moment are not
 * believed; a precise event's are taken back; merged into the samples, the
 * stacks are the same, and the copies gone. What the stack before had in
 * common is no other than unwound alone.
 */
#define IMAGE_WORDS 32768

#include "../perfdata/image.h"

#include <inttypes.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "core/err.h"
#include "core/uapi.h"
#include "inject/inject.h"
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

/* A call of it leaves a word for rbx; see precise(). */
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
			 "nop\n"
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
	size_t skip; /* of the stack's room in front: 16, but for precise() */
	uint64_t ip;
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
	add(m, 0); /* no chain */
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
	m->w[at] = pair(PERF_RECORD_SAMPLE,
			(with.misc ? with.misc : PERF_RECORD_MISC_USER) |
				(uint32_t)(8 * (m->n - at)) << 16);
}

struct read {
	struct seam_pd_reader *r;
	struct seam_stitch *s;
	struct seam_stitched out;
};

static void start(struct image *m, bool precise)
{
	struct perf_event_attr attr = clock_attr;

	attr.precise_ip = precise ? 2 : 0;
	memset(m, 0, sizeof(*m));
	begin(m, &attr, 1);
	add_maps(m, 5);
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

static void whole(void **state)
{
	struct image m;
	struct read in;

	(void)state;
	start(&m, false);
	add_sample(&m, &now, (struct with){0});
	open_all(&in, &m);
	next(&in, SEAM_HALF_WITH, SEAM_OUTERMOST);
	check_frames(&in.out, 0);
	assert_true(in.out.from_copy);
	assert_int_equal(in.out.n_kernel, 0);
	assert_int_equal(seam_stitch_stats(in.s)->copies, 1);
	close_all(&in);
}

/* The size that is told is one that does, and 8 bytes less does not. */
static void cut(void **state)
{
	const struct seam_stitch_stats *st;
	struct image m;
	struct read in;
	size_t size;

	(void)state;
	start(&m, false);
	add_sample(&m, &now, (struct with){.room = 64});
	open_all(&in, &m);
	next(&in, SEAM_HALF_WITH, SEAM_UNREADABLE);
	assert_true(in.out.depth <= 64);
	close_all(&in);

	start(&m, false);
	add_sample(&m, &now, (struct with){.room = 64});
	add_sample(&m, &now, (struct with){0});
	open_all(&in, &m);
	next(&in, SEAM_HALF_WITH, SEAM_UNREADABLE);
	next(&in, SEAM_HALF_WITH, SEAM_OUTERMOST);
	assert_int_equal(seam_stitch_next(in.s, &in.out), 0);
	st = seam_stitch_stats(in.s);
	assert_int_equal(st->copies_cut, 1);
	assert_false(st->copy_size_is_least);
	size = st->copy_size;
	assert_true(size > 64 && size <= now.size);
	close_all(&in);

	start(&m, false);
	add_sample(&m, &now, (struct with){.room = size});
	add_sample(&m, &now, (struct with){.room = size - 8});
	open_all(&in, &m);
	next(&in, SEAM_HALF_WITH, SEAM_OUTERMOST);
	next(&in, SEAM_HALF_WITH, SEAM_UNREADABLE);
	close_all(&in);
}

/* A process's samples in the kernel, of whose registers something is wrong. */
static void other_moment(void **state)
{
	const struct with kernel = {.misc = PERF_RECORD_MISC_KERNEL};
	struct moment *bad = malloc(sizeof(*bad));
	struct image m;
	struct read in;

	(void)state;
	assert_non_null(bad);
	start(&m, false);
	add_sample(&m, &now, kernel);
	*bad = now;
	bad->regs[SP] = 0xffffc90000123000;
	add_sample(&m, bad, kernel);
	bad->regs[SP] = now.regs[IP] & ~UINT64_C(7); /* code */
	add_sample(&m, bad, kernel);
	*bad = now;
	memset(bad->stack, 0x18, sizeof(bad->stack)); /* no code */
	add_sample(&m, bad, kernel);
	add_sample(&m, bad, (struct with){0});
	add_sample(&m, &now,
		   (struct with){.misc = kernel.misc, .no_regs = true});
	open_all(&in, &m);
	next(&in, SEAM_HALF_WITH, SEAM_OUTERMOST);
	for (int i = 0; i < 3; i++) {
		next(&in, SEAM_HALF_WITH, SEAM_UNSURE);
		assert_int_equal(in.out.n_frames, in.out.n_kernel);
	}
	/* There the registers are those of the ip. */
	next(&in, SEAM_HALF_WITH, SEAM_NO_TABLE);
	next(&in, SEAM_HALF_WITH, SEAM_UNSURE);
	assert_int_equal(seam_stitch_stats(in.s)->end[SEAM_UNSURE], 4);
	close_all(&in);
	free(bad);
}

/* Kernel threads map nothing. */
static void no_user(void **state)
{
	struct perf_event_attr attr = clock_attr;
	struct image m = {0};
	struct read in;

	(void)state;
	begin(&m, &attr, 1);
	add_sample(&m, &now,
		   (struct with){.misc = PERF_RECORD_MISC_KERNEL,
				 .no_regs = true});
	open_all(&in, &m);
	next(&in, SEAM_HALF_NONE, SEAM_NO_USER);
	assert_int_equal(seam_stitch_stats(in.s)->copies, 0);
	close_all(&in);
}

/* What is said to be of another machine: a copy, and a sample without one. */
static void foreign(void **state)
{
	const struct seam_stitch_stats *st;
	struct image m;
	struct read in;

	(void)state;
	start(&m, false);
	add_header(&m, PD_HEADER_FEATURE, 0, 4);
	add(&m, PD_FEAT_ARCH);
	add(&m, pair(8, 0x30393373)); /* s390 */
	add(&m, 0);
	add_sample(&m, &now, (struct with){0});
	add_sample(&m, &now, (struct with){.no_regs = true});
	open_all(&in, &m);
	next(&in, SEAM_HALF_WITH, SEAM_NO_TABLE);
	assert_int_equal(in.out.n_frames, 1);
	next(&in, SEAM_HALF_WITH, SEAM_UNSURE);
	st = seam_stitch_stats(in.s);
	assert_int_equal(st->copies, 1);
	assert_int_equal(st->copies_foreign, 1);
	close_all(&in);
}

/*
 * push_first was called from here, and its push has made the event: the ip is
 * that of the push, rsp that behind it.
 */
static void precise(void **state)
{
	struct moment *m2 = malloc(sizeof(*m2));
	const struct seam_skid_counts *skid;
	struct image m;
	struct read in;

	(void)state;
	assert_non_null(m2);
	*m2 = now;
	memcpy(m2->stack, &now.regs[BX], 8);
	memcpy(m2->stack + 8, &now.regs[IP], 8);
	m2->regs[SP] -= 16;
	m2->regs[IP] = (uint64_t)(uintptr_t)push_first;
	start(&m, true);
	add_sample(&m, m2,
		   (struct with){.misc = PERF_RECORD_MISC_USER | EXACT_IP,
				 .skip = 16});
	/* The same, where nothing says so but that the two ips differ. */
	m2->regs[IP]++;
	add_sample(&m, m2, (struct with){.skip = 16, .ip = m2->regs[IP] - 1});
	open_all(&in, &m);
	for (int i = 0; i < 2; i++) {
		next(&in, SEAM_HALF_WITH, SEAM_OUTERMOST);
		assert_int_equal(in.out.frames[0].ip, m2->regs[IP] - 1);
		check_frames(&in.out, 1);
	}
	skid = &seam_stitch_stats(in.s)->skid;
	assert_int_equal(skid->n[SEAM_SKID_UNDONE], 2);
	assert_int_equal(skid->by[SEAM_SKID_UNDONE][SEAM_SKID_KIND_PUSH], 2);
	close_all(&in);
	free(m2);
}

static void add_cpuid(struct image *m, const char *text)
{
	uint64_t words[3] = {0};

	strcpy((char *)words, text);
	add_header(m, PD_HEADER_FEATURE, 0, 5);
	add(m, PD_FEAT_CPUID);
	add(m, pair(20, (uint32_t)words[0]));
	add(m, words[0] >> 32 | words[1] << 32);
	add(m, words[1] >> 32 | words[2] << 32);
}

/*
 * The same words of AMD: registers of the interrupt, which may be those of the
 * ip's frame, by luck, but are not those behind its push. They are believed no
 * more than that, and not at all where the ip's function cannot have been
 * called from.
 */
static void precise_elsewhere(void **state)
{
	const struct with exact = {.misc = PERF_RECORD_MISC_USER | EXACT_IP};
	const struct seam_skid_counts *skid;
	struct moment *m2 = malloc(sizeof(*m2));
	struct image m;
	struct read in;

	(void)state;
	assert_non_null(m2);
	*m2 = now;
	memcpy(m2->stack + 8, &now.regs[IP], 8);
	m2->regs[SP] -= 8;
	m2->regs[IP] = (uint64_t)(uintptr_t)push_first;
	start(&m, true);
	add_cpuid(&m, "AuthenticAMD,25,33");
	/* Before the push, as if nothing had run since. */
	add_sample(&m, &now, exact);
	/* Behind the push: its word, which is no code, is no return address. */
	m2->regs[SP] -= 8;
	memset(m2->stack, 0x18, 8);
	add_sample(&m, m2, (struct with){.misc = exact.misc, .skip = 16});
	/* An imprecise one among them. */
	add_sample(&m, &now, (struct with){0});
	open_all(&in, &m);
	next(&in, SEAM_HALF_WITH, SEAM_UNPROVEN);
	check_frames(&in.out, 0);
	next(&in, SEAM_HALF_WITH, SEAM_SKID_MOMENT);
	assert_int_equal(in.out.n_frames, 1);
	assert_int_equal(in.out.frames[0].ip, m2->regs[IP]);
	next(&in, SEAM_HALF_WITH, SEAM_OUTERMOST);
	skid = &seam_stitch_stats(in.s)->skid;
	assert_int_equal(skid->n[SEAM_SKID_UNDONE], 0);
	assert_int_equal(skid->n[SEAM_SKID_MOMENT_END], 1);
	close_all(&in);

	/* Of Intel's the push is taken back. */
	*m2 = now;
	memcpy(m2->stack, &now.regs[BX], 8);
	memcpy(m2->stack + 8, &now.regs[IP], 8);
	m2->regs[SP] -= 16;
	m2->regs[IP] = (uint64_t)(uintptr_t)push_first;
	start(&m, true);
	add_cpuid(&m, "GenuineIntel,6,85,4");
	add_sample(&m, m2, (struct with){.misc = exact.misc, .skip = 16});
	open_all(&in, &m);
	next(&in, SEAM_HALF_WITH, SEAM_OUTERMOST);
	check_frames(&in.out, 1);
	close_all(&in);
	free(m2);
}

/* The stack of another moment: where the leaf's return address should lie, a
 * word that is code. Return: whether it was there. */
static bool set_return(struct moment *m, uint64_t to)
{
	for (size_t i = 16; i < sizeof(m->stack) - 8; i += 8)
		if (!memcmp(m->stack + i, &m->callers[0], 8)) {
			memcpy(m->stack + i, &to, 8);
			return true;
		}
	return false;
}

/*
 * In the kernel SP may be that of an earlier entry. Where the word there is
 * behind no call, or behind one of another function, it is not believed; in
 * user mode there is no such doubt.
 */
static void stale(void **state)
{
	const uint64_t words[] = {
		now.callers[1], /* behind the call of outer */
		(uint64_t)(uintptr_t)outer + 2, /* behind none */
		now.callers[0], /* its own */
	};
	struct moment *m2 = malloc(sizeof(*m2));
	struct image m;
	struct read in;

	(void)state;
	assert_non_null(m2);
	start(&m, false);
	for (size_t i = 0; i < 3; i++) {
		*m2 = now;
		assert_true(set_return(m2, words[i]));
		add_sample(&m, m2,
			   (struct with){.misc = PERF_RECORD_MISC_KERNEL});
		add_sample(&m, m2,
			   (struct with){.misc = PERF_RECORD_MISC_USER});
	}
	open_all(&in, &m);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(seam_stitch_next(in.s, &in.out), 1);
		assert_int_equal(in.out.end == SEAM_UNSURE, i < 2);
		assert_int_equal(in.out.n_stack == 0, i < 2);
		assert_int_equal(seam_stitch_next(in.s, &in.out), 1);
		assert_int_not_equal(in.out.end, SEAM_UNSURE);
		assert_int_equal(in.out.frames[in.out.n_kernel + 1].ip,
				 words[i]);
	}
	assert_int_equal(seam_stitch_next(in.s, &in.out), 0);
	assert_int_equal(seam_stitch_stats(in.s)->end[SEAM_UNSURE], 2);
	close_all(&in);
	free(m2);
}

/* More than a window, so that threads are at it: each in its place. */
static void many(void **state)
{
	struct image *m = malloc(sizeof(*m));
	struct moment *at = malloc(7 * sizeof(*at));
	struct read in;
	size_t n = 0;

	(void)state;
	assert_non_null(m);
	assert_non_null(at);
	for (size_t i = 0; i < 7; i++) {
		at[i] = now;
		at[i].regs[IP] += i;
	}
	start(m, false);
	for (; m->n + 64 < IMAGE_WORDS; n++)
		add_sample(m, &at[n % 7],
			   (struct with){.room = 8 * (1 + n % 3),
					 .tid = (uint32_t)(100 + n)});
	open_all(&in, m);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(seam_stitch_next(in.s, &in.out), 1);
		assert_int_equal(in.out.rec->tid, 100 + i);
		assert_true(in.out.depth <= 8 * (1 + i % 3));
		assert_int_equal(in.out.frames[0].ip, now.regs[IP] + i % 7);
	}
	assert_int_equal(seam_stitch_stats(in.s)->copies, n);
	close_all(&in);
	free(at);
	free(m);
}

/* Where the word is in the copy that leads to the outer caller. */
static uint8_t *outer_word(struct moment *m)
{
	for (size_t at = 16; at < 16 + m->size; at += 8)
		if (!memcmp(m->stack + at, &now.callers[1], 8))
			return m->stack + at;
	return NULL;
}

struct variant {
	struct moment of;
	struct with with;
	bool is_hidden; /* the outer caller is in no file */
};

static void add_variant(struct image *m, const struct variant *v)
{
	const uint64_t at[3] = {now.callers[1] - 1, now.callers[1] + 1, 0};

	if (v->is_hidden)
		add_map(m, 5, at, "//anon");
	add_sample(m, &v->of, v->with);
}

static void same_as_alone(struct read *in, const struct variant *v)
{
	struct image *m = malloc(sizeof(*m));
	struct read alone;

	assert_non_null(m);
	start(m, false);
	add_variant(m, v);
	open_all(&alone, m);
	assert_int_equal(seam_stitch_next(alone.s, &alone.out), 1);
	assert_int_equal(seam_stitch_next(in->s, &in->out), 1);
	assert_int_equal(in->out.end, alone.out.end);
	assert_int_equal(in->out.depth, alone.out.depth);
	assert_int_equal(in->out.n_frames, alone.out.n_frames);
	for (size_t i = 0; i < alone.out.n_frames; i++) {
		assert_int_equal(in->out.frames[i].ip, alone.out.frames[i].ip);
		assert_int_equal(in->out.frames[i].method,
				 alone.out.frames[i].method);
	}
	close_all(&alone);
	free(m);
}

/* The first stack's steps are taken again in those where nothing of them has
 * changed: not where a word has, or is behind the copy, or what is mapped. */
static void again(void **state)
{
	const uint64_t other = (uint64_t)(uintptr_t)push_first + 1;
	struct variant *v = calloc(6, sizeof(*v));
	struct image *m = malloc(sizeof(*m));
	struct read in;
	size_t off;

	(void)state;
	assert_non_null(v);
	assert_non_null(m);
	for (size_t i = 0; i < 6; i++)
		v[i].of = now;
	assert_non_null(outer_word(&v[2].of));
	memcpy(outer_word(&v[2].of), &other, 8);
	off = (size_t)(outer_word(&v[3].of) - v[3].of.stack) - 16;
	v[3].with.room = off;
	v[4].with.room = off + 8;
	v[5].is_hidden = true;
	start(m, false);
	for (size_t i = 0; i < 6; i++)
		add_variant(m, &v[i]);
	open_all(&in, m);
	for (size_t i = 0; i < 6; i++) {
		same_as_alone(&in, &v[i]);
		if (i == 2)
			assert_int_equal(in.out.frames[2].ip, other);
		assert_int_equal(in.out.end == SEAM_OUTERMOST, i < 2);
	}
	close_all(&in);
	free(m);
	free(v);
}

/* The same stacks without copies; and there is nothing left to merge. */
static void merged(void **state)
{
	const struct with kernel = {.misc = PERF_RECORD_MISC_KERNEL};
	struct seam_injected n;
	struct seam_errinfo err;
	struct image m;
	struct read in;
	void *p;
	int fd = memfd_create("merged", 0);

	(void)state;
	start(&m, false);
	add_sample(&m, &now, (struct with){0});
	add_sample(&m, &now, (struct with){.room = 64});
	add_sample(&m, &now, (struct with){kernel.misc, .no_regs = true});
	in.r = open_image(&m);
	assert_true(seam_inject_needed(in.r));
	assert_int_equal(seam_inject(in.r, fd, NULL, &n), 0);
	seam_pd_close(in.r);
	assert_int_equal(n.merged, 2);
	p = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(seam_pd_open_mem(p, (size_t)lseek(fd, 0, SEEK_END),
					  &in.r, &err),
			 0);
	assert_false(seam_inject_needed(in.r));
	assert_int_equal(seam_stitch_new(in.r, &in.s), 0);
	next(&in, SEAM_HALF_WITH, SEAM_OUTERMOST);
	check_frames(&in.out, 0);
	assert_int_equal(in.out.rec->sample.user_stack_room, 0);
	next(&in, SEAM_HALF_WITH, SEAM_UNREADABLE);
	next(&in, SEAM_HALF_WITH, SEAM_UNSURE);
	close_all(&in);
	munmap(p, 65536);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(cut),
		cmocka_unit_test(other_moment),
		cmocka_unit_test(no_user),
		cmocka_unit_test(foreign),
		cmocka_unit_test(precise),
		cmocka_unit_test(precise_elsewhere),
		cmocka_unit_test(stale),
		cmocka_unit_test(many),
		cmocka_unit_test(again),
		cmocka_unit_test(merged),
	};

	/* No folder for tables can be made there. */
	setenv("XDG_CACHE_HOME", "/proc", 1);
	outer(&now);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
