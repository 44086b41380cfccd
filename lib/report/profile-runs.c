// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/profile-runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define FROM (4 << 20) /* bytes in memory, before there is a file */

/* Nodes between two times that pages are let go. */
#define LET_GO (1u << 18)

/* A node of a run: below the last one before it that is less deep. */
struct item {
	uint32_t depth, row; /* depth: of a command 1 */
	uint64_t self;
};

static int by_row(const void *a, const void *b, void *arg)
{
	const struct seam_profile *p = arg;
	uint32_t x = p->nodes[*(const uint32_t *)a].row;
	uint32_t y = p->nodes[*(const uint32_t *)b].row;

	return (x > y) - (x < y);
}

/* Walks on from node, *depth deep. Return: the root at the end. */
static uint32_t walk(const struct seam_profile *p, uint32_t node,
		     uint32_t *depth)
{
	if (p->nodes[node].child != SEAM_NO_NODE) {
		++*depth;
		return p->nodes[node].child;
	}
	while (node && p->nodes[node].sibling == SEAM_NO_NODE) {
		--*depth;
		node = p->nodes[node].parent;
	}
	return node ? p->nodes[node].sibling : 0;
}

/* The root's own sibling is never asked for: it has none. */
static void write_run(struct seam_profile *p)
{
	struct item *to = (struct item *)p->items.p + p->n_items;
	uint32_t node = 0, depth = 0;

	while ((node = walk(p, node, &depth)) != 0)
		*to++ = (struct item){depth, p->nodes[node].row,
				      p->nodes[node].self};
}

int seam_profile_make_run(struct seam_profile *p)
{
	size_t n = p->n_nodes - 1;
	int rc;

	p->items.from = FROM;
	if (seam_grow(&p->runs, p->n_runs + 1, &p->cap_runs,
		      sizeof(*p->runs)) ||
	    seam_spill_grow(&p->items, p->n_items + n, sizeof(struct item)))
		return -ENOMEM;
	rc = seam_profile_order(p, by_row);
	if (rc)
		return rc;
	write_run(p);
	p->runs[p->n_runs++] =
		(struct seam_profile_run){p->n_items, p->n_items + n};
	p->n_items += n;
	seam_spill_let_go(&p->items);
	p->n_nodes = 1;
	p->nodes[0].child = SEAM_NO_NODE;
	seam_index_fini(&p->node_index);
	if (p->recent)
		memset(p->recent, 0, SEAM_PROFILE_RECENT * sizeof(*p->recent));
	return 0;
}

struct merge {
	struct seam_profile *p;
	uint64_t least;
	uint32_t *open; /* the last node and those above it, the root first */
	size_t n_open, cap_open;
	size_t taken;
};

/* Whose parents are all open: the deepest of the runs' next ones. Where more
 * runs have it, it is one. Return: false: there is no more. */
static bool take(struct merge *m, struct item *ret)
{
	struct seam_profile *p = m->p;
	const struct item *items = p->items.p, *best = NULL;

	for (size_t i = 0; i < p->n_runs; i++) {
		const struct item *item = items + p->runs[i].at;

		if (p->runs[i].at < p->runs[i].end &&
		    (!best || item->depth > best->depth ||
		     (item->depth == best->depth && item->row < best->row)))
			best = item;
	}
	if (!best)
		return false;
	*ret = (struct item){best->depth, best->row, 0};
	for (size_t i = 0; i < p->n_runs; i++) {
		const struct item *item = items + p->runs[i].at;

		if (p->runs[i].at == p->runs[i].end ||
		    item->depth != ret->depth || item->row != ret->row)
			continue;
		ret->self += item->self;
		p->runs[i].at++;
	}
	if (++m->taken % LET_GO == 0) {
		seam_spill_let_go(&p->items);
		seam_spill_let_go(&p->tree);
	}
	return true;
}

/* The last node has all that is below it. What weighs too little is the last
 * one in memory too: so did all that was below. */
static void close_node(struct merge *m)
{
	struct seam_profile *p = m->p;
	uint32_t i = m->open[--m->n_open];
	struct seam_tree_node *node = &p->nodes[i];
	struct seam_tree_node *parent = &p->nodes[node->parent];

	parent->total += node->total;
	if (node->total < m->least) {
		p->n_nodes = i;
		return;
	}
	node->sibling = parent->child;
	parent->child = i;
}

static int open_node(struct merge *m, const struct item *item)
{
	struct seam_profile *p = m->p;

	if (p->n_nodes >= SEAM_NO_NODE)
		return -EOVERFLOW;
	if (seam_spill_grow(&p->tree, p->n_nodes + 1, sizeof(*p->nodes)) ||
	    seam_grow(&m->open, m->n_open + 1, &m->cap_open, sizeof(*m->open)))
		return -ENOMEM;
	p->nodes = p->tree.p;
	p->nodes[p->n_nodes] = (struct seam_tree_node){
		.row = item->row,
		.parent = m->n_open ? m->open[m->n_open - 1] : SEAM_NO_NODE,
		.child = SEAM_NO_NODE,
		.sibling = SEAM_NO_NODE,
		.self = item->self,
		.total = item->self,
	};
	m->open[m->n_open++] = (uint32_t)p->n_nodes++;
	return 0;
}

int seam_profile_merge(struct seam_profile *p, uint64_t least)
{
	struct merge m = {.p = p, .least = least};
	struct item item = {.row = p->nodes[0].row};
	int rc;

	free(p->nodes);
	p->nodes = NULL;
	p->n_nodes = p->cap_nodes = 0;
	p->tree.from = FROM;
	rc = open_node(&m, &item);
	while (!rc && take(&m, &item)) {
		while (m.n_open > item.depth)
			close_node(&m);
		rc = open_node(&m, &item);
	}
	while (!rc && m.n_open > 1)
		close_node(&m);
	free(m.open);
	free(p->runs);
	p->runs = NULL;
	p->n_runs = p->cap_runs = 0;
	seam_spill_fini(&p->items);
	return rc;
}
