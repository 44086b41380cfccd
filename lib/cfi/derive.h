/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Rules for code that no FDE describes, found by reading its instructions.
 *
 * crtstuff (__do_global_dtors_aux and its kin), _init and _fini are built
 * without CFI into every program. From entry points that are certain, every
 * path is followed with the height of the stack and the whereabouts of the
 * frame pointer. A function with anything on its paths that is not
 * understood gets no rule at all: what is given here is true, or absent.
 * Stubs of linkage tables (PLT) for which the linker made no FDE are read
 * likewise. Rules get as well the system call that the C library's clone ends
 * its CFI before, and padding that may be run through into a function with an
 * FDE.
 *
 *	struct seam_derived *derived;
 *	if (!seam_derived_build(elf, cfi, &derived)) {
 *		if (seam_derived_find(derived, svma, &rule))
 *			...
 *		seam_derived_free(derived);
 *	}
 */
#ifndef SEAM_LIB_CFI_DERIVE_H
#define SEAM_LIB_CFI_DERIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/cfi.h"
#include "core/rule.h"
#include "elf/elf.h"

struct seam_derived_row {
	uint64_t func_start, func_end; /* svma; may span gaps, and many stubs */
	uint64_t start, end;
	/* CFA = SP + off; RA in its fixed place; FP as it was or at CFA + off.
	 * Nothing is said of other registers. */
	struct seam_rule rule;
};

struct seam_derived_stats {
	size_t entries; /* places where a function may begin */
	size_t functions; /* of these, with rules */
	size_t given_up;
	size_t unread; /* at least so many, beyond the limits of one image */
};

struct seam_derived;

/*
 * cfi NULL: the file has none. Both are used during the call only. An image
 * without such code gives an empty set.
 * Return: 0; -ENOMEM; -EINVAL if this is not code that we can read.
 */
int seam_derived_build(const struct seam_elf *elf, struct seam_cfi *cfi,
		       struct seam_derived **ret);
struct seam_derived *seam_derived_free(struct seam_derived *derived);

/* Return: false if there is no rule for svma; derived may be NULL. */
bool seam_derived_find(const struct seam_derived *derived, uint64_t svma,
		       struct seam_rule *ret_rule);

/*
 * The same behind a system call that starts a child: the parent's rule, where
 * rax is not 0. Where it is 0 this is the child, on a stack of its own, and
 * has no caller. For an interrupted frame, whose rax is known.
 */
bool seam_derived_find_forked(const struct seam_derived *derived, uint64_t svma,
			      struct seam_rule *ret_rule);

/* All rows by address, disjoint, without those; owned by derived. */
const struct seam_derived_row *
seam_derived_rows(const struct seam_derived *derived, size_t *ret_count);
const struct seam_derived_stats *
seam_derived_stats(const struct seam_derived *derived);

#endif
