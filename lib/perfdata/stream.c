// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/stream.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "perfdata/reader-priv.h"

/* Where a stream has no rounds its records are sorted when so many bytes of
 * them have come, but not while the first round may still end: perf's can have
 * each CPU's last seconds one after the other. */
#define SORT_MIN (64u << 10)
#define ROUND_MAX (32u << 20)
/* And never before this part of all that is held is new, so that a stream of
 * nothing but rounds does not make us sort all the time. */
#define NEW_PART 32
#define READ_MIN (64u << 10) /* as much as a pipe holds */
/* What a record has behind it, and what the recording says of itself. */
#define BEHIND_MAX (64ULL << 20)
#define KEPT_MAX (64u << 20)
#define OVERHEAD 96 /* of a record that is held, in the heap and the index */

size_t seam_pd_stream_max = 256u << 20;

static int read_more(struct seam_pd_reader *r)
{
	struct pd_stream *s = r->stream;
	struct pollfd ready = {.fd = s->fd, .events = POLLIN};
	ssize_t n;

	if (s->is_over)
		return 0;
	if (s->idle && !poll(&ready, 1, 0))
		s->idle(s->idle_ctx);
	do {
		n = read(s->fd, s->buf + s->end, s->cap - s->end);
		if (n < 0 && errno == EAGAIN)
			poll(&ready, 1, -1);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	if (n < 0 && (s->is_head || errno == ENOMEM))
		return -errno;
	if (n < 0) { /* what has come is good */
		seam_pd_set_damage(r, s->base + s->end, "it cannot be read: %s",
				   strerror(errno));
		n = 0;
	}
	s->end += (size_t)n;
	s->is_over = !n;
	return n > 0;
}

/* Makes n bytes be there. Return: 1; 0: the stream ends before; -errno. */
static int need(struct seam_pd_reader *r, size_t n)
{
	struct pd_stream *s = r->stream;
	int rc = 1;

	if (!s->is_head && s->at && n > s->cap - s->at) {
		memmove(s->buf, s->buf + s->at, s->end - s->at);
		s->base += s->at;
		s->end -= s->at;
		s->at = 0;
	}
	if (seam_grow(&s->buf, s->at + n, &s->cap, 1))
		return -ENOMEM;
	while (rc > 0 && s->end - s->at < n)
		rc = read_more(r);
	r->parts[0].p = s->buf;
	r->parts[0].size = s->end;
	r->file = s->buf;
	r->size = s->end;
	return rc;
}

/* The bytes behind a record, which nobody wants. */
static int skip(struct seam_pd_reader *r, uint64_t n)
{
	struct pd_stream *s = r->stream;
	int rc = 1;

	while (n && rc > 0) {
		size_t some = n < READ_MIN ? (size_t)n : READ_MIN;

		if (s->is_head && s->end >= KEPT_MAX)
			return -EFBIG;
		rc = need(r, some);
		if (rc > 0) {
			s->at += some;
			n -= some;
		}
	}
	return rc;
}

const uint8_t *seam_pd_stream_keep(struct seam_pd_reader *r, const uint8_t *p,
				   size_t len)
{
	struct pd_stream *s = r->stream;
	uint8_t *copy = NULL;

	if (len <= KEPT_MAX - s->n_kept_bytes &&
	    !seam_grow(&s->kept, s->n_kept + 1, &s->cap_kept, sizeof(*s->kept)))
		copy = malloc(len + 1);
	if (!copy) {
		seam_pd_set_damage(r, s->base + s->at,
				   "there is no room for what the recording "
				   "says of itself");
		return NULL;
	}
	memcpy(copy, p, len);
	s->kept[s->n_kept++] = copy;
	s->n_kept_bytes += len;
	return copy;
}

static size_t held_size(const struct seam_pd_reader *r, const uint8_t *rec)
{
	return OVERHEAD + pd_record_header(rec, r->swap).size;
}

/* What is in order for good goes from pending to the index. */
static int release(struct seam_pd_reader *r, uint64_t limit_ns)
{
	struct pd_stream *s = r->stream;
	size_t n = 0;

	s->n_new_bytes = 0;
	if (limit_ns > s->reached_ns)
		s->reached_ns = limit_ns;
	if (seam_pd_sort_index(&s->pending_room, s->n_pending))
		return -ENOMEM;
	s->pending = s->pending_room.p;
	while (n < s->n_pending && s->pending[n].time_ns <= s->reached_ns)
		n++;
	if (!n)
		return 0;
	if (seam_spill_grow(&r->index_room, r->n_index + n, sizeof(*r->index)))
		return -ENOMEM;
	r->index = r->index_room.p;
	memcpy(r->index + r->n_index, s->pending, n * sizeof(*r->index));
	r->n_index += n;
	for (size_t i = 0; i < n; i++) {
		size_t size = held_size(r, pd_index_rec(&s->pending[i]));

		s->n_pending_bytes -= size;
	}
	s->n_pending -= n;
	memmove(s->pending, s->pending + n, s->n_pending * sizeof(*s->pending));
	s->has_more = true;
	return 0;
}

/* Is enough new for sorting to be worth it? */
static bool is_due(const struct pd_stream *s)
{
	return s->n_new_bytes >= s->n_held_bytes / NEW_PART;
}

int seam_pd_stream_round(struct seam_pd_reader *r)
{
	struct pd_stream *s = r->stream;
	uint64_t limit_ns = s->round_ns;

	s->has_rounds = true;
	s->round_ns = s->newest_ns;
	return is_due(s) ? release(r, limit_ns) : 0;
}

/* Too much is held: the older half of what is not in order has to be. */
static int make_room(struct seam_pd_reader *r)
{
	struct pd_stream *s = r->stream;
	uint64_t limit_ns = s->reached_ns;

	if (seam_pd_sort_index(&s->pending_room, s->n_pending))
		return -ENOMEM;
	s->pending = s->pending_room.p;
	if (s->n_pending && s->n_pending_bytes > s->n_held_bytes / 2)
		limit_ns = s->pending[s->n_pending / 2].time_ns;
	s->is_full = s->has_more = true;
	/* What is compressed comes at once, and is not sorted for each. */
	s->n_beyond_bytes =
		s->n_held_bytes - seam_pd_stream_max + seam_pd_stream_max / 8;
	return release(r, limit_ns);
}

int seam_pd_stream_add(struct seam_pd_reader *r, const struct pd_index *ix)
{
	struct pd_stream *s = r->stream;
	const uint8_t *rec = pd_index_rec(ix);
	size_t len = pd_record_header(rec, r->swap).size, size = len + OVERHEAD;
	uint64_t ago = s->window_ns;
	uint8_t *copy = malloc(len);

	if (!copy || seam_spill_grow(&s->pending_room, s->n_pending + 1,
				     sizeof(*s->pending))) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, rec, len);
	s->pending = s->pending_room.p;
	s->pending[s->n_pending] = *ix;
	s->pending[s->n_pending++].rec = (uintptr_t)copy;
	s->n_added++;
	s->n_pending_bytes += size;
	s->n_held_bytes += size;
	s->n_new_bytes += size;
	if (ix->time_ns > s->newest_ns)
		s->newest_ns = ix->time_ns;
	if (s->n_held_bytes > seam_pd_stream_max + s->n_beyond_bytes)
		return make_room(r);
	if (s->has_rounds || s->base + s->at < ROUND_MAX ||
	    s->n_new_bytes < SORT_MIN || !is_due(s))
		return 0;
	return release(r, s->newest_ns > ago ? s->newest_ns - ago : 0);
}

