// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/record-merge.h"

#include <stdio.h>
#include <string.h>

#include "cli/merge.h"
#include "cli/messages.h"

struct merge {
	struct seam_pd_reader *r;
	const char *path;
	struct seam_injected done;
};

static int write_to(void *ctx, int fd)
{
	struct merge *m = ctx;

	return merge_into(m->r, m->path, fd, (struct seam_inject_opts){0},
			  &m->done);
}

int record_merge(const char *path)
{
	struct merge m = {.path = path};
	struct seam_errinfo err = {0};
	int rc = seam_pd_open(path, &m.r, &err);
	const char *why = err.reason;

	if (!rc) {
		rc = merge_replace(path, write_to, &m);
		why = strerror(-rc);
		seam_pd_close(m.r);
	}
	if (rc) {
		say("seam: %s: not merged: %s; 'seam inject' may do it "
		    "elsewhere\n",
		    path, why);
		return 1;
	}
	if (m.done.cut)
		say("seam: %s: %llu stacks cut: a record has no room for "
		    "all frames\n",
		    path, (unsigned long long)m.done.cut);
	return 0;
}
