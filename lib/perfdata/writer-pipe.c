// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* A recording as a stream: a header of 16 bytes, and all else as records. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/uapi.h"
#include "perfdata/writer-priv.h"

#define UPDATE_NAME 2 /* of an EVENT_UPDATE record: a name follows */

void seam_pd_pipe_init(struct seam_pd_writer *w,
		       const struct seam_pd_wait *wait)
{
	struct stat st;

	w->waits = fstat(w->fd, &st) || !S_ISREG(st.st_mode);
	w->wait = wait ? *wait : (struct seam_pd_wait){.fd = -1};
}

/* Until it takes something, or is given up. */
static int wait_for_room(const struct seam_pd_writer *w)
{
	struct pollfd p[2] = {
		{.fd = w->fd, .events = POLLOUT},
		{.fd = w->wait.fd, .events = POLLIN},
	};

	for (;;) {
		int rc = 0;

		if (poll(p, 2, -1) < 0) {
			if (errno != EINTR)
				return -errno;
			continue;
		}
		if (p[0].revents) /* or it is an error, which a write says */
			return 0;
		if (p[1].revents)
			rc = w->wait.done(w->wait.ctx);
		if (rc)
			return rc;
	}
}

/* A pipe that shows room has it for this much: so a write does not block, which
 * nothing but a reader could end. Whether it blocks is not ours to change: it
 * is the same for all who have it open. */
static size_t at_once(const struct seam_pd_writer *w, size_t len)
{
	return w->waits && len > PIPE_BUF ? PIPE_BUF : len;
}

int seam_pd_write_on(const struct seam_pd_writer *w, const void *data,
		     size_t len, size_t *ret_done)
{
	const uint8_t *p = data;

	*ret_done = 0;
	while (*ret_done < len) {
		int rc = w->waits ? wait_for_room(w) : 0;
		ssize_t n;

		if (rc)
			return rc;
		n = write(w->fd, p + *ret_done, at_once(w, len - *ret_done));
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n == 0)
			return -EIO;
		*ret_done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static void add_u64(struct pd_buf *b, uint64_t v)
{
	seam_pd_buf_add(b, &v, sizeof(v));
}

static void add_zeros(struct pd_buf *b, size_t n)
{
	static const uint8_t zeros[8];

	seam_pd_buf_add(b, zeros, n);
}

/* Return: 0; -E2BIG: it has no room. */
static int add_header(struct pd_buf *b, uint32_t type, size_t size)
{
	struct perf_event_header h = {.type = type, .size = (uint16_t)size};

	if (size > UINT16_MAX)
		return -E2BIG;
	seam_pd_buf_add(b, &h, sizeof(h));
	return 0;
}

static int add_attr(struct pd_buf *b, const struct seam_pd_event *ev)
{
	int rc = add_header(b, PD_HEADER_ATTR,
			    8 + SEAM_ATTR_SIZE + 8 * ev->n_ids);

	if (rc)
		return rc;
	seam_pd_add_attr(b, ev);
	seam_pd_buf_add(b, ev->ids, 8 * ev->n_ids);
	return 0;
}

static int add_name(struct pd_buf *b, const struct seam_pd_event *ev)
{
	size_t len = ev->name ? strlen(ev->name) + 1 : 0;
	size_t pad = (8 - len % 8) % 8;
	int rc;

	if (!len || !ev->n_ids)
		return 0;
	rc = add_header(b, PD_EVENT_UPDATE, 24 + len + pad);
	if (rc)
		return rc;
	add_u64(b, UPDATE_NAME);
	add_u64(b, ev->ids[0]);
	seam_pd_buf_add(b, ev->name, len);
	add_zeros(b, pad);
	return 0;
}

/* The size that the record tells is that of what lies behind it. */
static int add_tracing(struct pd_buf *b, const struct seam_pd_opts *opts)
{
	struct pd_buf text = {0};
	int rc;

	seam_pd_tracing(opts, &text);
	add_zeros(&text, (8 - text.len % 8) % 8);
	rc = text.err;
	if (!rc)
		rc = add_header(b, PD_HEADER_TRACING_DATA, 16);
	if (!rc) {
		add_u64(b, text.len);
		seam_pd_buf_add(b, text.p, text.len);
	}
	seam_pd_buf_fini(&text);
	return rc;
}

int seam_pd_front_pipe(struct seam_pd_writer *w,
		       const struct seam_pd_opts *opts,
		       struct pd_buf *ret_front)
{
	struct pd_buf *b = ret_front, bodies = {0};
	int rc = 0;

	add_u64(b, PD_MAGIC);
	add_u64(b, PD_PIPE_HEADER_SIZE);
	for (size_t i = 0; !rc && i < opts->n_events; i++)
		rc = add_attr(b, &opts->events[i]);
	for (size_t i = 0; !rc && i < opts->n_events; i++)
		rc = add_name(b, &opts->events[i]);
	seam_pd_features(w, opts, &bodies);
	seam_pd_feature_records(w, &bodies, b);
	if (!rc)
		rc = bodies.err;
	seam_pd_buf_fini(&bodies);
	if (!rc && seam_pd_has_tracing(opts))
		rc = add_tracing(b, opts);
	return rc ? rc : b->err;
}
