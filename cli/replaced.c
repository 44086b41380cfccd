// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/replaced.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
#define N_ENDS (sizeof(ends) / sizeof(*ends))

/* What a signal is not to leave; changed while they are blocked. */
static const char *volatile unfinished;

/* It was reset, and comes again once this returns. */
static void on_end(int sig)
{
	int saved_errno = errno;

	unlink(unfinished);
	errno = saved_errno;
	raise(sig);
}

/* Until a file is there whole. */
struct guard {
	struct sigaction was[N_ENDS];
	sigset_t mask;
};

static void block(sigset_t *ret_was)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < N_ENDS; i++)
		sigaddset(&set, ends[i]);
	pthread_sigmask(SIG_BLOCK, &set, ret_was);
}

/* With signals blocked, and then as they were. An ignored one stays so. */
static void guard_begin(struct guard *g, const char *path)
{
	const struct sigaction end = {.sa_handler = on_end,
				      .sa_flags = (int)SA_RESETHAND};

	unfinished = path;
	for (size_t i = 0; i < N_ENDS; i++) {
		sigaction(ends[i], NULL, &g->was[i]);
		if (g->was[i].sa_handler == SIG_DFL)
			sigaction(ends[i], &end, NULL);
	}
	pthread_sigmask(SIG_SETMASK, &g->mask, NULL);
}

static void guard_end(struct guard *g)
{
	sigset_t mask;

	block(&mask);
	for (size_t i = 0; i < N_ENDS; i++)
		sigaction(ends[i], &g->was[i], NULL);
	unfinished = NULL;
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* Nobody wants to know of attributes. */
static void ignore_lost(void *ctx, const char *name, int rc)
{
	(void)ctx;
	(void)name;
	(void)rc;
}

int replaced(const struct replaced *r)
{
	struct seam_replace out;
	struct guard guard;
	char *temp = NULL;
	int rc, made;

	block(&guard.mask);
	rc = seam_replace_begin(r->path, &out);
	if (!rc) {
		temp = strdup(out.temp); /* out's goes before the guard does */
		if (!temp) {
			seam_replace_abort(&out);
			rc = -ENOMEM;
		}
	}
	if (rc) {
		pthread_sigmask(SIG_SETMASK, &guard.mask, NULL);
		return rc;
	}
	guard_begin(&guard, temp);
	made = r->make(r->ctx, out.fd);
	if (made < 0)
		seam_replace_abort(&out);
	else
		rc = seam_replace_commit(
			&out, r->like_fd == REPLACED_OWN ? out.fd : r->like_fd,
			r->lost ? r->lost : ignore_lost, r->ctx);
	guard_end(&guard);
	free(temp);
	return rc ? rc : made;
}
