/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The rules that a builder was given, mostly once each, with the bytes that
 * a row of it has. A file has a few hundred for its hundreds of thousands of
 * rows.
 */
#ifndef SEAM_LIB_SFRAME_FORMS_H
#define SEAM_LIB_SFRAME_FORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/rule.h"
#include "sframe/encode-row.h"

/* Behind its start a row of the DEFAULT type has less than this. */
#define SEAM_SFRAME_FORM_BYTES 16

struct seam_sframe_form {
	uint8_t bytes[SEAM_SFRAME_FORM_BYTES]; /* if type is DEFAULT */
	uint8_t len; /* of bytes */
	uint8_t type; /* the simplest SEAM_SFRAME_FDE type that holds it */
	struct seam_rule rule; /* normalised */
};

/* A cache: of two rules with one place the later one has it, and the other
 * one, when it comes again, a second form. */
#define SEAM_SFRAME_KNOWN_BITS 10

struct seam_sframe_known {
	struct seam_rule rule; /* as given */
	uint32_t form; /* its number plus one; 0: none */
};
_Static_assert(sizeof(struct seam_rule) == 32, "compared as four words");

struct seam_sframe_forms {
	struct seam_sframe_form *v;
	size_t n, max;
	bool has_twins; /* two forms may be of one rule */
	struct seam_sframe_known known[1 << SEAM_SFRAME_KNOWN_BITS];
};

/* Word by word, as rules are stored: see set_value in from-cfi.c. */
static inline uint64_t seam_sframe_rule_word(const struct seam_rule *rule,
					     size_t i)
{
	uint64_t word;

	memcpy(&word, (const char *)rule + 8 * i, 8);
	return word;
}

static inline size_t seam_sframe_forms_place(const struct seam_rule *rule)
{
	uint64_t h = seam_sframe_rule_word(rule, 0) * 0x9e3779b97f4a7c15 ^
		     seam_sframe_rule_word(rule, 1) * 0xc2b2ae3d27d4eb4f ^
		     seam_sframe_rule_word(rule, 2) * 0x165667b19e3779f9 ^
		     seam_sframe_rule_word(rule, 3);

	return h >> (64 - SEAM_SFRAME_KNOWN_BITS);
}

static inline bool seam_sframe_rule_is(const struct seam_rule *a,
				       const struct seam_rule *b)
{
	uint64_t differ = 0;

	for (size_t i = 0; i < 4; i++)
		differ |= seam_sframe_rule_word(a, i) ^
			  seam_sframe_rule_word(b, i);
	return !differ;
}

/* Of a rule that is not known. Return: as seam_sframe_forms_get. */
int seam_sframe_forms_add(struct seam_sframe_forms *forms,
			  const struct seam_sframe_target *target,
			  const struct seam_rule *rule,
			  struct seam_sframe_known *known,
			  const char **ret_why);

/*
 * One target for all that a builder has. Return: 0 and the number of the
 * rule's form; -EINVAL: the target cannot hold it, with a static string
 * saying why; -ENOMEM.
 */
static inline int seam_sframe_forms_get(struct seam_sframe_forms *forms,
					const struct seam_sframe_target *target,
					const struct seam_rule *rule,
					uint32_t *ret, const char **ret_why)
{
	struct seam_sframe_known *known;
	int rc;

	known = &forms->known[seam_sframe_forms_place(rule)];
	if (!known->form || !seam_sframe_rule_is(rule, &known->rule)) {
		rc = seam_sframe_forms_add(forms, target, rule, known, ret_why);
		if (rc)
			return rc;
	}
	*ret = known->form - 1;
	return 0;
}

/* Between functions: forgets them all, should they have become too many. */
void seam_sframe_forms_bound(struct seam_sframe_forms *forms);
void seam_sframe_forms_fini(struct seam_sframe_forms *forms);

#endif
