// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "stitch/names.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

struct name {
	size_t len;
	uint8_t bytes[];
};

static int keep(struct names *names, const void *bytes, size_t len,
		const void **ret)
{
	uint64_t hash = seam_hash(SEAM_HASH_START, bytes, len);
	struct name *name;
	uint32_t i;
	int rc;

	for (size_t at = 0; seam_index_next(&names->index, hash, &at, &i);)
		if (names->v[i]->len == len &&
		    !memcmp(names->v[i]->bytes, bytes, len)) {
			*ret = names->v[i]->bytes;
			return 0;
		}
	if (seam_grow(&names->v, names->n + 1, &names->cap, sizeof(name)))
		return -ENOMEM;
	name = malloc(sizeof(*name) + len);
	rc = name ? seam_index_add(&names->index, hash, names->n) : -ENOMEM;
	if (rc) {
		free(name);
		return rc;
	}
	name->len = len;
	memcpy(name->bytes, bytes, len);
	names->v[names->n++] = name;
	*ret = name->bytes;
	return 0;
}

static int keep_text(struct names *names, const char **text)
{
	const void *kept;
	int rc = keep(names, *text, strlen(*text) + 1, &kept);

	if (!rc)
		*text = kept;
	return rc;
}

static int keep_map(struct names *names, struct seam_pd_rec_map *map)
{
	const void *id;
	int rc = keep_text(names, &map->path);

	if (rc || !map->build_id)
		return rc;
	rc = keep(names, map->build_id, map->build_id_len, &id);
	if (!rc)
		map->build_id = id;
	return rc;
}

int seam_names_keep(struct names *names, struct seam_pd_rec *rec)
{
	switch (rec->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return keep_map(names, &rec->map);
	case PERF_RECORD_KSYMBOL:
		return keep_text(names, &rec->ksymbol.name);
	case PERF_RECORD_COMM:
		return keep_text(names, &rec->comm);
	}
	return 0;
}

void seam_names_fini(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i]);
	free(names->v);
	seam_index_fini(&names->index);
}
