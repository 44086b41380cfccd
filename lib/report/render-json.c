// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <errno.h>
#include <stdlib.h>

#include "report/render.h"

#define ull unsigned long long /* what printf takes */

static const char *const half_names[] = {
	[SEAM_HALF_NONE] = "none",	 [SEAM_HALF_WITH] = "with",
	[SEAM_HALF_JOINED] = "joined",	 [SEAM_HALF_LATE] = "late",
	[SEAM_HALF_MISSING] = "missing",
};

/* Of the stacks with an end, by which instruction's they are. */
static void skid_kinds(struct seam_strbuf *b, const struct seam_skid_counts *c,
		       enum seam_skid_fate fate)
{
	const char *comma = "";

	seam_strbuf_printf(b, ",\"%s\":{", seam_skid_fate_name(fate));
	for (int kind = 0; kind < SEAM_SKID_KINDS; kind++) {
		if (!c->by[fate][kind])
			continue;
		seam_strbuf_printf(b, "%s\"%s\":%llu", comma,
				   seam_skid_kind_name(kind),
				   (ull)c->by[fate][kind]);
		comma = ",";
	}
	seam_strbuf_puts(b, "}");
}

static void skid(struct seam_strbuf *b, const struct seam_skid_counts *c)
{
	seam_strbuf_printf(b,
			   ",\"precise\":{\"same\":%llu,\"undone\":%llu,"
			   "\"behind\":%llu",
			   (ull)c->n[SEAM_SKID_SAME],
			   (ull)c->n[SEAM_SKID_UNDONE],
			   (ull)c->n[SEAM_SKID_BEHIND]);
	skid_kinds(b, c, SEAM_SKID_IRREVERSIBLE);
	skid_kinds(b, c, SEAM_SKID_BELOW_SP);
	skid_kinds(b, c, SEAM_SKID_MOMENT_END);
	seam_strbuf_puts(b, "}");
}

void seam_json_counts(struct seam_strbuf *b, const struct seam_stitch_stats *st)
{
	seam_strbuf_printf(b,
			   "\"samples\":%llu,\"wanted\":%llu,"
			   "\"not_said\":%llu,\"end\":{",
			   (ull)st->samples, (ull)st->wanted, (ull)st->end[0]);
	for (int i = SEAM_OUTERMOST; i <= SEAM_END_LAST; i++)
		seam_strbuf_printf(
			b, "%s\"%s\":%llu", i > 1 ? "," : "", seam_err_name(i),
			(ull)(i == SEAM_NO_USER ? st->half[SEAM_HALF_NONE]
						: st->end[i]));
	seam_strbuf_puts(b, "},\"user_half\":{");
	for (int i = 0; i <= SEAM_HALF_MISSING; i++)
		seam_strbuf_printf(b, "%s\"%s\":%llu", i ? "," : "",
				   half_names[i], (ull)st->half[i]);
	seam_strbuf_printf(b,
			   "},\"stacks\":%llu,\"unused\":%llu,"
			   "\"repeated\":%llu,\"lost_records\":%llu,"
			   "\"lost_samples\":%llu,"
			   "\"filtered_samples\":%llu",
			   (ull)st->stacks, (ull)st->stacks_unused,
			   (ull)st->stacks_repeated, (ull)st->lost_records,
			   (ull)st->lost_samples, (ull)st->filtered_samples);
	seam_strbuf_printf(b,
			   ",\"join\":{\"by_time\":%llu,\"by_process\":%llu,"
			   "\"by_cookie_alone\":%llu,"
			   "\"by_order_differs\":%llu,\"other_task\":%llu},"
			   "\"unused_why\":{\"repeated\":%llu,\"lost\":%llu,"
			   "\"foreign\":%llu,\"missed\":%llu},"
			   "\"disordered\":%llu,\"forgotten\":%llu,"
			   "\"counts\":{"
			   "\"unknown\":%llu,\"unmoved\":%llu}",
			   (ull)st->by_time, (ull)st->by_process,
			   (ull)st->by_cookie_alone, (ull)st->by_order_differs,
			   (ull)st->other_task, (ull)st->unused_repeated,
			   (ull)st->unused_lost, (ull)st->unused_foreign,
			   (ull)st->unused_late, (ull)st->disordered,
			   (ull)st->forgotten, (ull)st->unknown_members,
			   (ull)st->unmoved);
	seam_strbuf_printf(
		b,
		",\"copies\":{\"unwound\":%llu,\"by_cfi\":%llu,"
		"\"foreign\":%llu,\"unchecked\":%llu,"
		"\"too_small\":%llu,\"size\":%llu,\"size_is_least\":%s}",
		(ull)(st->copies - st->copies_foreign), (ull)st->copies_by_cfi,
		(ull)st->copies_foreign, (ull)st->copies_unchecked,
		(ull)st->copies_cut, (ull)st->copy_size,
		st->copy_size_is_least ? "true" : "false");
	skid(b, &st->skid);
}

static void row_names(struct seam_strbuf *b, const struct seam_symbol_row *row)
{
	seam_strbuf_puts(b, "\"name\":");
	seam_json_string(b, row->name);
	if (row->dso && *row->dso) {
		seam_strbuf_puts(b, ",\"dso\":");
		seam_json_string(b, row->dso);
	}
	seam_strbuf_printf(b, ",\"kernel\":%s", row->kernel ? "true" : "false");
	if (row->inlined)
		seam_strbuf_puts(b, ",\"inlined\":true");
}

struct nodes {
	struct seam_strbuf *b;
	const struct seam_profile *p;
	seam_render_give *give;
};

static int node(void *ctx, const struct seam_tree_node *n)
{
	const struct nodes *to = ctx;
	struct seam_strbuf *b = to->b;

	if (n->parent != SEAM_NO_NODE) {
		seam_strbuf_printf(b, ",\n{\"parent\":%u,", n->parent);
		row_names(b, &to->p->rows[n->row]);
		seam_strbuf_puts(b, ",");
	} else {
		seam_strbuf_puts(b, "{");
	}
	seam_strbuf_printf(b, "\"self\":%llu,\"total\":%llu}", (ull)n->self,
			   (ull)n->total);
	return b->len < SEAM_RENDER_GIVE ? 0 : to->give(b);
}

static void functions(struct seam_strbuf *b,
		      const struct seam_symbol_row *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		seam_strbuf_puts(b, i ? ",\n{" : "{");
		row_names(b, v[i]);
		seam_strbuf_printf(b,
				   ",\"self\":%llu,\"total\":%llu,"
				   "\"samples\":%llu}",
				   (ull)v[i]->self, (ull)v[i]->total,
				   (ull)v[i]->samples);
	}
}

int seam_json_profile(struct seam_strbuf *b, struct seam_profile *p,
		      seam_render_give *give)
{
	struct nodes to = {b, p, give};
	const struct seam_symbol_row **v = calloc(p->n_rows, sizeof(void *));
	size_t n;
	int rc;

	if (!v)
		return -ENOMEM;
	n = seam_profile_table(p, v);
	seam_strbuf_puts(b, "{\"event\":");
	seam_json_string(b, p->event);
	seam_strbuf_printf(b, ",\"samples\":%llu,\"weight\":%llu,\"nodes\":[",
			   (ull)p->samples, (ull)p->weight);
	rc = seam_profile_each(p, node, &to);
	seam_strbuf_puts(b, "],\n\"functions\":[");
	functions(b, v, n);
	seam_strbuf_puts(b, "]}");
	free(v);
	return rc;
}