/* The next record, with what is behind it. Return: 1; 0: the stream ends;
 * -EBADMSG, -EFBIG: reading ends here; other -errno. */
static int step(struct seam_pd_reader *r)
{
	struct pd_stream *s = r->stream;
	struct perf_event_header h;
	uint64_t behind, at;
	int rc = need(r, sizeof(h));

	if (rc <= 0)
		return rc;
	h = pd_record_header(s->buf + s->at, r->swap);
	if (h.size < sizeof(h))
		return -EBADMSG;
	rc = need(r, h.size);
	if (rc <= 0)
		return rc;
	behind = seam_pd_bytes_behind(h.type,
				      pd_span(r, s->buf + s->at, h.size));
	if (h.type == PD_HEADER_TRACING_DATA && behind <= BEHIND_MAX) {
		rc = need(r, h.size + (size_t)behind);
		if (rc <= 0)
			return rc;
	}
	if (h.type == PD_HEADER_TRACING_DATA && behind > BEHIND_MAX)
		seam_pd_set_damage(r, s->base + s->at,
				   "what it says of tracepoints is too long");
	rc = seam_pd_one(r, s->buf + s->at, h);
	if (rc)
		return rc;
	at = s->base + s->at;
	s->at += h.size;
	if (!behind)
		return 1;
	rc = skip(r, behind);
	if (!rc)
		seam_pd_set_damage(r, at, "the data ends inside a record");
	return rc;
}

