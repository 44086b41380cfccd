// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/record-merge.h"

#include <stdio.h>
#include <string.h>

#include "base/replace.h"
#include "inject/inject.h"

static void ignore_lost(void *ctx, const char *name, int rc)
{
	(void)ctx;
	(void)name;
	(void)rc;
}

static int merge(struct seam_pd_reader *r, const char *path,
		 struct seam_injected *ret)
{
	struct seam_replace out;
	int rc = seam_replace_begin(path, &out);

	if (rc)
		return rc;
	rc = seam_inject(r, out.fd, ret);
	if (rc)
		seam_replace_abort(&out);
	else /* as private as it was made */
		rc = seam_replace_commit(&out, out.fd, ignore_lost, NULL);
	return rc;
}

int record_merge(const char *path)
{
	struct seam_injected done = {0};
	struct seam_pd_reader *r;
	struct seam_errinfo err = {0};
	int rc = seam_pd_open(path, &r, &err);
	const char *why = err.reason;

	if (!rc) {
		rc = merge(r, path, &done);
		why = strerror(-rc);
		seam_pd_close(r);
	}
	if (rc) {
		fprintf(stderr,
			"seam: %s: not merged: %s; 'seam inject' may do it "
			"elsewhere\n",
			path, why);
		return 1;
	}
	if (done.cut)
		fprintf(stderr,
			"seam: %s: %llu stacks cut: a record has no room for "
			"all frames\n",
			path, (unsigned long long)done.cut);
	return 0;
}
