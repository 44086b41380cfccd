// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/sframe-text.h"

#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/sframe-read.h"

#define FIELD_MAX 32 /* "(r536870911-2147483648)" */

static const char *format_name(const struct seam_sframe_file *f)
{
	if (!f->elf)
		return "binary";
	switch (seam_elf_machine(f->elf)) {
	case EM_X86_64:
		return "elf64-x86-64";
	case EM_AARCH64:
		return seam_elf_is_le(f->elf) ? "elf64-littleaarch64"
					      : "elf64-bigaarch64";
	case EM_S390:
		return "elf64-s390";
	default:
		return seam_elf_is_le(f->elf) ? "elf64-little" : "elf64-big";
	}
}

static void flags_line(struct seam_strbuf *b, uint8_t flags)
{
	static const struct {
		uint8_t bit;
		const char *name;
	} names[] = {
		{SEAM_SFRAME_F_SORTED, "SFRAME_F_FDE_SORTED"},
		{SEAM_SFRAME_F_FRAME_POINTER, "SFRAME_F_FRAME_POINTER"},
		{SEAM_SFRAME_F_PCREL, "SFRAME_F_FDE_FUNC_START_PCREL"},
	};
	const char *between = "";

	seam_strbuf_puts(b, "    Flags: ");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!(flags & names[i].bit))
			continue;
		seam_strbuf_printf(b, "%s%s", between, names[i].name);
		between = ",\n           ";
	}
	seam_strbuf_puts(b, flags ? "\n" : "NONE\n");
}

void seam_sframe_text_head(struct seam_strbuf *b, const char *name,
			   const struct seam_sframe_file *f,
			   const struct seam_sframe *sf)
{
	seam_strbuf_puts(b, "\n");
	seam_strbuf_plain(b, name);
	seam_strbuf_printf(b,
			   ":     file format %s\n\n"
			   "Contents of the SFrame section .sframe:\n"
			   "  Header :\n\n"
			   "    Version: SFRAME_VERSION_%u\n",
			   format_name(f), sf->version);
	flags_line(b, sf->flags);
	if (sf->fixed_fp_off)
		seam_strbuf_printf(b, "    CFA fixed FP offset: %d\n",
				   sf->fixed_fp_off);
	if (sf->fixed_ra_off)
		seam_strbuf_printf(b, "    CFA fixed RA offset: %d\n",
				   sf->fixed_ra_off);
	seam_strbuf_printf(b,
			   "    Num FDEs: %" PRIu32 "\n"
			   "    Num FREs: %" PRIu32 "\n\n"
			   "  Function Index :\n",
			   sf->num_fdes, sf->num_fres);
}

/* "sp", "fp" or "r10": the base of a value. */
static void base_name(const struct seam_sframe *sf, uint8_t reg, char to[8])
{
	if (reg == sf->sp || reg == sf->fp)
		snprintf(to, 8, "%s", reg == sf->sp ? "sp" : "fp");
	else
		snprintf(to, 8, "r%u", reg);
}

static void value(const struct seam_sframe *sf, const struct seam_value *v,
		  char to[FIELD_MAX])
{
	char base[8];

	switch (v->kind) {
	case SEAM_CFA_OFF:
	case SEAM_CFA_DEREF:
		/* binutils tell them apart by nothing. */
		snprintf(to, FIELD_MAX, "c%+" PRId32, v->off);
		break;
	case SEAM_REG_OFF:
	case SEAM_REG_DEREF:
		base_name(sf, v->reg, base);
		snprintf(to, FIELD_MAX,
			 v->kind == SEAM_REG_DEREF ? "(%s%+" PRId32 ")"
						   : "%s%+" PRId32,
			 base, v->off);
		break;
	default:
		snprintf(to, FIELD_MAX, "u");
	}
}

/*
 * RA: f, at the header's fixed place; u, where the call left it; U, the same
 * but with words in the row that say so, which it has where FP is saved.
 */
