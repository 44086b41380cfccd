// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"
#include "base/utf8.h"
#include "report/printed.h"
#include "seam/tracer.h"

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
bool seam_text_has_chain(const struct seam_text *t)
{
	return t->attr->attr.sample_type & PERF_SAMPLE_CALLCHAIN;
}

static void number(struct seam_strbuf *b, uint64_t v, size_t width,
		   const char *behind)
{
	seam_strbuf_dec(b, v, width, ' ');
	seam_strbuf_puts(b, behind);
}

static void plain_right(struct seam_strbuf *b, const char *s, size_t width)
{
	if (seam_is_plain(s))
		seam_strbuf_right(b, s, width);
	else
		seam_strbuf_plain(b, s);
}

/* Texts are in it that programs wrote. */
static void perf_payload(struct seam_strbuf *b, const struct seam_text *t)
{
	struct seam_strbuf text = {0};

	if (!t->payloads)
		return;
	seam_payload_print(t->payloads, t->attr, t->sample->rec, &text);
	if (text.len)
		seam_strbuf_plain(b, text.s);
	if (text.err)
		b->err = text.err;
	seam_strbuf_fini(&text);
}

static void head_begin(struct seam_strbuf *b, const struct seam_text *t,
		       uint64_t seconds)
{
	const struct seam_pd_rec *rec = t->sample->rec;
	uint64_t type = t->attr->attr.sample_type;

	plain_right(b, t->sample->comm, seam_text_has_chain(t) ? 0 : 16);
	seam_strbuf_puts(b, " ");
	if ((int)rec->tid < 0)
		seam_strbuf_printf(b, "%7d ", (int)rec->tid);
	else
		number(b, rec->tid, 7, " ");
	if (type & PERF_SAMPLE_CPU) {
		seam_strbuf_puts(b, "[");
		seam_strbuf_dec(b, rec->cpu, 3, '0');
		seam_strbuf_puts(b, "] ");
	}
	if (type & PERF_SAMPLE_TIME)
		number(b, seconds, 5, ".");
}

static void head_end(struct seam_strbuf *b, const struct seam_text *t)
{
	/* A tracepoint's has its payload there. */
	if (t->attr->attr.type != PERF_TYPE_TRACEPOINT)
		number(b, t->sample->rec->sample.period, 10, " ");
	plain_right(b, t->sample->event, t->opts.event_width);
	seam_strbuf_puts(b, ": ");
}

/* What was appended from there on; what is too long is made again each time. */
static void keep(struct seam_text_piece *piece, const struct seam_strbuf *b,
		 size_t from)
{
	piece->len = 0;
	if (b->err || b->len - from > sizeof(piece->s))
		return;
	piece->len = b->len - from;
	memcpy(piece->s, b->s + from, piece->len);
}

static void add_begin(struct seam_strbuf *b, const struct seam_text *t,
		      uint64_t seconds, struct seam_text_head *h)
{
	const struct seam_pd_rec *rec = t->sample->rec;
	size_t from = b->len;

	if (h->begin.len && h->begin_attr == t->attr &&
	    h->comm == t->sample->comm && h->tid == rec->tid &&
	    h->cpu == rec->cpu && h->seconds == seconds) {
		seam_strbuf_add(b, h->begin.s, h->begin.len);
		return;
	}
	head_begin(b, t, seconds);
	h->begin_attr = t->attr;
	h->comm = t->sample->comm;
	h->tid = rec->tid;
	h->cpu = rec->cpu;
	h->seconds = seconds;
	keep(&h->begin, b, from);
}

static void add_end(struct seam_strbuf *b, const struct seam_text *t,
		    struct seam_text_head *h)
{
	uint64_t period = t->sample->rec->sample.period;
	size_t from = b->len;

	if (h->end.len && h->end_attr == t->attr && h->period == period) {
		seam_strbuf_add(b, h->end.s, h->end.len);
		return;
	}
	head_end(b, t);
	h->end_attr = t->attr;
	h->period = period;
	keep(&h->end, b, from);
}

static void perf_head(struct seam_strbuf *b, const struct seam_text *t)
{
	const struct seam_pd_rec *rec = t->sample->rec;
	struct seam_text_head none, *h = &none;
	uint64_t us = rec->time_ns / 1000;

	if (t->heads)
		h = &t->heads[rec->cpu % SEAM_TEXT_HEADS];
	else
		none.begin.len = none.end.len = 0;
	add_begin(b, t, us / 1000000, h);
	if (t->attr->attr.sample_type & PERF_SAMPLE_TIME) {
		seam_strbuf_dec(b, us % 1000000, 6, '0');
		seam_strbuf_puts(b, ": ");
	}
	add_end(b, t, h);
	perf_payload(b, t);
}

