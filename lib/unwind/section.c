// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The public face of core's SFrame reader. */
#include "seam/sframe.h"

#include <errno.h>
#include <string.h>

#include "core/sframe-read.h"
#include "elf/fail.h"
#include "sframe/verify.h"

struct open_section {
	struct seam_sframe sf;
	uint64_t addr;
};
_Static_assert(sizeof(struct open_section) <= sizeof(struct seam_section),
	       "the reader's state fits");

_Static_assert((int)SEAM_ROW_REG_DEREF == (int)SEAM_REG_DEREF &&
		       (int)SEAM_ROW_REG_OFF == (int)SEAM_REG_OFF &&
		       (int)SEAM_ROW_CFA_DEREF == (int)SEAM_CFA_DEREF &&
		       (int)SEAM_ROW_CFA_OFF == (int)SEAM_CFA_OFF,
	       "kinds");
_Static_assert((int)SEAM_ROW_OUTERMOST == (int)SEAM_RULE_OUTERMOST &&
		       (int)SEAM_ROW_SIGNAL == (int)SEAM_RULE_SIGNAL &&
		       (int)SEAM_ROW_MANGLED == (int)SEAM_RULE_MANGLED,
	       "flags");
#define PUBLIC_FLAGS (SEAM_ROW_OUTERMOST | SEAM_ROW_SIGNAL | SEAM_ROW_MANGLED)

static struct open_section load(const struct seam_section *section)
{
	struct open_section s;

	memcpy(&s, section, sizeof(s));
	return s;
}

static struct seam_row_value value_from(const struct seam_value *v)
{
	return (struct seam_row_value){
		.off = v->off, .how = v->kind, .reg = v->reg};
}

static struct seam_row row_from(const struct seam_rule *rule, uint32_t start)
{
	return (struct seam_row){
		.start = start,
		.flags = rule->flags & PUBLIC_FLAGS,
		.cfa = value_from(&rule->cfa),
		.ra = value_from(&rule->ra),
		.fp = value_from(&rule->fp),
	};
}

int seam_section_open(struct seam_section *ret, const void *bytes, size_t size,
		      uint64_t addr, struct seam_errinfo *reterr)
{
	struct open_section s = {.addr = addr};
	int err = seam_sframe_open(&s.sf, bytes, size);

	if (err)
		return seam_elf_fail(reterr, err, 0, ".sframe",
				     seam_err_text(err));
	*ret = (struct seam_section){0};
	memcpy(ret, &s, sizeof(s));
	return 0;
}

int seam_section_verify(const void *bytes, size_t size,
			struct seam_errinfo *reterr)
{
	return seam_sframe_verify(bytes, size, NULL, reterr);
}

void seam_section_info(const struct seam_section *section,
		       struct seam_section_info *ret)
{
	const struct open_section s = load(section);

	*ret = (struct seam_section_info){
		.version = s.sf.version,
		.flags = s.sf.flags,
		.abi = s.sf.abi,
		.fixed_fp_off = s.sf.fixed_fp_off,
		.fixed_ra_off = s.sf.fixed_ra_off,
		.num_functions = s.sf.num_fdes,
		.num_rows = s.sf.num_fres,
	};
}

int seam_section_find(const struct seam_section *section, uint64_t pc,
		      struct seam_row *ret)
{
	const struct open_section s = load(section);
	struct seam_rule rule;
	int err = seam_sframe_find(&s.sf, pc - s.addr, &rule);

	if (err == SEAM_NO_RULE)
		return -ENOENT;
	/* Files do not have what only the kernel's copy of a table may. */
	if (err || rule.cfa_add)
		return -EINVAL;
	*ret = row_from(&rule, 0);
	return 0;
}

int seam_section_function(const struct seam_section *section, uint32_t i,
			  struct seam_function *ret)
{
	const struct open_section s = load(section);
	struct seam_sframe_func func;

	if (i >= s.sf.num_fdes)
		return -ENOENT;
	if (seam_sframe_func_at(&s.sf, i, &func))
		return -EINVAL;
	*ret = (struct seam_function){
		.start = func.start + s.addr,
		.size = func.size,
		.num_rows = func.num_rows,
		.rep_size =
			func.info & SEAM_SFRAME_INFO_PCMASK ? func.rep_size : 0,
		.is_signal = !!(func.info & SEAM_SFRAME_INFO_SIGNAL),
	};
	return 0;
}

/* *at: how many rows were given, above the offset of the next. */
int seam_section_next_row(const struct seam_section *section, uint32_t i,
			  uint64_t *at, struct seam_row *ret)
{
	const struct open_section s = load(section);
	uint32_t given = (uint32_t)(*at >> 32);
	struct seam_sframe_func func;
	struct seam_sframe_row row;
	struct seam_rule rule;

	if (i >= s.sf.num_fdes)
		return -ENOENT;
	if (seam_sframe_func_at(&s.sf, i, &func))
		return -EINVAL;
	if (given >= func.num_rows)
		return 0;
	if (seam_sframe_row_at(&s.sf, &func, given ? (uint32_t)*at : func.rows,
			       &row) ||
	    seam_sframe_rule(&s.sf, &func, &row, &rule) || rule.cfa_add)
		return -EINVAL;
	*ret = row_from(&rule, row.start);
	*at = (uint64_t)(given + 1) << 32 | row.next;
	return 1;
}
