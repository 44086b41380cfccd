// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Any bytes as a recording: read, stitched, turned into text, and merged. */
#include "fuzz/recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seam_pd_reader *r;
	struct seam_errinfo err;

	if (seam_pd_open_mem(data, size, &r, &err))
		return 0;
	check_recording(r);
	seam_pd_close(r);
	return 0;
}
