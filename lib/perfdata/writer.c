// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Records into the buffer, the buffer into the file. */
#include "perfdata/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "core/uapi.h"
#include "perfdata/reader.h"
#include "perfdata/writer-priv.h"

/* Above this the buffer goes to the file, where it stays invisible until
 * the next flush. A buffer never shrinks: where the recorder gets little of the
 * CPUs, what it has to write at once is ever more. */
#define SPILL_BYTES (1U << 20)
#define MAX_EVENTS 4096

void seam_pd_buf_add(struct pd_buf *b, const void *data, size_t len)
{
	if (b->err)
		return;
	b->err = seam_grow(&b->p, b->len + len, &b->cap, 1);
	if (b->err)
		return;
	if (len)
		memcpy(b->p + b->len, data, len);
	b->len += len;
}

void seam_pd_buf_fini(struct pd_buf *b)
{
	free(b->p);
	*b = (struct pd_buf){0};
}

/* *ret_done: how many bytes are written, whatever came then. */
static int write_some(int fd, const uint8_t *p, size_t len, uint64_t off,
		      size_t *ret_done)
{
	*ret_done = 0;
	while (*ret_done < len) {
		ssize_t n = pwrite(fd, p + *ret_done, len - *ret_done,
				   (off_t)(off + *ret_done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		*ret_done += (size_t)n;
	}
	return 0;
}

int seam_pd_write_at(int fd, const void *data, size_t len, uint64_t off)
{
	size_t done;

	return write_some(fd, data, len, off, &done);
}

/* Makes the buffered records bytes of the file's kind, in out. */
static int drain(struct seam_pd_writer *w)
{
	int rc = 0;

	if (w->raw.err)
		return w->raw.err;
	if (w->zstd)
		rc = seam_pd_compress(w->zstd, &w->raw, &w->out);
	else
		seam_pd_buf_add(&w->out, w->raw.p, w->raw.len);
	w->raw.len = 0;
	w->drained = w->given;
	return rc ? rc : w->out.err;
}

/* The header's feature bitmap and its data size are in one page of the file
 * and change by one write each time. */
static int write_header(struct seam_pd_writer *w, uint64_t data_end,
			uint64_t features)
{
	struct pd_header h = w->header;
	int rc;

	if (w->pipe) {
		w->data_end = data_end;
		return 0;
	}
	h.data.size = data_end - h.data.offset;
	h.features[0] = features;
	rc = seam_pd_write_at(w->fd, &h.data,
			      sizeof(h) - offsetof(struct pd_header, data),
			      offsetof(struct pd_header, data));
	if (rc)
		return rc;
	w->data_end = data_end;
	if (!features)
		w->table = 0;
	return 0;
}

/* Records that lie in so many bytes as a whole have so many. *ret_given: how
 * many of them are no book-keeping. */
static size_t whole_records(const uint8_t *p, size_t len, uint64_t *ret_given)
{
	struct perf_event_header h;
	size_t at = 0;

	*ret_given = 0;
	while (len - at >= sizeof(h)) {
		memcpy(&h, p + at, sizeof(h));
		if (h.size < sizeof(h) || h.size > len - at)
			break;
		at += h.size;
		*ret_given += h.type < PD_HEADER_ATTR;
	}
	return at;
}

/* Appends out to the file. The header is not told, unless it cannot be done:
 * then that shows what records there was room for. */
static int append(struct seam_pd_writer *w)
{
	uint64_t given;
	size_t done, whole;
	int rc = w->pipe ? seam_pd_write_on(w, w->out.p, w->out.len, &done)
			 : write_some(w->fd, w->out.p, w->out.len, w->end,
				      &done);

	if (rc) {
		whole = whole_records(w->out.p, done, &given);
		w->written += given;
		write_header(w, w->end + whole, 0);
		return rc;
	}
	w->written = w->drained;
	w->end += done;
	w->out.len = 0;
	return 0;
}

static int fail(struct seam_pd_writer *w, int rc)
{
	if (rc && !w->err)
		w->err = rc;
	return w->err;
}

static int spill(struct seam_pd_writer *w)
{
	int rc = drain(w);

	if (!rc)
		rc = write_header(w, w->data_end, 0);
	return fail(w, rc ? rc : append(w));
}

/* For one more record. */
static int room(struct seam_pd_writer *w)
{
	int rc = w->err;

	if (!rc && w->raw.len >= SPILL_BYTES)
		rc = spill(w);
	w->given++;
	return rc;
}

static void add_u64(struct pd_buf *b, uint64_t v)
{
	seam_pd_buf_add(b, &v, sizeof(v));
}

static void add_u32x2(struct pd_buf *b, uint32_t lo, uint32_t hi)
{
	uint32_t v[2] = {lo, hi};

	seam_pd_buf_add(b, v, sizeof(v));
}

static void add_header(struct pd_buf *b, uint32_t type, uint16_t misc,
		       size_t size)
{
	struct perf_event_header h = {type, misc, (uint16_t)size};

	seam_pd_buf_add(b, &h, sizeof(h));
}

static void note_time(struct seam_pd_writer *w, uint64_t time_ns)
{
	if (!w->first_ns || time_ns < w->first_ns)
		w->first_ns = time_ns;
	if (time_ns > w->last_ns)
		w->last_ns = time_ns;
}

/* Return: the bytes of the sample's payload with its size in front of it, 0 if
 * its event has none. One that was lost is as long as its event's are, for
 * those who read fields without asking. */
static size_t payload_room(const struct seam_pd_writer *w,
			   const struct seam_pd_sample *s)
{
	for (size_t i = 0; i < w->n_raws; i++)
		if (w->raws[i].id == s->id.id)
			return (4 +
				(s->payload ? s->payload_size
					    : w->raws[i].size) +
				7) &
			       ~(size_t)7;
	return 0;
}

/* A lost one names the tracepoint of lost ones, and no more. */
static void add_payload(struct pd_buf *b, const struct seam_pd_sample *s,
			size_t size)
{
	static const uint8_t zeros[64];
	const uint16_t lost = SEAM_PD_PAYLOAD_LOST;
	const void *p = s->payload ? s->payload : &lost;
	size_t n_p = s->payload ? s->payload_size : sizeof(lost), left;
	uint32_t len = (uint32_t)size - 4;

	if (!size)
		return;
	seam_pd_buf_add(b, &len, sizeof(len));
	seam_pd_buf_add(b, p, n_p);
	left = len - n_p;
	while (left) {
		size_t n = left < sizeof(zeros) ? left : sizeof(zeros);

		seam_pd_buf_add(b, zeros, n);
		left -= n;
	}
}

void seam_pd_want_user_ip(struct perf_event_attr *attr)
{
	attr->sample_type |= PERF_SAMPLE_REGS_USER;
	attr->sample_regs_user = 1ULL << SEAM_PD_REG_IP;
}

static size_t user_ip_words(const struct seam_pd_sample *s)
{
	return s->has_user_ip ? 1 + (s->user_ip != 0) : 0;
}

/* As the user's registers, of which it is the only one. */
static void add_user_ip(struct pd_buf *b, const struct seam_pd_sample *s)
{
	if (!s->has_user_ip)
		return;
	add_u64(b, s->user_ip ? PERF_SAMPLE_REGS_ABI_64
			      : PERF_SAMPLE_REGS_ABI_NONE);
	if (s->user_ip)
		add_u64(b, s->user_ip);
}

int seam_pd_write_sample(struct seam_pd_writer *w,
			 const struct seam_pd_sample *s)
{
	size_t n = 0, raw = payload_room(w, s), size;
	uint16_t end = (uint16_t)(s->end << PD_MISC_END_SHIFT);
	int rc = room(w);

	if (rc)
		return rc;
	if (s->end < 0 || s->end > PD_MISC_END_MASK)
		return -EINVAL;
	if (s->n_kernel > SEAM_PD_MAX_IPS)
		return -E2BIG;
	n += s->n_kernel ? s->n_kernel + 1 : 0;
	n += s->cookie ? 2 : 0;
	size = 8 * (1 + 7 + n + user_ip_words(s)) + raw;
	if (size > UINT16_MAX)
		return -E2BIG;
	add_header(&w->raw, PERF_RECORD_SAMPLE, s->misc | end, size);
	add_u64(&w->raw, s->id.id);
	add_u64(&w->raw, s->ip);
	add_u32x2(&w->raw, s->id.pid, s->id.tid);
	add_u64(&w->raw, s->id.time_ns);
	add_u32x2(&w->raw, s->id.cpu, 0);
	add_u64(&w->raw, s->period);
	add_u64(&w->raw, n);
	if (s->n_kernel) {
		add_u64(&w->raw, (uint64_t)PERF_CONTEXT_KERNEL);
		seam_pd_buf_add(&w->raw, s->kernel_ips, 8 * s->n_kernel);
	}
	if (s->cookie) {
		add_u64(&w->raw, SEAM_CONTEXT_USER_DEFERRED);
		add_u64(&w->raw, s->cookie);
	}
	add_payload(&w->raw, s, raw);
	add_user_ip(&w->raw, s);
	note_time(w, s->id.time_ns);
	return fail(w, w->raw.err);
}

static size_t method_words(const struct seam_pd_stack *s)
{
	return s->methods ? (s->n_ips + PD_METHODS_PER_WORD - 1) /
				    PD_METHODS_PER_WORD
			  : 0;
}

static void add_methods(struct pd_buf *b, const struct seam_pd_stack *s)
{
	uint64_t word = 0;

	for (size_t i = 0; s->methods && i < s->n_ips; i++) {
		unsigned at = i % PD_METHODS_PER_WORD;

		word |= (uint64_t)(s->methods[i] & PD_METHOD_MASK)
			<< at * PD_METHOD_BITS;
		if (at == PD_METHODS_PER_WORD - 1 || i == s->n_ips - 1) {
			add_u64(b, word);
			word = 0;
		}
	}
}

int seam_pd_write_stack(struct seam_pd_writer *w, const struct seam_pd_stack *s)
{
	uint16_t misc = PERF_RECORD_MISC_USER;
	int rc = room(w);

	if (rc)
		return rc;
	if (s->n_ips > (s->methods ? SEAM_PD_MAX_IPS_METHODS : SEAM_PD_MAX_IPS))
		return -E2BIG;
	if (s->end < 0 || s->end > PD_MISC_END_MASK ||
	    s->flags > PD_MISC_FLAGS_MASK)
		return -EINVAL;
	misc |= (uint16_t)(s->end << PD_MISC_END_SHIFT);
	misc |= (uint16_t)(s->flags << PD_MISC_FLAGS_SHIFT);
	if (s->methods)
		misc |= SEAM_PD_STACK_METHODS << PD_MISC_FLAGS_SHIFT;
	add_header(&w->raw, SEAM_RECORD_CALLCHAIN_DEFERRED, misc,
		   8 * (1 + 2 + s->n_ips + method_words(s) + 4));
	add_u64(&w->raw, s->cookie);
	add_u64(&w->raw, s->n_ips);
	seam_pd_buf_add(&w->raw, s->ips, 8 * s->n_ips);
	add_methods(&w->raw, s);
	add_u32x2(&w->raw, s->id.pid, s->id.tid);
	add_u64(&w->raw, s->id.time_ns);
	add_u32x2(&w->raw, s->id.cpu, 0);
	add_u64(&w->raw, s->id.id);
	return fail(w, w->raw.err);
}

int seam_pd_write_raw(struct seam_pd_writer *w,
		      const struct perf_event_header *record)
{
	int rc = room(w);

	if (rc)
		return rc;
	if (record->size < sizeof(*record) || record->size % 8)
		return -EINVAL;
	seam_pd_buf_add(&w->raw, record, record->size);
	return fail(w, w->raw.err);
}

/* Behind the data, which it is no part of. */
static int put_table(struct seam_pd_writer *w)
{
	int rc;

	seam_pd_feature_table(w, w->end, &w->out);
	rc = w->out.err ? w->out.err
			: seam_pd_write_at(w->fd, w->out.p, w->out.len, w->end);
	if (!rc)
		w->table = w->out.len;
	w->out.len = 0;
	return rc;
}

/*
 * The feature table lies where the data ends, so new data goes over it:
 * first the header stops to speak of a table (the features in the data do
 * instead), then data is written behind what the header shows, which it shows
 * then; so does it with a new table. A disk that is full meanwhile costs what
 * there was no room for.
 */
static int publish(struct seam_pd_writer *w)
{
	int rc = write_header(w, w->data_end, 0);

	if (!rc)
		rc = append(w);
	if (!rc)
		rc = write_header(w, w->end, 0);
	if (rc || w->pipe)
		return rc;
	rc = put_table(w);
	return rc ? rc : write_header(w, w->end, w->header.features[0]);
}

static int flush(struct seam_pd_writer *w, bool ends_round)
{
	struct perf_event_header round = {PD_FINISHED_ROUND, 0, sizeof(round)};
	int rc;

	if (w->err)
		return w->err;
	rc = drain(w);
	if (rc)
		return rc;
	if (!w->out.len && w->end == w->data_end)
		return 0;
	if (ends_round)
		seam_pd_buf_add(&w->out, &round, sizeof(round));
	return w->out.err ? w->out.err : publish(w);
}

int seam_pd_flush(struct seam_pd_writer *w)
{
	return fail(w, flush(w, true));
}

int seam_pd_flush_within(struct seam_pd_writer *w)
{
	return fail(w, flush(w, false));
}

uint64_t seam_pd_bytes(const struct seam_pd_writer *w)
{
	return w->data_end + w->table;
}

uint64_t seam_pd_unwritten(const struct seam_pd_writer *w)
{
	return w->given - w->written;
}

static void free_writer(struct seam_pd_writer *w)
{
	if (w->fd >= 0)
		close(w->fd);
	seam_pd_buf_fini(&w->raw);
	seam_pd_buf_fini(&w->out);
	seam_pd_compressor_free(w->zstd);
	free(w->raws);
	free(w);
}

int seam_pd_writer_close(struct seam_pd_writer *w)
{
	int rc;

	if (!w)
		return 0;
	rc = seam_pd_flush(w);
	if (close(w->fd) && !rc)
		rc = -errno;
	w->fd = -1;
	free_writer(w);
	return rc;
}

static int fill_err(struct seam_errinfo *err, int rc, const char *where,
		    const char *reason)
{
	if (err) {
		memset(err, 0, sizeof(*err));
		snprintf(err->where, sizeof(err->where), "%s", where);
		snprintf(err->reason, sizeof(err->reason), "%s: %s", reason,
			 strerror(-rc));
	}
	return rc;
}

/* The caller's stays open. */
static int duplicate_stdout(struct seam_errinfo *reterr)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);

	return fd < 0 ? fill_err(reterr, -errno, "output",
				 "standard output cannot be written to")
		      : fd;
}

