// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: each ELF file that the machine has is converted to SFrame,
 * verified, and says at the start and the end of each row of its CFI what
 * our evaluator and what elfutils' libdw say; and all but one byte in 2,000
 * of the code that CFI covers has a rule. More may lack one only where a hand
 * wrote the CFI: as an expression, or with SP from elsewhere; there the form
 * for the kernel has a rule for 99 bytes in 100. What lacks one is counted by
 * its cause.
 *
 * Some 60 files of them; with SEAM_TEST_ALL=1 all under /usr/bin, /usr/sbin
 * and /usr/lib; or those named on the command line. Two processes share the
 * work. Prints the files that lack rules, and the totals.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/sframe-read.h"
#include "sframe/verify.h"
#include "table/table.h"
#include "triple.h"

#define WORKERS 2
#define SAMPLE 52
#define PLT_MAX 96

/* Shared by the workers. */
static struct shared {
	size_t next;
	uint64_t files, no_cfi, not_ours, rows, compared, by_dw, undecided;
	uint64_t code, holes[SEAM_HOLE_NUM], hole_bytes;
	uint64_t hand_code, hand_holes; /* of files with CFI by hand */
	uint64_t outside, overlap, malformed, table, eh_frame;
	uint64_t wrong;
} * sum;

#define ADD(field, n) __atomic_fetch_add(&sum->field, (n), __ATOMIC_RELAXED)

struct check {
	const char *path;
	const struct seam_elf *elf;
	const struct seam_cfi_arch *arch;
	struct seam_sframe sf;
	Dwarf *dwarf;
	Dwarf_CFI *eh, *debug;
	uint64_t rows, compared, by_dw, undecided, hole_bytes, wrong;
	uint64_t expr_func; /* the last function that had a CFA expression */
};

static void wrong(struct check *c, uint64_t pc, const char *what)
{
	if (c->wrong++ < 5)
		printf("%s: %#" PRIx64 ": %s\n", c->path, pc, what);
}

/* Return: whether the row begins in code; then up to where it goes on. */
static bool find_code(const struct check *c, const struct seam_cfi_row *row,
		      uint64_t *ret_end)
{
	size_t n;
	const struct seam_elf_segment *s = seam_elf_segments(c->elf, &n);

	for (size_t i = 0; i < n; i++) {
		uint64_t off = row->start - s[i].svma;

		if (!(s[i].flags & PF_X) || off >= s[i].filesz)
			continue;
		*ret_end = row->end;
		if (row->end - row->start > s[i].filesz - off)
			*ret_end = row->start + s[i].filesz - off;
		return true;
	}
	return false;
}

static void compare(struct check *c, uint64_t pc, const struct triple *rule,
		    const struct triple *other, const char *who)
{
	char what[64];

	if (rule->outermost == other->outermost &&
	    (rule->outermost ||
	     (rule->cfa == other->cfa && rule->ra == other->ra &&
	      rule->fp == other->fp)))
		return;
	snprintf(what, sizeof(what), "the table differs from %s", who);
	wrong(c, pc, what);
}

static Dwarf_Frame *frame_at(const struct check *c, uint64_t pc)
{
	Dwarf_Frame *frame;

	if (c->eh && !dwarf_cfi_addrframe(c->eh, pc, &frame))
		return frame;
	if (c->debug && !dwarf_cfi_addrframe(c->debug, pc, &frame))
		return frame;
	return NULL;
}

/* libdw takes nothing of relocatable files: it sees fields of 0. */
static void compare_dw(struct check *c, const struct seam_cfi_row *row,
		       uint64_t pc, const struct triple *rule)
{
	struct triple dw;
	Dwarf_Frame *frame;

	if (!c->eh && !c->debug)
		return;
	frame = frame_at(c, pc);
	if (!frame) {
		wrong(c, pc, "libdw has no row");
		return;
	}
	dw = triple_of_dw(frame, pc, c->arch);
	free(frame);
	/* libdw keeps an expression and an offset in one place, and takes the
	 * one for the other in a function that has both. */
	if (!dw.known ||
	    (!row->cfa_is_expr && c->expr_func == row->func_start)) {
		c->undecided++;
		return;
	}
	c->by_dw++;
	compare(c, pc, rule, &dw, "libdw");
}

