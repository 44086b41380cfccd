/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Description: files that stack copies are unwound with: all together keep to
 * a budget, the least recently used out first; one that is needed again is
 * opened again if it is the same file, and is none if it changed; what no
 * mapping names is let go.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../table/image.h"
#include "base/clock.h"
#include "process/process.h"
#include "process/target.h"
#include "tests/unit/records.h"
#include "tests/unit/skip.h"

#define FILES 4
#define FUNC 0x1000 /* file offset of the one function */
#define BASE 0x7f0000000000

static struct {
	char dir[64];
	char path[FILES][128];
	struct seam_images images;
	struct seam_processes processes;
	uint32_t pid;
} t;

/* A file whose function at FUNC has CFA = rsp + cfa_off. */
static void write_file(const char *path, uint8_t cfa_off)
{
	static struct image im;
	const uint8_t ops[] = {0x0e, cfa_off}; /* DW_CFA_def_cfa_offset */
	FILE *f;

	image_init(&im, ET_DYN, 0);
	image_segment(&im, 0, IMAGE_SVMA, IMAGE_SIZE, PF_R | PF_X);
	image_fde(&im, IMAGE_SVMA + FUNC, 64, false, ops, sizeof(ops));
	image_finish(&im);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(im.bytes, sizeof(im.bytes), 1, f), 1);
	fclose(f);
}

static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	strcpy(t.dir, "/tmp/seam-image-XXXXXX");
	assert_non_null(mkdtemp(t.dir));
	for (int i = 0; i < FILES; i++) {
		snprintf(t.path[i], sizeof(t.path[i]), "%s/%d", t.dir, i);
		write_file(t.path[i], (uint8_t)(16 + 8 * i));
	}
	t.processes.images = &t.images;
	/* Nobody has it: files are found by their path. */
	t.pid = ended_pid();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	seam_processes_fini(&t.processes);
	seam_images_fini(&t.images);
	assert_int_equal(t.images.stats.n, 0);
	assert_int_equal(t.images.stats.bytes, 0);
	for (int i = 0; i < FILES; i++)
		unlink(t.path[i]);
	return rmdir(t.dir);
}

static uint64_t address(int i)
{
	return BASE + (uint64_t)i * 0x10000;
}

/* A time when the files have not changed for a while. */
static uint64_t soon(void)
{
	return seam_now_ns() + 1000000000;
}

static void map_all(void)
{
	union record r;

	for (int i = 0; i < FILES; i++)
		assert_int_equal(
			seam_processes_follow(
				&t.processes, soon(),
				map_record(&r, t.pid, address(i), t.path[i])),
			0);
}

/* What a look-up finds at the function of file i; 0: no rules. */
static int64_t cfa_off(int i)
{
	struct seam_process *p = seam_process_find(&t.processes, t.pid);
	struct seam_map *map =
		seam_process_map(&t.processes, p, address(i) + 8);
	struct seam_cfi_row row;

	assert_non_null(map);
	if (!map->image || !map->image->cfi ||
	    seam_cfi_find(map->image->cfi, IMAGE_SVMA + FUNC, &row, NULL))
		return 0;
	return row.cfa_off;
}

/* Room for so many of the files, which have the same size. */
static void set_budget(size_t files)
{
	size_t one;

	assert_int_equal(cfa_off(0), 16);
	one = t.images.stats.bytes;
	assert_true(one > 0);
	t.images.budget = files * one + one / 2;
}

static void test_budget(void **state)
{
	(void)state;
	map_all();
	set_budget(2);
	assert_int_equal(cfa_off(1), 24);
	assert_int_equal(t.images.stats.evicted, 0);
	assert_int_equal(cfa_off(0), 16); /* used last */
	assert_int_equal(cfa_off(2), 32);
	assert_int_equal(t.images.stats.evicted, 1);
	assert_int_equal(t.images.stats.n, 2);
	/* The first is still there, the second comes again. */
	assert_int_equal(cfa_off(0), 16);
	assert_int_equal(t.images.stats.evicted, 1);
	assert_int_equal(cfa_off(1), 24);
	assert_int_equal(t.images.stats.evicted, 2);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(cfa_off(i % FILES), 16 + 8 * (i % FILES));
		assert_true(t.images.stats.bytes <= t.images.budget);
	}
	assert_true(t.images.stats.bytes_max <= t.images.budget);
	assert_int_equal(t.images.stats.gone, 0);
	/* Not even one fits: it is there all the same, alone. */
	t.images.budget = 1;
	assert_int_equal(cfa_off(0), 16);
	assert_int_equal(t.images.stats.n, 1);
	assert_int_equal(cfa_off(1), 24);
	assert_int_equal(t.images.stats.n, 1);
}

static void test_replaced_while_kept(void **state)
{
	char other[160];

	(void)state;
	map_all();
	assert_int_equal(cfa_off(0), 16);
	assert_int_equal(cfa_off(1), 24);
	snprintf(other, sizeof(other), "%s/new", t.dir);
	write_file(other, 128);
	assert_int_equal(rename(other, t.path[0]), 0);
	assert_int_equal(truncate(t.path[1], 0), 0);
	assert_int_equal(cfa_off(0), 16);
	assert_int_equal(cfa_off(1), 24);
}

