// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/profile-runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* Nodes between two times that pages are let go: some MiB of them. */
#define LET_GO (1u << 17)

/* A node of a run: below the last one before it that is less deep. */
struct item {
	uint32_t depth, row; /* depth: of a command 1 */
	uint64_t self, total; /* in the run's part of the samples */
};

static int by_row(const void *a, const void *b, void *arg)
{
	const struct seam_profile *p = arg;
	uint32_t x = p->nodes[*(const uint32_t *)a].row;
	uint32_t y = p->nodes[*(const uint32_t *)b].row;

	return (x > y) - (x < y);
}

/* Walks on from node, *depth deep. Return: the root, 0, at the end. Its own
 * sibling is never asked for. */
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

static void write_run(struct seam_profile *p)
{
	struct item *to = (struct item *)p->items.p + p->n_items;
	uint32_t node = 0, depth = 0;

	while ((node = walk(p, node, &depth)) != 0)
		*to++ = (struct item){depth, p->nodes[node].row,
				      p->nodes[node].self,
				      p->nodes[node].total};
}

int seam_profile_make_run(struct seam_profile *p)
{
	size_t n = p->n_nodes - 1; /* the root stays, with what it weighs */

	if (!n)
		return 0;
	/* What is not needed any more makes room for what is. */
	seam_index_fini(&p->node_index);
	p->items.from = 1;
	if (seam_grow(&p->runs, p->n_runs + 1, &p->cap_runs,
		      sizeof(*p->runs)) ||
	    seam_spill_grow(&p->items, p->n_items + n, sizeof(struct item)) ||
	    seam_profile_order(p, by_row))
		return -ENOMEM;
	write_run(p);
	p->runs[p->n_runs++] =
		(struct seam_profile_run){p->n_items, p->n_items + n};
	p->n_items += n;
	seam_spill_let_go(&p->items);
	p->n_nodes = 1;
	p->nodes[0].child = SEAM_NO_NODE;
	if (p->recent)
		memset(p->recent, 0, SEAM_PROFILE_RECENT * sizeof(*p->recent));
	return 0;
}

/* The next item of a run, and where the run ends. */
struct cursor {
	uint64_t key; /* of it */
	size_t at, end;
};

/*
 * Each run's next item has a parent that is open: it is the last node taken or
 * above it, since the run has no item between the two, and no run that stands
 * deeper was passed by. So the deepest item comes next, of those the one of the
 * lowest row, and runs with the same key have the same node.
 */
static uint64_t key_of(const struct item *item)
{
	return (uint64_t)(UINT32_MAX - item->depth) << 32 | item->row;
}

struct merge {
	const struct seam_profile *p;
	const struct item *items;
	struct cursor *heap; /* the lowest key first */
	size_t n;
	uint32_t *open; /* the last node given and those above it, by depth */
	size_t cap_open;
	uint32_t depth; /* of that node */
	uint32_t n_nodes; /* given, and the root */
};

static void sift(struct merge *m, size_t i)
{
	const struct cursor moved = m->heap[i];
	size_t child;

	while ((child = 2 * i + 1) < m->n) {
		if (child + 1 < m->n &&
		    m->heap[child + 1].key < m->heap[child].key)
			child++;
		if (moved.key <= m->heap[child].key)
			break;
		m->heap[i] = m->heap[child];
		i = child;
	}
	m->heap[i] = moved;
}

static int begin(struct merge *m, const struct seam_profile *p)
{
	*m = (struct merge){
		.p = p, .items = p->items.p, .n = p->n_runs, .n_nodes = 1};
	m->heap = calloc(m->n, sizeof(*m->heap));
	if (!m->heap)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++)
		m->heap[i] = (struct cursor){key_of(m->items + p->runs[i].at),
					     p->runs[i].at, p->runs[i].end};
	for (size_t i = m->n / 2; i-- > 0;)
		sift(m, i);
	return 0;
}

/* Its place is behind the heap's end then. */
static void pop(struct merge *m)
{
	const struct cursor first = m->heap[0];

	m->heap[0] = m->heap[--m->n];
	m->heap[m->n] = first;
	sift(m, 0);
}

static void push(struct merge *m, struct cursor cursor)
{
	size_t i = m->n++;

	for (; i && cursor.key < m->heap[(i - 1) / 2].key; i = (i - 1) / 2)
		m->heap[i] = m->heap[(i - 1) / 2];
	m->heap[i] = cursor;
}

