// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <inttypes.h>

#include "core/sframe-read.h"
#include "report/sframe-text.h"
#include "report/text.h"

static const char *abi_name(uint8_t abi)
{
	static const char *const names[] = {
		[SEAM_SFRAME_ABI_AARCH64_BE] = "aarch64-be",
		[SEAM_SFRAME_ABI_AARCH64_LE] = "aarch64-le",
		[SEAM_SFRAME_ABI_AMD64] = "amd64",
		[SEAM_SFRAME_ABI_S390X] = "s390x",
	};

	return abi < sizeof(names) / sizeof(*names) && names[abi] ? names[abi]
								  : "unknown";
}

static const char *truth(uint32_t bit)
{
	return bit ? "true" : "false";
}

void seam_sframe_json_head(struct seam_strbuf *b, const char *name,
			   const struct seam_sframe_file *f,
			   const struct seam_sframe *sf)
{
	seam_strbuf_puts(b, "{\"file\":");
	seam_json_string(b, name);
	seam_strbuf_printf(
		b,
		",\"address\":%" PRIu64 ",\"offset\":%" PRIu64
		",\"size\":%zu,\"version\":%u,\"flags\":%u,\"sorted\":%s,"
		"\"frame_pointer\":%s,\"pcrel\":%s,\"abi\":\"%s\","
		"\"big_endian\":%s,\"fixed_fp_offset\":%d,"
		"\"fixed_ra_offset\":%d,\"auxhdr_len\":%u,\"num_fdes\":%" PRIu32
		",\"num_fres\":%" PRIu32 ",\"fre_len\":%" PRIu32
		",\"fdeoff\":%" PRIu32 ",\"freoff\":%" PRIu32
		",\n\"functions\":[",
		f->svma, f->off, f->size, sf->version, sf->flags,
		truth(sf->flags & SEAM_SFRAME_F_SORTED),
		truth(sf->flags & SEAM_SFRAME_F_FRAME_POINTER),
		truth(sf->flags & SEAM_SFRAME_F_PCREL), abi_name(sf->abi),
		truth(seam_abi_is_big(sf->abi)), sf->fixed_fp_off,
		sf->fixed_ra_off, seam_sframe_u8(sf, 7), sf->num_fdes,
		sf->num_fres, sf->end - sf->fres, seam_sframe_u32(sf, 20),
		seam_sframe_u32(sf, 24));
}

static void value(struct seam_strbuf *b, const char *name,
		  const struct seam_value *v)
{
	static const char *const kinds[] = {
		[SEAM_SAME] = "same",
		[SEAM_CFA_OFF] = "cfa+off",
		[SEAM_CFA_DEREF] = "*(cfa+off)",
		[SEAM_REG_OFF] = "reg+off",
		[SEAM_REG_DEREF] = "*(reg+off)",
	};

	seam_strbuf_printf(b, ",\"%s\":{\"rule\":\"%s\"", name, kinds[v->kind]);
	if (v->kind == SEAM_REG_OFF || v->kind == SEAM_REG_DEREF)
		seam_strbuf_printf(b, ",\"reg\":%u", v->reg);
	if (v->kind != SEAM_SAME)
		seam_strbuf_printf(b, ",\"off\":%" PRId32, v->off);
	seam_strbuf_puts(b, "}");
}

static void words(struct seam_strbuf *b, const struct seam_sframe *sf,
		  const struct seam_sframe_row *row)
{
	seam_strbuf_puts(b, ",\"words\":[");
	for (uint32_t i = 0; i < SEAM_SFRAME_FRE_COUNT(row->info); i++)
		seam_strbuf_printf(b, "%s%" PRId32, i ? "," : "",
				   seam_sframe_word(sf, row, i));
	seam_strbuf_puts(b, "]");
}

/* Return: whether the rows behind this one can be found. */
static bool json_row(struct seam_strbuf *b, const struct seam_sframe *sf,
		     const struct seam_sframe_func *func, uint32_t i,
		     struct seam_sframe_row *row)
{
	struct seam_rule rule;
	uint32_t at = row->next;

	seam_strbuf_printf(b, "%s\n  {\"at\":%" PRIu32, i ? "," : "", at);
	if (seam_sframe_row_at(sf, func, at, row)) {
		seam_strbuf_puts(b, ",\"malformed\":true}");
		return false;
	}
	seam_strbuf_printf(b,
			   ",\"start\":%" PRIu32 ",\"info\":%u,"
			   "\"word_size\":%u",
			   row->start, row->info,
			   1u << SEAM_SFRAME_FRE_SIZE(row->info));
	words(b, sf, row);
	if (seam_sframe_rule(sf, func, row, &rule)) {
		seam_strbuf_puts(b, ",\"malformed\":true}");
		return false;
	}
	seam_strbuf_printf(b, ",\"outermost\":%s,\"mangled\":%s",
			   truth(rule.flags & SEAM_RULE_OUTERMOST),
			   truth(rule.flags & SEAM_RULE_MANGLED));
	if (!(rule.flags & SEAM_RULE_OUTERMOST)) {
		value(b, "cfa", &rule.cfa);
		value(b, "ra", &rule.ra);
		value(b, "fp", &rule.fp);
	}
	seam_strbuf_puts(b, "}");
	return true;
}

int seam_sframe_json_func(struct seam_strbuf *b,
			  const struct seam_sframe_file *f,
			  const struct seam_sframe *sf, uint32_t i)
{
	struct seam_sframe_func func;
	struct seam_sframe_row row;
	int malformed = 0;

	seam_strbuf_printf(b, "%s\n {\"index\":%" PRIu32, i ? "," : "", i);
	if (seam_sframe_func_at(sf, i, &func)) {
		seam_strbuf_puts(b, ",\"malformed\":true}");
		return 1;
	}
	seam_strbuf_printf(
		b,
		",\"at\":%" PRIu32 ",\"start\":%" PRIu64 ",\"size\":%" PRIu32
		",\"rows_at\":%" PRIu32 ",\"num_rows\":%" PRIu32
		",\"info\":%u,\"info2\":%u,\"rep_size\":%u,"
		"\"start_size\":%u,\"pcmask\":%s,\"flex\":%s,"
		"\"signal\":%s,\"pauth_b\":%s,\"rows\":[",
		func.at, seam_sframe_file_shown(f, f->svma + func.start),
		func.size, func.rows, func.num_rows, func.info, func.info2,
		func.rep_size, 1u << (func.info & SEAM_SFRAME_INFO_FRE_TYPE),
		truth(func.info & SEAM_SFRAME_INFO_PCMASK),
		truth((func.info2 & SEAM_SFRAME_FDE_TYPE) ==
		      SEAM_SFRAME_FDE_FLEX),
		truth(func.info & SEAM_SFRAME_INFO_SIGNAL),
		truth(func.info & SEAM_SFRAME_INFO_PAUTH_B));
	row.next = func.rows;
	for (uint32_t k = 0; k < func.num_rows && !malformed; k++)
		malformed = !json_row(b, sf, &func, k, &row);
	seam_strbuf_puts(b, "]}");
	return malformed;
}

void seam_sframe_json_tail(struct seam_strbuf *b)
{
	seam_strbuf_puts(b, "]}\n");
}
