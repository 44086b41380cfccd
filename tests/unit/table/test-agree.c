// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: for real programs and libraries, one step by the table's rule
 * and one by the full CFI row lead to the same caller, at every row, from
 * random registers and memory; and the table has no rule exactly where the
 * statistics say so. The two steps share no code: the converter is checked
 * against the evaluator, not against itself.
 *
 * A sample of the machine's files is tried; with SEAM_TEST_ALL=1 all of
 * them, or those named on the command line.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cfi/cfi.h"
#include "cfi/derive.h"
#include "core/sframe-read.h"
#include "elf/elf.h"
#include "sframe/from-cfi.h"
#include "sframe/verify.h"
#include "table/table.h"

/* The target: random registers, and a memory that grows with the address,
 * so that a CFA read from it makes progress. */
struct seam_env {
	struct seam_regs regs;
};

static uint64_t word_at(uint64_t addr)
{
	uint64_t h = addr * 0x9e3779b97f4a7c15u;

	return addr + 0x100000 + (h >> 40 & 0xffff8);
}

static bool seam_env_word(struct seam_env *env, uint64_t addr, uint64_t *ret)
{
	(void)env;
	*ret = word_at(addr);
	return true;
}

static bool seam_env_reg(struct seam_env *env, uint32_t regnum, uint64_t *ret)
{
	if (regnum >= SEAM_CFI_REGS)
		return false;
	*ret = env->regs.r[regnum];
	return true;
}

static bool seam_env_lose_fp(struct seam_env *env)
{
	(void)env;
	return false;
}

#include "core/step.h"

static int read_word(void *ctx, uint64_t avma, size_t size, uint64_t *ret)
{
	(void)ctx;
	*ret = word_at(avma);
	if (size < 8)
		*ret &= ((uint64_t)1 << (8 * size)) - 1;
	return 0;
}

struct check {
	const char *path;
	const struct seam_elf *elf;
	struct seam_cfi *cfi, *finder; /* one walks while the other finds */
	struct seam_derived *derived;
	struct seam_sframe sf;
	bool is_kernel;
	uint64_t section_rows; /* rows of the file seen so far */
	uint64_t steps, holes, hole_bytes, wrong;
	uint64_t random;
};

static uint64_t totals_steps, totals_holes;

static void wrong(struct check *c, uint64_t pc, const char *what)
{
	if (c->wrong++ < 10)
		printf("%s (%s): %#" PRIx64 ": %s\n", c->path,
		       c->is_kernel ? "kernel" : "file", pc, what);
}

static uint64_t next(struct check *c)
{
	c->random = c->random * 6364136223846793005u + 1442695040888963407u;
	return c->random >> 20;
}

static void randomise(struct check *c, struct seam_env *env, uint64_t pc)
{
	uint64_t sp = 0x7f0000000000 + (next(c) & 0xfffff8);

	for (int i = 0; i < 16; i++)
		env->regs.r[i] = sp + (next(c) & 0xfffff8);
	env->regs.r[7] = sp;
	env->regs.r[16] = pc;
	env->regs.valid = 0x1ffff;
}

/* One step each way. */
static void compare_steps(struct check *c, const struct seam_cfi_row *row,
			  uint64_t pc, const struct seam_rule *rule)
{
	struct seam_env env;
	struct seam_cursor cursor;
	struct seam_regs regs;
	int by_table, by_cfi;

	randomise(c, &env, pc);
	regs = env.regs;
	cursor = (struct seam_cursor){.ip = pc,
				      .sp = regs.r[7],
				      .fp = regs.r[6],
				      .leaf = true,
				      .exact = true};
	c->steps++;
	by_table = seam_step(&cursor, rule, &env);
	by_cfi = seam_cfi_step(row, &regs, 0, read_word, NULL);
	if (by_table == SEAM_OUTERMOST || by_cfi == 0) {
		if (by_table != SEAM_OUTERMOST || by_cfi != 0)
			wrong(c, pc, "one of the two ends the stack");
		return;
	}
	/* A CFA below SP: seen in code that the CFI is wrong about. */
	if (by_table == SEAM_BAD_CFA && by_cfi < 0)
		return;
	/* A return address in a register, as in vfork: there SP may stay,
	 * which the evaluator takes for a lack of progress. */
	if (!by_table && by_cfi < 0 && rule->ra.kind == SEAM_REG_OFF &&
	    cursor.sp == env.regs.r[7])
		return;
	if (by_table || by_cfi != 1)
		wrong(c, pc, "one of the two cannot step");
	else if (cursor.ip != regs.r[16] || cursor.sp != regs.r[7])
		wrong(c, pc, "another caller");
	else if (cursor.fp != regs.r[6])
		wrong(c, pc, "another frame pointer");
	if (!!(rule->flags & SEAM_RULE_SIGNAL) != row->signal)
		wrong(c, pc, "signal or not");
}

