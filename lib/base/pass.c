// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/pass.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

ssize_t seam_pass(int socket, struct iovec *v, size_t n, int fd)
{
	union control control = {0};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = n};
	ssize_t sent;

	if (fd >= 0) {
		struct cmsghdr *c;

		m.msg_control = control.bytes;
		m.msg_controllen = sizeof(control.bytes);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	sent = sendmsg(socket, &m, MSG_NOSIGNAL);
	return sent < 0 ? -errno : sent;
}

ssize_t seam_pass_receive(int socket, struct iovec *v, size_t n, int flags,
			  int *ret_fd)
{
	union control control = {0};
	struct msghdr m = {.msg_iov = v,
			   .msg_iovlen = n,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof(control.bytes)};
	ssize_t came = recvmsg(socket, &m, flags | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c;

	if (came < 0)
		return -errno;
	c = CMSG_FIRSTHDR(&m);
	*ret_fd = -1;
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
	return came;
}
