// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/render.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RED "\033[31m"
#define GREEN "\033[32m"
#define PLAIN "\033[0m"

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void add_percent(struct seam_strbuf *b, const struct seam_style *style,
			uint64_t part, uint64_t whole)
{
	double p = percent(part, whole);
	const char *colour = p >= 5 ? RED : p >= 0.5 ? GREEN : NULL;

	if (style->colour && colour)
		seam_strbuf_printf(b, "%s%6.2f%%" PLAIN "  ", colour, p);
	else
		seam_strbuf_printf(b, "%6.2f%%  ", p);
}

/* A column of its own where weights are times. */
static void add_ms(struct seam_strbuf *b, const struct seam_profile *p,
		   uint64_t ns)
{
	if (p->in_ns)
		seam_strbuf_printf(b, "%12.3f  ", (double)ns / 1e6);
}

static const char *ms_head(const struct seam_profile *p, const char *head)
{
	return p->in_ns ? head : "";
}

static void count_line(struct seam_strbuf *b, const char *name, uint64_t n,
		       uint64_t whole, const char *why)
{
	seam_strbuf_printf(b, "  %-12s %10llu  %6.2f%%  %s\n", name,
			   (unsigned long long)n, percent(n, whole), why);
}

/* "Head: 3 so, 4 so;" of those that are there, or nothing. */
struct listed {
	uint64_t n;
	const char *what;
};

static void list_line(struct seam_strbuf *b, const char *head,
		      const struct listed *v, size_t n)
{
	const char *before = head;

	for (size_t i = 0; i < n; i++) {
		if (!v[i].n)
			continue;
		seam_strbuf_printf(b, "%s %llu %s", before,
				   (unsigned long long)v[i].n, v[i].what);
		before = ",";
	}
	if (before != head)
		seam_strbuf_puts(b, "\n");
}

static void render_joins(struct seam_strbuf *b,
			 const struct seam_stitch_stats *st)
{
	const struct listed joins[] = {
		{st->half[SEAM_HALF_LATE], "after their stack (late)"},
		{st->by_time, "by the nearest time (several stacks)"},
		{st->by_process, "by their process (exec)"},
		{st->by_cookie_alone, "by the cookie alone (no thread)"},
		{st->by_order_differs, "with another cookie's (by order)"},
		{st->other_task, "not: only another process has the cookie"},
	};
	const struct listed counts[] = {
		{st->unknown_members, "of no event that the recording has"},
		{st->unmoved, "had not counted: no sample"},
	};
	const struct listed unused[] = {
		{st->unused_repeated, "repeat one that serves"},
		{st->unused_lost, "may be of lost samples"},
		{st->unused_foreign, "are of requests not made here"},
	};

	list_line(b, "Joined:", joins, sizeof(joins) / sizeof(*joins));
	list_line(b, "User stacks for none:", unused,
		  sizeof(unused) / sizeof(*unused));
	list_line(b, "Counts with samples:", counts,
		  sizeof(counts) / sizeof(*counts));
}

void seam_render_counts(struct seam_strbuf *b,
			const struct seam_stitch_stats *st)
{
	uint64_t served = st->half[SEAM_HALF_JOINED] + st->half[SEAM_HALF_LATE];
	uint64_t used = st->stacks - st->stacks_unused;

	seam_strbuf_printf(b, "Samples: %llu, of which %llu want a user stack",
			   (unsigned long long)st->samples,
			   (unsigned long long)st->wanted);
	seam_strbuf_puts(b, st->wanted ? ". Their user stacks are\n" : "\n");
	for (int i = 1; i < SEAM_END_MAX; i++)
		if (st->end[i])
			count_line(b,
				   i == SEAM_OUTERMOST ? "complete"
						       : seam_err_name(i),
				   st->end[i], st->wanted, seam_err_text(i));
	if (st->end[0])
		count_line(b, "not said", st->end[0], st->wanted,
			   "the recording does not say why they stop");
	if (st->stacks)
		seam_strbuf_printf(b,
				   "User stacks taken: %llu, each for %.2f "
				   "samples; %llu for none\n",
				   (unsigned long long)st->stacks,
				   used ? (double)served / (double)used : 0,
				   (unsigned long long)st->stacks_unused);
	render_joins(b, st);
	if (st->lost_records || st->lost_samples)
		seam_strbuf_printf(b, "Lost: %llu records, %llu samples\n",
				   (unsigned long long)st->lost_records,
				   (unsigned long long)st->lost_samples);
	if (st->filtered_samples)
		seam_strbuf_printf(b, "Left out by a filter: %llu samples\n",
				   (unsigned long long)st->filtered_samples);
}

