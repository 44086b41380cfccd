// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a recording ended when its file was last written; of a folder
 * that is the file in it, and not the folder; one that comes by a pipe has not
 * ended. */
#include <fcntl.h>

#include "../perfdata/recording.h"
#include "report/clock.h"

#define SECOND_NS 1000000000ULL

static void stamp(const char *path, time_t s)
{
	const struct timespec at = {.tv_sec = s, .tv_nsec = 7};
	const struct timespec both[2] = {at, at};

	assert_int_equal(utimensat(AT_FDCWD, path, both, 0), 0);
}

/* path: of what is read, or NULL. */
static uint64_t until_ns(const char *recording, const char *path)
{
	struct seam_clock_fit fit;
	struct seam_pd_reader *r;

	assert_int_equal(seam_pd_open(recording, &r, NULL), 0);
	seam_clock_fit(r, path, false, &fit);
	seam_pd_close(r);
	return fit.until_ns;
}

static void ends(void **state)
{
	char data[sizeof(((struct folder *)0)->path) + 8];
	struct folder f;

	(void)state;
	folder_make(&f);
	snprintf(data, sizeof(data), "%s/data", f.path);
	assert_int_equal(seam_pd_writer_close(open_writer(data, 0)), 0);
	stamp(data, 2000);
	stamp(f.path, 1000);
	assert_int_equal(until_ns(data, data), 2000 * SECOND_NS + 7);
	assert_int_equal(until_ns(f.path, f.path), 2000 * SECOND_NS + 7);
	assert_int_equal(until_ns(f.path, NULL), 0);
	assert_int_equal(until_ns(f.path, f.file), 0);
	unlink(data);
	folder_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
