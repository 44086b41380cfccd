// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* write-made FORMAT: the samples of made.h, in a format's number. */
#include <errno.h>

#include "made.h"

static int put(void *ctx, const void *bytes, size_t len)
{
	return fwrite(bytes, 1, len, ctx) == len ? 0 : -EIO;
}

int main(int argc, char **argv)
{
	static struct image m;
	struct seam_pd_reader *r = made_reader(&m);
	struct seam_export *e;
	int rc = argc < 2;

	if (!rc)
		rc = seam_export_new((enum seam_export_format)atoi(argv[1]), r,
				     &e);
	if (rc)
		return 1;
	rc = made_add(e, r);
	if (!rc)
		rc = seam_export_finish(e, "na\"me\xff", put, stdout);
	seam_export_free(e);
	seam_pd_close(r);
	return rc || fflush(stdout) ? 1 : 0;
}