/* Learns which ids are of events that have payloads. */
static int learn_raws(struct seam_pd_writer *w, const struct seam_pd_opts *opts)
{
	size_t n = 0;

	for (size_t i = 0; i < opts->n_events; i++)
		if (opts->events[i].attr.sample_type & PERF_SAMPLE_RAW)
			n += opts->events[i].n_ids;
	if (!n)
		return 0;
	w->raws = calloc(n, sizeof(*w->raws));
	if (!w->raws)
		return -ENOMEM;
	for (size_t i = 0; i < opts->n_events; i++) {
		const struct seam_pd_event *ev = &opts->events[i];

		if (!(ev->attr.sample_type & PERF_SAMPLE_RAW))
			continue;
		for (size_t j = 0; j < ev->n_ids; j++)
			w->raws[w->n_raws++] =
				(struct pd_raw){ev->ids[j], ev->payload_size};
	}
	return 0;
}

static int start(struct seam_pd_writer *w, const struct seam_pd_opts *opts)
{
	struct pd_buf front = {0};
	int rc = learn_raws(w, opts);
	size_t done;

	if (rc)
		return rc;
	if (opts->zstd_level) {
		w->zstd = seam_pd_compressor_new(opts->zstd_level);
		if (!w->zstd)
			return -ENOMEM;
	}
	rc = w->pipe ? seam_pd_front_pipe(w, opts, &front)
		     : seam_pd_front(w, opts, &front);
	if (!rc)
		rc = w->pipe ? seam_pd_write_on(w, front.p, front.len, &done)
			     : seam_pd_write_at(w->fd, front.p, front.len, 0);
	w->end = w->data_end =
		w->pipe ? front.len
			: w->header.data.offset + w->header.data.size;
	w->table = front.len - w->end;
	seam_pd_buf_fini(&front);
	return rc;
}

int seam_pd_writer_open(const char *path, const struct seam_pd_opts *opts,
			struct seam_pd_writer **ret,
			struct seam_errinfo *reterr)
{
	struct seam_pd_writer *w;
	int rc;

	if (opts->sz != sizeof(*opts) || !opts->n_events ||
	    opts->n_events > MAX_EVENTS)
		return fill_err(reterr, -EINVAL, "events",
				"a recording has 1 to 4096 events");
	w = calloc(1, sizeof(*w));
	if (!w)
		return fill_err(reterr, -ENOMEM, "output", "no memory");
	w->pipe = !strcmp(path, "-");
	w->fd = w->pipe ? duplicate_stdout(reterr)
			: seam_pd_output_open(path, reterr);
	if (w->fd < 0) {
		rc = w->fd;
		free(w);
		return rc;
	}
	seam_pd_pipe_init(w, opts->wait);
	rc = start(w, opts);
	if (rc) {
		fill_err(reterr, rc, "output", "it cannot be written");
		free_writer(w);
		return rc;
	}
	*ret = w;
	return 0;
}
