// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "sframe/encode.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "core/sframe-section.h"
#include "sframe/encode-private.h"

#define MAX_FRES 65535

int seam_sframe_builder_new_for(uint8_t version, uint8_t abi, uint32_t flags,
				struct seam_sframe_builder **ret)
{
	enum seam_arch arch = seam_abi_arch(abi);
	struct seam_sframe_builder *b;

	if (!arch || (version != SEAM_SFRAME_V2 && version != SEAM_SFRAME_V3))
		return -EINVAL;
	if (flags & SEAM_SFRAME_ALLOW_ADD &&
	    (version != SEAM_SFRAME_V3 || arch != SEAM_ARCH_AMD64))
		return -EINVAL;
	if (flags & SEAM_SFRAME_SECTION_RELATIVE && version != SEAM_SFRAME_V2)
		return -EINVAL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->target = (struct seam_sframe_target){
		.version = version,
		.abi = abi,
		.is_big = seam_abi_is_big(abi),
		.arch = arch,
		.flags = flags,
	};
	*ret = b;
	return 0;
}

int seam_sframe_builder_new(uint32_t flags, struct seam_sframe_builder **ret)
{
	return seam_sframe_builder_new_for(SEAM_SFRAME_V3,
					   SEAM_SFRAME_ABI_AMD64, flags, ret);
}

const char *seam_sframe_builder_reason(const struct seam_sframe_builder *b)
{
	return b->reason;
}

struct seam_sframe_builder *
seam_sframe_builder_free(struct seam_sframe_builder *b)
{
	if (!b)
		return NULL;
	free(b->rows);
	seam_sframe_forms_fini(&b->forms);
	free(b->entries);
	free(b->fres);
	free(b);
	return NULL;
}

int seam_sframe_builder_begin(struct seam_sframe_builder *b,
			      const struct seam_sframe_builder_func *func)
{
	bool is_v2 = b->target.version == SEAM_SFRAME_V2;

	b->in_func = false;
	if (is_v2 && (func->signal || func->keep_empty))
		return seam_sframe_refuse(
			b, func->signal ? "a signal trampoline, in V2"
					: "a function without rows, in V2");
	if (func->pauth_b && b->target.arch != SEAM_ARCH_AARCH64)
		return seam_sframe_refuse(b,
					  "a key of signed return addresses");
	b->func = *func;
	b->num_rows = 0;
	seam_sframe_forms_bound(&b->forms);
	b->in_func = true;
	return 0;
}

int seam_sframe_builder_row(struct seam_sframe_builder *b, uint32_t off,
			    const struct seam_rule *rule)
{
	const struct seam_sframe_form *forms;
	struct seam_sframe_entry_row *row;
	const char *why = NULL;
	int r;

	if (!b->in_func)
		return seam_sframe_refuse(b, "a row outside a function");
	if (b->func.rep_size && off >= b->func.rep_size)
		return seam_sframe_refuse(b, "a row outside its block");
	if (b->num_rows && off <= b->rows[b->num_rows - 1].off)
		return seam_sframe_refuse(
			b, "a row that is not behind the last one");
	if (b->num_rows == b->cap_rows) {
		r = seam_grow(&b->rows, b->num_rows + 1, &b->cap_rows,
			      sizeof(*row));
		if (r)
			return r;
	}
	row = b->rows + b->num_rows;
	row->off = off;
	r = seam_sframe_forms_get(&b->forms, &b->target, rule, &row->form,
				  &why);
	if (r)
		return why ? seam_sframe_refuse(b, why) : r;
	forms = b->forms.v;
	if (!b->num_rows || (row[-1].form != row->form &&
			     !(b->forms.has_twins &&
			       seam_sframe_rule_equal(&forms[row[-1].form].rule,
						      &forms[row->form].rule))))
		b->num_rows++;
	return 0;
}

static unsigned int addr_size_log2(uint32_t func_size)
{
	return func_size < 0x100 ? 0 : func_size < 0x10000 ? 1 : 2;
}

static uint8_t info_of(const struct seam_sframe_builder_func *func,
		       unsigned int addr_log2)
{
	return (uint8_t)(addr_log2 |
			 (func->rep_size ? SEAM_SFRAME_INFO_PCMASK : 0) |
			 (func->pauth_b ? SEAM_SFRAME_INFO_PAUTH_B : 0) |
			 (func->signal ? SEAM_SFRAME_INFO_SIGNAL : 0));
}

