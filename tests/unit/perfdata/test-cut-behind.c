// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: recordings of perf that are cut behind their data, in the table
 * of what they say of themselves or in the bodies of that, are said to be
 * damaged, wherever it is, and all of their records are read. */
#include "made.h"

#include <glob.h>

#define EVERY 50

static size_t read_records(const uint8_t *p, size_t size,
			   struct seam_pd_damage *ret, bool *ret_lost)
{
	uint8_t *copy = malloc(size);
	struct seam_pd_reader *r;
	size_t n;

	assert_non_null(copy);
	memcpy(copy, p, size);
	assert_int_equal(seam_pd_open_mem(copy, size, &r, NULL), 0);
	*ret_lost = seam_pd_info(r)->lost_build_ids;
	n = (size_t)count_of(r, ret);
	free(copy);
	return n;
}

/* Return: whether it is a file that says something behind its data. */
static bool cut_behind(const char *path)
{
	struct seam_pd_damage whole, d;
	char reason[160];
	bool lost = false;
	struct pd_header h;
	uint8_t *p;
	size_t size = slurp_file(path, &p), n, end;

	memcpy(&h, p, sizeof(h));
	end = h.data.offset + h.data.size;
	if (h.size == PD_PIPE_HEADER_SIZE || !h.features[0]) {
		free(p);
		return false;
	}
	n = read_records(p, size, &whole, &lost);
	assert_false(whole.damaged || lost);
	for (size_t len = size - 1; len >= end; len -= EVERY) {
		assert_int_equal(read_records(p, len, &d, &lost), n);
		assert_true(d.damaged);
		assert_int_equal(d.err.offset, len);
		assert_int_equal(d.n_files, 1);
		assert_non_null(strstr(d.err.reason, "what it says of itself"));
	}
	read_records(p, end, &d, &lost);
	assert_int_equal(lost, (h.features[0] >> PD_FEAT_BUILD_ID) & 1);
	snprintf(reason, sizeof(reason),
		 "the file ends inside what it says of itself; lost are %sthe "
		 "kernel's release, the kind of machine, names of events",
		 lost ? "build-ids, " : "");
	assert_string_equal(d.err.reason, reason);
	free(p);
	return true;
}

static void cut_all(const char *kind)
{
	const char *golden = getenv("SEAM_GOLDEN");
	char pattern[4096];
	size_t cut = 0;
	glob_t found;

	assert_non_null(golden);
	snprintf(pattern, sizeof(pattern), "%s/%s", golden, kind);
	assert_int_equal(glob(pattern, GLOB_MARK, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *path = found.gl_pathv[i];

		if (path[strlen(path) - 1] != '/')
			cut += cut_behind(path);
	}
	assert_true(cut);
	globfree(&found);
}

static void test_files(void **state)
{
	(void)state;
	cut_all("deferred/*.data");
	cut_all("dwarf/*.data");
	cut_all("versions/*.data");
}

/* Of perf record --threads one file has it. */
static void test_folders(void **state)
{
	(void)state;
	cut_all("versions/*.data/data");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_folders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
