// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Whether a stack's first two frames can be of one moment: what lies where the
 * leaf's return address should be must be behind a call, and where that names
 * the function that it calls, it must be the leaf's, or one that can have
 * jumped on to it. A call names it by where it leads to, or by a slot that the
 * dynamic linker fills, which it reads itself or has read by a stub of the
 * linkage table.
 */
#include <string.h>

#include "core/x86-insn.h"
#include "elf/stub.h"
#include "offline/entered.h"
#include "offline/func.h"

/* What a question may cost, whatever files and recordings claim: functions of
 * one name that are looked at, each of which may have all its code decoded, and
 * mappings. Beyond, what a call leads to is not known. */
#define NAMESAKES_MAX 256
#define AREAS_MAX 4096

static bool in_func(const struct seam_cfi_extent *func, uint64_t svma)
{
	return svma >= func->start && svma < func->end;
}

/* Return: false: nothing is known there. */
static bool func_at(const struct seam_entered *e, uint64_t avma,
		    struct seam_mapping *map, struct seam_cfi_extent *ret)
{
	return !e->find(e->ctx, avma, map) && map->cfi &&
	       !seam_cfi_find_extent(map->cfi, avma - map->bias, ret);
}

/* Return: false: it is not had, or too large. */
static bool read_func(const struct seam_entered *e, uint64_t avma,
		      const struct seam_cfi_extent *func, struct seam_func *ret)
{
	uint64_t size = func->end - func->start;

	if (!size || size > SEAM_FUNC_MAX ||
	    e->code(e->ctx, avma, SEAM_DUMP_THEN, ret->code, (size_t)size) !=
		    size)
		return false;
	ret->size = (size_t)size;
	memset(ret->code + ret->size, 0, sizeof(ret->code) - SEAM_FUNC_MAX);
	return true;
}

/* Whether the function that begins there can have jumped elsewhere. */
static bool jumps_on(const struct seam_entered *e, uint64_t avma,
		     const struct seam_cfi_extent *func)
{
	struct seam_func f;

	return !read_func(e, avma, func, &f) || seam_func_jumps_on(&f);
}

/* --- what a call names --- */

struct leaf {
	uint64_t avma;
	struct seam_cfi_extent func;
	struct seam_mapping map;
};

/* Whether who calls the function there may have come to the leaf. */
static bool may_lead_to(const struct seam_entered *e, const struct leaf *leaf,
			uint64_t func_avma)
{
	struct seam_mapping map = {0};
	struct seam_cfi_extent func;

	if (in_func(&leaf->func, func_avma - leaf->map.bias))
		return true;
	return !func_at(e, func_avma, &map, &func) ||
	       func.start != func_avma - map.bias || /* part of it */
	       jumps_on(e, func_avma, &func);
}

/* Functions of one name. */
struct namesakes {
	uint64_t name;
	size_t left; /* that may still be looked at */
	size_t n; /* how many there are */
};

/* Whether a function of that name in that area may, or what it has of that name
 * is not known. */
static bool area_may(const struct seam_entered *e, const struct leaf *leaf,
		     const struct seam_entered_area *area, struct namesakes *of)
{
	const struct seam_links *links = e->links(e->ctx, area->file);
	const struct seam_link_def *defs;
	size_t n_defs;

	if (!links)
		return true;
	defs = seam_links_defs(links, of->name, &n_defs);
	for (size_t i = 0; i < n_defs; i++) {
		uint64_t at = defs[i].off - area->off;

		if (!defs[i].is_func || !of->left)
			return true;
		of->left--;
		if (at >= area->end - area->start)
			continue;
		if (may_lead_to(e, leaf, area->start + at))
			return true;
		of->n++;
	}
	return false;
}

static bool has_too_many(const struct seam_entered *e)
{
	struct seam_entered_area area;

	return e->area(e->ctx, AREAS_MAX, &area);
}

static void *file_at(const struct seam_entered *e, uint64_t avma)
{
	struct seam_entered_area area;

	for (size_t i = 0; e->area(e->ctx, i, &area); i++)
		if (avma >= area.start && avma < area.end)
			return area.file;
	return NULL;
}

/* The same of all areas of a file, or of all files. */
static bool any_may(const struct seam_entered *e, const struct leaf *leaf,
		    const void *file, struct namesakes *of)
{
	struct seam_entered_area area;

	for (size_t i = 0; e->area(e->ctx, i, &area); i++)
		if (area.file && (!file || area.file == file) &&
		    area_may(e, leaf, &area, of))
			return true;
	return false;
}

/*
 * Which file's function it is depends on which are there and how they are
 * bound, so that none of that name may lead to the leaf. Mostly the leaf's own
 * file settles that it may, whatever else is mapped.
 */
