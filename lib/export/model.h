/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What formats are written from: samples, and tables of what they have in
 * common. Each thing has a number; number 0 of strings is "", of modules,
 * levels and nodes it is none. All texts are UTF-8. Samples and nodes are in
 * files, of which memory has what was looked at last: they are had by
 * functions.
 */
#ifndef SEAM_LIB_EXPORT_MODEL_H
#define SEAM_LIB_EXPORT_MODEL_H

#include "base/spill.h"
#include "export/export.h"
#include "export/intern.h"
#include "export/nodes.h"

/* A part of a file, mapped; of processes that share it the first one's. */
struct seam_model_module {
	uint64_t place; /* where it is, if it is of no file */
	uint64_t len, pgoff;
	uint32_t path, build_id; /* strings; the latter in hex */
	uint32_t kernel, zero;
};

enum {
	SEAM_FUNC_KERNEL = 1,
	SEAM_FUNC_INLINED = 2,
	SEAM_FUNC_GUESSED = 4, /* its name says so, too */
	SEAM_FUNC_END = 8, /* no function but why a stack is not whole */
};

struct seam_model_func {
	uint32_t name, symbol, file; /* strings; symbol without any mark */
	uint32_t module, flags;
};

/* What viewers show as one frame. */
struct seam_model_frame {
	uint32_t func, line; /* line 0: not known */
};

/* The functions at an address, innermost first, as a list. */
struct seam_model_levels {
	uint32_t frame, outer; /* outer: more levels; 0: no more */
};

/* An address. */
struct seam_model_spot {
	uint64_t off; /* in the file; of the kernel or no file: itself */
	uint32_t module, levels;
};

/* A thread under one name, as far as one event has sampled it. */
struct seam_model_track {
	uint32_t pid, tid, comm, event;
};

struct seam_model_of_track {
	uint32_t first, last; /* samples, + 1 */
	uint32_t event_name;
	/* Of its own tree of stacks, if it has one. */
	uint32_t first_node, last_node, n_rows;
	uint64_t n, weight; /* the latter no more than UINT64_MAX */
};

struct seam_model_sample {
	union {
		uint64_t time_ns;
		uint64_t count; /* where equal ones are added up */
	};
	uint64_t weight; /* period; no less than 1 */
	uint32_t node, track;
	uint32_t end; /* enum seam_err; 0: not said */
	uint32_t next; /* of the track, + 1 */
};
_Static_assert(sizeof(struct seam_model_sample) == 32,
	       "what seam-export(1) says of it");

/* The outermost frames of a stack and their nodes, for the track's next one,
 * which has most of them, too. */
#define SEAM_MODEL_LAST 128
struct seam_model_last {
	uint32_t track; /* + 1 */
	uint32_t root; /* the node below which they are */
	uint32_t n;
	uint32_t nodes[SEAM_MODEL_LAST];
	uint64_t names[SEAM_MODEL_LAST]; /* see name_key() */
};

struct seam_model {
	struct seam_pd_reader *reader;
	bool add_up; /* samples that differ in time alone become one */
	bool by_track; /* each track has a tree of stacks */
	struct seam_texts texts;
	struct seam_intern modules, funcs, frames, levels, spots, tracks;
	struct seam_nodes nodes;
	uint32_t n_rows; /* of the tree of all */
	uint64_t *module_start; /* by module: where the first one had it */
	size_t cap_start;
	struct seam_model_of_track *of_track;
	size_t cap_of_track;
	size_t n_samples;
	struct seam_spill sample_room;
	size_t sample_part; /* in memory */
	struct seam_index sums; /* of its samples, if add_up */
	struct seam_intern seen; /* what spots were made of, to know them by */
	uint32_t *seen_spot;
	size_t cap_seen;
	/* Where each track's fall; those that share a place look up more. */
	struct seam_model_last last[32];
	struct seam_strbuf text; /* a name, while it is made */
	uint64_t first_ns, last_ns, weight;
	uint64_t cut_names;
};

int seam_model_init(struct seam_model *m, struct seam_pd_reader *reader);
void seam_model_fini(struct seam_model *m);
int seam_model_add(struct seam_model *m, const struct seam_text *t);
/* Its parts. Return: the number of a string, of a node; or -errno. */
int64_t seam_model_text(struct seam_model *m, const char *s);
int64_t seam_model_stack(struct seam_model *m, uint32_t track,
			 const struct seam_text *t);

/* The i-th of a table, as a constant struct seam_model_KIND. */
#define SEAM_MODEL_GET(kind, table, i)                                         \
	(((const struct seam_model_##kind *)(table).v)[i])

static inline const char *seam_model_string(const struct seam_model *m,
					    uint32_t i)
{
	return seam_texts_get(&m->texts, i);
}

/* Samples that are looked through for equal ones. A power of two. For tests to
 * change. */
extern size_t seam_model_sample_part;

/* When all are in, in the order of time or of a track: valid until the next. */
const struct seam_model_sample *seam_model_sample(struct seam_model *m,
						  size_t i);

static inline const struct seam_model_node *
seam_model_node(struct seam_model *m, uint32_t node)
{
	return seam_nodes_get(&m->nodes, node);
}

/* The functions at a stack's leaf. */
static inline uint32_t seam_model_levels_at(struct seam_model *m, uint32_t node)
{
	uint32_t spot = seam_model_node(m, node)->spot;

	return SEAM_MODEL_GET(spot, m->spots, spot).levels;
}

/* How many they are. */
uint32_t seam_model_n_levels(const struct seam_model *m, uint32_t spot);
/* The row of the innermost function at a stack's leaf. */
uint32_t seam_model_leaf_row(struct seam_model *m, uint32_t node);

/* The name of a track's event. */
const char *seam_model_track_event(const struct seam_model *m, uint32_t track);
/* Are its weights times? Else they are numbers of events. */
bool seam_model_in_ns(const struct seam_model *m, uint32_t event);

/* A function's name with the marks of folded stacks: "_[k]", "_[i]". */
void seam_model_marked(const struct seam_model *m,
		       const struct seam_model_func *f, struct seam_strbuf *b);

/* a + b, but no more than UINT64_MAX. */
static inline uint64_t seam_add_up(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

#endif