static bool in_table_space(const struct check *c, uint64_t svma, uint64_t *pc)
{
	*pc = svma;
	return !c->is_kernel || seam_elf_svma_to_off(c->elf, svma, pc);
}

/* Return: whether the table has a rule for the address. */
static bool check_pc(struct check *c, const struct seam_cfi_row *row,
		     uint64_t svma)
{
	struct seam_rule rule;
	uint64_t pc;
	int err;

	if (!in_table_space(c, svma, &pc))
		return true;
	err = seam_sframe_find(&c->sf, pc, &rule);
	if (err == SEAM_NO_RULE) {
		struct seam_plt_cfa plt;
		struct seam_rule other;
		uint32_t flags = c->is_kernel ? SEAM_FROM_CFI_ADD : 0;

		c->holes++;
		if (!seam_rule_from_cfi(row, flags, &rule) ||
		    seam_plt_from_cfi(row, &plt, &rule, &other))
			wrong(c, svma, "a rule is missing");
		return false;
	}
	if (err)
		wrong(c, svma, "malformed");
	else
		compare_steps(c, row, svma, &rule);
	return true;
}

static bool is_code(const struct check *c, uint64_t svma)
{
	size_t count;
	const struct seam_elf_segment *s = seam_elf_segments(c->elf, &count);

	for (size_t i = 0; i < count; i++) {
		if ((s[i].flags & PF_X) && svma >= s[i].svma &&
		    svma - s[i].svma < s[i].filesz)
			return true;
	}
	return false;
}

/* Behind a function: no CFI, no rule, unless one was derived or the entry
 * point is near. */
static void check_gap(struct check *c, uint64_t svma)
{
	struct seam_cfi_row row;
	struct seam_rule rule, derived;
	uint64_t pc, entry = seam_elf_entry(c->elf);

	if (seam_cfi_find(c->finder, svma, &row, NULL) != -ENOENT ||
	    !in_table_space(c, svma, &pc) ||
	    seam_sframe_find(&c->sf, pc, &rule))
		return;
	if (c->is_kernel && seam_derived_find(c->derived, svma, &derived) &&
	    derived.cfa.off == rule.cfa.off &&
	    derived.cfa.reg == rule.cfa.reg && derived.fp.off == rule.fp.off &&
	    derived.fp.kind == rule.fp.kind)
		return;
	if (!c->is_kernel || svma < entry ||
	    svma - entry >= SEAM_TABLE_ENTRY_MAX ||
	    !(rule.flags & SEAM_RULE_OUTERMOST))
		wrong(c, svma, "a rule where there is no CFI");
}

static void check_found(struct check *c, const struct seam_cfi_row *row)
{
	struct seam_cfi_row found;

	if (seam_cfi_find(c->finder, row->start, &found, NULL) ||
	    found.start != row->start || found.end != row->end)
		wrong(c, row->start, "seam_cfi_find has another row");
}

static int on_row(void *ctx, const struct seam_cfi_row *row)
{
	struct check *c = ctx;
	uint64_t size = row->end - row->start;

	if (!is_code(c, row->start))
		return 0;
	if (!check_pc(c, row, row->start))
		c->hole_bytes += size;
	check_pc(c, row, row->start + size / 2);
	check_pc(c, row, row->end - 1);
	/* Within a PLT the rule changes with the address. */
	for (uint64_t i = 1; row->cfa_is_expr && i < size && i < 80; i++)
		check_pc(c, row, row->start + i);
	/* The look-up costs the whole function: not for every row. */
	if (c->section_rows++ % 61 == 0)
		check_found(c, row);
	if (row->end == row->func_end)
		check_gap(c, row->end);
	return 0;
}

