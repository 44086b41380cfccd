// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "inject/chains.h"

#include <stdlib.h>

#include "base/grow.h"

static int add(struct chains *c, uint64_t ip, uint32_t *at)
{
	uint64_t hash = seam_hash(SEAM_HASH_START, &ip, sizeof(ip));
	uint32_t i;
	int rc;

	hash = seam_hash(hash, at, sizeof(*at));
	for (size_t k = 0; seam_index_next(&c->index, hash, &k, &i);)
		if (c->v[i].ip == ip && c->v[i].caller == *at) {
			*at = i + 1;
			return 0;
		}
	rc = seam_grow(&c->v, c->n + 1, &c->cap, sizeof(*c->v));
	if (!rc)
		rc = seam_index_add(&c->index, hash, c->n);
	if (rc)
		return rc;
	c->v[c->n++] = (struct chain_frame){ip, *at};
	*at = (uint32_t)c->n;
	return 0;
}

int seam_chains_add(struct chains *c, const struct seam_frame *frames, size_t n,
		    uint32_t *ret)
{
	uint32_t at = 0;
	int rc = 0;

	while (!rc && n--)
		rc = add(c, frames[n].ip, &at);
	if (!rc)
		*ret = at - 1;
	return rc;
}

void seam_chains_get(const struct chains *c, uint32_t leaf, size_t n,
		     uint64_t *ret)
{
	for (size_t i = 0; i < n; i++) {
		ret[i] = c->v[leaf].ip;
		leaf = c->v[leaf].caller - 1;
	}
}

void seam_chains_fini(struct chains *c)
{
	free(c->v);
	seam_index_fini(&c->index);
}
