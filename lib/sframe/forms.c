// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "sframe/forms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "core/sframe-format.h"
#include "sframe/encode-row.h"

/* A file that has more is one that nobody compiled. */
#define FORMS_MAX 16384

static void encode(struct seam_sframe_form *form,
		   const struct seam_sframe_target *target)
{
	const struct seam_sframe_in_row row = {.rule = form->rule};
	uint8_t bytes[SEAM_SFRAME_ROW_ROOM] = {0};
	uint8_t *end;

	form->type = seam_sframe_rows_type(target, &row, 1);
	if (form->type != SEAM_SFRAME_FDE_DEFAULT)
		return;
	/* Behind a start of one byte. */
	end = seam_sframe_put_row(target, bytes, 0, 0, &form->rule, form->type);
	form->len = (uint8_t)(end - bytes - 1);
	memcpy(form->bytes, bytes + 1, sizeof(form->bytes));
}

int seam_sframe_forms_add(struct seam_sframe_forms *forms,
			  const struct seam_sframe_target *target,
			  const struct seam_rule *rule,
			  struct seam_sframe_known *known, const char **ret_why)
{
	struct seam_sframe_form *form;

	if (seam_grow(&forms->v, forms->n + 1, &forms->max, sizeof(*forms->v)))
		return -ENOMEM;
	form = &forms->v[forms->n];
	memset(form, 0, sizeof(*form));
	*ret_why = seam_sframe_normalise(target, rule, &form->rule);
	if (*ret_why)
		return -EINVAL;
	encode(form, target);
	forms->n++;
	if (known->form || memcmp(&form->rule, rule, sizeof(*rule)))
		forms->has_twins = true;
	known->rule = *rule;
	known->form = (uint32_t)forms->n;
	return 0;
}

void seam_sframe_forms_bound(struct seam_sframe_forms *forms)
{
	if (forms->n <= FORMS_MAX)
		return;
	forms->n = 0;
	forms->has_twins = false;
	memset(forms->known, 0, sizeof(forms->known));
}

void seam_sframe_forms_fini(struct seam_sframe_forms *forms)
{
	free(forms->v);
	forms->v = NULL;
	forms->n = 0;
	forms->max = 0;
}
