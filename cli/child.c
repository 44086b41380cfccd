// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int executable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* What execvp would run. */
static int resolve(const char *name, char *to, size_t room)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/')) {
		snprintf(to, room, "%s", name);
		if (access(name, F_OK))
			return -errno;
		return executable(name) ? 0 : -EACCES;
	}
	if (!path)
		path = "/bin:/usr/bin";
	while (*path) {
		size_t len = strcspn(path, ":");

		snprintf(to, room, "%.*s/%s", len ? (int)len : 1,
			 len ? path : ".", name);
		if (executable(to))
			return 0;
		path += len + (path[len] == ':');
	}
	*to = 0;
	return -ENOENT;
}

/* In the child: waits for its go, then becomes the command. */
static void run(int go, int failure, char **argv, int out)
{
	char byte;
	int err;

	if (out != STDOUT_FILENO && dup2(out, STDOUT_FILENO) < 0)
		_exit(126);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (read(go, &byte, 1) != 1)
		_exit(127);
	prctl(PR_SET_PDEATHSIG, 0);
	execvp(argv[0], argv);
	err = errno;
	if (write(failure, &err, sizeof(err)) != sizeof(err))
		_exit(126);
	_exit(127);
}

int child_start(struct child *c, char **argv, int out)
{
	int go[2], failure[2];
	int err = resolve(argv[0], c->path, sizeof(c->path));

	if (err)
		return err;
	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(failure, O_CLOEXEC)) {
		err = -errno;
		close(go[0]);
		close(go[1]);
		return err;
	}
	c->pid = fork();
	if (c->pid == 0) {
		close(go[1]);
		close(failure[0]);
		run(go[0], failure[1], argv, out);
	}
	err = c->pid < 0 ? -errno : 0;
	close(go[0]);
	close(failure[1]);
	c->go = go[1];
	c->failure = failure[0];
	return err;
}

int child_exec(struct child *c)
{
	int err = 0;

	if (write(c->go, "", 1) != 1)
		return -errno;
	close(c->go);
	c->go = -1;
	/* Ends without a word when the exec closes the other end. */
	if (read(c->failure, &err, sizeof(err)) != sizeof(err))
		err = 0;
	close(c->failure);
	c->failure = -1;
	return -err;
}

int child_status(int wait_status)
{
	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	return 128 + WTERMSIG(wait_status);
}

void child_abandon(struct child *c)
{
	if (c->pid <= 0)
		return;
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	c->pid = 0;
}