static void ra_value(const struct seam_sframe *sf,
		     const struct seam_sframe_func *func,
		     const struct seam_sframe_row *row,
		     const struct seam_rule *rule, char to[FIELD_MAX])
{
	bool is_flex =
		(func->info2 & SEAM_SFRAME_FDE_TYPE) == SEAM_SFRAME_FDE_FLEX;
	uint32_t n = SEAM_SFRAME_FRE_COUNT(row->info);

	if (rule->ra.kind != SEAM_SAME)
		value(sf, &rule->ra, to);
	else if (is_flex ? n & 1 : n == 3)
		snprintf(to, FIELD_MAX, "U");
	else
		snprintf(to, FIELD_MAX, sf->fixed_ra_off ? "f" : "u");
	if (row->info & SEAM_SFRAME_FRE_MANGLED)
		snprintf(to + strlen(to), FIELD_MAX - strlen(to), "[s]");
}

static void row_line(struct seam_strbuf *b, const struct seam_sframe *sf,
		     const struct seam_sframe_func *func,
		     const struct seam_sframe_row *row,
		     const struct seam_rule *rule, uint64_t start)
{
	char cfa[FIELD_MAX], fp[FIELD_MAX], ra[FIELD_MAX];

	seam_strbuf_printf(b, "    %016" PRIx64 "  ", start);
	if (rule->flags & SEAM_RULE_OUTERMOST) {
		seam_strbuf_puts(b, "RA undefined\n");
		return;
	}
	value(sf, &rule->cfa, cfa);
	value(sf, &rule->fp, fp);
	ra_value(sf, func, row, rule, ra);
	seam_strbuf_printf(b, "%-10s%-10s%-13s\n", cfa,
			   sf->fixed_fp_off ? "f" : fp, ra);
}

/* Return: whether a row is malformed; the rest cannot be found then. */
static bool rows(struct seam_strbuf *b, const struct seam_sframe *sf,
		 const struct seam_sframe_func *func, uint64_t shown)
{
	struct seam_sframe_row row = {.next = func->rows};
	struct seam_rule rule;

	for (uint32_t i = 0; i < func->num_rows; i++) {
		uint32_t at = row.next;

		if (seam_sframe_row_at(sf, func, at, &row)) {
			seam_strbuf_printf(b,
					   "    malformed: row %" PRIu32
					   " at offset 0x%" PRIx32
					   " does not lie in the section\n",
					   i, at);
			return true;
		}
		if (seam_sframe_rule(sf, func, &row, &rule)) {
			seam_strbuf_printf(b,
					   "    malformed: row %" PRIu32
					   " at offset 0x%" PRIx32
					   " has no meaning\n",
					   i, at);
			return true;
		}
		row_line(b, sf, func, &row, &rule, shown + row.start);
	}
	return false;
}

static const char *attributes(const struct seam_sframe_func *func)
{
	bool is_signal = func->info & SEAM_SFRAME_INFO_SIGNAL;
	bool is_flex =
		(func->info2 & SEAM_SFRAME_FDE_TYPE) == SEAM_SFRAME_FDE_FLEX;

	if (is_signal)
		return is_flex ? ", attr = \"SF\"" : ", attr = \"S\"";
	return is_flex ? ", attr = \"F\"" : "";
}

int seam_sframe_text_func(struct seam_strbuf *b,
			  const struct seam_sframe_file *f,
			  const struct seam_sframe *sf, uint32_t i)
{
	struct seam_sframe_func func;
	uint64_t shown;
	bool is_masked;

	if (seam_sframe_func_at(sf, i, &func)) {
		seam_strbuf_printf(b,
				   "\n    func idx [%" PRIu32
				   "]: malformed: its description is none\n",
				   i);
		return 1;
	}
	shown = seam_sframe_file_shown(f, f->svma + func.start);
	is_masked = func.info & SEAM_SFRAME_INFO_PCMASK;
	seam_strbuf_printf(b,
			   "\n    func idx [%" PRIu32 "]: pc = 0x%" PRIx64
			   ", size = %" PRIu32 " bytes%s",
			   i, shown, func.size, attributes(&func));
	if (sf->arch == SEAM_ARCH_AARCH64 &&
	    func.info & SEAM_SFRAME_INFO_PAUTH_B)
		seam_strbuf_puts(b, ", pauth = B key");
	seam_strbuf_printf(b,
			   "\n    STARTPC%s      CFA       FP        RA%*s\n",
			   is_masked ? "[m]" : "   ", 11, "");
	/* Of blocks that repeat, offsets are shown: V1 has them as masks. */
	return rows(b, sf, &func, is_masked ? 0 : shown);
}
