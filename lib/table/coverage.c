// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "table/coverage.h"

#include <errno.h>
#include <gelf.h>

#include "cfi/cfi.h"
#include "core/err.h"
#include "elf/fail.h"
#include "sframe/from-cfi.h"
#include "sframe/walk.h"

struct coverage {
	const struct seam_elf *elf;
	const struct seam_sframe *sf;
	struct seam_sframe_walk *walk;
	uint64_t svma;
	uint64_t left; /* bytes of code that CFI may still claim */
	size_t segment; /* number of the one with the last row */
	struct seam_coverage *out;
};

/* FDEs that overlap are rare, and few bytes. */
#define CLAIMS_MAX 4

/* What CFI says of one row: a rule; or two, of a linkage table's stubs; or
 * why there is none. */
struct said {
	enum seam_hole hole;
	bool is_plt;
	struct seam_plt_cfa plt;
	struct seam_rule rule, above;
};

/* How much of a segment is code that the file has. */
static uint64_t in_file(const struct seam_elf *elf,
			const struct seam_elf_segment *s)
{
	size_t size;

	seam_elf_bytes(elf, &size);
	if (!(s->flags & PF_X) || s->off >= size)
		return 0;
	return s->filesz < size - s->off ? s->filesz : size - s->off;
}

/* From the segment on that was found last: relocatable files have one for each
 * function, and CFI in their order. */
static bool in_code(struct coverage *c, uint64_t start, uint64_t end)
{
	const struct seam_elf_segment *s;
	size_t n;

	s = seam_elf_segments(c->elf, &n);
	for (size_t i = 0; i < n; i++) {
		size_t at = (c->segment + i) % n;
		uint64_t size = in_file(c->elf, &s[at]);

		if (start >= s[at].svma && start - s[at].svma < size &&
		    end - s[at].svma <= size) {
			c->segment = at;
			return true;
		}
	}
	return false;
}

/* Work goes by the bytes that CFI claims, which cost a file nothing. */
static bool may_claim(struct coverage *c, uint64_t bytes)
{
	if (bytes > c->left)
		return false;
	c->left -= bytes;
	return true;
}

static bool value_equal(const struct seam_value *a, const struct seam_value *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == SEAM_SAME)
		return true;
	if ((a->kind == SEAM_REG_OFF || a->kind == SEAM_REG_DEREF) &&
	    a->reg != b->reg)
		return false;
	return a->off == b->off;
}

/* Where a call puts RA needs no saying, but FLEX rows may say it. */
static struct seam_value plain_ra(const struct coverage *c,
				  const struct seam_rule *rule)
{
	int8_t at = seam_arch_ra_off((enum seam_arch)c->sf->arch);

	if (at && rule->ra.kind == SEAM_CFA_DEREF && rule->ra.off == at)
		return (struct seam_value){.kind = SEAM_SAME};
	return rule->ra;
}

static bool rule_equal(const struct coverage *c, const struct seam_rule *a,
		       const struct seam_rule *b)
{
	uint32_t flags = SEAM_RULE_OUTERMOST | SEAM_RULE_MANGLED;
	struct seam_value a_ra = plain_ra(c, a), b_ra = plain_ra(c, b);

	if (c->sf->version == SEAM_SFRAME_V3) /* others cannot say it */
		flags |= SEAM_RULE_SIGNAL;
	if ((a->flags ^ b->flags) & flags)
		return false;
	if (a->flags & SEAM_RULE_OUTERMOST)
		return true;
	return value_equal(&a->cfa, &b->cfa) && a->cfa_add == b->cfa_add &&
	       value_equal(&a_ra, &b_ra) && value_equal(&a->fp, &b->fp);
}

/* The rule that CFI has for a pc, and up to where; NULL: none. */
static const struct seam_rule *said_at(const struct said *s, uint64_t pc,
				       uint64_t *end)
{
	uint64_t in_block, left;
	bool is_below;

	if (s->hole)
		return NULL;
	if (!s->is_plt)
		return &s->rule;
	in_block = pc & (s->plt.block - 1u);
	is_below = in_block < s->plt.from;
	left = (is_below ? s->plt.from : s->plt.block) - in_block;
	if (left < *end - pc)
		*end = pc + left;
	return is_below ? &s->rule : &s->above;
}

