// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "process/fetch.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/pass.h"
#include "process/aside.h"
#include "process/fetch-child.h"

static void serve(int socket, void *ctx)
{
	const struct seam_fetch *f = ctx;

	seam_fetch_serve(socket, f->has_key_prog ? f->key_prog : -1);
}

static int start(struct seam_fetch *f)
{
	int pidfd = seam_aside_begin(serve, f, &f->fd);

	if (pidfd < 0)
		return pidfd;
	f->pidfd = pidfd;
	f->runs = true;
	return 0;
}

/* wait_ns: it may never see the signal; then nobody waits for it. */
static void end(struct seam_fetch *f, uint64_t wait_ns)
{
	if (!f->runs)
		return;
	f->runs = false;
	close(f->fd);
	seam_aside_end(f->pidfd, wait_ns);
}

/* Return: 0; -ETIMEDOUT; -EIO. */
static int await(const struct seam_fetch *f, uint64_t last_ns)
{
	struct pollfd p = {.fd = f->fd, .events = POLLIN};
	uint64_t now_ns = seam_now_ns(), until_ns = now_ns + SEAM_FETCH_NS;
	int n;

	if (until_ns > last_ns)
		until_ns = last_ns;
	do {
		if (now_ns >= until_ns)
			return -ETIMEDOUT;
		n = poll(&p, 1, (int)((until_ns - now_ns) / 1000000) + 1);
		now_ns = seam_now_ns();
	} while (!n || (n < 0 && errno == EINTR));
	return n < 0 ? -EIO : 0;
}

struct reply {
	struct fetch_answer answer;
	void *bytes; /* of what has been read; room: size */
	size_t size;
	int fd; /* -1: none */
};

/* Return: 0; -EIO: it has ended. */
static int receive(const struct seam_fetch *f, struct reply *r, size_t *ret)
{
	struct iovec v[2] = {{&r->answer, sizeof(r->answer)},
			     {r->bytes, r->size}};
	ssize_t n = seam_pass_receive(f->fd, v, 2, 0, &r->fd);

	if (n < (ssize_t)sizeof(r->answer))
		return -EIO;
	*ret = (size_t)n - sizeof(r->answer);
	return 0;
}

/* Return: the answer's result, or how many bytes came; -ETIMEDOUT, -EIO: the
 * process is gone. */
static ssize_t ask(struct seam_fetch *f, const struct fetch_ask *ask,
		   struct reply *r)
{
	uint64_t last_ns = seam_now_ns() + SEAM_FETCH_ALL_NS;
	size_t n = 0;
	int err = 0;

	r->fd = -1;
	if (send(f->fd, ask, sizeof(*ask), MSG_NOSIGNAL) < 0)
		err = -EIO;
	while (!err) {
		err = await(f, last_ns);
		if (!err)
			err = receive(f, r, &n);
		if (!err && r->answer.result != -EINPROGRESS)
			return r->answer.result ? r->answer.result : (ssize_t)n;
	}
	f->timeouts += err == -ETIMEDOUT;
	end(f, err == -ETIMEDOUT ? 0 : SEAM_FETCH_NS);
	return err;
}

static bool is_stuck(const struct seam_fetch *f, uint32_t dev)
{
	uint64_t now_ns = seam_now_ns();

	for (size_t i = 0; i < SEAM_FETCH_STUCK; i++)
		if (f->stuck[i].dev == dev && f->stuck[i].until_ns > now_ns)
			return true;
	return false;
}

static void note_stuck(struct seam_fetch *f, uint32_t dev)
{
	size_t i = f->next_stuck++ % SEAM_FETCH_STUCK;

	f->stuck[i].dev = dev;
	f->stuck[i].until_ns = seam_now_ns() + SEAM_FETCH_AGAIN_NS;
}

int seam_fetch_open(struct seam_fetch *f, const struct seam_fetch_from *from,
		    struct seam_fetched *ret)
{
	struct fetch_ask open = {.what = FETCH_OPEN,
				 .pid = from->pid,
				 .start = from->start,
				 .end = from->end};
	struct reply r = {0};
	ssize_t n;

	if (from->path && strlen(from->path) >= sizeof(open.path))
		return -ENAMETOOLONG;
	if (from->path)
		strcpy(open.path, from->path);
	if (is_stuck(f, from->dev))
		return -EBUSY;
	n = f->runs ? 0 : start(f);
	f->timeouts += n == -EBUSY;
	if (n)
		return (int)n;
	f->dev = from->dev;
	n = ask(f, &open, &r);
	if (n == -ETIMEDOUT)
		note_stuck(f, from->dev);
	if (n < 0)
		return (int)n;
	*ret = r.answer.file;
	return 0;
}

int seam_fetch_copy(struct seam_fetch *f, struct seam_fetched *now)
{
	const struct fetch_ask copy = {.what = FETCH_COPY};
	struct reply r = {0};
	ssize_t n = f->runs ? ask(f, &copy, &r) : -EIO;

	if (n == -ETIMEDOUT)
		note_stuck(f, f->dev);
	if (n < 0)
		return (int)n;
	if (r.fd < 0)
		return -EIO;
	*now = r.answer.file;
	return r.fd;
}

ssize_t seam_fetch_read(struct seam_fetch *f, uint64_t off, void *to,
			size_t size)
{
	const struct fetch_ask read = {
		.what = FETCH_READ, .off = off, .size = size};
	struct reply r = {.bytes = to, .size = size};
	ssize_t n = f->runs ? ask(f, &read, &r) : -EIO;

	if (n == -ETIMEDOUT)
		note_stuck(f, f->dev);
	return n;
}

void seam_fetch_close(struct seam_fetch *f)
{
	const struct fetch_ask close = {.what = FETCH_CLOSE};
	struct reply r = {0};

	if (f->runs && ask(f, &close, &r) == -ETIMEDOUT)
		note_stuck(f, f->dev);
}

void seam_fetch_fini(struct seam_fetch *f)
{
	/* Between questions it waits for the next one. */
	end(f, SEAM_FETCH_NS);
}