/* Return: whether the table has a rule. */
static bool check_pc(struct check *c, const struct seam_cfi_row *row,
		     uint64_t pc, bool with_dw)
{
	struct triple by_rule, by_row;
	struct seam_rule rule;
	int err = seam_sframe_find(&c->sf, pc, &rule);

	if (err == SEAM_NO_RULE)
		return false;
	if (err) {
		wrong(c, pc, "the table is malformed");
		return false;
	}
	c->compared++;
	by_rule = triple_of_rule(&rule, pc, c->arch);
	by_row = triple_of_row(row, pc, c->arch);
	if (by_row.known)
		compare(c, pc, &by_rule, &by_row, "its row");
	else if (c->arch->abi == SEAM_SFRAME_ABI_AMD64)
		wrong(c, pc, "a rule where its row says nothing");
	if (by_row.known && !by_row.outermost && !by_row.sp_loaded &&
	    by_row.sp != by_rule.sp)
		wrong(c, pc, "the caller's SP is not the CFA");
	if (!!(rule.flags & SEAM_RULE_SIGNAL) != row->signal)
		wrong(c, pc, "signal frame or not");
	if (!!(rule.flags & SEAM_RULE_MANGLED) !=
	    (row->ra_state == SEAM_CFI_RA_SIGNED && !by_rule.outermost))
		wrong(c, pc, "the return address is signed or not");
	if (with_dw)
		compare_dw(c, row, pc, &by_rule);
	return true;
}

static int on_row(void *ctx, const struct seam_cfi_row *row)
{
	struct check *c = ctx;
	uint64_t size, end;

	c->rows++;
	if (row->cfa_is_expr)
		c->expr_func = row->func_start;
	if (!find_code(c, row, &end))
		return 0;
	size = end - row->start;
	if (!check_pc(c, row, row->start, true))
		c->hole_bytes += size;
	check_pc(c, row, end - 1, false);
	/* Within a PLT the rule changes with the address. */
	for (uint64_t i = 1; row->cfa_is_expr && i < size && i < PLT_MAX; i++)
		check_pc(c, row, row->start + i, true);
	return 0;
}

static void open_dw(struct check *c)
{
	Elf *elf = seam_elf_libelf(c->elf);

	if (seam_elf_type(c->elf) == ET_REL)
		return;
	c->eh = dwarf_getcfi_elf(elf);
	c->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	c->debug = c->dwarf ? dwarf_getcfi(c->dwarf) : NULL;
}

static void close_dw(struct check *c)
{
	if (c->eh)
		dwarf_cfi_end(c->eh);
	if (c->dwarf)
		dwarf_end(c->dwarf);
}

static double percent(uint64_t part, uint64_t of)
{
	return of ? 100.0 * (double)part / (double)of : 100.0;
}

/* The share with a rule in the kernel's form. */
static double kernel_share(const struct seam_elf *elf)
{
	struct seam_table_stats s;
	uint8_t *bytes;
	size_t size;

	if (seam_table_build_kernel(elf, &bytes, &size, &s, NULL))
		return 0;
	free(bytes);
	return percent(s.code_bytes - s.hole_bytes, s.code_bytes);
}

static void check_share(struct check *c, const struct seam_table_stats *s)
{
	/* No compiler writes these two. */
	uint64_t by_hand =
		s->holes[SEAM_HOLE_CFA_EXPR] + s->holes[SEAM_HOLE_SP];
	double share = percent(s->code_bytes - s->hole_bytes, s->code_bytes);
	bool is_low = s->hole_bytes > s->code_bytes / 2000;
	char causes[512] = "";
	size_t len = 0;

	if (!is_low)
		return;
	for (int i = 0; i < SEAM_HOLE_NUM; i++)
		if (s->holes[i] && len < sizeof(causes))
			len += (size_t)snprintf(
				causes + len, sizeof(causes) - len,
				" %s %" PRIu64, seam_hole_text(i), s->holes[i]);
	printf("%s: %.3f %% of %" PRIu64 " bytes,%s\n", c->path, share,
	       s->code_bytes, causes);
	if (s->hole_bytes - by_hand > s->code_bytes / 2000) {
		wrong(c, 0, "too few rules, for code of compilers");
		return;
	}
	ADD(hand_code, s->code_bytes);
	ADD(hand_holes, s->hole_bytes);
	if (c->arch->abi != SEAM_SFRAME_ABI_AMD64)
		return;
	share = kernel_share(c->elf);
	printf("  in the kernel's form %.3f %%\n", share);
	if (share < 99)
		wrong(c, 0, "too few rules, in the kernel's form too");
}