static void count(struct coverage *c, const struct said *s, uint64_t pc,
		  const struct seam_sframe_span *span,
		  const struct seam_rule *rule, uint64_t bytes)
{
	struct seam_coverage *out = c->out;

	out->rows_compared++;
	if (span->err) {
		out->hole += bytes;
		if (rule)
			out->left_out += bytes;
		else
			out->holes[s->hole] += bytes;
		return;
	}
	out->rule += bytes;
	if (!rule || span->rule.flags & SEAM_RULE_NO_ROWS) {
		out->unsaid += bytes;
	} else if (rule_equal(c, rule, &span->rule)) {
		out->agree += bytes;
	} else {
		if (!out->differ)
			out->first_differ = pc;
		out->differ += bytes;
	}
}

/* Piece by piece, as boundaries of the CFI and of the table cut it. */
static int on_row(void *ctx, const struct seam_cfi_row *row)
{
	struct coverage *c = ctx;
	struct seam_sframe_span span;
	struct said said = {0};
	uint64_t pc = row->start;

	if (row->end <= row->start || !in_code(c, row->start, row->end))
		return 0;
	if (!may_claim(c, row->end - row->start))
		return -EINVAL;
	c->out->cfi += row->end - row->start;
	said.hole = seam_rule_from_cfi(row, 0, &said.rule);
	if (said.hole &&
	    seam_plt_from_cfi(row, &said.plt, &said.rule, &said.above)) {
		said.hole = SEAM_HOLE_NONE;
		said.is_plt = true;
	}
	while (pc < row->end) {
		uint64_t end = row->end;
		const struct seam_rule *rule = said_at(&said, pc, &end);

		seam_sframe_walk_at(c->walk, pc - c->svma, &span);
		if (span.end != UINT64_MAX && span.end + c->svma > pc &&
		    span.end + c->svma < end)
			end = span.end + c->svma;
		count(c, &said, pc, &span, rule, end - pc);
		pc = end;
	}
	return 0;
}

static void on_bad(void *ctx, uint64_t func_start, uint64_t func_end,
		   const struct seam_errinfo *why)
{
	struct coverage *c = ctx;

	(void)why;
	c->out->malformed_fdes++;
	if (func_end <= func_start || !in_code(c, func_start, func_end))
		return;
	c->out->cfi += func_end - func_start;
	c->out->hole += func_end - func_start;
	c->out->holes[SEAM_HOLE_BAD] += func_end - func_start;
}

/* Executable sections; without section headers, executable segments, which
 * may hold more than code. */
static uint64_t code_bytes(const struct seam_elf *elf)
{
	Elf *libelf = seam_elf_libelf(elf);
	const struct seam_elf_segment *s;
	Elf_Scn *scn = NULL;
	uint64_t sum = 0;
	GElf_Shdr sh;
	size_t n;

	while ((scn = elf_nextscn(libelf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_flags & SHF_EXECINSTR &&
		    sh.sh_type != SHT_NOBITS)
			sum += sh.sh_size;
	if (sum)
		return sum;
	s = seam_elf_segments(elf, &n);
	for (size_t i = 0; i < n; i++)
		if (s[i].flags & PF_X)
			sum += s[i].filesz;
	return sum;
}

static uint64_t all_claims(const struct seam_elf *elf)
{
	const struct seam_elf_segment *s;
	uint64_t sum = 0;
	size_t n;

	s = seam_elf_segments(elf, &n);
	for (size_t i = 0; i < n; i++)
		sum += in_file(elf, &s[i]);
	return sum * CLAIMS_MAX;
}

int seam_coverage(const struct seam_elf *elf, const struct seam_sframe *sf,
		  uint64_t svma, struct seam_coverage *ret,
		  struct seam_errinfo *reterr)
{
	struct seam_coverage out = {0};
	struct coverage c = {.elf = elf, .sf = sf, .svma = svma, .out = &out};
	struct seam_cfi *cfi;
	int rc = seam_cfi_open(elf, &cfi, reterr);

	if (rc)
		return rc;
	rc = seam_sframe_walk_new(sf, &c.walk);
	if (!rc) {
		out.code = code_bytes(elf);
		out.functions = sf->num_fdes;
		out.rows = seam_sframe_walk_rows(c.walk);
		c.left = all_claims(elf);
		rc = seam_cfi_each(cfi, on_row, on_bad, &c);
	}
	if (rc == -EINVAL)
		seam_elf_fail(reterr, SEAM_ELF_LAYOUT, 0, ".eh_frame",
			      "it claims the same code many times over");
	seam_sframe_walk_free(c.walk);
	seam_cfi_close(cfi);
	if (!rc)
		*ret = out;
	return rc;
}
