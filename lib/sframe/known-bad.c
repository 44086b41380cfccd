// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "sframe/known-bad.h"

#include <elf.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define REG_DI 5
#define REG_FP 6
#define MAX_CODE 64 /* bytes of an entry's code */
#define MAX_GLOB 64

#define X(NAME, files_, code_, from_, to_, sign_, says_, truth_)               \
	{.name = #NAME,                                                        \
	 .files = files_,                                                      \
	 .code = code_,                                                        \
	 .from = from_,                                                        \
	 .to = to_,                                                            \
	 .sign = SEAM_BAD_##sign_,                                             \
	 .says = says_,                                                        \
	 .truth = truth_},
static const struct seam_known_bad known_bad[] = {
#include "sframe/known-bad.def"
};
#undef X

#define COUNT (sizeof(known_bad) / sizeof(known_bad[0]))

const struct seam_known_bad *seam_known_bad_all(size_t *ret_count)
{
	*ret_count = COUNT;
	return known_bad;
}

struct code {
	uint8_t bytes[MAX_CODE], mask[MAX_CODE]; /* mask 0: any */
	size_t len;
};

static int nibble(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

static void read_code(const char *hex, struct code *ret)
{
	ret->len = 0;
	for (; *hex && ret->len < MAX_CODE; hex += hex[2] ? 3 : 2) {
		bool any = *hex == '?';

		ret->mask[ret->len] = any ? 0 : 0xff;
		ret->bytes[ret->len++] =
			any ? 0
			    : (uint8_t)(nibble(hex[0]) << 4 | nibble(hex[1]));
	}
}

static bool matches(const struct code *code, const uint8_t *p)
{
	for (size_t i = 0; i < code->len; i++)
		if ((p[i] & code->mask[i]) != code->bytes[i])
			return false;
	return true;
}

/* Whether a file's name is one of those meant. */
static bool is_file(const struct seam_known_bad *bad, const char *path)
{
	const char *name = strrchr(path, '/'), *glob = bad->files;
	char one[MAX_GLOB];
	size_t len;

	name = name ? name + 1 : path;
	for (; *glob; glob += len + (glob[len] == ' ')) {
		len = strcspn(glob, " ");
		if (len >= sizeof(one))
			continue;
		memcpy(one, glob, len);
		one[len] = '\0';
		if (!fnmatch(one, name, 0))
			return true;
	}
	return false;
}

/* At *(RBP + 0): DW_OP_breg6 0. */
static bool is_at_fp(const struct seam_cfi_reg *r)
{
	static const uint8_t breg6_0[] = {0x76, 0x00};

	return r->how == SEAM_CFI_EXPRESSION &&
	       r->expr_len == sizeof(breg6_0) &&
	       !memcmp(r->expr, breg6_0, sizeof(breg6_0));
}

/* Whether svma is bad, with the entry's code at code_svma. What leads there
 * is in the same function. Return: 0, 1 or -ENOMEM. */
static int has_sign(const struct seam_known_bad *bad, struct seam_cfi *cfi,
		    uint64_t svma, uint64_t code_svma)
{
	struct seam_cfi_row row;
	int r = cfi ? seam_cfi_find(cfi, svma, &row, NULL) : -ENOENT;

	if (r)
		return r == -ENOMEM ? r : bad->sign == SEAM_BAD_NO_FDE;
	if (code_svma > svma && code_svma >= row.func_end)
		return false;
	switch (bad->sign) {
	case SEAM_BAD_FP_SAVED:
		return row.regs[REG_FP].how != SEAM_CFI_SAME;
	case SEAM_BAD_FP_STALE:
		return is_at_fp(&row.regs[REG_FP]);
	case SEAM_BAD_CFA_NOT_FP:
		return row.cfa_is_expr || row.cfa_reg != REG_FP;
	case SEAM_BAD_CFA_DI:
		return !row.cfa_is_expr && row.cfa_reg == REG_DI;
	case SEAM_BAD_NO_FDE:
		return false;
	}
	return false;
}

/* The bytes of a file that an executable segment loads. Return: false: none. */
static bool text_of(const struct seam_elf *elf, size_t segment,
		    const uint8_t **ret, size_t *ret_size, uint64_t *ret_svma)
{
	const struct seam_elf_segment *s;
	size_t count, size;
	const uint8_t *bytes = seam_elf_bytes(elf, &size);

	s = &seam_elf_segments(elf, &count)[segment];
	if (!(s->flags & PF_X) || s->off >= size)
		return false;
	*ret = bytes + s->off;
	*ret_size = s->filesz < size - s->off ? s->filesz : size - s->off;
	*ret_svma = s->svma;
	return true;
}

/* The list is about x86-64. */
static size_t num_segments(const struct seam_elf *elf)
{
	size_t count;

	if (seam_elf_machine(elf) != EM_X86_64)
		return 0;
	seam_elf_segments(elf, &count);
	return count;
}

/* Whether the entry's code lies so that text[at], svma, is bad. */
static bool is_bad(const struct seam_known_bad *bad, struct seam_cfi *cfi,
		   const uint8_t *text, size_t size, size_t at, uint64_t svma)
{
	struct code code;

	read_code(bad->code, &code);
	for (int i = bad->from; i < bad->to; i++) {
		int64_t start = (int64_t)at - i;

		if (start >= 0 && code.len <= size &&
		    (uint64_t)start <= size - code.len &&
		    matches(&code, text + start) &&
		    has_sign(bad, cfi, svma, svma - (uint64_t)(int64_t)i) > 0)
			return true;
	}
	return false;
}

const struct seam_known_bad *seam_known_bad_at(const struct seam_elf *elf,
					       struct seam_cfi *cfi,
					       const char *path, uint64_t svma)
{
	const uint8_t *text;
	uint64_t start;
	size_t size;

	for (size_t i = 0; i < num_segments(elf); i++) {
		if (!text_of(elf, i, &text, &size, &start) || svma < start ||
		    svma - start >= size)
			continue;
		for (size_t k = 0; k < COUNT; k++)
			if (is_file(&known_bad[k], path) &&
			    is_bad(&known_bad[k], cfi, text, size, svma - start,
				   svma))
				return &known_bad[k];
	}
	return NULL;
}

struct scan {
	const struct seam_known_bad *bad;
	struct seam_cfi *cfi;
	int (*fn)(void *ctx, const struct seam_known_bad *bad, uint64_t start,
		  uint64_t end);
	void *ctx;
	uint64_t done; /* no range begins below */
};

/* The code stands at svma: what of its range has the sign. */
static int scan_range(struct scan *s, uint64_t svma, uint64_t low,
		      uint64_t high)
{
	uint64_t back = s->bad->from < 0 ? (uint64_t)-s->bad->from : 0;
	uint64_t start = svma - low < back ? low : svma - back;
	uint64_t end = svma + (uint64_t)s->bad->to, at;
	int r = 0;

	if (s->bad->from > 0)
		start = svma + (uint64_t)s->bad->from;
	start = start < s->done ? s->done : start;
	end = end > high ? high : end;
	for (; !r && start < end; start = at) {
		int bad = has_sign(s->bad, s->cfi, start, svma);

		if (bad < 0)
			return bad;
		for (at = start + 1; at < end; at++)
			if (has_sign(s->bad, s->cfi, at, svma) != bad)
				break;
		if (bad)
			r = s->fn(s->ctx, s->bad, start, at);
	}
	if (end > s->done)
		s->done = end;
	return r;
}

static int scan_text(struct scan *s, const uint8_t *text, size_t size,
		     uint64_t svma)
{
	struct code code;
	int r = 0;

	read_code(s->bad->code, &code);
	for (size_t i = 0; !r && i + code.len <= size; i++) {
		const uint8_t *p = memchr(text + i, code.bytes[0],
					  size - code.len - i + 1);

		if (!p)
			break;
		i = (size_t)(p - text);
		if (matches(&code, p))
			r = scan_range(s, svma + i, svma, svma + size);
	}
	return r;
}

int seam_known_bad_each(const struct seam_elf *elf, struct seam_cfi *cfi,
			const char *path,
			int (*fn)(void *ctx, const struct seam_known_bad *bad,
				  uint64_t start, uint64_t end),
			void *ctx)
{
	const uint8_t *text;
	uint64_t start;
	size_t size;
	int r = 0;

	for (size_t k = 0; !r && k < COUNT; k++) {
		struct scan s = {&known_bad[k], cfi, fn, ctx, 0};

		if (!is_file(s.bad, path))
			continue;
		for (size_t i = 0; !r && i < num_segments(elf); i++)
			if (text_of(elf, i, &text, &size, &start))
				r = scan_text(&s, text, size, start);
	}
	return r;
}

struct list {
	struct seam_known_bad_range *v;
	size_t n, max;
};

static int add_range(void *ctx, const struct seam_known_bad *bad,
		     uint64_t start, uint64_t end)
{
	struct list *l = ctx;
	int err = seam_grow(&l->v, l->n + 1, &l->max, sizeof(*l->v));

	if (!err)
		l->v[l->n++] = (struct seam_known_bad_range){bad, start, end};
	return err;
}

int seam_known_bad_list(const struct seam_elf *elf, struct seam_cfi *cfi,
			const char *path, struct seam_known_bad_range **ret,
			size_t *ret_count)
{
	struct list l = {0};
	int err = seam_known_bad_each(elf, cfi, path, add_range, &l);

	if (err) {
		free(l.v);
		return err;
	}
	*ret = l.v;
	*ret_count = l.n;
	return 0;
}
