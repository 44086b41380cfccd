// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "unwind/skid-kind.h"

static const char *const kinds[] = {
	[SEAM_SKID_KIND_OTHER] = "other",
	[SEAM_SKID_KIND_CALL] = "call",
	[SEAM_SKID_KIND_PUSH] = "push",
	[SEAM_SKID_KIND_POP] = "pop",
	[SEAM_SKID_KIND_RET] = "ret",
	[SEAM_SKID_KIND_LEAVE] = "leave",
	[SEAM_SKID_KIND_ENTER] = "enter",
	[SEAM_SKID_KIND_ADD_SP] = "add-sp",
	[SEAM_SKID_KIND_SUB_SP] = "sub-sp",
	[SEAM_SKID_KIND_AND_SP] = "and-sp",
	[SEAM_SKID_KIND_MOV_SP] = "mov-sp",
	[SEAM_SKID_KIND_XCHG_SP] = "xchg-sp",
	[SEAM_SKID_KIND_SET_SP] = "set-sp",
	[SEAM_SKID_KIND_SET_FP] = "set-fp",
	[SEAM_SKID_KIND_STORE] = "store",
	[SEAM_SKID_KIND_JUMP] = "jump",
	[SEAM_SKID_KIND_SYSCALL] = "syscall",
	[SEAM_SKID_KIND_UNKNOWN] = "unknown",
};

static const char *const fates[] = {
	[SEAM_SKID_NONE] = "none",
	[SEAM_SKID_SAME] = "same",
	[SEAM_SKID_UNDONE] = "undone",
	[SEAM_SKID_BEHIND] = "behind",
	[SEAM_SKID_IRREVERSIBLE] = "irreversible",
	[SEAM_SKID_BELOW_SP] = "below-sp",
	[SEAM_SKID_MOMENT_END] = "skid-moment",
};

const char *seam_skid_kind_name(enum seam_skid_kind kind)
{
	return kind < SEAM_SKID_KINDS ? kinds[kind] : "unknown";
}

const char *seam_skid_fate_name(enum seam_skid_fate fate)
{
	return fate < SEAM_SKID_FATES ? fates[fate] : "none";
}