/* Return: 0 or -errno. */
static int at_end(struct seam_pd_reader *r, int rc)
{
	struct pd_stream *s = r->stream;

	if (rc && rc != -EBADMSG && rc != -EFBIG)
		return rc;
	s->is_done = true;
	seam_pd_walk_end(r, s->base + s->at, rc, s->end - s->at);
	return release(r, UINT64_MAX);
}

int seam_pd_stream_more(struct seam_pd_reader *r)
{
	struct pd_stream *s = r->stream;
	int rc = 1;

	while (rc > 0 && !s->has_more && !s->is_done)
		rc = step(r);
	if (rc <= 0 && !s->is_done) {
		rc = at_end(r, rc);
		if (rc)
			return rc;
	}
	if (!s->has_more)
		return 0;
	rc = s->is_full ? SEAM_PD_FULL : SEAM_PD_MORE;
	s->has_more = s->is_full = false;
	return rc;
}

void seam_pd_stream_drop(struct seam_pd_reader *r, size_t i)
{
	struct pd_stream *s = r->stream;
	size_t n = i - r->first;

	for (; s->n_dead < n; s->n_dead++) {
		const uint8_t *rec = pd_index_rec(&r->index[s->n_dead]);

		s->n_held_bytes -= held_size(r, rec);
		free((void *)rec);
	}
	if (s->n_held_bytes <= seam_pd_stream_max)
		s->n_beyond_bytes = 0;
	if (s->n_dead <= r->n_index - s->n_dead)
		return;
	r->n_index -= s->n_dead;
	memmove(r->index, r->index + s->n_dead, r->n_index * sizeof(*r->index));
	r->first += s->n_dead;
	s->n_dead = 0;
}

bool seam_pd_is_stream(const struct seam_pd_reader *r)
{
	return r->stream != NULL;
}

uint64_t seam_pd_stream_window(const struct seam_pd_reader *r)
{
	return r->stream->window_ns;
}

bool seam_pd_stream_is_done(const struct seam_pd_reader *r)
{
	return r->stream->is_done;
}

uint64_t seam_pd_stream_reached(const struct seam_pd_reader *r)
{
	return r->stream->reached_ns;
}

void seam_pd_stream_idle(struct seam_pd_reader *r, void (*fn)(void *ctx),
			 void *ctx)
{
	r->stream->idle = fn;
	r->stream->idle_ctx = ctx;
}

