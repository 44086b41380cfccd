// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/top-record.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/messages.h"

#define SELF "/proc/self/exe"

/* In the child. A group of its own: an interrupt from the terminal is for who
 * has the terminal, which then asks for the end. */
static void become(char **argv, int out, int said)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (dup2(out, STDOUT_FILENO) < 0 || dup2(said, STDERR_FILENO) < 0)
		_exit(126);
	execv(SELF, argv);
	_exit(127);
}

static char **record_argv(char *const *options, size_t n)
{
	char **argv = calloc(n + 6, sizeof(*argv));
	size_t at = 0;

	if (!argv)
		return NULL;
	argv[at++] = (char *)"seam";
	argv[at++] = (char *)"record";
	argv[at++] = (char *)"-o";
	argv[at++] = (char *)"-";
	argv[at++] = (char *)"--live";
	memcpy(argv + at, options, n * sizeof(*argv));
	return argv;
}

static int start(struct top_record *r, char **argv)
{
	int ends[2], err = 0;

	if (pipe(ends))
		return -errno;
	r->pid = fork();
	if (r->pid < 0)
		err = -errno;
	if (r->pid == 0) {
		close(ends[0]);
		become(argv, ends[1], r->said);
	}
	close(ends[1]);
	if (!err && dup2(ends[0], STDIN_FILENO) < 0)
		err = -errno;
	if (ends[0] != STDIN_FILENO)
		close(ends[0]);
	return err;
}

int top_record_start(struct top_record *r, char *const *options, size_t n)
{
	char **argv = record_argv(options, n);
	int err;

	memset(r, 0, sizeof(*r));
	r->said = argv ? memfd_create("seam-top", MFD_CLOEXEC) : -1;
	if (!argv || r->said < 0)
		err = argv ? -errno : -ENOMEM;
	else
		err = start(r, argv);
	free(argv);
	return err;
}

bool top_record_wait(void)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

	while (poll(&in, 1, -1) < 0 && errno == EINTR)
		; /* what was asked to end closes it */
	return in.revents & POLLIN;
}

void top_record_end(struct top_record *r)
{
	/* Not SIGINT, which what a shell starts with & is to ignore. */
	if (!r->asked && r->pid > 0)
		kill(r->pid, SIGTERM);
	r->asked = true;
}

/* Line by line: see cli/messages.h. */
static void print_said(struct top_record *r)
{
	FILE *said = fdopen(r->said, "r");
	struct message m = {0};
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	if (!said) {
		close(r->said);
		return;
	}
	rewind(said);
	while ((n = getline(&line, &room, said)) > 0)
		message_add(&m, "%s", line);
	message_say(&m);
	free(line);
	fclose(said);
}

int top_record_finish(struct top_record *r)
{
	int status = 0;

	if (r->pid > 0)
		while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
			;
	if (r->said > 0)
		print_said(r);
	return child_status(status);
}
