/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The rules that a builder was given, once each, with the bytes that a row of
 * it has. A file has a few hundred for its hundreds of thousands of rows.
 */
#ifndef SEAM_LIB_SFRAME_FORMS_H
#define SEAM_LIB_SFRAME_FORMS_H

#include <stddef.h>
#include <stdint.h>

#include "core/rule.h"
#include "sframe/encode-row.h"

/* Behind its start a row of the DEFAULT type has up to three words. */
#define SEAM_SFRAME_FORM_BYTES 14

struct seam_sframe_form {
	uint8_t bytes[SEAM_SFRAME_FORM_BYTES]; /* if type is DEFAULT */
	uint8_t len; /* of bytes */
	uint8_t type; /* the simplest SEAM_SFRAME_FDE type that holds it */
};
_Static_assert(sizeof(struct seam_sframe_form) == 16, "copied at once");

struct seam_sframe_forms {
	struct seam_sframe_form *v;
	struct seam_rule *rules; /* normalised; by the same numbers */
	size_t n, max, max_rules;
	/* By a hash of the rule: a form's number plus one, or 0. Their number
	 * is a power of two, and less than half of them are in use. */
	uint32_t *places;
	size_t num_places;
};

/*
 * One target for all that a builder has. Return: 0 and the number of the
 * rule's form; -EINVAL: the target cannot hold it, with a static string
 * saying why; -ENOMEM.
 */
int seam_sframe_forms_get(struct seam_sframe_forms *forms,
			  const struct seam_sframe_target *target,
			  const struct seam_rule *rule, uint32_t *ret,
			  const char **ret_why);

/* Forgets them all. */
void seam_sframe_forms_clear(struct seam_sframe_forms *forms);
void seam_sframe_forms_fini(struct seam_sframe_forms *forms);

#endif
