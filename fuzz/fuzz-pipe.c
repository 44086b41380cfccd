// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * A pipe that is read while it comes, in slices of any size, with any window
 * and any room. Of bytes that say what tasks do and what becomes of the records
 * of it all is counted, and where nothing is too late each sample is as of a
 * file. Any other bytes are a stream that is damaged: of what comes no more is
 * used than of a file, and each sample once.
 */
#include <stdint.h>
#include <stdlib.h>

#define LOSSY_CHECK(condition)                                                 \
	do {                                                                   \
		if (!(condition))                                              \
			abort();                                               \
	} while (0)

#include "tests/unit/stitch/lossy-pipe.h"

#define SLICES_MAX 16384 /* more of them only cost time */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Before the bytes: */
struct how {
	uint8_t is_raw; /* lowest bit */
	uint8_t slice, window, held, round;
};

static uint64_t count_mem(const uint8_t *data, size_t size, bool *ret_damaged)
{
	struct seam_pd_reader *r;
	uint64_t n = 0;

	*ret_damaged = true;
	if (seam_pd_open_mem(data, size, &r, NULL))
		return 0;
	n = seam_pd_n_records(r);
	*ret_damaged = seam_pd_damage(r)->damaged;
	seam_pd_close(r);
	return n;
}

static void any_bytes(const uint8_t *data, size_t size, struct pipe_how how)
{
	uint64_t n_file, n_stream, n = 0;
	struct seam_pd_reader *r;
	struct seam_stitched out;
	struct seam_stitch *s;
	bool damaged;
	int rc;

	if (size / how.slice > SLICES_MAX)
		how.slice = (unsigned)(size / SLICES_MAX) + 1;
	n_file = count_mem(data, size, &damaged);
	if (pipe_open(&how, data, size, &r))
		return;
	if (seam_stitch_new(r, &s)) {
		seam_pd_close(r);
		return;
	}
	seam_stitch_undivided(s);
	while ((rc = seam_stitch_next(s, &out)) > 0)
		n++;
	LOSSY_CHECK(rc || n == seam_stitch_stats(s)->samples);
	n_stream = seam_pd_n_records(r);
	LOSSY_CHECK(n_stream <= n_file || damaged);
	if (!rc && !damaged && !seam_pd_damage(r)->damaged)
		LOSSY_CHECK(n_stream == n_file);
	seam_stitch_free(s);
	seam_pd_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct lossy l;
	struct pipe_how pipe_how;
	struct how how;

	if (size < sizeof(how))
		return 0;
	memcpy(&how, data, sizeof(how));
	data += sizeof(how);
	size -= sizeof(how);
	pipe_how = (struct pipe_how){
		.slice = 1u << how.slice % 20 | how.slice,
		.window_ns = how.window == UINT8_MAX
				     ? UINT64_MAX
				     : (1ULL << how.window % 40) - 1,
		.held = how.held ? (size_t)how.held << how.held % 8 : 0,
		.round = how.round,
	};
	if (how.is_raw & 1) {
		any_bytes(data, size, pipe_how);
		return 0;
	}
	lossy_make(&l, data, size < PIPE_BYTES_MAX ? size : PIPE_BYTES_MAX);
	judge_pipe(&l, &pipe_how);
	judge_pipe_whole(&l, pipe_how.slice);
	return 0;
}
