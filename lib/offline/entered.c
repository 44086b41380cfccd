// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Whether a stack's first two frames can be of one moment: what lies where the
 * leaf's return address should be must be behind a call, and where that names
 * the function that it calls, it must be the leaf's, or one that can have
 * jumped on to it.
 */
#include <string.h>

#include "core/x86-insn.h"
#include "offline/entered.h"

#define CALL_LEN 5
#define FUNC_MAX 4096 /* bytes; of more it is not asked where they lead */

static bool in_func(const struct seam_cfi_row *row, uint64_t svma)
{
	return svma >= row->func_start && svma < row->func_end;
}

/* Return: false: nothing is known there. */
static bool row_at(const struct seam_entered *e, uint64_t avma,
		   struct seam_mapping *map, struct seam_cfi_row *ret)
{
	return !e->find(e->ctx, avma, map) && map->cfi &&
	       !seam_cfi_find(map->cfi, avma - map->bias, ret, NULL);
}

static int32_t rel32(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Whether the byte there may begin a jump out of the function, or to where its
 * bytes do not tell. Any byte is taken for an instruction's first, so that none
 * is missed. */
static bool may_leave(const uint8_t *p, size_t left, uint64_t svma,
		      const struct seam_cfi_row *row)
{
	uint8_t modrm = left > 1 ? p[1] : 0;

	switch (p[0]) {
	case 0xe9:
		return left < 5 ||
		       !in_func(row,
				svma + 5 + (uint64_t)(int64_t)rel32(p + 1));
	case 0xeb:
	case 0x70 ... 0x7f:
		return left > 1 &&
		       !in_func(row,
				svma + 2 + (uint64_t)(int64_t)(int8_t)p[1]);
	case 0x0f:
		return left >= 6 && (modrm & 0xf0) == 0x80 &&
		       !in_func(row,
				svma + 6 + (uint64_t)(int64_t)rel32(p + 2));
	case 0xff: /* jmp of a register or of memory, near and far */
		return (modrm & 0x38) == 0x20 || (modrm & 0x38) == 0x28;
	}
	return false;
}

/* Whether its last bytes may be a ret, a jump back, a trap, or a call that does
 * not return. Else it runs on into the next function. */
static bool seems_to_end(const uint8_t *code, size_t size)
{
	if (size >= 5 && (code[size - 5] == 0xe8 || code[size - 5] == 0xe9))
		return true;
	if (size >= 2 && (code[size - 2] == 0xeb ||
			  (code[size - 2] == 0x0f && code[size - 1] == 0x0b)))
		return true;
	return size && (code[size - 1] == 0xc3 || code[size - 1] == 0xf4);
}

/* Whether the function that begins there can have jumped elsewhere. */
static bool jumps_on(const struct seam_entered *e, uint64_t avma,
		     const struct seam_cfi_row *row)
{
	uint64_t size = row->func_end - row->func_start;
	uint8_t code[FUNC_MAX];

	if (size > sizeof(code) ||
	    e->code(e->ctx, avma, SEAM_DUMP_THEN, code, (size_t)size) != size)
		return true;
	for (size_t i = 0; i < size; i++)
		if (may_leave(code + i, (size_t)size - i, row->func_start + i,
			      row))
			return true;
	return !seems_to_end(code, (size_t)size);
}

static bool calls_another(const struct seam_entered *e, uint64_t leaf_avma,
			  uint64_t target_avma)
{
	struct seam_cfi_row leaf, target;
	struct seam_mapping leaf_map = {0}, target_map = {0};

	if (!row_at(e, leaf_avma, &leaf_map, &leaf))
		return false;
	if (in_func(&leaf, target_avma - leaf_map.bias))
		return false;
	if (!row_at(e, target_avma, &target_map, &target) ||
	    target.func_start != target_avma - target_map.bias)
		return false; /* of the PLT, or without CFI */
	return !jumps_on(e, target_avma, &target);
}

bool seam_entered_otherwise(const struct seam_entered *e, uint64_t leaf_avma,
			    uint64_t ra_avma)
{
	struct seam_mapping map = {0};
	struct seam_cfi_row row;
	uint64_t before;
	bool called;

	if (e->code(e->ctx, ra_avma - sizeof(before), SEAM_DUMP_THEN, &before,
		    sizeof(before)) != sizeof(before))
		return false;
	called = seam_x86_is_behind_call(before);
	/* It may be the end of another call's bytes as well. */
	if (called && ((before >> 24 & 0xff) != 0xe8 ||
		       seam_x86_is_behind_call(before & ~(0xffULL << 24))))
		return false;
	/* Of what is known alone. A signal's trampoline is not called, nor does
	 * it call what it returns to; and where a function begins one byte
	 * before, it was made to look called (Go's goexit). */
	if (row_at(e, leaf_avma, &map, &row) && row.signal)
		return false;
	if (!row_at(e, ra_avma - 1, &map, &row) || row.signal ||
	    row.func_start == ra_avma - 1 - map.bias)
		return false;
	return !called ||
	       calls_another(
		       e, leaf_avma,
		       ra_avma + (uint64_t)(int64_t)(int32_t)(before >> 32));
}
