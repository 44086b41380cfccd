// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what has ended is let go, when many others have ended since,
 * unless samples ask for it, and what comes for it even later is counted; its
 * number can be used again; a world without room, or memory, is still whole. */
#include "../perfdata/recording.h"
#include "stitch/space.h"
#include "tests/unit/oom-wrap.h"

#define KEPT 4096 /* threads that have ended */
#define MISC_EXEC (1 << 13)
#define KERNEL_PID UINT32_MAX

static struct world w;
static struct seam_pd_reader *reader;

static int task(uint32_t type, uint32_t pid, uint32_t tid, uint32_t ppid)
{
	struct seam_pd_rec rec = {
		.type = type,
		.pid = pid,
		.tid = tid,
		.task = {.ppid = ppid, .ptid = ppid},
	};

	return seam_world_apply(&w, reader, &rec);
}

static int fork_to(uint32_t pid, uint32_t ppid)
{
	return task(PERF_RECORD_FORK, pid, pid, ppid);
}

static int ends(uint32_t pid)
{
	return task(PERF_RECORD_EXIT, pid, pid, 1);
}

static int comm(uint32_t pid, uint32_t tid, const char *name, uint16_t misc)
{
	struct seam_pd_rec rec = {
		.type = PERF_RECORD_COMM,
		.misc = misc,
		.pid = pid,
		.tid = tid,
		.comm = name,
	};

	return seam_world_apply(&w, reader, &rec);
}

static int map(uint32_t pid, uint64_t page, const char *path)
{
	struct seam_pd_rec rec = {
		.type = PERF_RECORD_MMAP2,
		.misc = PERF_RECORD_MISC_USER,
		.pid = pid,
		.tid = pid,
		.map = {.start = page << 12, .len = 1 << 12, .path = path},
	};

	return seam_world_apply(&w, reader, &rec);
}

static const struct process *ask(uint32_t pid)
{
	const struct thread *t;

	return seam_world_ask(&w, pid, pid, &t);
}

static const char *path_at(uint32_t pid, uint64_t page)
{
	const struct process *p = ask(pid);
	const struct seam_stitch_map *m =
		p ? seam_space_find(p->space, page << 12) : NULL;

	return m ? m->path : "";
}

static int live_and_end(uint32_t pid)
{
	int rc = fork_to(pid, 1);

	if (!rc)
		rc = comm(pid, pid, "short", MISC_EXEC);
	for (uint64_t page = 1; !rc && page <= 3; page++)
		rc = map(pid, page, page & 1 ? "/odd" : "/even");
	return rc ? rc : ends(pid);
}

static void pass_by(uint32_t from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(live_and_end(from + i), 0);
}

static void begin(void)
{
	seam_world_init(&w, 0);
	assert_int_equal(comm(1, 1, "parent", 0), 0);
	assert_int_equal(map(1, 9, "/parent"), 0);
}

/* Of one process, too, whose threads come and go. */
static void test_workers(void **state)
{
	const struct thread *t;

	(void)state;
	begin();
	for (uint32_t tid = 100; tid < 100 + 100 * KEPT; tid++) {
		assert_int_equal(task(PERF_RECORD_FORK, 1, tid, 1), 0);
		assert_non_null(seam_world_ask(&w, 1, tid, &t));
		assert_string_equal(t->comm, "parent");
		assert_int_equal(task(PERF_RECORD_EXIT, 1, tid, 1), 0);
	}
	assert_int_equal(w.threads.used, KEPT + 1);
	assert_string_equal(path_at(1, 9), "/parent");
	seam_world_fini(&w);
}

static void test_bounded(void **state)
{
	size_t areas, blocks;

	(void)state;
	begin();
	pass_by(100, 2 * KEPT);
	areas = w.n_areas;
	blocks = w.maps.n_blocks;
	pass_by(100 + 2 * KEPT, 20 * KEPT);
	assert_int_equal(w.n_areas, areas);
	assert_int_equal(w.maps.n_blocks, blocks);
	assert_int_equal(w.processes.used, KEPT + 1);
	assert_int_equal(w.threads.used, KEPT + 1);
	/* Of the same files: nothing of theirs depends on who has them. */
	assert_int_equal(w.numbers->n, 3);
	assert_true(w.numbers->n_ids > 20 * KEPT);
	seam_world_fini(&w);
}