struct tree {
	struct seam_strbuf *b;
	const struct seam_profile *p;
	const struct seam_style *style;
	struct seam_strbuf prefix;
	uint64_t least; /* weight of a branch that is shown */
	seam_render_give *give;
	int rc; /* what that returned */
};

static uint32_t shown(const struct tree *t, uint32_t node)
{
	while (node != SEAM_NO_NODE && t->p->nodes[node].total < t->least)
		node = t->p->nodes[node].sibling;
	return node;
}

/* The only callee that is shown; SEAM_NO_NODE: there are none or more. */
static uint32_t only_child(const struct tree *t, uint32_t node)
{
	uint32_t child = shown(t, t->p->nodes[node].child);

	if (child == SEAM_NO_NODE ||
	    shown(t, t->p->nodes[child].sibling) != SEAM_NO_NODE)
		return SEAM_NO_NODE;
	return child;
}

static const char *mark(const struct seam_symbol_row *row)
{
	return row->kernel ? " [k]" : row->inlined ? " (inlined)" : "";
}

static void give_text(struct tree *t)
{
	if (!t->give || t->rc || t->b->len < SEAM_RENDER_GIVE)
		return;
	t->rc = t->give(t->b);
	seam_profile_let_go(t->p);
}

/* One line for a function, and for its calls of itself right below it.
 * Return: the last node that the line stands for. */
static uint32_t tree_line(struct tree *t, uint32_t node, const char *joint)
{
	const struct seam_tree_node *nodes = t->p->nodes;
	const struct seam_symbol_row *row = &t->p->rows[nodes[node].row];
	uint64_t total = nodes[node].total, self = nodes[node].self;
	uint32_t child = only_child(t, node);
	unsigned times = 1;

	for (; child != SEAM_NO_NODE && nodes[child].row == nodes[node].row;
	     child = only_child(t, node)) {
		node = child;
		self += nodes[node].self;
		times++;
	}
	add_percent(t->b, t->style, total, t->p->weight);
	add_percent(t->b, t->style, self, t->p->weight);
	add_ms(t->b, t->p, total);
	seam_strbuf_add(t->b, t->prefix.s ? t->prefix.s : "", t->prefix.len);
	seam_strbuf_puts(t->b, joint);
	seam_strbuf_plain(t->b, row->name);
	seam_strbuf_puts(t->b, mark(row));
	if (times > 1)
		seam_strbuf_printf(t->b, " (%u times)", times);
	seam_strbuf_puts(t->b, "\n");
	give_text(t);
	return node;
}

/* A node with its callees. An only callee goes below its caller without a
 * branch, so depth costs no width. */
static void tree_node(struct tree *t, uint32_t node, const char *joint,
		      const char *below)
{
	bool utf8 = t->style->utf8;
	size_t len = t->prefix.len;
	uint32_t child, next;

	node = tree_line(t, node, joint);
	seam_strbuf_puts(&t->prefix, below);
	while (!t->rc && (child = only_child(t, node)) != SEAM_NO_NODE)
		node = tree_line(t, child, "");
	child = shown(t, t->p->nodes[node].child);
	for (; child != SEAM_NO_NODE && !t->rc; child = next) {
		next = shown(t, t->p->nodes[child].sibling);
		if (next != SEAM_NO_NODE)
			tree_node(t, child, utf8 ? "├─ " : "|- ",
				  utf8 ? "│  " : "|  ");
		else
			tree_node(t, child, utf8 ? "└─ " : "`- ", "   ");
	}
	t->prefix.len = len;
	if (t->prefix.s)
		t->prefix.s[len] = '\0';
}

