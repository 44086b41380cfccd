// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "process/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/pass.h"
#include "process/aside.h"
#include "process/target.h"

#define SOCKET 3

struct ask {
	uint32_t pid;
	uint64_t start, end;
};

static bool hear(struct ask *ret)
{
	return recv(SOCKET, ret, sizeof(*ret), 0) == sizeof(*ret);
}

static bool answer(int result, int fd)
{
	struct iovec v = {&result, sizeof(result)};

	return seam_pass(SOCKET, &v, 1, fd) > 0;
}

static bool serve_one(const struct ask *ask)
{
	int fd = seam_open_mapped(ask->pid, ask->start, ask->end);
	bool told = answer(fd < 0 ? fd : 0, fd);

	if (fd >= 0)
		close(fd);
	return told;
}

/* The signals by which its parent is told to end come to a whole group of
 * processes: it still opens what is asked for on the way there. */
static void ignore_signals(void)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
}

static void serve(int socket, void *ctx)
{
	int (*const *confine)(void) = ctx;
	struct ask ask;
	int err;

	ignore_signals();
	/* Standard streams are others' pipes, who wait for their end. */
	for (int i = 0; i < SOCKET; i++)
		if (i != socket)
			close(i);
	if (socket != SOCKET && dup2(socket, SOCKET) < 0)
		return;
	close_range(SOCKET + 1, ~0U, 0);
	/* It speaks when it was spoken to: see aside.h. */
	if (!hear(&ask))
		return;
	err = (*confine)();
	if (!answer(err, -1) || err)
		return;
	while (hear(&ask) && serve_one(&ask))
		;
}

/* Return: the answer: 0, with what came beside it, or -errno. */
static int receive(int socket, int *ret_fd)
{
	int result = 0;
	struct iovec v = {&result, sizeof(result)};
	ssize_t n;

	do
		n = seam_pass_receive(socket, &v, 1, 0, ret_fd);
	while (n == -EINTR);
	return n == sizeof(result) ? result : -ESHUTDOWN;
}

/* As seam_opener_mapped, where *ret_fd -1: nothing was opened. */
static int ask(int socket, struct ask ask, int *ret_fd)
{
	struct iovec v = {&ask, sizeof(ask)};

	if (seam_pass(socket, &v, 1, -1) != sizeof(ask))
		return -ESHUTDOWN;
	return receive(socket, ret_fd);
}

int seam_opener_begin(int (*confine)(void), struct seam_opener *ret)
{
	int socket, none, err;
	int process = seam_aside_begin(serve, (void *)&confine, &socket);

	if (process < 0)
		return process;
	/* Nobody has to end it: it does when we do, in whatever way. */
	close(process);
	err = ask(socket, (struct ask){0}, &none);
	if (err) {
		close(socket);
		return err;
	}
	ret->socket = socket;
	return 0;
}

void seam_opener_end(struct seam_opener *o)
{
	close(o->socket);
}

int seam_opener_mapped(const struct seam_opener *o, uint32_t pid,
		       uint64_t start, uint64_t end)
{
	int fd = -1, result;

	if (!o)
		return seam_open_mapped(pid, start, end);
	result = ask(o->socket,
		     (struct ask){.pid = pid, .start = start, .end = end}, &fd);
	if (result < 0)
		return result;
	return fd < 0 ? -EMFILE : fd; /* it was sent, and there was no room */
}
