// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "export/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

int64_t seam_intern(struct seam_intern *in, const void *record, size_t size)
{
	uint64_t hash = seam_hash(SEAM_HASH_START, record, size);
	uint32_t i;
	int err;

	for (size_t at = 0; seam_index_next(&in->index, hash, &at, &i);)
		if (!memcmp((char *)in->v + i * size, record, size))
			return i;
	if (seam_grow(&in->v, in->n + 1, &in->cap, size))
		return -ENOMEM;
	err = seam_index_add(&in->index, hash, in->n);
	if (err)
		return err;
	memcpy((char *)in->v + in->n * size, record, size);
	return (int64_t)in->n++;
}

void seam_intern_fini(struct seam_intern *in)
{
	free(in->v);
	seam_index_fini(&in->index);
	*in = (struct seam_intern){0};
}

const char *seam_texts_get(const struct seam_texts *s, size_t number)
{
	return s->text + s->at[number];
}

int64_t seam_texts_add(struct seam_texts *s, const char *text)
{
	size_t len = strlen(text) + 1;
	uint64_t hash = seam_hash(SEAM_HASH_START, text, len);
	uint32_t i;
	int err;

	for (size_t at = 0; seam_index_next(&s->index, hash, &at, &i);)
		if (!strcmp(seam_texts_get(s, i), text))
			return i;
	if (seam_grow(&s->text, s->len + len, &s->cap, 1) ||
	    seam_grow(&s->at, s->n + 1, &s->cap_at, sizeof(*s->at)))
		return -ENOMEM;
	err = seam_index_add(&s->index, hash, s->n);
	if (err)
		return err;
	memcpy(s->text + s->len, text, len);
	s->at[s->n] = s->len;
	s->len += len;
	return (int64_t)s->n++;
}

void seam_texts_fini(struct seam_texts *s)
{
	free(s->text);
	free(s->at);
	seam_index_fini(&s->index);
	*s = (struct seam_texts){0};
}
