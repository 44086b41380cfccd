// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "lib/report/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file of commands and end codes, which no path can be. */
static const char no_file[] = "";

static uint64_t hash_text(const char *s, uint64_t h)
{
	while (*s)
		h = (h ^ (unsigned char)*s++) * 0x100000001b3;
	return h;
}

static uint64_t hash_row(const char *name, const char *dso, bool kernel)
{
	uint64_t h = hash_text(name, 0xcbf29ce484222325 + kernel);

	return hash_text(dso ? dso : "?", h * 31);
}

static uint64_t hash_node(uint32_t parent, uint32_t row)
{
	uint64_t h = ((uint64_t)parent << 32 | row) * 0x9e3779b97f4a7c15;

	return h ^ h >> 29;
}

static bool is_row(const struct seam_symbol_row *r, const char *name,
		   const char *dso, bool kernel)
{
	if (r->kernel != kernel || strcmp(r->name, name) != 0)
		return false;
	return r->dso == dso || (r->dso && dso && !strcmp(r->dso, dso));
}

static void put_slot(struct seam_slots *s, uint64_t hash, uint32_t number)
{
	size_t i = hash & (s->cap - 1);

	while (s->v[i])
		i = (i + 1) & (s->cap - 1);
	s->v[i] = number + 1;
}

static int more_slots(struct seam_slots *s)
{
	size_t cap = s->cap ? s->cap * 2 : 1024;
	uint32_t *v = calloc(cap, sizeof(*v));

	if (!v)
		return -ENOMEM;
	free(s->v);
	*s = (struct seam_slots){v, cap};
	return 0;
}

static int grow_rows(struct seam_profile *p)
{
	size_t cap = p->cap_rows ? p->cap_rows * 2 : 512;
	struct seam_symbol_row *v = realloc(p->rows, cap * sizeof(*v));

	if (!v)
		return -ENOMEM;
	p->rows = v;
	p->cap_rows = cap;
	if (more_slots(&p->row_slots))
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_rows; i++)
		put_slot(&p->row_slots,
			 hash_row(v[i].name, v[i].dso, v[i].kernel), i);
	return 0;
}

/* Return: the row's number, or -ENOMEM. */
static int64_t row_of(struct seam_profile *p, const char *name, const char *dso,
		      bool kernel)
{
	uint64_t hash = hash_row(name, dso, kernel);
	struct seam_symbol_row *r;

	if (p->n_rows == p->cap_rows && grow_rows(p))
		return -ENOMEM;
	for (size_t i = hash;; i++) {
		uint32_t n = p->row_slots.v[i & (p->row_slots.cap - 1)];

		if (!n)
			break;
		if (is_row(&p->rows[n - 1], name, dso, kernel))
			return n - 1;
	}
	r = &p->rows[p->n_rows];
	*r = (struct seam_symbol_row){.dso = dso, .kernel = kernel};
	r->name = strdup(name);
	if (!r->name)
		return -ENOMEM;
	put_slot(&p->row_slots, hash, (uint32_t)p->n_rows);
	return (int64_t)p->n_rows++;
}

static int grow_nodes(struct seam_profile *p)
{
	size_t cap = p->cap_nodes ? p->cap_nodes * 2 : 512;
	struct seam_tree_node *v = realloc(p->nodes, cap * sizeof(*v));

	if (!v)
		return -ENOMEM;
	p->nodes = v;
	p->cap_nodes = cap;
	if (more_slots(&p->node_slots))
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_nodes; i++)
		put_slot(&p->node_slots, hash_node(v[i].parent, v[i].row), i);
	return 0;
}

/* The node for a row below parent. Return: its number, or -ENOMEM. */
static int64_t node_of(struct seam_profile *p, uint32_t parent, uint32_t row)
{
	uint64_t hash = hash_node(parent, row);
	uint32_t sibling = SEAM_NO_NODE;

	if (p->n_nodes == p->cap_nodes && grow_nodes(p))
		return -ENOMEM;
	for (size_t i = hash;; i++) {
		uint32_t n = p->node_slots.v[i & (p->node_slots.cap - 1)];

		if (!n)
			break;
		if (p->nodes[n - 1].parent == parent &&
		    p->nodes[n - 1].row == row)
			return n - 1;
	}
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
	put_slot(&p->node_slots, hash, (uint32_t)p->n_nodes);
	return (int64_t)p->n_nodes++;
}

int seam_profile_init(struct seam_profile *p, const char *event)
{
	int64_t row;

	*p = (struct seam_profile){.event = event};
	row = row_of(p, "", no_file, false);
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
	free(p->nodes);
	free(p->row_slots.v);
	free(p->node_slots.v);
	*p = (struct seam_profile){0};
}

struct climb {
	struct seam_profile *p;
	uint32_t node;
	uint64_t weight;
};

static int step(struct climb *c, const char *name, const char *dso, bool kernel)
{
	int64_t row = row_of(c->p, name, dso, kernel), node;
	struct seam_symbol_row *r;

	if (row < 0)
		return -ENOMEM;
	node = node_of(c->p, c->node, (uint32_t)row);
	if (node < 0)
		return -ENOMEM;
	c->node = (uint32_t)node;
	c->p->nodes[node].total += c->weight;
	r = &c->p->rows[row];
	if (r->last != c->p->samples) {
		r->last = c->p->samples;
		r->total += c->weight;
	}
	return 0;
}

static int step_frame(struct climb *c, const struct seam_name *name)
{
	char text[512];

	if (name->sym)
		return step(c, name->sym, name->dso, name->kernel);
	seam_name_format(name, text, sizeof(text));
	return step(c, text, name->dso, name->kernel);
}

int seam_profile_add(struct seam_profile *p, const struct seam_text *t)
{
	const struct seam_stitched *s = t->sample;
	struct climb c = {.p = p, .weight = s->rec->sample.period};
	const char *missing = seam_text_missing(s);
	size_t n = s->n_frames;
	char end[64];
	int rc;

	if (n > t->opts.max_stack)
		n = t->opts.max_stack;
	if (!c.weight)
		c.weight = 1;
	p->samples++;
	p->weight += c.weight;
	p->nodes[0].total += c.weight;
	rc = step(&c, s->comm, no_file, false);
	if (!rc && missing) {
		snprintf(end, sizeof(end), "[%s]", missing);
		rc = step(&c, end, no_file, false);
	}
	while (!rc && n-- > 0)
		rc = step_frame(&c, &t->names[n]);
	if (rc)
		return rc;
	p->nodes[c.node].self += c.weight;
	p->rows[p->nodes[c.node].row].self += c.weight;
	p->rows[p->nodes[c.node].row].samples++;
	return 0;
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

	return c ? c : strcmp(p->rows[x->row].name, p->rows[y->row].name);
}

int seam_profile_sort(struct seam_profile *p)
{
	uint32_t *v = malloc(p->n_nodes * sizeof(*v));

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_nodes; i++) {
		uint32_t at = p->nodes[i].child;
		size_t n = 0;

		for (; at != SEAM_NO_NODE; at = p->nodes[at].sibling)
			v[n++] = at;
		if (n)
			qsort_r(v, n, sizeof(*v), by_total, p);
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