static uint8_t *put_attr(const struct seam_sframe_builder *b, uint8_t *p,
			 const struct seam_sframe_entry *e, uint8_t type)
{
	if (!seam_sframe_attr_size(b))
		return p;
	p = seam_sframe_builder_put(b, p, e->num_rows, 2);
	*p++ = e->info;
	*p++ = type;
	*p++ = e->rep_size;
	return p;
}

/* The simplest type that holds every row; they are numbered by that. */
static uint8_t type_of(const struct seam_sframe_builder *b,
		       const struct seam_sframe_entry_row *rows, size_t num)
{
	uint8_t type = SEAM_SFRAME_FDE_DEFAULT;

	for (size_t i = 0; i < num; i++)
		if (b->forms.v[rows[i].form].type > type)
			type = b->forms.v[rows[i].form].type;
	return type;
}

static uint8_t *put_row(const struct seam_sframe_target *t, uint8_t *p,
			uint32_t start, unsigned int start_log2,
			const struct seam_sframe_form *form, uint8_t type)
{
	if (type != SEAM_SFRAME_FDE_DEFAULT)
		return seam_sframe_put_row(t, p, start, start_log2, &form->rule,
					   type);
	p = seam_sframe_put(t, p, start, (size_t)1 << start_log2);
	memcpy(p, form->bytes, sizeof(form->bytes));
	return p + form->len;
}

/* One descriptor: rows[0..num) of the current function. */
static int put_fde(struct seam_sframe_builder *b,
		   const struct seam_sframe_entry_row *rows, size_t num,
		   uint64_t start, uint32_t size, uint32_t base)
{
	unsigned int log2 = addr_size_log2(size);
	uint8_t type = type_of(b, rows, num);
	struct seam_sframe_entry entry = {start,
					  size,
					  (uint32_t)b->fres_len,
					  (uint32_t)num,
					  info_of(&b->func, log2),
					  b->func.rep_size};
	uint8_t *p;
	int r;

	r = seam_grow(&b->fres,
		      b->fres_len + SEAM_SFRAME_ATTR_SIZE +
			      num * SEAM_SFRAME_ROW_ROOM,
		      &b->cap_fres, 1);
	if (!r)
		r = seam_grow(&b->entries, b->num_entries + 1, &b->cap_entries,
			      sizeof(entry));
	if (r)
		return r;
	p = put_attr(b, b->fres + b->fres_len, &entry, type);
	for (size_t i = 0; i < num; i++)
		p = put_row(&b->target, p, rows[i].off - base, log2,
			    &b->forms.v[rows[i].form], type);
	/* fre_off is 32 bits wide, with room for the next descriptor. */
	if (p - b->fres > UINT32_MAX)
		return -EFBIG;
	b->fres_len = (size_t)(p - b->fres);
	b->entries[b->num_entries++] = entry;
	return 0;
}

int seam_sframe_builder_end(struct seam_sframe_builder *b, uint32_t size)
{
	struct seam_sframe_entry_row *rows = b->rows;
	size_t left = b->num_rows;
	int r = 0;

	if (!b->in_func)
		return seam_sframe_refuse(b, "an end outside a function");
	b->in_func = false;
	/* A row may begin at the very end: it covers nothing. */
	while (left && rows[left - 1].off >= size)
		left--;
	if (!left && size && b->func.keep_empty)
		return put_fde(b, rows, 0, b->func.start, size, 0);
	if (b->func.rep_size)
		return left && size >= b->func.rep_size
			       ? put_fde(b, rows, left, b->func.start, size, 0)
			       : 0;
	for (uint32_t base = 0; left && !r;) {
		size_t num = left < MAX_FRES ? left : MAX_FRES;
		uint32_t end = num < left ? rows[num].off : size;

		r = put_fde(b, rows, num, b->func.start + base, end - base,
			    base);
		base = end;
		rows += num;
		left -= num;
	}
	return r;
}

struct seam_sframe_builder_mark
seam_sframe_builder_mark(const struct seam_sframe_builder *b)
{
	return (struct seam_sframe_builder_mark){b->num_entries, b->fres_len};
}

void seam_sframe_builder_rewind(struct seam_sframe_builder *b,
				const struct seam_sframe_builder_mark *mark)
{
	b->num_entries = mark->entries;
	b->fres_len = mark->bytes;
	b->in_func = false;
}
