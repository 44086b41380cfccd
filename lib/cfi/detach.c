// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* CFI without its image: what signal handlers ask. */
#include <stdlib.h>
#include <string.h>

#include "cfi/private.h"

/* Return: 0 or -ENOMEM. *ret: a copy, or NULL: it is the cfi's already. */
static int copy_section(const struct seam_cfi *cfi, unsigned int i, void **ret)
{
	const struct seam_cfi_section *sec = &cfi->sections[i];

	*ret = NULL;
	if (cfi->contents[i].owned)
		return 0;
	*ret = malloc(sec->size);
	if (!*ret)
		return -ENOMEM;
	memcpy(*ret, sec->data, sec->size);
	return 0;
}

/* There was room for twice as many as there are functions. */
static void shrink_ranges(struct seam_cfi *cfi)
{
	struct seam_cfi_range *fit;

	if (!cfi->num_ranges)
		return;
	fit = reallocarray(cfi->ranges, cfi->num_ranges, sizeof(*fit));
	if (fit)
		cfi->ranges = fit;
}

int seam_cfi_detach(struct seam_cfi *cfi)
{
	void *copies[2] = {NULL, NULL};
	int rc = seam_cfi_index(cfi);

	for (unsigned int i = 0; i < cfi->num_sections && !rc; i++)
		rc = copy_section(cfi, i, &copies[i]);
	if (rc) {
		free(copies[0]);
		free(copies[1]);
		return rc;
	}
	for (unsigned int i = 0; i < cfi->num_sections; i++) {
		if (!copies[i])
			continue;
		cfi->contents[i].owned = copies[i];
		cfi->sections[i].data = copies[i];
	}
	shrink_ranges(cfi);
	/* Both have pointers into the image. */
	free(cfi->found);
	cfi->found = NULL;
	seam_cfi_share(cfi, NULL);
	cfi->elf = NULL;
	return 0;
}

int seam_cfi_find_detached(const struct seam_cfi *cfi,
			   struct seam_cfi_small *work, uint64_t svma,
			   struct seam_cfi_row *ret_row)
{
	struct seam_cfi view = *cfi;

	work->work.machine.saved = work->saved;
	work->work.machine.max_depth = SEAM_CFI_SMALL_REMEMBER;
	work->work.cies = &work->cie;
	work->work.num_cies = 1;
	/* What it was used for last may be gone. */
	work->cie.used = false;
	view.work = &work->work;
	return seam_cfi_search(&view, svma, ret_row, NULL);
}
