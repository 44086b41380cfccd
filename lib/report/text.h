/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A stitched sample as text: perf script's default layout, one JSON object,
 * or one folded stack. What stopped an incomplete stack is part of each: a
 * last line "0 [no-table] ([seam])", the field "end", a frame "[no-table]"
 * behind the command's name.
 */
#ifndef SEAM_LIB_REPORT_TEXT_H
#define SEAM_LIB_REPORT_TEXT_H

#include "report/payload.h"
#include "report/resolve.h"
#include "report/strbuf.h"

struct seam_text_opts {
	/* Frames shown, from the leaf; inlined ones go with theirs. */
	size_t max_stack;
	unsigned event_width; /* longest event name */
	bool srcline; /* perf: a line with file and line below each frame */
	bool full_path; /* of the file; else its last part */
};

/* What heads of samples begin and end with, but for the time within its second:
 * mostly as with the same CPU's last sample. The recording's texts do not
 * change meanwhile. All zeroes at first. */
#define SEAM_TEXT_HEADS 8

struct seam_text_piece {
	size_t len; /* 0: there is none */
	char s[96];
};

struct seam_text_head {
	const struct seam_pd_attr *begin_attr, *end_attr;
	const char *comm;
	uint64_t seconds, period;
	uint32_t tid, cpu;
	struct seam_text_piece begin, end;
};

struct seam_text {
	const struct seam_stitched *sample;
	const struct seam_name *names; /* of its frames; see printed */
	const struct seam_pd_attr *attr; /* of its event */
	struct seam_payload_printer *payloads; /* NULL: there are none */
	struct seam_text_opts opts;
	/* For perf's layout: of a chain no name is looked at, it has the lines.
	 * NULL: frames are as names have them. */
	struct seam_printed *printed;
	struct seam_text_head *heads; /* SEAM_TEXT_HEADS; NULL: none are kept */
};

void seam_text_perf(struct seam_strbuf *b, const struct seam_text *t);
void seam_text_json(struct seam_strbuf *b, const struct seam_text *t);
/* Without the count: "comm;_start;main;f;do_syscall_64_[k]"; inlined
 * functions end in "_[i]". */
void seam_text_folded(struct seam_strbuf *b, const struct seam_text *t);

/* Whether samples have call chains; else each is one line of perf's layout. */
bool seam_text_has_chain(const struct seam_text *t);
/* The lines of one frame in perf's layout: of each level a tab, in a chain, the
 * address so wide, and what seam_text_level() makes. */
#define SEAM_TEXT_ADDRESS 16
void seam_text_level(struct seam_strbuf *b, const struct seam_text_opts *opts,
		     const struct seam_name *level);
void seam_text_frame(struct seam_strbuf *b, const struct seam_text *t,
		     const struct seam_frame *f, const struct seam_name *name);

/* A string in quotes; bytes that are no UTF-8 become U+FFFD. */
void seam_json_string(struct seam_strbuf *b, const char *s);

/* Why the user half is not whole, NULL if it is or nobody said. */
const char *seam_text_missing(const struct seam_stitched *s);

#endif