/* As perf says it: "??:0" where it is not known. */
static void perf_srcline(struct seam_strbuf *b,
			 const struct seam_text_opts *opts,
			 const struct seam_name *name)
{
	const char *file = name->file, *slash;

	if (name->kernel || !name->dso)
		return;
	if (!file)
		file = "??";
	slash = opts->full_path ? NULL : strrchr(file, '/');
	seam_strbuf_puts(b, "\n  ");
	seam_strbuf_plain(b, slash ? slash + 1 : file);
	seam_strbuf_printf(b, ":%u", name->line);
}

void seam_text_level(struct seam_strbuf *b, const struct seam_text_opts *opts,
		     const struct seam_name *name)
{
	seam_strbuf_puts(b, name->guessed ? " ? " : " ");
	seam_strbuf_plain(b, name->sym ? name->sym : "[unknown]");
	if (name->sym) {
		seam_strbuf_puts(b, "+0x");
		seam_strbuf_hex(b, name->off, 0);
	}
	if (!name->inlined) {
		seam_strbuf_puts(b, " (");
		seam_strbuf_plain(b, name->dso ? name->dso : "[unknown]");
		seam_strbuf_puts(b, ")");
	}
	if (opts->srcline)
		perf_srcline(b, opts, name);
	seam_strbuf_puts(b, name->inlined ? " (inlined)\n" : "\n");
}

void seam_text_frame(struct seam_strbuf *b, const struct seam_text *t,
		     const struct seam_frame *f, const struct seam_name *name)
{
	for (size_t j = 0; j < seam_name_levels(name); j++) {
		struct seam_name one = seam_name_level(name, j);

		if (seam_text_has_chain(t))
			seam_strbuf_puts(b, "\t");
		seam_strbuf_hex(b, f->ip, SEAM_TEXT_ADDRESS);
		seam_text_level(b, &t->opts, &one);
	}
}

/* Of a sample without call chain the function alone is shown. */
static void perf_single(struct seam_strbuf *b, const struct seam_text *t)
{
	const struct seam_name *name = &t->names[0];
	struct seam_name one =
		seam_name_level(name, seam_name_levels(name) - 1);

	seam_strbuf_hex(b, t->sample->frames[0].ip, SEAM_TEXT_ADDRESS);
	seam_text_level(b, &t->opts, &one);
}

/* Readers of such text want no blank in the brackets. */
static void perf_missing(struct seam_strbuf *b, const struct seam_text *t,
			 const char *missing)
{
	seam_strbuf_puts(b, "\t               0 [");
	seam_strbuf_puts(b, missing);
	seam_strbuf_puts(b, "] ([seam]");
	if (t->sample->from_copy && t->sample->end == SEAM_UNREADABLE)
		seam_strbuf_printf(b, ":%llu",
				   (unsigned long long)t->sample->depth);
	seam_strbuf_puts(b, ")\n");
}

void seam_text_perf(struct seam_strbuf *b, const struct seam_text *t)
{
	const char *missing = seam_text_missing(t->sample);
	size_t n = shown(t);

	perf_head(b, t);
	if (!seam_text_has_chain(t) && n == 1) {
		seam_strbuf_puts(b, " ");
		perf_single(b, t);
		return;
	}
	seam_strbuf_puts(b, "\n");
	if (t->printed)
		seam_printed_frames(t->printed, t, n, b);
	else
		for (size_t i = 0; i < n; i++)
			seam_text_frame(b, t, &t->sample->frames[i],
					&t->names[i]);
	if (missing)
		perf_missing(b, t, missing);
	seam_strbuf_puts(b, "\n");
}

void seam_json_string(struct seam_strbuf *b, const char *s)
{
	const unsigned char *p = (const unsigned char *)s;

	seam_strbuf_puts(b, "\"");
	while (*p) {
		size_t n = seam_utf8_len((const char *)p);

		if (!n)
			seam_strbuf_puts(b, "\\ufffd");
		else if (*p == '"' || *p == '\\')
			seam_strbuf_printf(b, "\\%c", *p);
		else if (!seam_plain_len((const char *)p))
			seam_strbuf_printf(
				b, "\\u%04x",
				(unsigned)seam_utf8_char((const char *)p, n));
		else
			seam_strbuf_add(b, (const char *)p, n);
		p += n ? n : 1;
	}
	seam_strbuf_puts(b, "\"");
}

static const char *const method_names[] = {
	[SEAM_METHOD_SFRAME] = "sframe",
	[SEAM_METHOD_CFI] = "cfi",
	[SEAM_METHOD_FP] = "fp",
	[SEAM_METHOD_GUESS] = "guess",
};
#define N_METHODS (sizeof(method_names) / sizeof(method_names[0]))

