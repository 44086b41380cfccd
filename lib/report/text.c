// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/text.h"

#include <stdbool.h>
#include <string.h>

const char *seam_text_missing(const struct seam_stitched *s)
{
	if (!s->end || s->end == SEAM_OUTERMOST || s->end == SEAM_NO_USER)
		return NULL;
	return seam_err_name(s->end);
}

static size_t shown(const struct seam_text *t)
{
	size_t n = t->sample->n_frames;

	return n < t->opts.max_stack ? n : t->opts.max_stack;
}

/* Without call chains a sample is one line. */
static bool has_chain(const struct seam_text *t)
{
	return t->attr->attr.sample_type & PERF_SAMPLE_CALLCHAIN;
}

static void perf_head(struct seam_strbuf *b, const struct seam_text *t)
{
	const struct seam_pd_rec *rec = t->sample->rec;
	uint64_t type = t->attr->attr.sample_type;
	uint64_t us = rec->time_ns / 1000;

	seam_strbuf_printf(b, "%*s %7d ", has_chain(t) ? 0 : 16,
			   t->sample->comm, (int)rec->tid);
	if (type & PERF_SAMPLE_CPU)
		seam_strbuf_printf(b, "[%03u] ", rec->cpu);
	if (type & PERF_SAMPLE_TIME)
		seam_strbuf_printf(
			b, "%5llu.%06llu: ", (unsigned long long)(us / 1000000),
			(unsigned long long)(us % 1000000));
	seam_strbuf_printf(
		b, "%10llu %*s: ", (unsigned long long)rec->sample.period,
		(int)t->opts.event_width, t->sample->event);
}

static void perf_frame(struct seam_strbuf *b, uint64_t ip,
		       const struct seam_name *name)
{
	const char *dso = name->dso ? name->dso : "[unknown]";

	seam_strbuf_printf(b, "%16llx ", (unsigned long long)ip);
	if (name->sym)
		seam_strbuf_printf(b, "%s+0x%llx (%s)\n", name->sym,
				   (unsigned long long)name->off, dso);
	else
		seam_strbuf_printf(b, "[unknown] (%s)\n", dso);
}

void seam_text_perf(struct seam_strbuf *b, const struct seam_text *t)
{
	const char *missing = seam_text_missing(t->sample);
	size_t n = shown(t);

	perf_head(b, t);
	if (!has_chain(t) && n == 1) {
		seam_strbuf_puts(b, " ");
		perf_frame(b, t->sample->frames[0].ip, &t->names[0]);
		return;
	}
	seam_strbuf_puts(b, "\n");
	for (size_t i = 0; i < n; i++) {
		seam_strbuf_puts(b, "\t");
		perf_frame(b, t->sample->frames[i].ip, &t->names[i]);
	}
	if (missing)
		seam_strbuf_printf(b, "\t%16x [%s] ([seam])\n", 0, missing);
	seam_strbuf_puts(b, "\n");
}

/* Return: how many bytes of s are one UTF-8 character, 0 if none are. */
static size_t utf8_len(const unsigned char *s)
{
	uint32_t c = s[0], least;
	size_t n;

	if (c < 0x80)
		return 1;
	if (c >= 0xc2 && c < 0xe0)
		n = 2, c &= 0x1f, least = 0x80;
	else if (c >= 0xe0 && c < 0xf0)
		n = 3, c &= 0xf, least = 0x800;
	else if (c >= 0xf0 && c < 0xf5)
		n = 4, c &= 0x7, least = 0x10000;
	else
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	return n;
}

void seam_json_string(struct seam_strbuf *b, const char *s)
{
	const unsigned char *p = (const unsigned char *)s;

	seam_strbuf_puts(b, "\"");
	while (*p) {
		size_t n = utf8_len(p);

		if (!n)
			seam_strbuf_puts(b, "\\ufffd");
		else if (*p == '"' || *p == '\\')
			seam_strbuf_printf(b, "\\%c", *p);
		else if (*p < 0x20)
			seam_strbuf_printf(b, "\\u%04x", *p);
		else
			seam_strbuf_add(b, (const char *)p, n);
		p += n ? n : 1;
	}
	seam_strbuf_puts(b, "\"");
}

static void json_frame(struct seam_strbuf *b, const struct seam_frame *f,
		       const struct seam_name *name)
{
	seam_strbuf_printf(b, "{\"ip\":\"0x%llx\"", (unsigned long long)f->ip);
	if (name->sym) {
		seam_strbuf_puts(b, ",\"sym\":");
		seam_json_string(b, name->sym);
		seam_strbuf_printf(b, ",\"off\":%llu",
				   (unsigned long long)name->off);
	}
	if (name->dso) {
		seam_strbuf_puts(b, ",\"dso\":");
		seam_json_string(b, name->dso);
	}
	seam_strbuf_printf(b,
			   ",\"kernel\":%s,\"inlined\":false,"
			   "\"reliable\":true}",
			   f->kernel ? "true" : "false");
}

static void json_head(struct seam_strbuf *b, const struct seam_text *t)
{
	const struct seam_pd_rec *rec = t->sample->rec;
	uint64_t type = t->attr->attr.sample_type;

	seam_strbuf_puts(b, "{");
	if (type & PERF_SAMPLE_TIME)
		seam_strbuf_printf(b, "\"time_ns\":%llu,",
				   (unsigned long long)rec->time_ns);
	seam_strbuf_printf(b, "\"pid\":%d,\"tid\":%d,", (int)rec->pid,
			   (int)rec->tid);
	if (type & PERF_SAMPLE_CPU)
		seam_strbuf_printf(b, "\"cpu\":%u,", rec->cpu);
	seam_strbuf_puts(b, "\"comm\":");
	seam_json_string(b, t->sample->comm);
	seam_strbuf_puts(b, ",\"event\":");
	seam_json_string(b, t->sample->event);
	seam_strbuf_printf(b, ",\"period\":%llu",
			   (unsigned long long)rec->sample.period);
	if (t->sample->cookie)
		seam_strbuf_printf(b, ",\"cookie\":\"0x%llx\"",
				   (unsigned long long)t->sample->cookie);
	if (t->sample->end)
		seam_strbuf_printf(b, ",\"end\":\"%s\"",
				   seam_err_name(t->sample->end));
}

void seam_text_json(struct seam_strbuf *b, const struct seam_text *t)
{
	size_t n = shown(t);

	json_head(b, t);
	seam_strbuf_puts(b, ",\"frames\":[");
	for (size_t i = 0; i < n; i++) {
		if (i)
			seam_strbuf_puts(b, ",");
		json_frame(b, &t->sample->frames[i], &t->names[i]);
	}
	seam_strbuf_puts(b, "]}\n");
}

/* ';' and ends of lines are the format's own. */
static void folded_part(struct seam_strbuf *b, const char *s)
{
	for (; *s; s++) {
		char c = *s == ';' ? ':' : *s == '\n' ? ' ' : *s;

		seam_strbuf_add(b, &c, 1);
	}
}

void seam_text_folded(struct seam_strbuf *b, const struct seam_text *t)
{
	const char *missing = seam_text_missing(t->sample);
	char name[1024];

	folded_part(b, t->sample->comm);
	if (missing)
		seam_strbuf_printf(b, ";[%s]", missing);
	for (size_t i = shown(t); i-- > 0;) {
		seam_strbuf_puts(b, ";");
		seam_name_format(&t->names[i], name, sizeof(name));
		folded_part(b, t->names[i].sym ? t->names[i].sym : name);
		if (t->names[i].kernel)
			seam_strbuf_puts(b, "_[k]");
	}
}
