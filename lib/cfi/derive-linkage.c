// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Linkage tables without an FDE: all those of lld and mold, and those that
 * every linker makes for the indirect functions of a static program.
 *
 * A stub is known by its first instructions, and is then read as a function.
 * What they may be, with "endbr64" before it or not:
 *	jmp *slot		and behind it, where a lazy slot leads first:
 *				push $number; jmp header
 *	push $number; jmp header		of IBT, whose slots lead here
 *	mov $number, %r11d; jmp *slot		of mold
 *	push %r11; push link_map; jmp *resolver	the header of mold
 * The header of other linkers has a stub's number on the stack already: it is
 * found from there.
 */
#include <string.h>

#include "cfi/derive-private.h"

#define ENDBR64 "\xf3\x0f\x1e\xfa"
#define BND 0xf2
#define PUSH_IMM 0x68
#define PUSH_IMM_LEN 5
#define MOV_R11D "\x41\xbb"
#define MOV_R11D_LEN 6
#define JMP_SLOT_LEN 6

struct code {
	const uint8_t *p;
	size_t size;
};

static bool skip(struct code *c, size_t n)
{
	if (n > c->size)
		return false;
	c->p += n;
	c->size -= n;
	return true;
}

static bool begins(const struct code *c, const char *bytes, size_t n)
{
	return c->size >= n && !memcmp(c->p, bytes, n);
}

static void skip_bnd(struct code *c)
{
	if (c->size && *c->p == BND)
		skip(c, 1);
}

/* Return: false unless this is "jmp *disp(%rip)", which is skipped. */
static bool skip_jmp_slot(struct code *c)
{
	skip_bnd(c);
	return begins(c, "\xff\x25", 2) && skip(c, JMP_SLOT_LEN);
}

static bool is_push_jmp(struct code c)
{
	if (!c.size || *c.p != PUSH_IMM || !skip(&c, PUSH_IMM_LEN))
		return false;
	skip_bnd(&c);
	return begins(&c, "\xe9", 1);
}

/* Return: whether a stub is there; *ret_lazy: where its slot leads first, in
 * bytes from its beginning, or 0. */
static bool is_stub(const struct code *at, size_t *ret_lazy)
{
	struct code c = *at;

	*ret_lazy = 0;
	if (begins(&c, ENDBR64, 4))
		skip(&c, 4);
	if (is_push_jmp(c) || begins(&c, "\x41\x53\xff\x35", 4))
		return true;
	if (begins(&c, MOV_R11D, 2))
		return skip(&c, MOV_R11D_LEN) && skip_jmp_slot(&c);
	if (!skip_jmp_slot(&c))
		return false;
	if (is_push_jmp(c))
		*ret_lazy = (size_t)(c.p - at->p);
	return true;
}

/* Return: false where an FDE is, or no code. */
static bool code_at(struct seam_derive *d, const struct seam_plt *plt,
		    uint64_t svma, struct seam_hole *hole, struct code *ret)
{
	uint64_t end;

	if (svma >= hole->end && !seam_derive_hole(d, svma, hole))
		return false;
	end = hole->end < plt->end ? hole->end : plt->end;
	*ret = (struct code){hole->bytes + (svma - hole->start), end - svma};
	return true;
}

static int add_stubs(struct seam_derive *d, const struct seam_plt *plt)
{
	uint64_t size = plt->end - plt->start;
	struct seam_hole hole = {0};
	int err = 0;

	for (uint64_t in = 0; !err && in < size; in += SEAM_DERIVE_STUB) {
		struct code code;
		size_t lazy;

		if (!code_at(d, plt, plt->start + in, &hole, &code) ||
		    !is_stub(&code, &lazy))
			continue;
		err = seam_derive_add_stub(d, plt->start + in);
		if (!err && lazy)
			err = seam_derive_add_stub(d, plt->start + in + lazy);
	}
	return err;
}

static void find_plts(struct seam_derive *d)
{
	static const char *const names[SEAM_DERIVE_PLTS] = {
		".plt", ".plt.sec", ".plt.got", ".iplt"};
	struct seam_elf_section s;

	for (size_t i = 0; i < SEAM_DERIVE_PLTS; i++)
		if (!seam_elf_section(d->elf, names[i], &s) && s.size &&
		    s.svma <= UINT64_MAX - s.size)
			d->plts[d->num_plts++] =
				(struct seam_plt){s.svma, s.svma + s.size};
}

const struct seam_plt *seam_derive_plt(const struct seam_derive *d,
				       uint64_t svma)
{
	for (size_t i = 0; i < d->num_plts; i++)
		if (svma >= d->plts[i].start && svma < d->plts[i].end)
			return &d->plts[i];
	return NULL;
}

int seam_derive_linkage(struct seam_derive *d)
{
	int err = 0;

	find_plts(d);
	for (size_t i = 0; !err && i < d->num_plts; i++)
		err = add_stubs(d, &d->plts[i]);
	return err;
}
