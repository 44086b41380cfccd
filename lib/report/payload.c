// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/payload.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfdata/format.h"
#include "report/payload-private.h"

/* A format that takes longer than this is meant to. */
#define PATIENCE_MS 10000

struct seam_payload_printer {
	const struct seam_pd_reader *reader;
	bool is_started; /* at the first payload: who counts prints none */
	pid_t child; /* 0: there is none, or it has ended */
	int fd;
	char *text; /* the last answer's */
};

/* In the child: all files go, but for the socket and where errors go, and so
 * does what others have to say of its end. */
static void serve(const struct seam_pd_reader *r, int fd)
{
	static const int ends[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		signal(ends[i], SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(fd, 0) < 0)
		_exit(1);
	close(1);
	close_range(3, ~0U, 0);
	seam_payload_serve(r, 0);
}

static void end_child(struct seam_payload_printer *p)
{
	if (!p->child)
		return;
	close(p->fd);
	kill(p->child, SIGKILL);
	while (waitpid(p->child, NULL, 0) < 0 && errno == EINTR)
		;
	p->child = 0;
}

/* Where there can be no child, payloads are unreadable. */
static void start(struct seam_payload_printer *p,
		  const struct seam_pd_reader *r)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return;
	p->child = fork();
	if (!p->child)
		serve(r, fds[1]);
	close(fds[1]);
	p->fd = fds[0];
	if (p->child > 0)
		return;
	close(fds[0]);
	p->child = 0;
}

int seam_payload_printer_new(const struct seam_pd_reader *r,
			     struct seam_payload_printer **ret)
{
	struct seam_payload_printer *p;

	*ret = NULL;
	if (!seam_pd_info(r)->tracing)
		return 0;
	p = calloc(1, sizeof(*p));
	if (p)
		p->text = malloc(PAYLOAD_TEXT_MAX + 1);
	if (!p || !p->text) {
		seam_payload_printer_free(p);
		return -ENOMEM;
	}
	p->reader = r;
	*ret = p;
	return 0;
}

void seam_payload_printer_free(struct seam_payload_printer *p)
{
	if (!p)
		return;
	end_child(p);
	free(p->text);
	free(p);
}

static bool send_all(int fd, const void *from, size_t size)
{
	size_t n = 0;

	while (n < size) {
		ssize_t done = send(fd, (const char *)from + n, size - n,
				    MSG_NOSIGNAL);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		n += (size_t)done;
	}
	return true;
}

static bool receive_all(int fd, void *to, size_t size)
{
	size_t n = 0;

	while (n < size) {
		struct pollfd poll_fd = {fd, POLLIN, 0};
		int ready = poll(&poll_fd, 1, PATIENCE_MS);
		ssize_t got;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return false;
		got = recv(fd, (char *)to + n, size - n, 0);
		if (got <= 0)
			return false;
		n += (size_t)got;
	}
	return true;
}

static bool ask(struct seam_payload_printer *p,
		const struct payload_ask *question, const uint8_t *bytes,
		struct payload_answer *ret)
{
	if (!p->is_started)
		start(p, p->reader);
	p->is_started = true;
	if (!p->child)
		return false;
	if (send_all(p->fd, question, sizeof(*question)) &&
	    send_all(p->fd, bytes, question->size) &&
	    receive_all(p->fd, ret, sizeof(*ret)) &&
	    ret->size <= PAYLOAD_TEXT_MAX &&
	    receive_all(p->fd, p->text, ret->size)) {
		p->text[ret->size] = 0;
		return true;
	}
	end_child(p);
	return false;
}

/* Older recordings have a zero there. */
static bool is_lost(const struct seam_pd_rec_sample *s, uint64_t wanted)
{
	uint16_t id = 0;

	if (s->raw_len >= sizeof(id))
		memcpy(&id, s->raw, sizeof(id));
	return !id || (id == SEAM_PD_PAYLOAD_LOST && id != wanted);
}

void seam_payload_print(struct seam_payload_printer *p,
			const struct seam_pd_attr *event,
			const struct seam_pd_rec *rec, struct seam_strbuf *b)
{
	const struct payload_ask question = {rec->time_ns, event->attr.config,
					     rec->cpu,
					     (uint32_t)rec->sample.raw_len};
	struct payload_answer said = {0};

	if (!p || event->attr.type != PERF_TYPE_TRACEPOINT || !rec->sample.raw)
		return;
	if (is_lost(&rec->sample, event->attr.config))
		seam_strbuf_puts(b, "[payload lost]");
	else if (rec->sample.raw_len > PAYLOAD_MAX)
		seam_strbuf_puts(b, "[payload malformed]");
	else if (!ask(p, &question, rec->sample.raw, &said))
		seam_strbuf_puts(b, "[payload unreadable]");
	else if (said.end == PAYLOAD_MALFORMED)
		seam_strbuf_puts(b, "[payload malformed]");
	else if (said.end == PAYLOAD_TEXT)
		seam_strbuf_puts(b, p->text);
}