/* What is asked for stays, what is not is forgotten, and is not known again
 * before its number is. */
static void test_forgotten(void **state)
{
	(void)state;
	begin();
	pass_by(100, 2);
	assert_string_equal(path_at(100, 1), "/odd");
	for (uint32_t i = 0; i < 8; i++) {
		pass_by(1000 + KEPT * i, KEPT);
		assert_string_equal(path_at(100, 1), "/odd");
	}
	assert_null(ask(101));
	assert_true(seam_world_forgot(&w, 101));
	assert_false(seam_world_forgot(&w, 100));
	assert_false(seam_world_forgot(&w, 99));
	assert_false(seam_world_forgot(&w, UINT32_MAX - 1));
	assert_int_equal(fork_to(101, 1), 0);
	assert_false(seam_world_forgot(&w, 101));
	assert_string_equal(path_at(101, 9), "/parent");
	assert_string_equal(path_at(101, 1), "");
	seam_world_fini(&w);
}

/* A number that is used again before what had it is let go. */
static void test_reused(void **state)
{
	(void)state;
	begin();
	pass_by(100, 1);
	assert_int_equal(fork_to(100, 1), 0);
	assert_int_equal(map(100, 2, "/again"), 0);
	pass_by(1000, 3 * KEPT);
	assert_string_equal(path_at(100, 2), "/again");
	assert_string_equal(path_at(100, 9), "/parent");
	/* As another's thread. */
	assert_int_equal(task(PERF_RECORD_FORK, 1, 100, 1), 0);
	assert_null(ask(100));
	assert_int_equal(fork_to(100, 100), 0);
	assert_string_equal(path_at(100, 9), "");
	seam_world_fini(&w);
}

/* A process is there as long as one of its threads is, and a parent that was
 * let go leaves a child of which as little is known. */
static void test_threads(void **state)
{
	(void)state;
	begin();
	assert_int_equal(fork_to(50, 1), 0);
	assert_int_equal(task(PERF_RECORD_FORK, 50, 51, 50), 0);
	assert_int_equal(ends(50), 0);
	pass_by(1000, 2 * KEPT);
	assert_non_null(ask(50));
	assert_null(seam_idmap_get(&w.threads, 50));
	assert_int_equal(task(PERF_RECORD_EXIT, 50, 51, 50), 0);
	pass_by(1000 + 2 * KEPT, 2 * KEPT);
	assert_null(ask(50));
	assert_int_equal(fork_to(60, 50), 0);
	assert_true(ask(60)->is_bare);
	assert_int_equal(comm(60, 60, "new", MISC_EXEC), 0);
	assert_false(ask(60)->is_bare);
	seam_world_fini(&w);
}

/* An exec ends the other threads, of which the one that called it says no end;
 * what was mapped before is there as long as the process is. */
static void test_exec(void **state)
{
	(void)state;
	begin();
	assert_int_equal(fork_to(50, 1), 0);
	assert_int_equal(task(PERF_RECORD_FORK, 50, 51, 50), 0);
	assert_int_equal(comm(50, 50, "new", MISC_EXEC), 0);
	assert_int_equal(map(50, 1, "/new"), 0);
	pass_by(1000, 2 * KEPT);
	assert_null(seam_idmap_get(&w.threads, 51));
	assert_non_null(seam_space_find(ask(50)->before[0], 9 << 12));
	assert_null(seam_space_find(ask(50)->space, 9 << 12));
	assert_int_equal(ends(50), 0);
	pass_by(1000 + 2 * KEPT, KEPT);
	assert_int_equal(ends(1), 0);
	pass_by(1000 + 3 * KEPT, 2 * KEPT);
	assert_int_equal(w.threads.used, KEPT);
	seam_world_fini(&w);
}

