// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/serve-socket.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_FD 3 /* SD_LISTEN_FDS_START */
#define ACCEPT_MAX 64 /* the next comes at the next poll */

int serve_socket(void)
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
	int flags;

	if (!pid || !n || strtol(pid, NULL, 10) != getpid() ||
	    strtol(n, NULL, 10) < 1)
		return -1;
	flags = fcntl(FIRST_FD, F_GETFL);
	if (flags < 0 || fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC) ||
	    fcntl(FIRST_FD, F_SETFL, flags | O_NONBLOCK))
		return -1;
	return FIRST_FD;
}

void serve_accept(int fd)
{
	for (int i = 0; i < ACCEPT_MAX; i++) {
		int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (peer < 0)
			return;
		close(peer);
	}
}

void serve_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (!len || len >= sizeof(to.sun_path))
		return;
	memcpy(to.sun_path, path, len);
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* Nobody listens: nobody wants to know. */
	(void)!sendto(
		fd, state, strlen(state), MSG_NOSIGNAL, (const void *)&to,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}
