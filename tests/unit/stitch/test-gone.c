// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what comes for a process that was let go is delivered without
 * its mappings and its name, and counted; what was delivered stays as it is for
 * a while; and a stack that is joined with a sample of before an exec has what
 * is mapped behind that, however many ended between. */
#include "session.h"

#define OTHERS 9000 /* more than twice as many as are kept */
#define SHOWN SEAM_STITCH_KEPT
#define IP 0x400100

static const char *const names[] = {"/a", "/b", "/c", "/d"};

static void put_short(struct session *t, uint32_t pid, uint64_t time_ns,
		      const char *path)
{
	assert_int_equal(put_fork(t->w, 1, pid, time_ns, false), 0);
	assert_int_equal(put_comm(t->w, pid, time_ns + 1, "short", true), 0);
	assert_int_equal(
		put_map(t->w, pid, time_ns + 2, 0x400000, 0x1000, path), 0);
}

static void put_joined(struct session *t, uint32_t pid, uint64_t time_ns)
{
	assert_int_equal(put_sample(t->w, pid, time_ns, time_ns), 0);
	assert_int_equal(put_stack(t->w, pid, time_ns + 1, time_ns, IP,
				   SEAM_OUTERMOST, 0),
			 0);
}

static uint64_t put_others(struct session *t, uint64_t time_ns)
{
	for (uint32_t pid = 1000; pid < 1000 + OTHERS; pid++) {
		put_short(t, pid, time_ns, names[pid % 4]);
		assert_int_equal(put_fork(t->w, 1, pid, time_ns + 5, true), 0);
		time_ns += 10;
	}
	return time_ns;
}

/* Return: of the user half's first frame. */
static const struct seam_stitch_map *next_map(struct session *t,
					      struct seam_stitched *ret)
{
	assert_int_equal(seam_stitch_next(t->s, ret), 1);
	assert_int_equal(ret->n_frames, 5);
	assert_int_equal(ret->half, SEAM_HALF_JOINED);
	return ret->frames[ret->n_kernel].map;
}

static void test_late(void **state)
{
	struct seam_stitched out;
	struct session t;
	uint64_t now;

	(void)state;
	begin(&t);
	put_short(&t, 5, 100, "/five");
	put_short(&t, 6, 110, "/six");
	put_joined(&t, 5, 120);
	assert_int_equal(put_fork(t.w, 1, 5, 130, true), 0);
	put_joined(&t, 5, 140);
	now = put_others(&t, 200);
	put_joined(&t, 5, now);
	put_joined(&t, 6, now + 10);
	put_short(&t, 5, now + 20, "/again");
	put_joined(&t, 5, now + 30);
	stitch(&t);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(next_map(&t, &out)->path, "/five");
		assert_string_equal(out.comm, "short");
	}
	assert_int_equal(seam_stitch_stats(t.s)->forgotten, 0);
	assert_null(next_map(&t, &out));
	assert_string_equal(out.comm, ":5");
	assert_string_equal(next_map(&t, &out)->path, "/six");
	assert_string_equal(next_map(&t, &out)->path, "/again");
	assert_int_equal(finish(&t)->forgotten, 1);
	end(&t);
}

/* Each process has one sample, and ends: its mapping is shown with as many
 * others'. */
static void test_shown(void **state)
{
	static const struct seam_stitch_map *maps[SHOWN];
	static uint64_t ids[SHOWN];
	static const char *comms[SHOWN];
	struct seam_stitched out;
	struct session t;
	uint64_t now = 100;

	(void)state;
	begin(&t);
	for (uint32_t i = 0; i < 3 * SHOWN; i++, now += 10) {
		uint32_t pid = 1000 + i;

		assert_int_equal(put_fork(t.w, 1, pid, now, false), 0);
		assert_int_equal(put_map(t.w, pid, now + 2, 0x400000, 0x1000,
					 names[i % 4]),
				 0);
		put_joined(&t, pid, now + 3);
		assert_int_equal(put_fork(t.w, 1, pid, now + 5, true), 0);
	}
	stitch(&t);
	for (uint32_t i = 0; i < 3 * SHOWN; i++) {
		const struct seam_stitch_map *map = next_map(&t, &out);
		uint32_t at = i % SHOWN, oldest = (i + 1) % SHOWN;
		char name[12];

		maps[at] = map;
		ids[at] = map->id;
		comms[at] = out.comm;
		if (i < SHOWN)
			continue;
		assert_int_equal(maps[oldest]->id, ids[oldest]);
		assert_string_equal(maps[oldest]->path, names[(i + 1) % 4]);
		snprintf(name, sizeof(name), ":%u", 1000 + i + 1 - SHOWN);
		assert_string_equal(comms[oldest], name);
	}
	assert_int_equal(finish(&t)->forgotten, 0);
	end(&t);
}

/* The samples of one that runs another program, in the middle of its entry. */
static void test_across(void **state)
{
	struct seam_stitched out;
	struct session t;
	uint64_t now;

	(void)state;
	begin(&t);
	put_short(&t, 5, 100, "/old");
	assert_int_equal(put_sample(t.w, 5, 150, 77), 0);
	now = put_others(&t, 200);
	put_short(&t, 5, now, "/new");
	assert_int_equal(put_map(t.w, 5, now + 3, IP, 0x80, "/within"), 0);
	assert_int_equal(put_stack(t.w, 5, now + 4, 77, IP, SEAM_OUTERMOST, 0),
			 0);
	assert_int_equal(put_map(t.w, 5, now + 5, 0x400000, 0x2000, "/over"),
			 0);
	put_joined(&t, 5, now + 6);
	stitch(&t);
	assert_string_equal(next_map(&t, &out)->path, "/within");
	assert_int_equal(out.frames[2].map->start, IP);
	assert_string_equal(path_of(&out.frames[3]), "/new");
	assert_int_equal(out.frames[3].map->end, 0x401000);
	assert_int_equal(out.frames[3].map->pgoff, 0x1000);
	assert_int_equal(out.frames[3].map->pid, 5);
	assert_ptr_equal(out.frames[3].map, out.frames[4].map);
	assert_string_equal(next_map(&t, &out)->path, "/over");
	assert_int_equal(finish(&t)->forgotten, 0);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_shown),
		cmocka_unit_test(test_across),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
