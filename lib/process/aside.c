// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "process/aside.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/pass.h"

#define LOOK_MS 100

/* It is the process that they are of, whatever sessions it has. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t n_all; /* begun and not known to have ended */
static int left[SEAM_ASIDE_MAX]; /* of those */
static size_t n_left;

static bool has_ended(int fd, int wait_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, wait_ms) > 0;
}

/* Where we are what it falls to when its parent ends (the first process of a
 * container, a subreaper). */
static void reap(int fd)
{
	siginfo_t info;

	waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG);
	close(fd);
}

/* With the lock. */
static void forget_ended(void)
{
	size_t to = 0;

	for (size_t i = 0; i < n_left; i++) {
		if (!has_ended(left[i], 0)) {
			left[to++] = left[i];
			continue;
		}
		reap(left[i]);
		n_all--;
	}
	n_left = to;
}

static int take_place(void)
{
	int err = -EBUSY;

	pthread_mutex_lock(&lock);
	forget_ended();
	if (n_all < SEAM_ASIDE_MAX) {
		n_all++;
		err = 0;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

static void give_place(void)
{
	pthread_mutex_lock(&lock);
	n_all--;
	pthread_mutex_unlock(&lock);
}

static int send_fd(int socket, int fd)
{
	char byte = 0;
	struct iovec v = {&byte, 1};
	ssize_t n = seam_pass(socket, &v, 1, fd);

	return n < 0 ? (int)n : 0;
}

/* Return: a descriptor; -ENOMEM: none has come. */
static int receive_fd(int socket)
{
	char byte;
	struct iovec v = {&byte, 1};
	int fd;

	if (seam_pass_receive(socket, &v, 1, MSG_DONTWAIT, &fd) != 1 || fd < 0)
		return -ENOMEM;
	return fd;
}

/* Its parent ends at once, which makes it a child of init's. */
static void begin_between(const int fds[2], seam_aside_fn *run, void *ctx)
{
	pid_t pid = fork();
	int fd;

	if (!pid) {
		close(fds[0]);
		run(fds[1], ctx);
		_exit(0);
	}
	/* Also of one that has ended: nobody has reaped it yet. */
	fd = pid < 0 ? -1 : pidfd_open(pid, 0);
	if (fd < 0 || send_fd(fds[1], fd)) {
		if (pid > 0)
			kill(pid, SIGKILL);
		_exit(1);
	}
	_exit(0);
}

int seam_aside_begin(seam_aside_fn *run, void *ctx, int *ret_socket)
{
	int fds[2], fd = take_place();
	pid_t between;

	if (fd)
		return fd;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds)) {
		fd = -errno;
		give_place();
		return fd;
	}
	between = fork();
	if (!between)
		begin_between(fds, run, ctx);
	close(fds[1]);
	/* Who reaps all children may have been first. */
	while (between > 0 && waitpid(between, NULL, 0) < 0 && errno == EINTR)
		;
	fd = between < 0 ? -ENOMEM : receive_fd(fds[0]);
	if (fd < 0) {
		close(fds[0]);
		give_place();
		return fd;
	}
	*ret_socket = fds[0];
	return fd;
}

bool seam_aside_end(int fd, uint64_t wait_ns)
{
	uint64_t until_ns = seam_now_ns() + wait_ns, now_ns;
	bool ended;

	pidfd_send_signal(fd, SIGKILL, NULL, 0);
	do {
		now_ns = seam_now_ns();
		ended = has_ended(fd, now_ns < until_ns ? LOOK_MS : 0);
	} while (!ended && now_ns < until_ns);
	pthread_mutex_lock(&lock);
	if (ended)
		n_all--;
	else
		left[n_left++] = fd;
	pthread_mutex_unlock(&lock);
	if (ended)
		reap(fd);
	return ended;
}

size_t seam_aside_left(void)
{
	size_t n;

	pthread_mutex_lock(&lock);
	forget_ended();
	n = n_left;
	pthread_mutex_unlock(&lock);
	return n;
}
