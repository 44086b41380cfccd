/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Builds an SFrame section out of functions and rules: V3, or V2 for those who
 * read only that, for any ABI.
 *
 *	struct seam_sframe_builder_func func = {.start = 0x1000};
 *	seam_sframe_builder_new(0, &b);
 *	seam_sframe_builder_begin(b, &func);
 *	seam_sframe_builder_row(b, 0, &rule);
 *	seam_sframe_builder_end(b, 64);
 *	seam_sframe_builder_finish(b, 0, &bytes, &size, NULL);
 *	seam_sframe_builder_free(b);
 *
 * Functions may come in any order. One builder, one thread.
 */
#ifndef SEAM_LIB_SFRAME_ENCODE_H
#define SEAM_LIB_SFRAME_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "core/rule.h"

enum seam_sframe_builder_flags {
	/* Rules with cfa_add are allowed: SEAM_SFRAME_FDE_FLEX_ADD. */
	SEAM_SFRAME_ALLOW_ADD = 1,
	/* V2 as binutils 2.44 and before know it: starts count from the
	 * section, not from themselves. */
	SEAM_SFRAME_SECTION_RELATIVE = 2,
};

struct seam_sframe_builder_func {
	uint64_t start; /* an address, or what stands for one */
	uint8_t signal; /* the frame is a signal trampoline's */
	uint8_t rep_size; /* 0: PCINC; else PCMASK with blocks of this size */
	uint8_t pauth_b; /* aarch64: return addresses are signed with key B */
	uint8_t keep_empty; /* V3: written even if it has no rows */
};

/* What seam_sframe_builder_finish did with functions that overlap. */
struct seam_sframe_builder_totals {
	uint64_t functions, rows;
	uint64_t overlap_bytes; /* given up by functions that overlap others */
};

struct seam_sframe_builder;

/*
 * version: 2 or 3. abi: SEAM_SFRAME_ABI_*. flags: those above; ADD is for V3
 * and amd64, SECTION_RELATIVE for V2. The short form is V3 for amd64.
 * Functions with more rows than the format's limit, 65535, are split into
 * several descriptors.
 * Return: 0; -EINVAL: no such version, ABI or flag; -ENOMEM.
 */
int seam_sframe_builder_new_for(uint8_t version, uint8_t abi, uint32_t flags,
				struct seam_sframe_builder **ret);
int seam_sframe_builder_new(uint32_t flags, struct seam_sframe_builder **ret);

/*
 * Makes room at once for a section of so many bytes and functions: growing
 * step by step touches half as many pages again. Only a hint: nothing fails,
 * and memory that is not used is not touched.
 */
void seam_sframe_builder_reserve(struct seam_sframe_builder *b, size_t bytes,
				 size_t functions);
struct seam_sframe_builder *
seam_sframe_builder_free(struct seam_sframe_builder *b);

/*
 * A function: begin, its rows by ascending offset from its start, end with
 * its size in bytes. A row holds until the next one; a row equal to the one
 * before is merged into it. Addresses before the first row have no rule. A
 * function without rows, or of size 0, is left out.
 * Return: 0; -EINVAL for calls or rows out of order and for what the version
 * or ABI cannot hold; -ENOMEM; -EFBIG. After a failed row the function can
 * be ended or begun anew.
 */
int seam_sframe_builder_begin(struct seam_sframe_builder *b,
			      const struct seam_sframe_builder_func *func);
int seam_sframe_builder_row(struct seam_sframe_builder *b, uint32_t off,
			    const struct seam_rule *rule);
int seam_sframe_builder_end(struct seam_sframe_builder *b, uint32_t size);

/*
 * For who has many rows of few rules: a rule by number, a row by that, and a
 * whole function at once. Numbers hold until forget, which is to be called
 * where rules become too many to keep; a builder that gave none forgets them
 * by itself. rows: numbers, and addresses that differ from the first one's as
 * offsets do. A number that was not given is refused.
 */
int seam_sframe_builder_rule(struct seam_sframe_builder *b,
			     const struct seam_rule *rule,
			     uint32_t *ret_number);
int seam_sframe_builder_row_of(struct seam_sframe_builder *b, uint32_t off,
			       uint32_t number);
int seam_sframe_builder_add(struct seam_sframe_builder *b,
			    const struct seam_sframe_builder_func *func,
			    const struct seam_span *rows, size_t num,
			    uint32_t size);
void seam_sframe_builder_forget(struct seam_sframe_builder *b);

/* What the last -EINVAL, or -EFBIG of V2, was about, as a few words: a static
 * string, NULL if there was none. */
const char *seam_sframe_builder_reason(const struct seam_sframe_builder *b);

/*
 * Writes the section as it has to lie at section_addr. Where two functions
 * overlap the one that starts later keeps the bytes, as in any lookup by
 * "last start at or below"; of two with one start, the one added last.
 * The caller frees *ret_bytes. ret_totals may be NULL. The builder is used
 * up, whatever the result: all that is left to do is to free it.
 */
int seam_sframe_builder_finish(struct seam_sframe_builder *b,
			       uint64_t section_addr, uint8_t **ret_bytes,
			       size_t *ret_size,
			       struct seam_sframe_builder_totals *ret_totals);

#endif
