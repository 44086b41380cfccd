// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "report/profile-runs.h"

/* The file of commands and end codes, which no path can be. */
static const char no_file[] = "";

/* What tells one row from another. */
struct what {
	const char *name, *dso;
	bool kernel, inlined;
};

/* perf's name of the event whose periods are ns slept; modifiers follow. */
#define SLEEPS "offcpu-time"

static uint64_t hash_row(const struct what *w)
{
	uint64_t h = seam_hash(SEAM_HASH_START + w->kernel + 2 * w->inlined,
			       w->name, strlen(w->name) + 1);

	return w->dso ? seam_hash(h, w->dso, strlen(w->dso)) : ~h;
}

static bool is_row(const struct seam_symbol_row *r, const struct what *w)
{
	if (r->kernel != w->kernel || r->inlined != w->inlined ||
	    strcmp(r->name, w->name) != 0)
		return false;
	return r->dso == w->dso ||
	       (r->dso && w->dso && !strcmp(r->dso, w->dso));
}

/* Return: the row's number, or -errno. */
static int64_t row_of(struct seam_profile *p, const struct what *w)
{
	uint64_t hash = hash_row(w);
	struct seam_symbol_row *r;
	uint32_t i;
	int err;

	for (size_t at = 0; seam_index_next(&p->row_index, hash, &at, &i);)
		if (is_row(&p->rows[i], w))
			return i;
	if (seam_grow(&p->rows, p->n_rows + 1, &p->cap_rows, sizeof(*r)))
		return -ENOMEM;
	r = &p->rows[p->n_rows];
	*r = (struct seam_symbol_row){
		.dso = w->dso, .kernel = w->kernel, .inlined = w->inlined};
	r->name = strdup(w->name);
	if (!r->name)
		return -ENOMEM;
	err = seam_index_add(&p->row_index, hash, p->n_rows);
	if (err) {
		free(r->name);
		return err;
	}
	return (int64_t)p->n_rows++;
}

/* The node for a row below parent. Return: its number, or -errno. */
static int64_t node_of(struct seam_profile *p, uint32_t parent, uint32_t row)
{
	uint64_t hash = (uint64_t)parent << 32 | row;
	uint32_t sibling = SEAM_NO_NODE, i;
	int err;

	for (size_t at = 0; seam_index_next(&p->node_index, hash, &at, &i);)
		if (p->nodes[i].parent == parent && p->nodes[i].row == row)
			return i;
	if (seam_grow(&p->nodes, p->n_nodes + 1, &p->cap_nodes,
		      sizeof(*p->nodes)))
		return -ENOMEM;
	err = seam_index_add(&p->node_index, hash, p->n_nodes);
	if (err)
		return err;
	if (parent != SEAM_NO_NODE) {
		sibling = p->nodes[parent].child;
		p->nodes[parent].child = (uint32_t)p->n_nodes;
	}
	p->nodes[p->n_nodes] = (struct seam_tree_node){
		.row = row,
		.parent = parent,
		.child = SEAM_NO_NODE,
		.sibling = sibling,
	};
	return (int64_t)p->n_nodes++;
}

int seam_profile_init(struct seam_profile *p, const char *event)
{
	const struct what top = {.name = "", .dso = no_file};
	int64_t row;

	*p = (struct seam_profile){
		.event = event,
		.in_ns = !strncmp(event, SLEEPS, strlen(SLEEPS)),
		.most = SEAM_PROFILE_MOST,
	};
	row = row_of(p, &top);
	if (row < 0)
		return (int)row;
	row = node_of(p, SEAM_NO_NODE, (uint32_t)row);
	return row < 0 ? (int)row : 0;
}

void seam_profile_fini(struct seam_profile *p)
{
	for (size_t i = 0; i < p->n_rows; i++)
		free(p->rows[i].name);
	free(p->rows);
	if (p->nodes != p->tree.p)
		free(p->nodes);
	seam_spill_fini(&p->tree);
	seam_spill_fini(&p->items);
	free(p->runs);
	free(p->recent);
	seam_index_fini(&p->row_index);
	seam_index_fini(&p->node_index);
	*p = (struct seam_profile){0};
}

struct climb {
	struct seam_profile *p;
	uint32_t node;
	uint64_t weight;
};

static void credit(struct climb *c, uint32_t node)
{
	struct seam_symbol_row *r = &c->p->rows[c->p->nodes[node].row];

	c->p->nodes[node].total += c->weight;
	if (r->last != c->p->samples) {
		r->last = c->p->samples;
		r->total += c->weight;
	}
}

static int step(struct climb *c, const struct what *what)
{
	int64_t row = row_of(c->p, what), node;

	if (row < 0)
		return (int)row;
	node = node_of(c->p, c->node, (uint32_t)row);
	if (node < 0)
		return (int)node;
	c->node = (uint32_t)node;
	credit(c, c->node);
	return 0;
}

/* A command or an end code. */
static int step_mark(struct climb *c, const char *name)
{
	const struct what what = {.name = name, .dso = no_file};

	return step(c, &what);
}

static int step_level(struct climb *c, const struct seam_name *name)
{
	struct what what = {name->sym, name->dso, name->kernel, name->inlined};
	char text[512];

	if (!what.name || name->guessed) {
		seam_name_format(name, text, sizeof(text));
		what.name = text;
	}
	return step(c, &what);
}

