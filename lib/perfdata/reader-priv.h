/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The reader's insides. Every length that comes from the file is compared
 * with what is left before it is used, through struct span. */
#ifndef SEAM_LIB_PERFDATA_READER_PRIV_H
#define SEAM_LIB_PERFDATA_READER_PRIV_H

#include "base/index.h"
#include "base/spill.h"
#include "perfdata/format.h"
#include "perfdata/reader.h"

/* A part of the file, how much of it is left to read, and whether its numbers
 * are in the other byte order. */
struct span {
	const uint8_t *p;
	size_t left;
	bool swap;
};

static inline uint64_t pd_u64(const uint8_t *p, bool swap)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap64(v) : v;
}

static inline uint32_t pd_u32(const uint8_t *p, bool swap)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap32(v) : v;
}

static inline uint16_t pd_u16(const uint8_t *p, bool swap)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap16(v) : v;
}

static inline struct perf_event_header pd_record_header(const uint8_t *p,
							bool swap)
{
	struct perf_event_header h;

	memcpy(&h, p, sizeof(h));
	if (swap) {
		h.type = __builtin_bswap32(h.type);
		h.misc = __builtin_bswap16(h.misc);
		h.size = __builtin_bswap16(h.size);
	}
	return h;
}

/* What is read of a record first. Of one with a stack copy it is the sample's
 * fields, the addresses in the kernel and the registers; and, where the record
 * before it ends, how much there is of that one's copy. */
static inline void pd_prefetch_record(const uint8_t *rec)
{
	__builtin_prefetch((const void *)((uintptr_t)rec - 8));
	for (int i = 0; i < 5; i++)
		__builtin_prefetch(rec + 64 * i);
}

static inline const uint8_t *span_take(struct span *s, uint64_t n)
{
	const uint8_t *p = s->p;

	if (n > s->left)
		return NULL;
	s->p += n;
	s->left -= (size_t)n;
	return p;
}

static inline bool span_u64(struct span *s, uint64_t *ret)
{
	const uint8_t *p = span_take(s, 8);

	if (p)
		*ret = pd_u64(p, s->swap);
	return p;
}

static inline bool span_u32(struct span *s, uint32_t *ret)
{
	const uint8_t *p = span_take(s, 4);

	if (p)
		*ret = pd_u32(p, s->swap);
	return p;
}

struct pd_event {
	struct seam_pd_attr pub;
	struct span raw, raw_ids; /* as the recording has them; not a stream */
	char *name;
	bool named; /* by the recording */
	uint64_t *ids;
	uint64_t sample_type, read_format, branch_type, regs_user, regs_intr;
	bool sample_id_all;
};

struct pd_id {
	uint64_t id;
	uint32_t event;
};

/* Runs each of which is twice as long as the next: no more have room. */
#define PD_ID_RUNS_MAX 64

/* Of all events, in the order of events but for the first n_sorted. */
struct pd_ids {
	struct pd_id *p;
	size_t n, max;
	size_t n_sorted; /* that are in runs, each sorted by id */
	size_t runs[PD_ID_RUNS_MAX]; /* where they begin */
	size_t n_runs;
	size_t n_asked; /* how often, since there was a new run */
};

struct pd_index {
	uint64_t time_ns;
	uint64_t no_cookie : 1; /* a sample that asks for no record */
	uint64_t is_sample : 1;
	uint64_t is_data : 1; /* a mapping of no code */
	uint64_t rec : 61; /* its address */
};

static inline const uint8_t *pd_index_rec(const struct pd_index *ix)
{
	return (const uint8_t *)(uintptr_t)ix->rec;
}

/* Bytes in a file without a name, mapped piece by piece as it grows. */
struct pd_segment {
	uint8_t *p;
	size_t size;
};

struct pd_spool {
	bool open;
	int fd;
	struct pd_segment *segments;
	size_t n, cap;
	uint64_t size; /* of the file */
	size_t used; /* of the last segment */
};

/* Decompressed bytes, and the file offset of the record they came from. */
struct pd_chunk {
	uint8_t *p;
	size_t len;
	bool allocated; /* else in the spool */
	uint64_t offset;
	size_t part;
	size_t walked; /* bytes of whole records that were read */
};

struct pd_path_id {
	const char *path;
	uint8_t len;
	uint8_t id[20];
};

/* A file. Recordings of several threads are a folder with data, which has
 * the header, and data.0, data.1 and so on, which have records alone. */
struct pd_part {
	const uint8_t *p;
	size_t size;
	bool mapped, allocated;
	size_t begin, walked; /* the records that were read: from, so many */
	uint64_t missed; /* bytes behind them, of a stream too long to keep */
	char cut[96]; /* why it ends before its data does; "": it does not */
	char name[24];
};

#define PD_COUNTED_TYPES 128

/* A recording that comes while it is read; its records are copies in the heap.
 */
