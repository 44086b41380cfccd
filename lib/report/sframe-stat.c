// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/sframe-stat.h"

#include "report/text.h"

#define ull unsigned long long /* what printf takes */

static size_t section_size(const struct seam_elf *elf, const char *name)
{
	struct seam_elf_section s;

	return seam_elf_section(elf, name, &s) ? 0 : s.size;
}

void seam_sframe_stat_sizes(const struct seam_elf *elf,
			    struct seam_sframe_stat *s)
{
	s->eh_frame = section_size(elf, ".eh_frame");
	s->eh_frame_hdr = section_size(elf, ".eh_frame_hdr");
	s->debug_frame = section_size(elf, ".debug_frame");
}

static void share(struct seam_strbuf *b, const char *what, uint64_t n,
		  uint64_t of, const char *of_what)
{
	seam_strbuf_printf(b, "  %-22s %12llu", what, (ull)n);
	if (of)
		seam_strbuf_printf(b, "  %8.4f %% of %s",
				   100.0 * (double)n / (double)of, of_what);
	seam_strbuf_puts(b, "\n");
}

static void holes(struct seam_strbuf *b, const struct seam_coverage *c)
{
	share(b, "no rule", c->hole, c->cfi, "CFI");
	for (int i = SEAM_HOLE_NONE + 1; i < SEAM_HOLE_NUM; i++)
		if (c->holes[i])
			seam_strbuf_printf(
				b, "    %-20s %12llu  %s\n",
				seam_hole_text((enum seam_hole)i),
				(ull)c->holes[i],
				seam_hole_sentence((enum seam_hole)i));
	if (c->left_out)
		seam_strbuf_printf(b,
				   "    %-20s %12llu  the table lacks what it "
				   "could have\n",
				   "left-out", (ull)c->left_out);
}

/* Those of one entry follow on one another. Return: the index behind them. */
static size_t known_bad_entry(struct seam_strbuf *b,
			      const struct seam_sframe_stat *s, size_t first)
{
	const struct seam_known_bad_range *v = s->known_bad;
	uint64_t bytes = 0;
	size_t i = first;

	for (; i < s->num_known_bad && v[i].bad == v[first].bad; i++)
		bytes += v[i].end - v[i].start;
	seam_strbuf_printf(b,
			   "    %-20s %12llu  in %zu places, first at 0x%llx\n"
			   "      it says: %s\n      in truth: %s\n",
			   v[first].bad->name, (ull)bytes, i - first,
			   (ull)v[first].start, v[first].bad->says,
			   v[first].bad->truth);
	return i;
}

static void known_bad_text(struct seam_strbuf *b,
			   const struct seam_sframe_stat *s)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->num_known_bad; i++)
		bytes += s->known_bad[i].end - s->known_bad[i].start;
	share(b, "known bad CFI", bytes, s->coverage.cfi, "CFI");
	for (size_t i = 0; i < s->num_known_bad;)
		i = known_bad_entry(b, s, i);
}

static void known_bad_json(struct seam_strbuf *b,
			   const struct seam_sframe_stat *s)
{
	seam_strbuf_puts(b, ",\"known_bad\":[");
	for (size_t i = 0; i < s->num_known_bad; i++) {
		const struct seam_known_bad_range *r = &s->known_bad[i];

		seam_strbuf_printf(
			b, "%s{\"name\":\"%s\",\"start\":%llu,\"end\":%llu}",
			i ? "," : "", r->bad->name, (ull)r->start, (ull)r->end);
	}
	seam_strbuf_puts(b, "]");
}

void seam_sframe_stat_text(struct seam_strbuf *b,
			   const struct seam_sframe_stat *s)
{
	const struct seam_coverage *c = &s->coverage;

	seam_strbuf_plain(b, s->path);
	seam_strbuf_printf(b,
			   ": %s, version %u: %llu functions, %llu rows, "
			   "%zu bytes\n",
			   s->is_made ? "as made here" : "its own section",
			   s->version, (ull)c->functions, (ull)c->rows,
			   s->section_size);
	share(b, "code", c->code, 0, "");
	share(b, "covered by CFI", c->cfi, c->code, "code");
	share(b, "has a rule", c->rule, c->cfi, "CFI");
	share(b, "agrees with CFI", c->agree, c->rule, "rules");
	share(b, "differs", c->differ, c->rule, "rules");
	if (c->differ)
		seam_strbuf_printf(b, "    first at 0x%llx\n",
				   (ull)c->first_differ);
	if (c->unsaid)
		share(b, "CFI is no rule", c->unsaid, c->rule, "rules");
	holes(b, c);
	seam_strbuf_printf(b, "  %-22s %12llu\n", "boundaries compared",
			   (ull)c->rows_compared);
	if (c->malformed_fdes)
		seam_strbuf_printf(b, "  %-22s %12llu\n", "malformed FDEs",
				   (ull)c->malformed_fdes);
	if (s->has_known_bad)
		known_bad_text(b, s);
	seam_strbuf_printf(b,
			   "  bytes: .sframe %zu, made here %zu, .eh_frame "
			   "%zu, .eh_frame_hdr %zu, .debug_frame %zu\n",
			   s->is_made ? 0 : s->section_size, s->made_size,
			   s->eh_frame, s->eh_frame_hdr, s->debug_frame);
}

void seam_sframe_stat_json(struct seam_strbuf *b,
			   const struct seam_sframe_stat *s)
{
	const struct seam_coverage *c = &s->coverage;

	seam_strbuf_puts(b, "{\"file\":");
	seam_json_string(b, s->path);
	seam_strbuf_printf(
		b,
		",\"made\":%s,\"version\":%u,\"functions\":%llu,"
		"\"rows\":%llu,\"code\":%llu,\"cfi\":%llu,\"rule\":%llu,"
		"\"agree\":%llu,\"differ\":%llu,\"unsaid\":%llu,"
		"\"boundaries\":%llu,\"malformed_fdes\":%llu",
		s->is_made ? "true" : "false", s->version, (ull)c->functions,
		(ull)c->rows, (ull)c->code, (ull)c->cfi, (ull)c->rule,
		(ull)c->agree, (ull)c->differ, (ull)c->unsaid,
		(ull)c->rows_compared, (ull)c->malformed_fdes);
	if (c->differ)
		seam_strbuf_printf(b, ",\"first_differ\":%llu",
				   (ull)c->first_differ);
	seam_strbuf_printf(b, ",\"hole\":%llu,\"holes\":{", (ull)c->hole);
	for (int i = SEAM_HOLE_NONE + 1; i < SEAM_HOLE_NUM; i++)
		seam_strbuf_printf(b, "\"%s\":%llu,",
				   seam_hole_text((enum seam_hole)i),
				   (ull)c->holes[i]);
	seam_strbuf_printf(
		b,
		"\"left-out\":%llu},\"bytes\":{\"sframe\":%zu,\"made\":%zu,"
		"\"eh_frame\":%zu,\"eh_frame_hdr\":%zu,\"debug_frame\":%zu}",
		(ull)c->left_out, s->is_made ? 0 : s->section_size,
		s->made_size, s->eh_frame, s->eh_frame_hdr, s->debug_frame);
	if (s->has_known_bad)
		known_bad_json(b, s);
	seam_strbuf_puts(b, "}\n");
}
