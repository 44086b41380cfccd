// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "inject/kept.h"

#include <errno.h>

int seam_kept_add(struct seam_kept *k, const struct seam_frame *frames,
		  size_t n, uint32_t *ret)
{
	uint64_t *words;

	if (k->n + n >= UINT32_MAX)
		return -EOVERFLOW;
	if (seam_spill_grow(&k->words, k->n + n, sizeof(*words)))
		return -ENOMEM;
	words = k->words.p;
	for (size_t i = 0; i < n; i++)
		words[k->n + i] = frames[i].ip;
	*ret = (uint32_t)k->n;
	k->n += n;
	return 0;
}

const uint64_t *seam_kept_get(const struct seam_kept *k, uint32_t stack)
{
	const uint64_t *words = k->words.p;

	return words + stack;
}

void seam_kept_fini(struct seam_kept *k)
{
	seam_spill_fini(&k->words);
}