struct pd_stream {
	int fd;
	uint64_t window_ns;
	void (*idle)(void *ctx);
	void *idle_ctx;
	uint8_t *buf; /* what was read: from at to end it is new */
	size_t at, end, cap;
	uint64_t base; /* of buf in the stream */
	bool is_head; /* nothing in buf may go */
	bool is_over; /* there is no more to read, */
	bool is_done; /* and all of it was */
	struct pd_index *pending; /* in pending_room: not in order yet */
	size_t n_pending;
	struct seam_spill pending_room;
	uint64_t newest_ns, reached_ns;
	uint64_t round_ns; /* the newest when the last round ended */
	bool has_rounds, has_more, is_full;
	uint64_t n_added; /* records */
	/* Of records in memory; that are not in order; that came since they
	 * were sorted. */
	size_t n_held_bytes, n_pending_bytes, n_new_bytes;
	size_t n_beyond_bytes; /* the most that is held was raised by that */
	size_t n_dead; /* of the index's first, which were dropped */
	uint8_t **kept; /* what the reader's tables point to */
	size_t n_kept, cap_kept, n_kept_bytes;
};

struct pd_inflate;
struct pd_bring;

struct seam_pd_reader {
	struct pd_stream *stream; /* NULL: all of it is there */
	const uint8_t *file; /* with the header; the first of parts */
	size_t size;
	struct pd_part *parts;
	size_t n_parts;
	uint64_t total_size; /* of all parts */
	const struct pd_part *part; /* that is being walked */
	const uint8_t *brought; /* of part: pages before it are being mapped */
	struct pd_bring *bring; /* NULL: they are when they are asked for */
	uint64_t touched; /* bytes read since pages were let go */
	bool swap; /* its numbers are in the other byte order */
	struct pd_event *events;
	size_t n_events, max_events; /* max: room for them */
	struct pd_ids ids;
	int id_word; /* of a sample, from its start; -1: none */
	int id_tail_word; /* of others, from their end, 1 = last; -1: none */
	struct pd_index *index; /* in index_room */
	size_t first; /* the place of index[0]: streams drop what was used */
	size_t n_index;
	struct seam_spill index_room;
	/* As records of them say. */
	uint64_t lost_records, lost_samples, filtered_samples;
	bool is_complete; /* a stack of no cookie: see writer.h */
	size_t n_asking; /* samples that ask for a record of their stack */
	uint64_t last_ns;
	struct pd_chunk *chunks;
	size_t n_chunks;
	uint64_t inflated; /* bytes in all chunks */
	struct pd_spool spool;
	struct pd_inflate *zstd;
	bool is_inside; /* a compressed record, which is there: */
	uint64_t inside_offset;
	bool maps_have_ids; /* build-ids: a mapping's record has one */
	struct pd_path_id *path_ids;
	size_t n_path_ids;
	struct seam_index path_index; /* of them, by path */
	char *cmdline;
	uint64_t counts[PD_COUNTED_TYPES];
	uint64_t n_beyond; /* records of types above those */
	/* As bits of a header's: see pd_features; and those that were read,
	 * which records may have had. */
	uint64_t lost_features, read_features;
	struct seam_pd_info info;
	struct seam_pd_damage damage;
	const struct pd_part *damaged_part; /* the last one */
};