static void add_sums(const struct check *c, const struct seam_table_stats *s,
		     size_t table)
{
	struct seam_elf_section eh;

	ADD(files, 1);
	ADD(rows, c->rows);
	ADD(compared, c->compared);
	ADD(by_dw, c->by_dw);
	ADD(undecided, c->undecided);
	ADD(code, s->code_bytes);
	ADD(hole_bytes, s->hole_bytes);
	for (int i = 0; i < SEAM_HOLE_NUM; i++)
		ADD(holes[i], s->holes[i]);
	ADD(outside, s->outside);
	ADD(overlap, s->overlap_bytes);
	ADD(malformed, s->malformed);
	ADD(table, table);
	if (!seam_elf_section(c->elf, ".eh_frame", &eh))
		ADD(eh_frame, eh.size);
}

static void check_table(struct check *c, const uint8_t *bytes, size_t size,
			const struct seam_table_stats *stats)
{
	struct seam_errinfo err;
	struct seam_cfi *cfi;

	if (seam_sframe_verify(bytes, size, NULL, &err)) {
		wrong(c, err.offset, err.reason);
		return;
	}
	if (seam_sframe_open(&c->sf, bytes, size) ||
	    seam_cfi_open(c->elf, &cfi, NULL)) {
		wrong(c, 0, "what was made cannot be opened");
		return;
	}
	open_dw(c);
	seam_cfi_each(cfi, on_row, NULL, c);
	close_dw(c);
	seam_cfi_close(cfi);
	if (c->hole_bytes != stats->hole_bytes - stats->holes[SEAM_HOLE_BAD])
		wrong(c, 0, "the holes are not those that are declared");
	if (stats->malformed)
		wrong(c, 0, "malformed CFI");
	check_share(c, stats);
	add_sums(c, stats, size);
}

static void check_elf(const char *path, const struct seam_elf *elf)
{
	struct check c = {.path = path, .elf = elf};
	struct seam_table_stats stats;
	struct seam_errinfo why = {0};
	uint8_t *bytes;
	size_t size;
	int rc;

	c.arch = seam_cfi_arch_of(seam_elf_machine(elf), !seam_elf_is_le(elf));
	if (!c.arch) {
		ADD(not_ours, 1);
		return;
	}
	rc = seam_table_build(elf, &bytes, &size, &stats, &why);
	if (rc == -ENOENT) {
		ADD(no_cfi, 1);
	} else if (rc) {
		wrong(&c, 0, why.reason);
	} else {
		check_table(&c, bytes, size, &stats);
		free(bytes);
	}
	ADD(wrong, c.wrong);
}

static void check_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct seam_elf *elf;

	if (fd < 0)
		return;
	if (!seam_elf_open_fd(fd, 0, &elf, NULL)) {
		check_elf(path, elf);
		seam_elf_close(elf);
	} else {
		ADD(not_ours, 1);
	}
	close(fd);
}

static struct found {
	char *path;
	off_t size;
} * files;
static size_t num_files, max_files;

static void add_file(const char *path, off_t size)
{
	if (num_files == max_files) {
		max_files = max_files ? 2 * max_files : 1024;
		files = reallocarray(files, max_files, sizeof(*files));
	}
	files[num_files].path = strdup(path);
	files[num_files++].size = size;
}

static int visit(const char *path, const struct stat *st, int type,
		 struct FTW *ftw)
{
	char magic[4];
	int fd;

