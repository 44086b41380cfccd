// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/merge.h"

#include "cli/lacking.h"
#include "cli/replaced.h"

int merge_replace(const char *path, int (*make)(void *ctx, int fd), void *ctx)
{
	const struct replaced r = {.path = path,
				   .like_fd = REPLACED_OWN,
				   .make = make,
				   .ctx = ctx};

	return replaced(&r);
}

int merge_into(struct seam_pd_reader *r, const char *name, int fd,
	       struct seam_injected *ret)
{
	struct lacking lacking = {.recording = name};
	const struct seam_inject_tell tell = {lacking_file, &lacking};
	int rc = seam_inject(r, fd, &tell, ret);

	lacking_end(&lacking);
	return rc;
}
