// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: recordings of perf that are cut behind their data, in the table
 * of what they say of themselves or in the bodies of that, are said to be
 * damaged, wherever it is, and all of their records are read, and the build-ids
 * that are whole. */
#include "made.h"

#include <glob.h>

#define EVERY 50

/* Of the section that the file's table has, how many end before len. */
static size_t whole_ids(const uint8_t *p, const struct pd_header *h, size_t len,
			struct pd_section *ret)
{
	const uint64_t bit = 1ULL << PD_FEAT_BUILD_ID;
	size_t at = h->data.offset + h->data.size, n = 0;
	struct perf_event_header entry;

	*ret = (struct pd_section){0};
	if (!(h->features[0] & bit))
		return 0;
	at += (size_t)__builtin_popcountll(h->features[0] & (bit - 1)) *
	      sizeof(*ret);
	memcpy(ret, p + at, sizeof(*ret));
	for (at = ret->offset; at < ret->offset + ret->size; at += entry.size) {
		memcpy(&entry, p + at, sizeof(entry));
		assert_true(entry.size);
		n += at + entry.size <= len;
	}
	return n;
}

/* The last of them, by its path. */
static bool has_last(const struct seam_pd_reader *r, const uint8_t *p,
		     const struct pd_section *ids, size_t n)
{
	const size_t path_off = sizeof(struct perf_event_header) + 28;
	size_t at = ids->offset;
	struct perf_event_header entry;
	const uint8_t *id;

	for (size_t i = 1; i < n; i++) {
		memcpy(&entry, p + at, sizeof(entry));
		at += entry.size;
	}
	return seam_pd_path_build_id(r, (const char *)p + at + path_off, &id) &&
	       !memcmp(id, p + at + path_off - 24, 16);
}

static size_t read_records(const uint8_t *p, size_t size,
			   struct seam_pd_damage *ret, bool *ret_lost)
{
	uint8_t *copy = malloc(size);
	struct pd_section ids;
	struct seam_pd_reader *r;
	struct pd_header h;
	size_t n, n_ids;

	assert_non_null(copy);
	memcpy(copy, p, size);
	assert_int_equal(seam_pd_open_mem(copy, size, &r, NULL), 0);
	*ret_lost = seam_pd_info(r)->lost_build_ids;
	memcpy(&h, p, sizeof(h));
	n_ids = whole_ids(p, &h, size, &ids);
	if (*ret_lost)
		assert_int_equal(seam_pd_info(r)->n_build_ids, n_ids);
	if (n_ids)
		assert_true(has_last(r, p, &ids, n_ids));
	n = (size_t)count_of(r, ret);
	free(copy);
	return n;
}

/* Return: whether it is a file that says something behind its data. Adds to
 * *partly how often some of the build-ids were left. */
static bool cut_behind(const char *path, size_t *partly)
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
		*partly +=
			strstr(d.err.reason, "lost are some build-ids") != NULL;
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

/* has_ids: some say those of files apart from mappings. */
static void cut_all(const char *kind, bool has_ids)
{
	const char *golden = getenv("SEAM_GOLDEN");
	char pattern[4096];
	size_t cut = 0, partly = 0;
	glob_t found;

	assert_non_null(golden);
	snprintf(pattern, sizeof(pattern), "%s/%s", golden, kind);
	assert_int_equal(glob(pattern, GLOB_MARK, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *path = found.gl_pathv[i];

		if (path[strlen(path) - 1] != '/')
			cut += cut_behind(path, &partly);
	}
	assert_true(cut);
	assert_int_equal(partly > 0, has_ids);
	globfree(&found);
}

static void test_files(void **state)
{
	(void)state;
	cut_all("deferred/*.data", false);
	cut_all("dwarf/*.data", true);
	cut_all("versions/*.data", true);
}

/* Of perf record --threads one file has it. */
static void test_folders(void **state)
{
	(void)state;
	cut_all("versions/*.data/data", true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_folders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