static bool links_to_another(const struct seam_entered *e,
			     const struct leaf *leaf, uint64_t caller_avma,
			     uint64_t slot_svma, bool *ret_by_maps)
{
	struct namesakes of = {.left = NAMESAKES_MAX};
	void *from, *in;
	const struct seam_links *links;

	if (!e->area || !e->links)
		return false;
	*ret_by_maps = has_too_many(e);
	if (*ret_by_maps)
		return false;
	from = file_at(e, caller_avma);
	in = file_at(e, leaf->avma);
	links = from ? e->links(e->ctx, from) : NULL;
	of.name = links ? seam_links_slot(links, slot_svma) : 0;
	links = of.name && in ? e->links(e->ctx, in) : NULL;
	if (!links || seam_links_is_linker(links) || any_may(e, leaf, in, &of))
		return false;
	*ret_by_maps = true;
	of.n = 0;
	return !any_may(e, leaf, NULL, &of) && of.n;
}

/* What precedes the stubs, for calls not bound yet: push disp32(%rip). */
static bool is_in_linkage_table(const struct seam_entered *e,
				const struct leaf *leaf)
{
	uint8_t code[2];

	return e->code(e->ctx, leaf->func.start + leaf->map.bias,
		       SEAM_DUMP_THEN, code, sizeof(code)) != sizeof(code) ||
	       (code[0] == 0xff && code[1] == 0x35);
}

/* What longjmp and those who unwind do: in their last instructions the stack is
 * the one of whom they go to, which did not call them. */
static bool switches_stack(const struct seam_entered *e,
			   const struct leaf *leaf)
{
	struct seam_func f;

	return read_func(e, leaf->func.start + leaf->map.bias, &leaf->func,
			 &f) &&
	       seam_func_moves_sp(&f);
}

static bool calls_another(const struct seam_entered *e, const struct leaf *leaf,
			  const struct seam_mapping *caller,
			  uint64_t target_avma, bool *ret_by_maps)
{
	uint8_t code[SEAM_STUB_JUMP_MAX];
	uint64_t slot;
	size_t n;

	if (in_func(&leaf->func, target_avma - leaf->map.bias))
		return false;
	n = e->code(e->ctx, target_avma, SEAM_DUMP_THEN, code, sizeof(code));
	if (seam_stub_jump(code, n, &slot))
		return !is_in_linkage_table(e, leaf) &&
		       links_to_another(e, leaf, target_avma,
					target_avma - caller->bias + slot,
					ret_by_maps);
	return !may_lead_to(e, leaf, target_avma);
}

/* before: the 8 bytes before the return address. */
static bool is_call_of_another(const struct seam_entered *e,
			       const struct leaf *leaf,
			       const struct seam_mapping *caller,
			       uint64_t ra_avma, uint64_t before,
			       bool *ret_by_maps)
{
	uint64_t to = (uint64_t)(int64_t)(int32_t)(before >> 32);

	if ((before >> 24 & 0xff) == 0xe8)
		return calls_another(e, leaf, caller, ra_avma + to,
				     ret_by_maps);
	return links_to_another(e, leaf, ra_avma - 1,
				ra_avma - caller->bias + to, ret_by_maps);
}

/* Whether what is before the return address can be no other call than one whose
 * bytes tell what it calls: call rel32, and call *disp32(%rip). They may be the
 * end of another call's bytes as well. */
static bool names_callee(uint64_t before)
{
	const uint64_t byte3 = UINT64_C(0xff) << 24, byte2 = byte3 >> 8;

	if ((before & byte3) == UINT64_C(0xe8) << 24)
		return !seam_x86_is_behind_call(before & ~byte3);
	return (before & (byte3 | byte2)) == UINT64_C(0x15ff) << 16 &&
	       !seam_x86_is_behind_call(before & ~byte2);
}

bool seam_entered_otherwise(const struct seam_entered *e, uint64_t leaf_avma,
			    uint64_t ra_avma, bool *ret_by_maps)
{
	struct leaf leaf = {.avma = leaf_avma};
	struct seam_mapping caller = {0};
	struct seam_cfi_extent func;
	uint64_t before;
	bool called, has_leaf;

	*ret_by_maps = false;
	if (e->code(e->ctx, ra_avma - sizeof(before), SEAM_DUMP_THEN, &before,
		    sizeof(before)) != sizeof(before))
		return false;
	called = seam_x86_is_behind_call(before);
	if (called && !names_callee(before))
		return false;
	/* Of what is known alone. A signal's trampoline is not called, nor does
	 * it call what it returns to; and where a function begins one byte
	 * before, it was made to look called (Go's goexit). */
	has_leaf = func_at(e, leaf_avma, &leaf.map, &leaf.func);
	if (has_leaf && leaf.func.signal)
		return false;
	if (!func_at(e, ra_avma - 1, &caller, &func) || func.signal ||
	    func.start == ra_avma - 1 - caller.bias)
		return false;
	if (called &&
	    (!has_leaf || !is_call_of_another(e, &leaf, &caller, ra_avma,
					      before, ret_by_maps)))
		return false;
	return !has_leaf || !switches_stack(e, &leaf);
}
