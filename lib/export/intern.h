/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Things that are equal get one number, counted from 0. */
#ifndef SEAM_LIB_EXPORT_INTERN_H
#define SEAM_LIB_EXPORT_INTERN_H

#include "base/index.h"

/* Records of one size, equal if their bytes are: without padding. */
struct seam_intern {
	void *v;
	size_t n, cap;
	struct seam_index index;
};

/* Return: the number of what equals the size bytes at record; -ENOMEM;
 * -EOVERFLOW. */
int64_t seam_intern(struct seam_intern *in, const void *record, size_t size);
void seam_intern_fini(struct seam_intern *in);

/* Texts without a '\0' in them, kept one behind the other. */
struct seam_texts {
	char *text;
	size_t len, cap;
	size_t *at; /* where in text each begins */
	size_t n, cap_at;
	struct seam_index index;
};

int64_t seam_texts_add(struct seam_texts *s, const char *text);
/* Valid until the next one is added. */
const char *seam_texts_get(const struct seam_texts *s, size_t number);
void seam_texts_fini(struct seam_texts *s);

#endif