#define LARGE 2000 /* mappings */

static void map_many(uint32_t pid)
{
	for (uint64_t page = 0; page < LARGE; page++)
		assert_int_equal(map(pid, 1000 + 2 * page, "/many"), 0);
}

/* Each child has a copy, or keeps what its parent had as it was: of those that
 * have ended there is as much as what lives takes, and not much. */
static void test_copies(void **state)
{
	(void)state;
	begin();
	map_many(1);
	for (uint32_t pid = 100; pid < 9000; pid++) {
		assert_int_equal(fork_to(pid, 1), 0);
		if (pid & 1)
			assert_int_equal(comm(pid, pid, "c", MISC_EXEC), 0);
		assert_int_equal(map(pid, 1, "/own"), 0);
		assert_int_equal(map(1, pid % 64, "/late"), 0);
		assert_int_equal(ends(pid), 0);
		assert_true(w.n_areas < (1U << 20) + 4 * LARGE);
	}
	assert_string_equal(path_at(8999, 1), "/own");
	assert_string_equal(path_at(8998, 1000), "/many");
	assert_true(seam_world_forgot(&w, 100));
	seam_world_fini(&w);
}

/* Of those that live nothing is let go but what was mapped, and that whole: a
 * part would put frames where something else is. */
static void test_no_room(void **state)
{
	uint32_t n_bare = 0;

	(void)state;
	begin();
	map_many(1);
	w.max_areas = 20 * LARGE;
	pass_by(10, 10);
	for (uint32_t pid = 100; pid < 200; pid++) {
		assert_int_equal(fork_to(pid, 1), 0);
		assert_int_equal(map(pid, 1000, "/own"), 0);
		n_bare += ask(pid)->is_bare;
		assert_string_equal(path_at(pid, 1000),
				    ask(pid)->is_bare ? "" : "/own");
		assert_true(w.n_areas <= w.max_areas);
	}
	assert_in_range(n_bare, 70, 90);
	assert_true(seam_world_forgot(&w, 10));
	/* Another program has room, and the kernel always. */
	assert_int_equal(comm(199, 199, "new", MISC_EXEC), 0);
	for (uint32_t pid = 100; pid < 110; pid++)
		assert_int_equal(fork_to(pid, 199), 0);
	assert_int_equal(map(199, 1, "/new"), 0);
	assert_string_equal(path_at(199, 1), "/new");
	w.max_areas = 0;
	assert_int_equal(map(KERNEL_PID, 1, "[kernel.kallsyms]_text"), 0);
	assert_non_null(seam_space_find(w.kernel, 1 << 12));
	seam_world_fini(&w);
}

static int live_all(void)
{
	int rc = comm(1, 1, "parent", 0);

	for (uint64_t page = 1; !rc && page < 40; page++)
		rc = map(1, 2 * page, "/parent");
	for (uint32_t pid = 10; !rc && pid < 20; pid++)
		rc = live_and_end(pid);
	if (!rc)
		seam_world_let_go(&w, 0, 0, NULL);
	return rc ? rc : fork_to(10, 1);
}

static void test_no_memory(void **state)
{
	int rc = -ENOMEM, n_failed = 0;

	(void)state;
	for (long allocations = 0; rc; allocations++) {
		seam_world_init(&w, 0);
		left = allocations;
		rc = live_all();
		left = -1;
		assert_true(!rc || rc == -ENOMEM);
		n_failed += rc != 0;
		seam_world_fini(&w);
	}
	assert_true(n_failed > 30);
}

static int make_reader(void **state)
{
	static struct folder f;

	(void)state;
	folder_make(&f);
	assert_int_equal(seam_pd_writer_close(open_writer(f.file, 0)), 0);
	reader = open_reader(f.file);
	folder_remove(&f);
	return 0;
}

static int close_reader(void **state)
{
	(void)state;
	seam_pd_close(reader);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_workers),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_reused),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, make_reader, close_reader);
}