/* There is one: of all runs that have it, which then go on. What is below it
 * in one of them would be before the others, so that all are found first. */
static struct item take_item(struct merge *m)
{
	const uint64_t key = m->heap[0].key;
	const size_t end = m->n;
	struct item item = {UINT32_MAX - (uint32_t)(key >> 32), (uint32_t)key,
			    0, 0};

	do
		pop(m);
	while (m->n && m->heap[0].key == key);
	for (size_t i = m->n; i < end; i++) {
		struct cursor cursor = m->heap[i];

		item.self += m->items[cursor.at].self;
		item.total += m->items[cursor.at].total;
		if (++cursor.at == cursor.end)
			continue;
		cursor.key = key_of(m->items + cursor.at);
		push(m, cursor);
	}
	return item;
}

/* Of a branch that is too light nothing is taken; weights may have run over, so
 * that what is below says nothing of it. Return: whether it is. */
static bool is_light(struct merge *m, const struct item *item, uint64_t least)
{
	if (m->depth > item->depth - 1)
		m->depth = item->depth - 1;
	return item->total < least || m->depth < item->depth - 1;
}

static int open_node(struct merge *m, const struct item *item,
		     struct seam_tree_node *ret)
{
	if (m->n_nodes == SEAM_NO_NODE)
		return -EOVERFLOW;
	if (seam_grow(&m->open, (size_t)item->depth + 1, &m->cap_open,
		      sizeof(*m->open)))
		return -ENOMEM;
	m->open[0] = 0;
	m->open[item->depth] = m->n_nodes++;
	m->depth = item->depth;
	*ret = (struct seam_tree_node){
		.row = item->row,
		.parent = m->open[item->depth - 1],
		.child = SEAM_NO_NODE,
		.sibling = SEAM_NO_NODE,
		.self = item->self,
		.total = item->total,
	};
	return 0;
}

static int take_all(struct merge *m, uint64_t least, seam_profile_take *take,
		    void *ctx)
{
	struct seam_tree_node node;
	int rc = 0;

	for (size_t i = 1; !rc && m->n; i++) {
		const struct item item = take_item(m);

		if (i % LET_GO == 0)
			seam_spill_let_go(&m->p->items);
		if (is_light(m, &item, least))
			continue;
		rc = open_node(m, &item, &node);
		if (!rc)
			rc = take(ctx, &node);
	}
	return rc;
}

int seam_profile_merge(const struct seam_profile *p, uint64_t least,
		       seam_profile_take *take, void *ctx)
{
	struct seam_tree_node root = p->nodes[0];
	struct merge m;
	int rc = begin(&m, p);

	root.child = SEAM_NO_NODE;
	if (!rc)
		rc = take(ctx, &root);
	if (!rc)
		rc = take_all(&m, least, take, ctx);
	free(m.open);
	free(m.heap);
	return rc;
}

struct grown {
	struct seam_profile *p;
	size_t n;
};

static int grow_tree(void *ctx, const struct seam_tree_node *node)
{
	struct grown *g = ctx;
	struct seam_spill *tree = &g->p->tree;
	struct seam_tree_node *nodes;

	if (seam_spill_grow(tree, g->n + 1, sizeof(*node)))
		return -ENOMEM;
	nodes = tree->p;
	nodes[g->n] = *node;
	if (node->parent != SEAM_NO_NODE) {
		nodes[g->n].sibling = nodes[node->parent].child;
		nodes[node->parent].child = (uint32_t)g->n;
	}
	if (++g->n % LET_GO == 0)
		seam_spill_let_go(tree);
	return 0;
}

int seam_profile_join(struct seam_profile *p, uint64_t least)
{
	struct grown g = {.p = p};
	int rc = seam_profile_make_run(p);

	p->tree.from = LET_GO * sizeof(*p->nodes);
	if (!rc)
		rc = seam_profile_merge(p, least, grow_tree, &g);
	if (rc)
		return rc;
	free(p->nodes);
	p->nodes = p->tree.p;
	p->n_nodes = g.n;
	free(p->runs);
	p->runs = NULL;
	p->n_runs = p->cap_runs = 0;
	seam_spill_fini(&p->items);
	p->n_items = 0;
	return 0;
}
