// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "sframe/forms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "core/sframe-format.h"

#define FIRST_PLACES 1024

_Static_assert(sizeof(struct seam_rule) == 32, "hashed as four words");

static uint64_t hash(const struct seam_rule *rule)
{
	uint64_t words[4], h = 0;

	memcpy(words, rule, sizeof(words));
	for (size_t i = 0; i < 4; i++)
		h = (h ^ words[i]) * 0x9e3779b97f4a7c15;
	return h ^ h >> 32;
}

/* The place of the rule, or where it would be. There is room. */
static uint32_t *place_of(const struct seam_sframe_forms *forms,
			  const struct seam_rule *rule)
{
	size_t mask = forms->num_places - 1, i = hash(rule) & mask;

	while (forms->places[i] &&
	       memcmp(&forms->rules[forms->places[i] - 1], rule, sizeof(*rule)))
		i = (i + 1) & mask;
	return &forms->places[i];
}

/* For one more form. */
static int make_room(struct seam_sframe_forms *forms)
{
	size_t num = forms->num_places ? 2 * forms->num_places : FIRST_PLACES;
	uint32_t *places;

	if (seam_grow(&forms->v, forms->n + 1, &forms->max,
		      sizeof(*forms->v)) ||
	    seam_grow(&forms->rules, forms->n + 1, &forms->max_rules,
		      sizeof(*forms->rules)))
		return -ENOMEM;
	if (2 * (forms->n + 1) < forms->num_places)
		return 0;
	places = calloc(num, sizeof(*places));
	if (!places)
		return -ENOMEM;
	free(forms->places);
	forms->places = places;
	forms->num_places = num;
	for (size_t i = 0; i < forms->n; i++)
		*place_of(forms, &forms->rules[i]) = (uint32_t)i + 1;
	return 0;
}

static struct seam_sframe_form encode(const struct seam_sframe_target *target,
				      const struct seam_rule *rule)
{
	const struct seam_sframe_in_row row = {.rule = *rule};
	uint8_t bytes[SEAM_SFRAME_ROW_ROOM] = {0};
	struct seam_sframe_form form = {0};
	uint8_t *end;

	form.type = seam_sframe_rows_type(target, &row, 1);
	if (form.type != SEAM_SFRAME_FDE_DEFAULT)
		return form;
	/* Behind a start of one byte. */
	end = seam_sframe_put_row(target, bytes, 0, 0, rule, form.type);
	form.len = (uint8_t)(end - bytes - 1);
	memcpy(form.bytes, bytes + 1, sizeof(form.bytes));
	return form;
}

int seam_sframe_forms_get(struct seam_sframe_forms *forms,
			  const struct seam_sframe_target *target,
			  const struct seam_rule *rule, uint32_t *ret,
			  const char **ret_why)
{
	struct seam_rule normal;
	uint32_t *place;

	if (make_room(forms))
		return -ENOMEM;
	/* Most are normalised as they come. */
	place = place_of(forms, rule);
	if (!*place) {
		*ret_why = seam_sframe_normalise(target, rule, &normal);
		if (*ret_why)
			return -EINVAL;
		if (memcmp(&normal, rule, sizeof(normal)))
			place = place_of(forms, &normal);
	}
	if (!*place) {
		forms->rules[forms->n] = normal;
		forms->v[forms->n] = encode(target, &normal);
		*place = (uint32_t)++forms->n;
	}
	*ret = *place - 1;
	return 0;
}

void seam_sframe_forms_clear(struct seam_sframe_forms *forms)
{
	forms->n = 0;
	if (forms->num_places)
		memset(forms->places, 0,
		       forms->num_places * sizeof(*forms->places));
}

void seam_sframe_forms_fini(struct seam_sframe_forms *forms)
{
	free(forms->v);
	free(forms->rules);
	free(forms->places);
	*forms = (struct seam_sframe_forms){0};
}
