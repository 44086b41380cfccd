/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The copy's insides: where it stands, and what of the file it writes anew. */
#ifndef SEAM_LIB_PERFDATA_COPY_PRIV_H
#define SEAM_LIB_PERFDATA_COPY_PRIV_H

#include "perfdata/copy.h"
#include "perfdata/reader-priv.h"
#include "perfdata/writer-priv.h"

/* An AUXTRACE record: offsets in the files. */
struct pd_moved {
	uint64_t from, to;
};

/* A feature's. */
struct pd_body {
	const uint8_t *p;
	size_t size;
	bool is_made; /* it says what it is to say already */
};

struct pd_copy {
	struct seam_pd_reader *r;
	const struct seam_pd_editor *editor; /* NULL: all stays */
	int fd;
	uint64_t written; /* bytes in the file */
	struct pd_buf out; /* what follows them */
	struct pd_header header; /* the new one; in this machine's byte order */
	struct pd_body bodies[PD_FEAT_MAX]; /* of the features it has */
	bool filed; /* a pipe's recording becomes a file */
	size_t n_attrs; /* records of attributes that were passed */
	size_t chunk; /* the next one of the reader's */
	uint64_t behind; /* of that, bytes that belong to a record before */
	struct pd_moved *moved; /* in the order of the file */
	size_t n_moved, cap_moved;
	uint64_t attrs_cut;
	/* In place of the reader's; or empty. The last two: if it is filed. */
	struct pd_buf tracing, desc, build_ids;
};

/* Where the next byte goes. */
static inline uint64_t pd_copy_at(const struct pd_copy *c)
{
	return c->written + c->out.len;
}

/* copy.c. All fail as writing does. */
int seam_pd_copy_add(struct pd_copy *c, const void *p, size_t len);
int seam_pd_copy_add_u64(struct pd_copy *c, uint64_t v);
int seam_pd_copy_flush(struct pd_copy *c);

/* copy-front.c: header, ids and attributes; the header is written again, with
 * what came of it, at the end, and before that the features. */
int seam_pd_copy_front(struct pd_copy *c);
int seam_pd_copy_back(struct pd_copy *c);
/* Whether the copy has this feature too. */
bool seam_pd_copy_keeps(unsigned bit);

/* copy-attr.c. Makes an attribute, which has size bytes, or a description of
 * events, what the editor wants them to say of deferral. */
void seam_pd_copy_attr(const struct pd_copy *c, uint8_t *attr, size_t size);
void seam_pd_copy_desc(const struct pd_copy *c, uint8_t *desc, size_t size);
struct pd_header seam_pd_old_header(const struct seam_pd_reader *r);
/* How long the attributes are without the zeros that may be cut. */
size_t seam_pd_attrs_size(const struct seam_pd_reader *r);
/* Return: 0, or -EOPNOTSUPP: so long a one is not for the copy's readers. */
int seam_pd_check_attr(const struct pd_copy *c, size_t size);
/* The event's, as long as the copy's are. */
void seam_pd_copy_event(const struct pd_copy *c, const struct pd_event *ev,
			uint8_t ret[PD_ATTR_SIZE_MAX]);
/* The attribute says its size too. */
void seam_pd_attr_set_size(uint8_t *attr, size_t size, bool swap);
/* PD_HEADER_ATTR; s: all of it. */
int seam_pd_copy_attr_record(struct pd_copy *c, struct span s);
/* Cuts them in a file that is written as it was. */
int seam_pd_copy_cut_attrs(struct pd_copy *c);

/* copy-tracing.c: makes c->tracing, if the editor wants it. */
int seam_pd_copy_tracing(struct pd_copy *c);
/* PD_HEADER_TRACING_DATA; s: with what is behind it. */
int seam_pd_copy_tracing_record(struct pd_copy *c, struct span s);

/* copy-filed.c: a pipe's recording that becomes a file. Behind the attributes,
 * before the data. Return: 0 or -ENOMEM. */
int seam_pd_filed_begin(struct pd_copy *c);
/* A record of perf's own. Return: 1: the file says it elsewhere; 0: it stays in
 * the data; -ENOMEM. */
int seam_pd_filed_record(struct pd_copy *c, uint32_t type, struct span s,
			 int depth);
/* Behind the data: the features are known. */
void seam_pd_filed_end(struct pd_copy *c);

#endif
