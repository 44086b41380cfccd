// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "sframe/encode.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "core/env.h"
#include "core/sframe-section.h"
#include "sframe/encode-private.h"

#define MAX_FRES 65535
/* A file that has more rules is one that nobody compiled. */
#define FORMS_MAX 16384

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

void seam_sframe_builder_reserve(struct seam_sframe_builder *b, size_t bytes,
				 size_t functions)
{
	/* Not by seam_grow, which would make it a power of two. */
	if (!b->fres && bytes) {
		b->fres = malloc(bytes);
		b->cap_fres = b->fres ? bytes : 0;
	}
	if (!b->entries && functions) {
		b->entries = reallocarray(NULL, functions, sizeof(*b->entries));
		b->cap_entries = b->entries ? functions : 0;
	}
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

static int check_func(struct seam_sframe_builder *b,
		      const struct seam_sframe_builder_func *func)
{
	bool is_v2 = b->target.version == SEAM_SFRAME_V2;

	if (is_v2 && (func->signal || func->keep_empty))
		return seam_sframe_refuse(
			b, func->signal ? "a signal trampoline, in V2"
					: "a function without rows, in V2");
	if (func->pauth_b && b->target.arch != SEAM_ARCH_AARCH64)
		return seam_sframe_refuse(b,
					  "a key of signed return addresses");
	return 0;
}

int seam_sframe_builder_begin(struct seam_sframe_builder *b,
			      const struct seam_sframe_builder_func *func)
{
	int r = check_func(b, func);

	b->in_func = false;
	if (r)
		return r;
	b->func = *func;
	b->num_rows = 0;
	if (b->forms.n > FORMS_MAX && !b->has_numbers)
		seam_sframe_forms_clear(&b->forms);
	b->in_func = true;
	return 0;
}

static int form_of(struct seam_sframe_builder *b, const struct seam_rule *rule,
		   uint32_t *ret)
{
	const char *why = NULL;
	int r = seam_sframe_forms_get(&b->forms, &b->target, rule, ret, &why);

	return why ? seam_sframe_refuse(b, why) : r;
}

static int add_row(struct seam_sframe_builder *b, uint32_t off, uint32_t rule)
{
	struct seam_sframe_builder_row *last;
	int r = seam_grow(&b->rows, b->num_rows + 1, &b->cap_rows,
			  sizeof(*b->rows));

	if (r)
		return r;
	last = b->num_rows ? &b->rows[b->num_rows - 1] : NULL;
	if (last && off <= last->off)
		return seam_sframe_refuse(
			b, "a row that is not behind the last one");
	if (!last || last->rule != rule)
		b->rows[b->num_rows++] =
			(struct seam_sframe_builder_row){off, rule};
	return 0;
}

int seam_sframe_builder_row_of(struct seam_sframe_builder *b, uint32_t off,
			       uint32_t number)
{
	if (!b->in_func)
		return seam_sframe_refuse(b, "a row outside a function");
	if (b->func.rep_size && off >= b->func.rep_size)
		return seam_sframe_refuse(b, "a row outside its block");
	if (number >= b->forms.n)
		return seam_sframe_refuse(b, "a rule that was not given");
	return add_row(b, off, number);
}

int seam_sframe_builder_row(struct seam_sframe_builder *b, uint32_t off,
			    const struct seam_rule *rule)
{
	uint32_t number;
	int r = form_of(b, rule, &number);

	return r ? r : seam_sframe_builder_row_of(b, off, number);
}

int seam_sframe_builder_rule(struct seam_sframe_builder *b,
			     const struct seam_rule *rule, uint32_t *ret_number)
{
	b->has_numbers = true;
	return form_of(b, rule, ret_number);
}

void seam_sframe_builder_forget(struct seam_sframe_builder *b)
{
	b->in_func = false;
	b->has_numbers = false;
	seam_sframe_forms_clear(&b->forms);
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
		       const struct seam_sframe_builder_row *rows, size_t num)
{
	uint8_t type = SEAM_SFRAME_FDE_DEFAULT;

	for (size_t i = 0; i < num; i++)
		if (b->forms.v[rows[i].rule].type > type)
			type = b->forms.v[rows[i].rule].type;
	return type;
}

/* What one descriptor has; base: where it begins, in the function. */
struct piece {
	const struct seam_sframe_builder_row *rows;
	size_t num;
	uint32_t base, size;
	unsigned int log2; /* of the size of the rows' starts */
};

SEAM_INLINE uint8_t *put_default_row(bool is_big, uint8_t *p, uint32_t off,
				     unsigned int log2,
				     const struct seam_sframe_form *form)
{
	size_t size = (size_t)1 << log2;
	uint32_t v = is_big ? htobe32(off << (32 - 8 * size)) : htole32(off);

	memcpy(p, &v, sizeof(v));
	p += size;
	memcpy(p, form, sizeof(*form));
	return p + form->len;
}

static uint8_t *put_rows(const struct seam_sframe_builder *b, uint8_t *p,
			 const struct piece *piece, uint8_t type)
{
	for (size_t i = 0; i < piece->num; i++) {
		uint32_t off = piece->rows[i].off - piece->base;
		uint32_t rule = piece->rows[i].rule;

		if (type == SEAM_SFRAME_FDE_DEFAULT)
			p = put_default_row(b->target.is_big, p, off,
					    piece->log2, &b->forms.v[rule]);
		else
			p = seam_sframe_put_row(&b->target, p, off, piece->log2,
						&b->forms.rules[rule], type);
	}
	return p;
}

/* For a descriptor and its rows. */
SEAM_INLINE int make_room(struct seam_sframe_builder *b, size_t rows)
{
	size_t need = b->fres_len + SEAM_SFRAME_ATTR_SIZE +
		      rows * SEAM_SFRAME_ROW_ROOM;
	int r;

	if (need <= b->cap_fres && b->num_entries < b->cap_entries)
		return 0;
	r = seam_grow(&b->fres, need, &b->cap_fres, 1);
	return r ? r
		 : seam_grow(&b->entries, b->num_entries + 1, &b->cap_entries,
			     sizeof(*b->entries));
}

/* Its rows lie at fres_len, behind its attributes, up to end. */
SEAM_INLINE int put_fde(struct seam_sframe_builder *b,
			const struct seam_sframe_builder_func *func,
			const struct piece *piece, uint8_t type,
			const uint8_t *end)
{
	struct seam_sframe_entry entry = {
		func->start + piece->base,  piece->size,
		(uint32_t)b->fres_len,	    (uint32_t)piece->num,
		info_of(func, piece->log2), func->rep_size};

	/* fre_off is 32 bits wide, with room for the next descriptor. */
	if (end - b->fres > UINT32_MAX)
		return -EFBIG;
	put_attr(b, b->fres + b->fres_len, &entry, type);
	b->fres_len = (size_t)(end - b->fres);
	b->entries[b->num_entries++] = entry;
	return 0;
}

static int put_piece(struct seam_sframe_builder *b, struct piece piece)
{
	uint8_t type = type_of(b, piece.rows, piece.num);
	int r = make_room(b, piece.num);
	uint8_t *p;

	if (r)
		return r;
	piece.log2 = addr_size_log2(piece.size);
	p = put_rows(b, b->fres + b->fres_len + seam_sframe_attr_size(b),
		     &piece, type);
	return put_fde(b, &b->func, &piece, type, p);
}

/* All that the function at hand has. */
static int put_func(struct seam_sframe_builder *b,
		    const struct seam_sframe_builder_row *rows, size_t left,
		    uint32_t size)
{
	int r = 0;

	/* A row may begin at the very end: it covers nothing. */
	while (left && rows[left - 1].off >= size)
		left--;
	if (!left)
		return size && b->func.keep_empty
			       ? put_piece(b, (struct piece){.size = size})
			       : 0;
	if (b->func.rep_size)
		return size >= b->func.rep_size
			       ? put_piece(b, (struct piece){.rows = rows,
							     .num = left,
							     .size = size})
			       : 0;
	for (uint32_t base = 0; left && !r;) {
		size_t num = left < MAX_FRES ? left : MAX_FRES;
		uint32_t end = num < left ? rows[num].off : size;

		r = put_piece(b, (struct piece){.rows = rows,
						.num = num,
						.base = base,
						.size = end - base});
		base = end;
		rows += num;
		left -= num;
	}
	return r;
}

int seam_sframe_builder_end(struct seam_sframe_builder *b, uint32_t size)
{
	if (!b->in_func)
		return seam_sframe_refuse(b, "an end outside a function");
	b->in_func = false;
	return put_func(b, b->rows, b->num_rows, size);
}

/* Return: false: it needs more than DEFAULT rows in one descriptor, or it is
 * not sound. There is room. */
SEAM_INLINE bool add_default_as(struct seam_sframe_builder *b, bool is_big,
				const struct seam_span *rows,
				struct piece *piece, uint8_t **ret_end)
{
	uint8_t *p = b->fres + b->fres_len + seam_sframe_attr_size(b);
	const struct seam_sframe_form *forms = b->forms.v;
	/* What is written through p could be any of it, for a compiler. */
	const struct piece to = *piece;
	const size_t num_forms = b->forms.n;
	uint64_t start = rows->start, next = 0;
	uint32_t last = UINT32_MAX;
	size_t kept = 0;

	for (size_t i = 0; i < to.num; i++) {
		uint64_t off = rows[i].start - start;
		uint32_t rule = rows[i].what;

		if (rule >= num_forms || off < next || off >= to.size ||
		    forms[rule].type != SEAM_SFRAME_FDE_DEFAULT)
			return false;
		next = off + 1;
		if (rule == last)
			continue;
		last = rule;
		p = put_default_row(is_big, p, (uint32_t)off, to.log2,
				    &forms[rule]);
		kept++;
	}
	piece->num = kept;
	*ret_end = p;
	return kept;
}

/* The order of bytes is known where rows are written, not asked of each. */
static bool add_default(struct seam_sframe_builder *b,
			const struct seam_span *rows, struct piece *piece,
			uint8_t **ret_end)
{
	return b->target.is_big
		       ? add_default_as(b, true, rows, piece, ret_end)
		       : add_default_as(b, false, rows, piece, ret_end);
}

static int add_any(struct seam_sframe_builder *b, const struct seam_span *rows,
		   size_t num, uint32_t size)
{
	int r = 0;

	for (size_t i = 0; !r && i < num; i++) {
		uint64_t off = rows[i].start - rows->start;

		if (off > UINT32_MAX)
			r = seam_sframe_refuse(b, "a row outside its function");
		else
			r = seam_sframe_builder_row_of(b, (uint32_t)off,
						       rows[i].what);
	}
	return r ? r : seam_sframe_builder_end(b, size);
}

int seam_sframe_builder_add(struct seam_sframe_builder *b,
			    const struct seam_sframe_builder_func *func,
			    const struct seam_span *rows, size_t num,
			    uint32_t size)
{
	struct piece piece = {
		.num = num,
		.size = size,
		.log2 = addr_size_log2(size),
	};
	int r = check_func(b, func);
	uint8_t *end;

	b->in_func = false;
	/* func was just written, field by field: to copy it, as begin does,
	 * would wait for that. */
	if (!r && num && num <= MAX_FRES && !func->rep_size) {
		r = make_room(b, num);
		if (!r && add_default(b, rows, &piece, &end))
			return put_fde(b, func, &piece, SEAM_SFRAME_FDE_DEFAULT,
				       end);
	}
	if (!r)
		r = seam_sframe_builder_begin(b, func);
	return r ? r : add_any(b, rows, num, size);
}