void seam_pd_stream_free(struct seam_pd_reader *r)
{
	struct pd_stream *s = r->stream;

	if (!s)
		return;
	for (size_t i = s->n_dead; i < r->n_index; i++)
		free((void *)pd_index_rec(&r->index[i]));
	for (size_t i = 0; i < s->n_pending; i++)
		free((void *)pd_index_rec(&s->pending[i]));
	for (size_t i = 0; i < s->n_kept; i++)
		free(s->kept[i]);
	seam_spill_fini(&s->pending_room);
	free(s->kept);
	free(s->buf);
	free(s);
}

/* Whether the recording is in the form for pipes. Return: 1 or 0; -errno. */
static int is_pipes(struct seam_pd_reader *r)
{
	struct pd_stream *s = r->stream;
	uint64_t magic;
	int rc = need(r, PD_PIPE_HEADER_SIZE);

	if (rc <= 0)
		return rc;
	memcpy(&magic, s->buf, 8);
	r->swap = magic == PD_MAGIC_SWAPPED;
	r->info.swapped = r->swap;
	s->at = PD_PIPE_HEADER_SIZE;
	return (magic == PD_MAGIC || r->swap) &&
	       pd_u64(s->buf + 8, r->swap) == PD_PIPE_HEADER_SIZE;
}

/* Copies of stacks are unwound with a window of their own. */
static bool has_copies(const struct seam_pd_reader *r)
{
	for (size_t i = 0; i < r->n_events; i++)
		if (r->events[i].sample_type & PERF_SAMPLE_STACK_USER)
			return true;
	return false;
}

/* Up to the first record that the kernel wrote all that comes is kept, so that
 * it can be read in the other way. Return: 1: go on as a stream; 0; -errno. */
static int read_head(struct seam_pd_reader *r)
{
	struct pd_stream *s = r->stream;
	int rc;

	r->info.pipe = true;
	s->is_head = true;
	rc = is_pipes(r);
	while (rc > 0 && !s->n_added && s->end < KEPT_MAX)
		rc = step(r);
	s->is_head = false;
	/* What is damaged so early the other way tells. */
	if (rc <= 0)
		return rc == -EBADMSG || rc == -EFBIG ? 0 : rc;
	return s->n_added && !has_copies(r);
}

/* Until the first sample is in order, or all: what names addresses in the
 * kernel comes before it. */
static int read_first(struct seam_pd_reader *r)
{
	struct pd_stream *s = r->stream;
	size_t at = 0;
	int rc = 1;

	while (rc > 0 && !s->is_full) {
		for (; at < r->n_index; at++)
			if (pd_record_header(pd_index_rec(&r->index[at]),
					     r->swap)
				    .type == PERF_RECORD_SAMPLE)
				return 0;
		rc = step(r);
	}
	return rc > 0 ? 0 : at_end(r, rc);
}

int seam_pd_open_stream(const struct seam_pd_stream_opts *opts,
			struct seam_pd_reader **ret,
			struct seam_errinfo *reterr)
{
	struct seam_pd_reader *r;
	struct pd_stream *s;
	struct stat st;
	int rc;

	if (fstat(opts->fd, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return seam_pd_open("-", ret, reterr);
	r = calloc(1, sizeof(*r));
	s = r ? calloc(1, sizeof(*s)) : NULL;
	rc = s ? seam_pd_load_mem(r, NULL, 0) : -ENOMEM;
	if (!rc) {
		r->stream = s;
		s->fd = opts->fd;
		s->window_ns = opts->window_ns;
		rc = seam_grow(&s->buf, READ_MIN, &s->cap, 1);
	} else {
		free(s);
	}
	if (!rc)
		rc = read_head(r);
	if (!rc) {
		uint8_t *head = s->buf;
		size_t len = s->end, cap = s->cap;

		s->buf = NULL;
		seam_pd_close(r);
		return seam_pd_open_rest(opts->fd, head, len, cap, ret, reterr);
	}
	if (rc > 0)
		rc = read_first(r);
	if (rc) {
		seam_pd_close(r);
		return seam_pd_fill_err(reterr, rc, "", 0, "%s", strerror(-rc));
	}
	*ret = r;
	return 0;
}
