// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/payload.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>
#include <unistd.h>

#include "base/grow.h"

/* Fields are read without asking for the payload's end: behind it are zeros. */
#define ZEROS 64
/* The longest that the kernel makes, with room. */
#define MAX_PAYLOAD 65536

struct seam_payload_printer {
	struct tep_handle *tep;
	uint8_t *copy; /* of a payload, aligned, with zeros behind it */
	size_t room;
};

static void on_page(void *ctx, const char *text, size_t size)
{
	struct seam_payload_printer *p = ctx;
	char *copy = strndup(text, size);

	if (copy && *copy)
		tep_parse_header_page(p->tep, copy, strlen(copy), 8);
	free(copy);
}

static void on_format(void *ctx, const char *system, const char *text,
		      size_t size)
{
	struct seam_payload_printer *p = ctx;
	/* It wants text that ends, and does not say so. */
	char *copy = strndup(text, size);

	if (copy)
		tep_parse_event(p->tep, copy, strlen(copy), system);
	free(copy);
}

int seam_payload_printer_new(const struct seam_pd_reader *r,
			     struct seam_payload_printer **ret)
{
	struct seam_payload_printer *p;
	const struct seam_pd_format_ops ops = {on_page, on_format,
					       p = calloc(1, sizeof(*p))};

	*ret = NULL;
	if (!p)
		return -ENOMEM;
	if (!seam_pd_info(r)->tracing) {
		free(p);
		return 0;
	}
	/* What it cannot parse is printed as such; no need to complain. */
	tep_set_loglevel(TEP_LOG_NONE);
	p->tep = tep_alloc();
	if (!p->tep) {
		free(p);
		return -ENOMEM;
	}
	tep_set_long_size(p->tep, 8);
	tep_set_page_size(p->tep, (int)sysconf(_SC_PAGESIZE));
	seam_pd_formats(r, &ops);
	*ret = p;
	return 0;
}

void seam_payload_printer_free(struct seam_payload_printer *p)
{
	if (!p)
		return;
	tep_free(p->tep);
	free(p->copy);
	free(p);
}

/* Where a field whose length varies says that it is. */
static bool is_inside(const struct tep_format_field *f, const uint8_t *bytes,
		      size_t size)
{
	uint64_t end = (uint64_t)(unsigned)f->offset + (unsigned)f->size;
	uint32_t where;

	if (f->offset < 0 || f->size < 0 || end > size)
		return false;
	if (!(f->flags & TEP_FIELD_IS_DYNAMIC))
		return true;
	if (f->size != 4)
		return false;
	memcpy(&where, bytes + f->offset, sizeof(where));
	return (where & 0xffff) + (where >> 16) +
		       (f->flags & TEP_FIELD_IS_RELATIVE ? end : 0) <=
	       size;
}

static bool are_inside(struct tep_format_field **fields, const uint8_t *bytes,
		       size_t size)
{
	bool ok = fields != NULL;

	for (size_t i = 0; ok && fields[i]; i++)
		ok = is_inside(fields[i], bytes, size);
	free(fields);
	return ok;
}

static void print_fields(struct seam_payload_printer *p,
			 const struct seam_pd_rec *rec, struct seam_strbuf *b)
{
	struct tep_record record = {
		.ts = rec->time_ns,
		.size = (int)rec->sample.raw_len,
		.data = p->copy,
		.cpu = (int)rec->cpu,
	};
	struct trace_seq s;

	trace_seq_init(&s);
	tep_print_event(p->tep, &s, &record, "%s", TEP_PRINT_INFO);
	if (s.state == TRACE_SEQ__GOOD) {
		trace_seq_terminate(&s);
		seam_strbuf_puts(b, s.buffer);
	}
	trace_seq_destroy(&s);
}

void seam_payload_print(struct seam_payload_printer *p,
			const struct seam_pd_attr *event,
			const struct seam_pd_rec *rec, struct seam_strbuf *b)
{
	size_t size = rec->sample.raw_len;
	struct tep_event *format;
	uint16_t type = 0;

	if (!p || event->attr.type != PERF_TYPE_TRACEPOINT || !rec->sample.raw)
		return;
	format = tep_find_event(p->tep, (int)event->attr.config);
	if (!format)
		return;
	if (size >= sizeof(type))
		memcpy(&type, rec->sample.raw, sizeof(type));
	if (!type) {
		seam_strbuf_puts(b, "[payload lost]");
		return;
	}
	if (size > MAX_PAYLOAD ||
	    seam_grow(&p->copy, size + ZEROS, &p->room, 1)) {
		seam_strbuf_puts(b, "[payload too large]");
		return;
	}
	memcpy(p->copy, rec->sample.raw, size);
	memset(p->copy + size, 0, ZEROS);
	if (type != (uint16_t)event->attr.config ||
	    !are_inside(tep_event_common_fields(format), p->copy, size) ||
	    !are_inside(tep_event_fields(format), p->copy, size)) {
		seam_strbuf_puts(b, "[payload malformed]");
		return;
	}
	print_fields(p, rec, b);
}