int seam_pd_fill_err(struct seam_errinfo *err, int rc, const char *where,
		     uint64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* Notes the first damage, and how many files there is any in. */
void seam_pd_set_damage(struct seam_pd_reader *r, uint64_t offset,
			const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same where the file ends, behind all records. */
void seam_pd_set_damage_behind(struct seam_pd_reader *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A part of what belongs to the recording. */
static inline struct span pd_span(const struct seam_pd_reader *r,
				  const uint8_t *p, size_t size)
{
	return (struct span){p, size, r->swap};
}

/* load.c: fills parts with what the path names. Return: 0 or -errno. */
int seam_pd_load(struct seam_pd_reader *r, const char *path);

/* Whether these are the first bytes of a recording, of either byte order. */
bool seam_pd_has_magic(const void *p, size_t size);
int seam_pd_load_mem(struct seam_pd_reader *r, const void *data, size_t size);
/* The rest of a stream, of which the first was read: buf, of cap bytes from the
 * heap, which becomes the reader's. Return: as seam_pd_open(). */
int seam_pd_open_rest(int fd, uint8_t *buf, size_t len, size_t cap,
		      struct seam_pd_reader **ret, struct seam_errinfo *reterr);
int seam_pd_load_rest(struct seam_pd_reader *r, int fd, uint8_t *buf,
		      size_t len, size_t cap);
void seam_pd_unload(struct seam_pd_reader *r);
/* n more bytes were read. Files' pages are let go every so often: they come
 * back when they are read again, and the recording need not fit in memory. */
void seam_pd_touch(struct seam_pd_reader *r, size_t n);

/* bring.c: maps pages ahead. Between begin() and end() at goes upward, in the
 * part that is walked. */
void seam_pd_bring_begin(struct seam_pd_reader *r, const uint8_t *at);
void seam_pd_bring(struct seam_pd_reader *r, const uint8_t *at);
void seam_pd_bring_end(struct seam_pd_reader *r);
void seam_pd_unmap(struct pd_part *part);

/* spool.c: what was decompressed, in memory or in the spool. Return: 0 or
 * -ENOMEM. */
int seam_pd_keep(struct seam_pd_reader *r, const uint8_t *p, size_t len,
		 struct pd_chunk *ret);
void seam_pd_spool_let_go(struct pd_spool *s);
void seam_pd_spool_fini(struct pd_spool *s);

/* swap.c: of a machine with the other byte order, into this one's. */
void seam_pd_swap_header(struct pd_header *h);
void seam_pd_swap_attr(struct perf_event_attr *attr, uint64_t *flags);

/* reader-attr.c */
#define PD_EVENTS_MAX 65536
#define PD_TOO_MANY_EVENTS                                                     \
	"it has more attributes of events than the 65536 that seam reads"
int seam_pd_add_event(struct seam_pd_reader *r, struct span attr,
		      struct span ids);
/* *ret_why: set where -EBADMSG is not for where they lie. */
int seam_pd_read_attrs(struct seam_pd_reader *r, const struct pd_header *h,
		       const char **ret_why);
int seam_pd_set_name(struct seam_pd_reader *r, size_t event, const char *name,
		     size_t len);
void seam_pd_plan_ids(struct seam_pd_reader *r);

/* reader-ids.c: room for n more. Return: 0 or -ENOMEM. */
int seam_pd_ids_grow(struct pd_ids *ids, size_t n);

/* reader-tracing.c: offsets in the tracing data. */
struct pd_systems {
	size_t count_at; /* of the systems */
	size_t end; /* of the last one */
	bool has_lost; /* the tracepoint of lost payloads is there */
};
/* Return: false: there are none, or they are malformed. */
bool seam_pd_systems(const struct seam_pd_reader *r, struct pd_systems *ret);

/* reader-feature.c */
void seam_pd_read_features(struct seam_pd_reader *r, const struct pd_header *h);
/* Of the file that was walked: what its header promised and is not in it, nor
 * in its records. */
void seam_pd_tell_lost(struct seam_pd_reader *r);
/* Where the file has them, of the lowest bit first: those that lie in it. Of
 * data that has no end there are none. */
struct pd_features {
	struct span table;
	uint64_t bits; /* yet to come */
	uint64_t lost; /* promised, but not in the file, or not wholly */
};
void seam_pd_features_begin(const struct seam_pd_reader *r,
			    const struct pd_header *h, struct pd_features *ret);
/* Of lost build-ids those that are whole. Return: false: there are no more. */
bool seam_pd_features_next(const struct seam_pd_reader *r,
			   struct pd_features *f, unsigned *ret_bit,
			   struct pd_section *ret);
void seam_pd_read_feature(struct seam_pd_reader *r, unsigned bit,
			  struct span body);
void seam_pd_add_build_id(struct seam_pd_reader *r, struct span record);
/* Of a table of build-ids: how long those are that are whole. */
size_t seam_pd_build_ids_len(struct span table);

/* reader-walk.c: indexes the records of a part, which is r->part. */
int seam_pd_walk(struct seam_pd_reader *r, struct span data);
/* One record, and what is compressed in it.
 * Return: 0; -EBADMSG, -EFBIG: reading ends here; -ENOMEM. */
int seam_pd_one(struct seam_pd_reader *r, const uint8_t *rec,
		struct perf_event_header h);
/* Says what was wrong where reading ended: rc of the last record, and how many
 * bytes are left. */
void seam_pd_walk_end(struct seam_pd_reader *r, uint64_t at, int rc,
		      size_t left);
/* Whether records of the kernel of this type are parsed and indexed. */
bool seam_pd_wanted(uint32_t type);
/* Some records are followed by bytes that their size does not cover. */
uint64_t seam_pd_bytes_behind(uint32_t type, struct span record);
void seam_pd_inflate_free(struct pd_inflate *z);
/* reader-sort.c */
int seam_pd_sort(struct seam_pd_reader *r);
int seam_pd_sort_index(struct seam_spill *room, size_t n);

/* stream.c: Return: 0 or -ENOMEM. */
int seam_pd_stream_add(struct seam_pd_reader *r, const struct pd_index *ix);
int seam_pd_stream_round(struct seam_pd_reader *r);
/* Return: a copy that stays; NULL: there is no room, which is damage. */
const uint8_t *seam_pd_stream_keep(struct seam_pd_reader *r, const uint8_t *p,
				   size_t len);
void seam_pd_stream_free(struct seam_pd_reader *r);

/* parse.c. record is whole: its size was compared. Return: false: it
 * contradicts itself. */
bool seam_pd_parse(struct seam_pd_reader *r, const uint8_t *record,
		   struct seam_pd_rec *ret);

/* What the file says of a path; NULL: nothing. */
struct pd_path_id *pd_path_id(const struct seam_pd_reader *r, const char *path);

#endif
