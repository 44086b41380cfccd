/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the two files of the Firefox Profiler's format share. */
#ifndef SEAM_LIB_EXPORT_FIREFOX_H
#define SEAM_LIB_EXPORT_FIREFOX_H

#include "export/private.h"

struct seam_firefox_lib {
	uint32_t path, build_id;
};

/* Things of the model that a thread has, by its own numbers. */
struct seam_firefox_own {
	uint32_t *row; /* by the model's number, of which this is the first */
	uint32_t *of; /* the thread that this is of, + 1 */
	size_t n_model;
	uint32_t *v; /* the model's numbers, in the order of rows */
	size_t n, cap;
	uint32_t n_rows; /* a thing has one or more */
};

struct seam_firefox {
	struct seam_model *m;
	struct seam_out *out;
	struct seam_intern libs;
	uint32_t *lib_of; /* by module */
	uint32_t thread; /* + 1: that is written */
	struct seam_firefox_own spots, funcs, texts, modules;
	struct seam_firefox_own none; /* of what a table without rows has */
	uint32_t lost; /* the text "Lost" */
	uint32_t marks; /* markers of the thread that is written */
	uint32_t *path; /* levels, on the way out */
	size_t cap_path;
};

static inline const struct seam_model_levels *
seam_firefox_level(const struct seam_firefox *p, uint32_t at)
{
	return &SEAM_MODEL_GET(levels, p->m->levels, at);
}

static inline uint32_t seam_firefox_func(const struct seam_firefox *p,
					 uint32_t at)
{
	uint32_t frame = seam_firefox_level(p, at)->frame;

	return SEAM_MODEL_GET(frame, p->m->frames, frame).func;
}

int seam_firefox_begin(struct seam_firefox *p);
void seam_firefox_end(struct seam_firefox *p);
/* What the samples of a track need. Return: 0 or -errno. */
int seam_firefox_take(struct seam_firefox *p, size_t track);
void seam_firefox_thread(struct seam_firefox *p, size_t track);
/* Nanoseconds as milliseconds, none of them lost. */
void seam_firefox_ms(struct seam_strbuf *b, uint64_t ns);

#endif
