/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The writer's insides: a growing buffer, the file's fixed front part, the
 * feature tables and the compressor. */
#ifndef SEAM_LIB_PERFDATA_WRITER_PRIV_H
#define SEAM_LIB_PERFDATA_WRITER_PRIV_H

#include "perfdata/format.h"
#include "perfdata/writer.h"

struct pd_buf {
	uint8_t *p;
	size_t len, cap;
	int err; /* sticky -ENOMEM */
};

void seam_pd_buf_add(struct pd_buf *b, const void *data, size_t len);
void seam_pd_buf_fini(struct pd_buf *b);
/* All of it at this place of the file. Return: 0 or -errno. */
int seam_pd_write_at(int fd, const void *data, size_t len, uint64_t off);

/* writer-output.c: the file, made, with what was there renamed; or a device
 * that keeps nothing, as it is. Return: a descriptor or -errno. */
int seam_pd_output_open(const char *path, struct seam_errinfo *reterr);

/* One entry of the feature table whose body lies in the front part. */
struct pd_feat_entry {
	unsigned bit;
	struct pd_section at;
};

#define PD_MAX_FEATS 16

/* One id of an event whose samples have a payload. */
struct pd_raw {
	uint64_t id;
	size_t size; /* of what each has at least */
};

struct pd_compressor;

struct seam_pd_writer {
	int fd;
	bool pipe; /* it cannot go back: no header to change, no table */
	bool waits; /* for room: it is no file on disk */
	struct seam_pd_wait wait; /* fd -1: for nothing else meanwhile */
	int err; /* sticky */
	struct pd_header header;
	struct pd_feat_entry feats[PD_MAX_FEATS];
	size_t n_feats;
	struct pd_buf raw; /* records not yet given to the file */
	struct pd_buf out; /* the same, as the file has them */
	uint64_t given; /* records, all */
	uint64_t drained; /* of them: were in out, the last of them */
	uint64_t written; /* of them: are in the file */
	uint64_t end; /* file offset where the next record goes */
	uint64_t data_end; /* where the data ends as the header says */
	uint64_t table; /* bytes of the feature table behind it */
	uint64_t first_ns, last_ns; /* samples' times */
	struct pd_raw *raws; /* of events that have payloads, by id */
	size_t n_raws;
	struct pd_compressor *zstd;
};

/* writer-pipe.c: behind what was written last. *ret_done: how many bytes are
 * written, whatever came then. Return: 0 or -errno. */
int seam_pd_write_on(const struct seam_pd_writer *w, const void *data,
		     size_t len, size_t *ret_done);
/* Which way it is written to. */
void seam_pd_pipe_init(struct seam_pd_writer *w,
		       const struct seam_pd_wait *wait);

/* Builds header, attributes, ids and constant feature bodies. */
int seam_pd_front(struct seam_pd_writer *w, const struct seam_pd_opts *opts,
		  struct pd_buf *ret_front);
/* The same for a pipe: records alone. */
int seam_pd_front_pipe(struct seam_pd_writer *w,
		       const struct seam_pd_opts *opts,
		       struct pd_buf *ret_front);
/* Parts of both. Attributes: as the file has them, see struct seam_pd_event.
 * Features: bodies, of which w notes where they are in b; and a record for each
 * that fits one, of the bodies in from, which may be b. */
void seam_pd_add_attr(struct pd_buf *b, const struct seam_pd_event *ev);
void seam_pd_features(struct seam_pd_writer *w, const struct seam_pd_opts *o,
		      struct pd_buf *b);
void seam_pd_feature_records(const struct seam_pd_writer *w,
			     const struct pd_buf *from, struct pd_buf *b);
/* Appends what readers of payloads need to know of tracepoints. */
void seam_pd_add_lost(struct pd_buf *out); /* system and tracepoint */
void seam_pd_tracing(const struct seam_pd_opts *opts, struct pd_buf *out);
/* Whether any event has payloads. */
bool seam_pd_has_tracing(const struct seam_pd_opts *opts);
/* Appends a feature table that will lie at file offset at. */
void seam_pd_feature_table(const struct seam_pd_writer *w, uint64_t at,
			   struct pd_buf *out);

struct pd_compressor *seam_pd_compressor_new(int level);
struct pd_compressor *seam_pd_compressor_free(struct pd_compressor *c);
/* Appends COMPRESSED records that hold all of raw. */
int seam_pd_compress(struct pd_compressor *c, const struct pd_buf *raw,
		     struct pd_buf *out);
/* What one COMPRESSED record may hold when decompressed. */
#define PD_COMPRESS_CHUNK (128U << 10)

#endif