static int check_form(struct check *c, const uint8_t *bytes, size_t size,
		      const struct seam_table_stats *stats)
{
	struct seam_sframe_limits limits = {0};
	struct seam_errinfo err;

	if (c->is_kernel) {
		limits.flags = SEAM_SFRAME_VERIFY_KERNEL;
		seam_elf_bytes(c->elf, &limits.text_end);
	}
	if (seam_sframe_verify(bytes, size, &limits, &err)) {
		printf("%s: table at %#" PRIx64 ": %s\n", c->path, err.offset,
		       err.reason);
		return 1;
	}
	if (seam_sframe_open(&c->sf, bytes, size)) {
		printf("%s: core does not open the table\n", c->path);
		return 1;
	}
	seam_cfi_each(c->cfi, on_row, NULL, c);
	if (c->hole_bytes != stats->hole_bytes - stats->holes[SEAM_HOLE_BAD])
		wrong(c, 0, "the holes are not those that are declared");
	totals_steps += c->steps;
	totals_holes += c->holes;
	return c->wrong != 0;
}

static int check_elf(const char *path, const struct seam_elf *elf)
{
	struct seam_table_stats stats;
	int bad = 0;

	for (int form = 0; form < 2; form++) {
		struct check c = {.path = path,
				  .elf = elf,
				  .is_kernel = form,
				  .random = 1};
		uint8_t *bytes;
		size_t size;
		int r = form ? seam_table_build_kernel(elf, &bytes, &size,
						       &stats, NULL)
			     : seam_table_build(elf, &bytes, &size, &stats,
						NULL);

		if (r)
			return bad;
		if (!seam_cfi_open(elf, &c.cfi, NULL) &&
		    !seam_cfi_open(elf, &c.finder, NULL) &&
		    !seam_derived_build(elf, c.finder, &c.derived))
			bad |= check_form(&c, bytes, size, &stats);
		seam_cfi_close(c.cfi);
		seam_cfi_close(c.finder);
		seam_derived_free(c.derived);
		free(bytes);
	}
	return bad;
}

static size_t num_files;

static int check_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), bad = 0;
	struct seam_elf *elf;
	struct stat st;

	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 64 &&
	    !seam_elf_open_fd(fd, 0, &elf, NULL)) {
		bad = check_elf(path, elf);
		num_files++;
		seam_elf_close(elf);
	}
	close(fd);
	return bad;
}

/* Every step-th file that is not a link, starting with the step-th. */
static int check_glob(const char *pattern, size_t step)
{
	glob_t g;
	size_t n = 0;
	int bad = 0;

	if (glob(pattern, 0, NULL, &g))
		return 0;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct stat st;

		if (lstat(g.gl_pathv[i], &st) || !S_ISREG(st.st_mode) ||
		    ++n % step)
			continue;
		bad |= check_file(g.gl_pathv[i]);
	}
	globfree(&g);
	return bad;
}

static int check_machine(void)
{
	static const char *const named[] = {
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/lib/x86_64-linux-gnu/libm.so.6",
		"/usr/bin/python3",
		"/usr/bin/bash",
	};
	bool all = getenv("SEAM_TEST_ALL") != NULL;
	int bad = 0;

	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		bad |= check_file(named[i]);
	bad |= check_glob("/usr/lib/gcc/x86_64-linux-gnu/*/cc1plus", 1);
	bad |= check_glob("/usr/bin/*", all ? 1 : 23);
	bad |= check_glob("/usr/lib/x86_64-linux-gnu/*.so*", all ? 1 : 29);
	return bad;
}

int main(int argc, char **argv)
{
	int bad = 0;

	for (int i = 1; i < argc; i++)
		bad |= check_file(argv[i]);
	if (argc == 1)
		bad = check_machine();
	printf("%zu files, %" PRIu64 " steps compared, %" PRIu64
	       " addresses in holes\n",
	       num_files, totals_steps, totals_holes);
	if (!num_files) {
		printf("skipped: no ELF file found on this machine\n");
		return 77;
	}
	return bad;
}