	(void)ftw;
	if (type != FTW_F || st->st_size < 64)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	if (read(fd, magic, 4) == 4 && !memcmp(magic, ELFMAG, SELFMAG))
		add_file(path, st->st_size);
	close(fd);
	return 0;
}

/* The largest first, so that the workers end together. */
static int by_size(const void *va, const void *vb)
{
	const struct found *a = va, *b = vb;

	if (a->size != b->size)
		return a->size < b->size ? 1 : -1;
	return strcmp(a->path, b->path);
}

static void find_files(void)
{
	static const char *const named[] = {
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libm.so.6",
		"/usr/bin/python3",
		"/usr/bin/git",
		"/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
	};
	size_t all, step, kept = 0;
	char real[4096];

	nftw("/usr/bin", visit, 64, FTW_PHYS);
	nftw("/usr/sbin", visit, 64, FTW_PHYS);
	nftw("/usr/lib", visit, 64, FTW_PHYS);
	qsort(files, num_files, sizeof(*files), by_size);
	if (getenv("SEAM_TEST_ALL"))
		return;
	/* Of each size some, but none of the very largest. */
	all = num_files;
	step = all / SAMPLE + 1;
	for (size_t i = 0; i < all; i++)
		if (i % step == step - 1)
			files[kept++] = files[i];
		else
			free(files[i].path);
	num_files = kept;
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++)
		if (realpath(named[i], real))
			add_file(real, 0);
}

static void work(void)
{
	size_t i;

	while ((i = ADD(next, 1)) < num_files)
		check_file(files[i].path);
	fflush(stdout);
}

static bool run_workers(void)
{
	bool ok = true;
	int status;

	fflush(stdout);
	for (int i = 0; i < WORKERS; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return false;
		if (!pid) {
			work();
			_exit(0);
		}
	}
	for (int i = 0; i < WORKERS; i++)
		if (wait(&status) < 0 || status)
			ok = false;
	return ok;
}

static void free_files(void)
{
	for (size_t i = 0; i < num_files; i++)
		free(files[i].path);
	free(files);
}

static void print_totals(void)
{
	printf("%" PRIu64 " files, %" PRIu64 " more without CFI, %" PRIu64
	       " of other machines\n",
	       sum->files, sum->no_cfi, sum->not_ours);
	printf("%" PRIu64 " rows; %" PRIu64 " addresses compared with rows, "
	       "%" PRIu64 " with libdw, %" PRIu64 " it could not say\n",
	       sum->rows, sum->compared, sum->by_dw, sum->undecided);
	printf("%" PRIu64 " bytes of code with CFI, %.4f %% with a rule; %.4f "
	       "%% outside files with hand-written CFI\n",
	       sum->code, percent(sum->code - sum->hole_bytes, sum->code),
	       percent(sum->code - sum->hand_code - sum->hole_bytes +
			       sum->hand_holes,
		       sum->code - sum->hand_code));
	printf("without a rule:");
	for (int i = 0; i < SEAM_HOLE_NUM; i++)
		if (sum->holes[i])
			printf(" %s %" PRIu64, seam_hole_text(i),
			       sum->holes[i]);
	printf("; outside %" PRIu64 ", overlap %" PRIu64 ", malformed %" PRIu64
	       "\n.eh_frame %" PRIu64 " bytes, SFrame %" PRIu64 "\n",
	       sum->outside, sum->overlap, sum->malformed, sum->eh_frame,
	       sum->table);
}

int main(int argc, char **argv)
{
	bool ok;

	sum = mmap(NULL, sizeof(*sum), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sum == MAP_FAILED)
		return 1;
	for (int i = 1; i < argc; i++)
		add_file(argv[i], 0);
	if (argc == 1)
		find_files();
	ok = run_workers();
	free_files();
	if (!ok) {
		printf("a worker did not end well\n");
		return 1;
	}
	print_totals();
	if (!sum->files) {
		printf("skipped: no ELF file found on this machine\n");
		return 77;
	}
	return sum->wrong != 0;
}
