/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Recordings laid out by hand, word by word: a pipe stream in memory. */
#ifndef SEAM_TESTS_IMAGE_H
#define SEAM_TESTS_IMAGE_H

#include "perfdata/format.h"
#include "recording.h"

#ifndef IMAGE_WORDS
#define IMAGE_WORDS 4096
#endif

struct image {
	uint64_t w[IMAGE_WORDS];
	size_t n; /* words */
};

static inline void add(struct image *m, uint64_t word)
{
	assert_true(m->n < IMAGE_WORDS);
	m->w[m->n++] = word;
}

static inline uint64_t pair(uint32_t lo, uint32_t hi)
{
	return lo | (uint64_t)hi << 32;
}

static inline void add_header(struct image *m, uint32_t type, uint16_t misc,
			      size_t words)
{
	add(m, pair(type, misc | (uint32_t)(8 * words) << 16));
}

static inline void add_attr(struct image *m, const struct perf_event_attr *attr)
{
	struct perf_event_attr a = *attr;

	a.size = sizeof(a);
	memcpy(&m->w[m->n], &a, sizeof(a));
	m->n += sizeof(a) / 8;
}

/* A pipe stream: attributes are records, each with one id. */
static inline void begin(struct image *m, const struct perf_event_attr *attrs,
			 size_t n)
{
	add(m, PD_MAGIC);
	add(m, PD_PIPE_HEADER_SIZE);
	for (size_t i = 0; i < n; i++) {
		add_header(m, PD_HEADER_ATTR, 0, 1 + sizeof(*attrs) / 8 + 1);
		add_attr(m, &attrs[i]);
		add(m, 100 + i);
	}
}

static inline struct seam_pd_reader *open_image(const struct image *m)
{
	struct seam_pd_reader *r = NULL;
	struct seam_errinfo err = {0};

	assert_int_equal(seam_pd_open_mem(m->w, 8 * m->n, &r, &err), 0);
	assert_false(seam_pd_damage(r)->damaged);
	assert_int_equal(seam_pd_damage(r)->n_malformed, 0);
	return r;
}

#endif