static int step_levels(struct climb *c, const struct seam_name *name)
{
	int rc = 0;

	for (size_t i = seam_name_levels(name); !rc && i-- > 0;) {
		struct seam_name one = seam_name_level(name, i);

		rc = step_level(c, &one);
	}
	return rc;
}

/* Most frames were met where they are met again. */
static int step_frame(struct climb *c, const struct seam_name *name)
{
	uint64_t hash = (name->number << 32 ^ c->node) * 0x9e3779b97f4a7c15ULL;
	struct seam_profile_step *slot;
	uint32_t parent = c->node;
	int rc;

	/* A file may have thousands of events that have no samples. */
	if (!c->p->recent)
		c->p->recent =
			calloc(SEAM_PROFILE_RECENT, sizeof(*c->p->recent));
	if (!c->p->recent || !name->number || name->guessed)
		return step_levels(c, name);
	slot = &c->p->recent[hash >> 32 & (SEAM_PROFILE_RECENT - 1)];
	if (slot->name == name->number && slot->parent == parent) {
		c->node = slot->node;
		for (uint32_t at = c->node; at != parent;
		     at = c->p->nodes[at].parent)
			credit(c, at);
		return 0;
	}
	rc = step_levels(c, name);
	if (!rc)
		*slot = (struct seam_profile_step){name->number, parent,
						   c->node};
	return rc;
}

int seam_profile_add(struct seam_profile *p, const struct seam_text *t)
{
	const struct seam_stitched *s = t->sample;
	struct climb c = {.p = p, .weight = s->rec->sample.period};
	const char *missing = seam_text_missing(s);
	size_t n = s->n_frames;
	char end[64];
	int rc = 0;

	if (n > t->opts.max_stack)
		n = t->opts.max_stack;
	if (!c.weight)
		c.weight = 1;
	p->samples++;
	p->weight += c.weight;
	p->nodes[0].total += c.weight;
	rc = step_mark(&c, s->comm);
	if (!rc && missing) {
		snprintf(end, sizeof(end), "[%s]", missing);
		rc = step_mark(&c, end);
	}
	while (!rc && n-- > 0)
		rc = step_frame(&c, &t->names[n]);
	if (rc)
		return rc;
	p->nodes[c.node].self += c.weight;
	p->rows[p->nodes[c.node].row].self += c.weight;
	p->rows[p->nodes[c.node].row].samples++;
	return p->n_nodes > p->most ? seam_profile_make_run(p) : 0;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b); /* more first */
}

static int by_total(const void *a, const void *b, void *arg)
{
	const struct seam_profile *p = arg;
	const struct seam_tree_node *x = &p->nodes[*(const uint32_t *)a];
	const struct seam_tree_node *y = &p->nodes[*(const uint32_t *)b];
	int c = compare(x->total, y->total);

	c = c ? c : strcmp(p->rows[x->row].name, p->rows[y->row].name);
	/* Any order will do that is the same for a tree made in parts. */
	return c ? c : compare(x->row, y->row);
}

int seam_profile_order(struct seam_profile *p,
		       int (*order)(const void *, const void *, void *))
{
	uint32_t *v = NULL;
	size_t cap = 0;

	for (size_t i = 0; i < p->n_nodes; i++) {
		uint32_t at = p->nodes[i].child;
		size_t n = 0;

		for (; at != SEAM_NO_NODE; at = p->nodes[at].sibling) {
			if (seam_grow(&v, n + 1, &cap, sizeof(*v))) {
				free(v);
				return -ENOMEM;
			}
			v[n++] = at;
		}
		if (n > 1)
			qsort_r(v, n, sizeof(*v), order, p);
		at = SEAM_NO_NODE;
		while (n-- > 0) {
			p->nodes[v[n]].sibling = at;
			at = v[n];
		}
		p->nodes[i].child = at;
	}
	free(v);
	return 0;
}

int seam_profile_sort(struct seam_profile *p, uint64_t least)
{
	int rc = p->n_runs ? seam_profile_join(p, least) : 0;

	return rc ? rc : seam_profile_order(p, by_total);
}

int seam_profile_each(struct seam_profile *p, seam_profile_take *take,
		      void *ctx)
{
	int rc = 0;

	if (p->n_runs) {
		rc = seam_profile_make_run(p);
		return rc ? rc : seam_profile_merge(p, 0, take, ctx);
	}
	for (size_t i = 0; !rc && i < p->n_nodes; i++)
		rc = take(ctx, &p->nodes[i]);
	return rc;
}

void seam_profile_let_go(const struct seam_profile *p)
{
	seam_spill_let_go(&p->tree);
}

static int by_self(const void *a, const void *b)
{
	const struct seam_symbol_row *x =
		*(const struct seam_symbol_row *const *)a;
	const struct seam_symbol_row *y =
		*(const struct seam_symbol_row *const *)b;
	int c = compare(x->self, y->self);

	c = c ? c : compare(x->total, y->total);
	return c ? c : strcmp(x->name, y->name);
}

size_t seam_profile_table(const struct seam_profile *p,
			  const struct seam_symbol_row **ret)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_rows; i++)
		if (p->rows[i].dso != no_file)
			ret[n++] = &p->rows[i];
	if (n)
		qsort(ret, n, sizeof(*ret), by_self);
	return n;
}
