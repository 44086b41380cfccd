/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What systemd gives to and expects of a service: sd_listen_fds(3) and
 * sd_notify(3), without their library. */
#ifndef SEAM_CLI_SERVE_SOCKET_H
#define SEAM_CLI_SERVE_SOCKET_H

/* The socket that somebody came to; -1: started by hand. */
int serve_socket(void);
/* Lets go of those who came: that they did is all they had to say. */
void serve_accept(int fd);
/* That we are at work, if anybody wants to know. */
void serve_notify(const char *state);

#endif
