/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Samples of one event, added up: a call tree from the root of each command
 * and a flat table of its functions. A sample weighs its period; its leaf
 * has it as self, everything above as total, each function once however
 * often it recurs. What stopped an incomplete stack is a node of its own
 * behind the command: "[no-table]".
 */
#ifndef SEAM_LIB_REPORT_PROFILE_H
#define SEAM_LIB_REPORT_PROFILE_H

#include "base/index.h"
#include "base/spill.h"
#include "report/text.h"

/* One function, or one address without a name, of one file. */
struct seam_symbol_row {
	char *name;
	const char *dso; /* NULL: not known */
	bool kernel;
	bool inlined; /* into its caller: a function of its own all the same */
	uint64_t self, total; /* weight */
	uint64_t samples; /* with it as the leaf */
	uint64_t last; /* the last sample that had it */
};

#define SEAM_NO_NODE UINT32_MAX

/* Nodes are numbered; node 0 is the root, above all commands. */
struct seam_tree_node {
	uint32_t row; /* in rows; of a command or an end code, too */
	uint32_t parent, child, sibling; /* SEAM_NO_NODE: none */
	uint64_t self, total;
};

/* Below which node a frame was met, and the node of its innermost function. */
struct seam_profile_step {
	uint64_t name; /* seam_name.number; 0: the slot is free */
	uint32_t parent, node;
};

#define SEAM_PROFILE_RECENT (1u << 16)

/* Of the items: from which to which. */
struct seam_profile_run {
	size_t at, end;
};

/* Nodes that are in memory, with their index 48 MiB. */
#define SEAM_PROFILE_MOST 1000000

struct seam_profile {
	const char *event;
	bool in_ns; /* weights are times: of offcpu-time */
	uint64_t samples, weight;
	struct seam_symbol_row *rows;
	size_t n_rows, cap_rows;
	struct seam_tree_node *nodes;
	size_t n_nodes, cap_nodes;
	struct seam_index row_index, node_index;
	/* Each where both of its keys say; NULL: not needed yet, or no room. */
	struct seam_profile_step *recent;
	/* Behind a sample with which nodes are more than that, they go to a
	 * file. SEAM_PROFILE_MOST; the caller may set it at any time. */
	size_t most;
	/* Of those, profile-runs.h; none: there was room. */
	struct seam_spill items;
	size_t n_items;
	struct seam_profile_run *runs;
	size_t n_runs, cap_runs;
	struct seam_spill tree; /* what nodes is, once they are joined */
};

int seam_profile_init(struct seam_profile *p, const char *event);
void seam_profile_fini(struct seam_profile *p);
int seam_profile_add(struct seam_profile *p, const struct seam_text *t);
/* Afterwards the heaviest sibling is first, and branches that weigh less than
 * least may be gone. Nothing more can be added.
 * Return: 0; -ENOMEM; -EOVERFLOW: it has too many nodes. */
int seam_profile_sort(struct seam_profile *p, uint64_t least);
/* Pages of a sorted tree need not be in memory, as they are when it is walked.
 */
void seam_profile_let_go(const struct seam_profile *p);

typedef int seam_profile_take(void *ctx, const struct seam_tree_node *node);
/* Instead of that, the tree's nodes, the root first, in an order in which
 * parents are before their children; parent is a place in that order, child
 * and sibling mean nothing. Nothing more can be added.
 * Return: as above, or what take returned if not 0. */
int seam_profile_each(struct seam_profile *p, seam_profile_take *take,
		      void *ctx);
/* Rows of functions by self, then total, then name; commands and end codes
 * left out. ret has room for n_rows. Return: how many. */
size_t seam_profile_table(const struct seam_profile *p,
			  const struct seam_symbol_row **ret);

#endif