static void json_level(struct seam_strbuf *b, const struct seam_frame *f,
		       const struct seam_name *name)
{
	seam_strbuf_puts(b, "{\"ip\":\"0x");
	seam_strbuf_hex(b, f->ip, 0);
	seam_strbuf_puts(b, "\"");
	if (name->sym) {
		seam_strbuf_puts(b, ",\"sym\":");
		seam_json_string(b, name->sym);
	}
	if (name->sym && !name->inlined)
		seam_strbuf_printf(b, ",\"off\":%llu",
				   (unsigned long long)name->off);
	if (name->dso) {
		seam_strbuf_puts(b, ",\"dso\":");
		seam_json_string(b, name->dso);
	}
	if (name->file) {
		seam_strbuf_puts(b, ",\"file\":");
		seam_json_string(b, name->file);
	}
	if (name->file && name->line)
		seam_strbuf_printf(b, ",\"line\":%u", name->line);
	seam_strbuf_printf(b, ",\"kernel\":%s,\"inlined\":%s,\"reliable\":%s",
			   f->kernel ? "true" : "false",
			   name->inlined ? "true" : "false",
			   f->method == SEAM_METHOD_GUESS ? "false" : "true");
	if (f->method < N_METHODS && method_names[f->method])
		seam_strbuf_printf(b, ",\"method\":\"%s\"",
				   method_names[f->method]);
	seam_strbuf_puts(b, "}");
}

static void json_frame(struct seam_strbuf *b, const struct seam_frame *f,
		       const struct seam_name *name)
{
	for (size_t i = 0; i < seam_name_levels(name); i++) {
		struct seam_name one = seam_name_level(name, i);

		if (i)
			seam_strbuf_puts(b, ",");
		json_level(b, f, &one);
	}
}

/* Of a precise event the instruction that made it, where the stack is that of
 * the registers behind it. */
static void json_precise(struct seam_strbuf *b, const struct seam_text *t)
{
	const struct seam_stitched *s = t->sample;
	uint64_t ip = s->rec->sample.ip;

	if (!t->attr->attr.precise_ip ||
	    !(t->attr->attr.sample_type & PERF_SAMPLE_IP) ||
	    (s->n_frames && s->frames[0].ip == ip))
		return;
	seam_strbuf_puts(b, ",\"precise_ip\":\"0x");
	seam_strbuf_hex(b, ip, 0);
	seam_strbuf_puts(b, "\"");
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
	json_precise(b, t);
	if (t->sample->cookie)
		seam_strbuf_printf(b, ",\"cookie\":\"0x%llx\"",
				   (unsigned long long)t->sample->cookie);
	if (t->sample->stack_ns)
		seam_strbuf_printf(b, ",\"stack_ns\":%llu",
				   (unsigned long long)t->sample->stack_ns);
	if (t->sample->end)
		seam_strbuf_printf(b, ",\"end\":\"%s\"",
				   seam_err_name(t->sample->end));
	if (t->sample->from_copy)
		seam_strbuf_printf(b, ",\"copy_depth\":%llu",
				   (unsigned long long)t->sample->depth);
}

static void json_payload(struct seam_strbuf *b, const struct seam_text *t)
{
	struct seam_strbuf text = {0};

	seam_payload_print(t->payloads, t->attr, t->sample->rec, &text);
	if (text.len) {
		seam_strbuf_puts(b, ",\"payload\":");
		seam_json_string(b, text.s);
	}
	if (text.err)
		b->err = text.err;
	seam_strbuf_fini(&text);
}

void seam_text_json(struct seam_strbuf *b, const struct seam_text *t)
{
	size_t n = shown(t);

	json_head(b, t);
	json_payload(b, t);
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
	size_t n;

	for (; *s; s += n ? n : 1) {
		char hex[SEAM_PLAIN_BYTE];

		n = seam_plain_len(s);
		if (*s == ';' || *s == '\n') {
			seam_strbuf_puts(b, *s == ';' ? ":" : " ");
		} else if (n) {
			seam_strbuf_add(b, s, n);
		} else {
			seam_plain_byte(*s, hex);
			seam_strbuf_add(b, hex, sizeof(hex));
		}
	}
}

static void folded_level(struct seam_strbuf *b, const struct seam_name *name)
{
	char text[1024];

	seam_strbuf_puts(b, ";");
	seam_name_format(name, text, sizeof(text));
	if (name->sym && name->guessed)
		seam_strbuf_puts(b, "? ");
	folded_part(b, name->sym ? name->sym : text);
	if (name->kernel)
		seam_strbuf_puts(b, "_[k]");
	if (name->inlined)
		seam_strbuf_puts(b, "_[i]");
}

void seam_text_folded(struct seam_strbuf *b, const struct seam_text *t)
{
	const char *missing = seam_text_missing(t->sample);

	folded_part(b, t->sample->comm);
	if (missing)
		seam_strbuf_printf(b, ";[%s]", missing);
	for (size_t i = shown(t); i-- > 0;)
		for (size_t j = seam_name_levels(&t->names[i]); j-- > 0;) {
			struct seam_name one = seam_name_level(&t->names[i], j);

			folded_level(b, &one);
		}
}