/* Renamed over, written over, cut short, deleted: once taken out, no rules,
 * and never another file's. */
static void test_changed(void **state)
{
	char other[160];

	(void)state;
	map_all();
	set_budget(1);
	for (int i = 0; i < FILES; i++)
		assert_int_equal(cfa_off(i), 16 + 8 * i);
	usleep(20000); /* a ctime has its granularity */
	snprintf(other, sizeof(other), "%s/new", t.dir);
	write_file(other, 128);
	assert_int_equal(rename(other, t.path[0]), 0);
	write_file(t.path[1], 128);
	assert_int_equal(unlink(t.path[2]), 0);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 3; i++)
			assert_int_equal(cfa_off(i), 0);
		assert_int_equal(cfa_off(3), 40);
		/* Tried once each. */
		assert_int_equal(t.images.stats.gone, 3);
	}
}

/* As is done again and again, for as long as what is idle is kept. */
static void let_go(void)
{
	static uint64_t now_ns = 1;
	const uint64_t n = t.images.stats.n;

	seam_images_release(&t.images, now_ns);
	now_ns += SEAM_IMAGE_IDLE_NS;
	seam_images_release(&t.images, now_ns);
	assert_int_equal(t.images.stats.n, n);
	seam_images_release(&t.images, ++now_ns);
}

static void test_let_go(void **state)
{
	uint32_t child = ended_pid();
	union record r;

	(void)state;
	map_all();
	for (int i = 0; i < FILES; i++)
		assert_int_equal(cfa_off(i), 16 + 8 * i);
	let_go();
	assert_int_equal(t.images.stats.n, FILES);
	/* The child has them too, then runs something else. */
	seam_processes_follow(
		&t.processes, 2,
		task_record(&r, PERF_RECORD_FORK, child, child, t.pid));
	seam_processes_follow(&t.processes, 3, exec_record(&r, t.pid));
	let_go();
	assert_int_equal(t.images.stats.n, FILES);
	seam_processes_follow(
		&t.processes, 4,
		map_record(&r, child, address(1), "/nothing/there"));
	let_go();
	assert_int_equal(t.images.stats.n, FILES - 1);
	seam_processes_follow(
		&t.processes, 5,
		task_record(&r, PERF_RECORD_EXIT, child, child, t.pid));
	seam_processes_forget(&t.processes, 4 + SEAM_KEEP_DEAD_NS);
	let_go();
	assert_int_equal(t.images.stats.n, FILES - 1);
	seam_processes_forget(&t.processes, 6 + SEAM_KEEP_DEAD_NS);
	assert_null(seam_process_find(&t.processes, child));
	let_go();
	assert_int_equal(t.images.stats.n, 0);
	assert_null(t.images.newest);
}

/* A process outlives its first thread, and its mappings are needed. */
static void test_first_thread(void **state)
{
	uint32_t pid = leaderless_pid();
	union record r;

	(void)state;
	assert_int_equal(
		seam_processes_follow(&t.processes, 1,
				      map_record(&r, pid, BASE, t.path[0])),
		0);
	seam_processes_follow(&t.processes, 2,
			      task_record(&r, PERF_RECORD_EXIT, pid, pid, 1));
	seam_processes_forget(&t.processes, 3 + SEAM_KEEP_DEAD_NS);
	assert_non_null(seam_process_find(&t.processes, pid));
	kill((pid_t)pid, SIGKILL);
	waitpid((pid_t)pid, NULL, 0);
	seam_processes_forget(&t.processes, 4 + 2 * SEAM_KEEP_DEAD_NS);
	assert_null(seam_process_find(&t.processes, pid));
}

/* By build-id, one image for many paths; the vDSO is one as well. */
static void test_build_id(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct seam_image *im, *again, *vdso;

	(void)state;
	assert_int_equal(seam_image_of_fd(&t.images, fd, &im), 0);
	if (!im->build_id_len)
		skip_since("this program has no build-id");
	assert_int_equal(seam_image_of_fd(&t.images, fd, &again), 0);
	assert_ptr_equal(im, again);
	assert_ptr_equal(
		seam_image_by_id(&t.images, im->build_id, im->build_id_len),
		im);
	close(fd);
	assert_int_equal(seam_image_vdso(&t.images, &vdso), 0);
	t.images.budget = 1;
	assert_int_equal(
		seam_image_of_fd(&t.images,
				 fd = open(t.path[0], O_RDONLY | O_CLOEXEC),
				 &again),
		0);
	close(fd);
	assert_false(im->is_open);
	assert_false(vdso->is_open);
	assert_int_equal(seam_image_vdso(&t.images, &again), 0);
	assert_ptr_equal(again, vdso);
	assert_true(vdso->is_open && vdso->cfi);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_budget, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_replaced_while_kept,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_changed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_let_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_first_thread, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_build_id, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
