// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* write-made FORMAT [PART]: the samples of made.h, in a format's number, in
 * parts of so many nodes, samples and bytes. */
#include <errno.h>

#include "base/spill.h"
#include "export/model.h"
#include "made.h"
#include "report/fold.h"

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

	if (argc > 2) {
		seam_spill_from = 1;
		seam_nodes_part = (uint32_t)atoi(argv[2]);
		seam_model_sample_part = seam_fold_most = seam_nodes_part;
	}
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
