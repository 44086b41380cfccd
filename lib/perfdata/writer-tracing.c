// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * What readers need to know of tracepoints to print their payloads, in the
 * form of trace.dat version 0.6, which is that of perf's TRACING_DATA:
 *
 *   17 08 44 "tracing" "0.6"\0   byte order, size of a long, page size
 *   "header_page"\0   u64 size, text    "header_event"\0  the same
 *   u32: ftrace's own events, none
 *   u32: systems; for each its name\0, u32: events; for each u64 size, text
 *   u32, u32, u64: sizes of kallsyms, printk formats and command names, none
 */
#include <string.h>
#include <unistd.h>

#include "perfdata/writer-priv.h"

/* Of no kernel: perf looks for what a payload's first field names, and 6.1
 * ends where it finds nothing. Its only fields are those that all have. */
static const char lost_format[] =
	"name: payload_lost\nID: 65535\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;"
	"\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\n"
	"print fmt: \"[payload lost]\"\n";
static_assert(SEAM_PD_PAYLOAD_LOST == 65535, "it is the ID there");

static void add_u32(struct pd_buf *b, uint32_t v)
{
	seam_pd_buf_add(b, &v, sizeof(v));
}

static void add_string(struct pd_buf *b, const char *s)
{
	seam_pd_buf_add(b, s, strlen(s) + 1);
}

static void add_text(struct pd_buf *b, const char *text)
{
	uint64_t size = text ? strlen(text) : 0;

	seam_pd_buf_add(b, &size, sizeof(size));
	seam_pd_buf_add(b, text, size);
}

static bool has_format(const struct seam_pd_event *ev)
{
	return ev->attr.sample_type & PERF_SAMPLE_RAW && ev->format &&
	       strchr(ev->tracepoint, ':');
}

bool seam_pd_has_tracing(const struct seam_pd_opts *opts)
{
	for (size_t i = 0; i < opts->n_events; i++)
		if (has_format(&opts->events[i]))
			return true;
	return false;
}

/* Whether an event before this one has the same name. */
static bool is_repeated(const struct seam_pd_opts *opts, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (has_format(&opts->events[j]) &&
		    !strcmp(opts->events[j].tracepoint,
			    opts->events[i].tracepoint))
			return true;
	return false;
}

/* Name and its only event. */
static void add_system(struct pd_buf *b, const char *name, size_t len,
		       const char *format)
{
	seam_pd_buf_add(b, name, len);
	seam_pd_buf_add(b, "", 1);
	add_u32(b, 1);
	add_text(b, format);
}

void seam_pd_add_lost(struct pd_buf *out)
{
	add_system(out, "seam", 4, lost_format);
}

/* A system for each event: names may come more than once. */
static void add_events(struct pd_buf *b, const struct seam_pd_opts *opts)
{
	uint32_t n = 1;

	for (size_t i = 0; i < opts->n_events; i++)
		n += has_format(&opts->events[i]) && !is_repeated(opts, i);
	add_u32(b, n);
	for (size_t i = 0; i < opts->n_events; i++) {
		const struct seam_pd_event *ev = &opts->events[i];

		if (!has_format(ev) || is_repeated(opts, i))
			continue;
		add_system(b, ev->tracepoint, strcspn(ev->tracepoint, ":"),
			   ev->format);
	}
	seam_pd_add_lost(b);
}

void seam_pd_tracing(const struct seam_pd_opts *opts, struct pd_buf *out)
{
	static const char magic[] = {23,  8,   68,  't', 'r',
				     'a', 'c', 'i', 'n', 'g'};
	static const uint8_t order_and_long[] = {0, 8};
	const uint64_t none = 0;

	seam_pd_buf_add(out, magic, sizeof(magic));
	add_string(out, "0.6");
	seam_pd_buf_add(out, order_and_long, sizeof(order_and_long));
	add_u32(out, (uint32_t)sysconf(_SC_PAGESIZE));
	add_string(out, "header_page");
	add_text(out, opts->header_page);
	add_string(out, "header_event");
	add_text(out, opts->header_event);
	add_u32(out, 0);
	add_events(out, opts);
	add_u32(out, 0);
	add_u32(out, 0);
	seam_pd_buf_add(out, &none, sizeof(none));
}