uint64_t seam_render_least(const struct seam_profile *p,
			   const struct seam_style *style)
{
	double w = (double)p->weight * style->min_percent / 100;

	return w < 1 ? 1 : (uint64_t)w;
}

int seam_render_tree(struct seam_strbuf *b, const struct seam_profile *p,
		     const struct seam_style *style, seam_render_give *give)
{
	struct tree t = {
		.b = b,
		.p = p,
		.style = style,
		.least = seam_render_least(p, style),
		.give = give,
	};
	uint32_t node = shown(&t, p->nodes[0].child);

	seam_strbuf_printf(
		b,
		"Call tree, from the outermost function; branches "
		"under %g %% are left out\n\n"
		"  Total     Self  %sFunction ([k]: in the kernel)\n",
		style->min_percent, ms_head(p, "    Total ms  "));
	for (; node != SEAM_NO_NODE && !t.rc;
	     node = shown(&t, p->nodes[node].sibling))
		tree_node(&t, node, "", "");
	if (t.prefix.err)
		b->err = t.prefix.err;
	seam_strbuf_fini(&t.prefix);
	return t.rc;
}

static const char *object(const struct seam_symbol_row *row)
{
	const char *slash;

	if (!row->dso)
		return row->kernel ? "[kernel]" : "[unknown]";
	if (!strcmp(row->dso, "[kernel.kallsyms]"))
		return "[kernel]";
	slash = strrchr(row->dso, '/');
	return slash && slash[1] ? slash + 1 : row->dso;
}

static int object_width(const struct seam_symbol_row *const *v, size_t n)
{
	size_t width = strlen("Object");

	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(object(v[i]));

		if (len > width && len <= 32)
			width = len;
	}
	return (int)width;
}

/* In a column, and two spaces behind it. */
static void add_object(struct seam_strbuf *b, const char *name, int width)
{
	const size_t from = b->len;
	size_t len;

	seam_strbuf_plain(b, name);
	len = b->len - from;
	seam_strbuf_printf(b, "%*s",
			   len < (size_t)width ? width - (int)len + 2 : 2, "");
}

int seam_render_table(struct seam_strbuf *b, const struct seam_profile *p,
		      const struct seam_style *style)
{
	const struct seam_symbol_row **v = calloc(p->n_rows, sizeof(void *));
	uint64_t least = seam_render_least(p, style);
	size_t n, shown_rows = 0;
	int width;

	if (!v)
		return -ENOMEM;
	n = seam_profile_table(p, v);
	while (shown_rows < n && v[shown_rows]->self >= least)
		shown_rows++;
	width = object_width(v, shown_rows);
	seam_strbuf_printf(b,
			   "Functions by their own weight; %zu of %zu, those "
			   "under %g %% are left out\n\n"
			   "   Self    Total  %s  Samples  %-*s  Function\n",
			   shown_rows, n, style->min_percent,
			   ms_head(p, "     Self ms  "), width, "Object");
	for (size_t i = 0; i < shown_rows; i++) {
		add_percent(b, style, v[i]->self, p->weight);
		add_percent(b, style, v[i]->total, p->weight);
		add_ms(b, p, v[i]->self);
		seam_strbuf_printf(b, "%9llu  ",
				   (unsigned long long)v[i]->samples);
		add_object(b, object(v[i]), width);
		seam_strbuf_plain(b, v[i]->name);
		seam_strbuf_puts(b, v[i]->inlined ? " (inlined)\n" : "\n");
	}
	free(v);
	return 0;
}
