/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Counts and profiles as text for people and as JSON for programs. */
#ifndef SEAM_LIB_REPORT_RENDER_H
#define SEAM_LIB_REPORT_RENDER_H

#include "report/profile.h"

struct seam_style {
	bool utf8, colour;
	double min_percent; /* lighter branches and functions are left out */
};

/* The counts of a recording, one a line: samples, why user stacks stopped,
 * how many samples a user stack serves, what was lost. */
void seam_render_counts(struct seam_strbuf *b,
			const struct seam_stitch_stats *stats);
/* What a branch that is shown weighs at least. */
uint64_t seam_render_least(const struct seam_profile *p,
			   const struct seam_style *style);

/* Takes text that there is already, as soon as it is so much, and makes it
 * empty. Return: 0; anything else ends the rendering. */
typedef int seam_render_give(struct seam_strbuf *b);
#define SEAM_RENDER_GIVE (1u << 20)

/* A profile that was sorted with that weight, or none. give: NULL: all stays.
 * Return: 0, or what give returned. */
int seam_render_tree(struct seam_strbuf *b, const struct seam_profile *p,
		     const struct seam_style *style, seam_render_give *give);
/* Return: 0 or -ENOMEM. */
int seam_render_table(struct seam_strbuf *b, const struct seam_profile *p,
		      const struct seam_style *style);

/* "samples":..,"wanted":..,"complete":..,"end":{..},.. without braces. */
void seam_json_counts(struct seam_strbuf *b,
		      const struct seam_stitch_stats *stats);
/* {"event":..,"nodes":[..],"functions":[..]}: all of it, nothing left out.
 * A node names its parent by its place in the list, which is before it.
 * Return: 0, -ENOMEM, -EOVERFLOW: it has too many nodes, or what give returned.
 */
int seam_json_profile(struct seam_strbuf *b, struct seam_profile *p,
		      seam_render_give *give);

#endif
