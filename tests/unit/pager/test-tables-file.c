// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a file that was opened when it was asked for is read once, for
 * all who ask, and what was read is believed only while it is that file still:
 * its last name may go, but nobody may have written to it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf/elf.h"
#include "one-table.h"
#include "pager/tables-priv.h"
#include "tests/unit/records.h"
#include "tests/unit/skip.h"

#define OURS 7
#define THEIRS 8
#define START 0x401000

static struct {
	char path[64]; /* an ELF file */
	int fd; /* as it was opened when its table was asked for */
	struct seam_wire_miss miss;
	struct seam_images images;
	struct seam_processes processes;
	struct seam_tables tables;
	int reads, loads;
	bool changes; /* somebody writes to the file while it is read */
	bool is_bare; /* it has no build-id */
} world;

static uint64_t ns_of(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

int __wrap_seam_kernel_key_of_fd(struct seam_kernel *k, int fd,
				 struct seam_file_key *ret,
				 uint64_t *ret_mtime_ns);
int __wrap_seam_kernel_key_of_fd(struct seam_kernel *k, int fd,
				 struct seam_file_key *ret,
				 uint64_t *ret_mtime_ns)
{
	struct stat st;

	(void)k;
	if (fstat(fd, &st))
		return -errno;
	*ret = (struct seam_file_key){
		.ino = st.st_ino,
		.size = (uint64_t)st.st_size,
		.ctime_sec = (uint64_t)st.st_ctim.tv_sec,
		.ctime_nsec = (uint32_t)st.st_ctim.tv_nsec,
		.dev = (uint32_t)st.st_dev,
	};
	if (ret_mtime_ns)
		*ret_mtime_ns = ns_of(&st.st_mtim);
	return 0;
}

int __wrap_seam_kernel_table_put(struct seam_kernel *k,
				 const struct seam_file_key *key,
				 const struct seam_table_ref *ref);
int __wrap_seam_kernel_table_put(struct seam_kernel *k,
				 const struct seam_file_key *key,
				 const struct seam_table_ref *ref)
{
	(void)k;
	(void)key;
	table_state = ref->state;
	return 0;
}

void __wrap_seam_kernel_serves(struct seam_kernel *k);
void __wrap_seam_kernel_serves(struct seam_kernel *k)
{
	(void)k;
}

void __wrap_seam_kernel_tables_changed(struct seam_kernel *k);
void __wrap_seam_kernel_tables_changed(struct seam_kernel *k)
{
	(void)k;
}

uint32_t __wrap_seam_kernel_client(const struct seam_kernel *k);
uint32_t __wrap_seam_kernel_client(const struct seam_kernel *k)
{
	(void)k;
	return OURS;
}

bool __wrap_seam_kernel_is_near(struct seam_kernel *k, int fd);
bool __wrap_seam_kernel_is_near(struct seam_kernel *k, int fd)
{
	(void)k;
	(void)fd;
	return true;
}

/* Of what would be laid out for BPF. */
int __wrap_seam_tables_load_elf(struct seam_tables *t,
				const struct seam_file_key *key,
				const struct seam_elf *elf, bool is_near);
int __wrap_seam_tables_load_elf(struct seam_tables *t,
				const struct seam_file_key *key,
				const struct seam_elf *elf, bool is_near)
{
	(void)is_near;
	assert_non_null(elf);
	seam_absent_remove(&t->absent, key);
	world.loads++;
	table_state = SEAM_TABLE_LOADED;
	return 0;
}

int __wrap_seam_tables_answer_made(struct seam_tables *t,
				   const struct seam_wire_miss *miss);
int __wrap_seam_tables_answer_made(struct seam_tables *t,
				   const struct seam_wire_miss *miss)
{
	seam_absent_remove(&t->absent, &miss->key);
	table_state = SEAM_TABLE_LOADED;
	return 0;
}

/* Another build's bytes, in its place; when no clock of files is too coarse to
 * tell. */
static void write_over(void)
{
	struct stat before, now;
	int fd = open(world.path, O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &before), 0);
	do {
		assert_int_equal(pwrite(fd, "\177ELF", 4, 0), 4);
		assert_int_equal(fstat(fd, &now), 0);
	} while (ns_of(&now.st_mtim) == ns_of(&before.st_mtim));
	assert_int_equal(close(fd), 0);
}

int __real_seam_elf_open_fd(int fd, int flags, struct seam_elf **ret,
			    struct seam_errinfo *reterr);
int __wrap_seam_elf_open_fd(int fd, int flags, struct seam_elf **ret,
			    struct seam_errinfo *reterr);
int __wrap_seam_elf_open_fd(int fd, int flags, struct seam_elf **ret,
			    struct seam_errinfo *reterr)
{
	int err = __real_seam_elf_open_fd(fd, flags, ret, reterr);

	world.reads++;
	if (world.changes)
		write_over();
	return err;
}

size_t __real_seam_elf_build_id(const struct seam_elf *elf, uint8_t *id);
size_t __wrap_seam_elf_build_id(const struct seam_elf *elf, uint8_t *id);
size_t __wrap_seam_elf_build_id(const struct seam_elf *elf, uint8_t *id)
{
	return world.is_bare ? 0 : __real_seam_elf_build_id(elf, id);
}

static void copy_self(void)
{
	uint8_t bytes[65536];
	int from = open("/proc/self/exe", O_RDONLY), to = mkstemp(world.path);
	ssize_t n;

	assert_true(from >= 0 && to >= 0);
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(to, bytes, (size_t)n), n);
	assert_int_equal(n, 0);
	close(from);
	close(to);
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	table_state = 0;
	strcpy(world.path, "seam-tables-file-XXXXXX");
	copy_self();
	world.fd = open(world.path, O_RDONLY);
	assert_true(world.fd >= 0);
	world.processes.images = &world.images;
	world.tables.processes = &world.processes;
	world.tables.is_owner = true;
	world.tables.at.is_ours = true;
	world.miss.client = OURS;
	return seam_kernel_key_of_fd(NULL, world.fd, &world.miss.key,
				     &world.miss.mtime_ns);
}

static int tear_down(void **state)
{
	(void)state;
	close(world.fd);
	unlink(world.path);
	seam_absent_fini(&world.tables.absent);
	seam_processes_fini(&world.processes);
	seam_images_fini(&world.images);
	return 0;
}

static void answer(void)
{
	assert_int_equal(
		seam_tables_answer_file(&world.tables, &world.miss, world.fd),
		0);
}

/* What is there of it now: reads, tables, images, answers that it is gone. */
static void has(int reads, int loads, uint64_t images, uint64_t gone)
{
	assert_int_equal(world.reads, reads);
	assert_int_equal(world.loads, loads);
	assert_int_equal(world.images.stats.n, images);
	assert_int_equal(world.tables.stats.gone, gone);
}

static void reads_once_for_all_who_ask(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		answer();
	has(1, 1, 1, 0);
}

/* Whose copies of stacks somebody else unwinds. */
static void reads_once_and_keeps_nothing_for_others(void **state)
{
	(void)state;
	world.tables.at.is_ours = false;
	world.miss.client = THEIRS;
	for (int i = 0; i < 3; i++)
		answer();
	has(1, 1, 0, 0);
}

static void reads_for_its_image_what_another_has_loaded(void **state)
{
	(void)state;
	table_state = SEAM_TABLE_LOADED;
	answer();
	answer();
	has(1, 0, 1, 0);
}

static void keeps_one_whose_name_has_gone(void **state)
{
	(void)state;
	assert_int_equal(unlink(world.path), 0);
	answer();
	has(1, 0, 1, 1);
}

static void keeps_none_that_was_written_over(void **state)
{
	(void)state;
	write_over();
	answer();
	has(0, 0, 0, 1);
}

static void keeps_none_that_is_written_over_meanwhile(void **state)
{
	(void)state;
	world.changes = true;
	answer();
	has(1, 0, 0, 1);
}

/* Its name has gone, too: only what was written tells. */
static void keeps_none_that_was_written_over_and_unlinked(void **state)
{
	(void)state;
	write_over();
	assert_int_equal(unlink(world.path), 0);
	answer();
	has(0, 0, 0, 1);
}

/* Ours are asked for in two rings. */
static void is_gone_once_whichever_ring_is_first(void **state)
{
	(void)state;
	seam_tables_answer(&world.tables, &world.miss, -1);
	has(0, 0, 0, 1);
	seam_tables_serve(&world.tables, &world.miss, -1);
	has(0, 0, 0, 1);
	seam_absent_remove(&world.tables.absent, &world.miss.key);
	seam_tables_serve(&world.tables, &world.miss, -1);
	has(0, 0, 0, 2);
	seam_tables_answer(&world.tables, &world.miss, -1);
	has(0, 0, 0, 2);
}

/* But found it is through another process that has it. */
static void is_looked_for_again_where_it_is_held(void **state)
{
	(void)state;
	seam_tables_answer(&world.tables, &world.miss, -1);
	seam_tables_serve(&world.tables, &world.miss, world.fd);
	has(1, 1, 1, 1);
}

/* What asks from now on has the key that the file has now. */
static void name_anew(void)
{
	assert_int_equal(seam_kernel_key_of_fd(NULL, world.fd, &world.miss.key,
					       &world.miss.mtime_ns),
			 0);
}

/* A process that has ended meanwhile. That it mapped this build of the file, a
 * mapping's time cannot tell: it is as if the file were younger. */
static void map_in_one_that_ended(void)
{
	union record r;
	char *path = realpath(world.path, NULL);
	uint32_t dev;
	bool is_far;

	assert_non_null(path);
	world.miss.head.pid = ended_pid();
	world.miss.start = START;
	world.miss.end = START + 4096;
	assert_int_equal(
		seam_processes_follow(
			&world.processes, 1,
			map_record(&r, world.miss.head.pid, START, path)),
		0);
	is_far = seam_far_path(&world.processes.far, world.miss.head.pid, path,
			       &dev);
	free(path);
	/* Where another machine or program serves this folder. */
	if (is_far)
		skip_since(
			"this folder is served by another machine or program");
}

/* Before its turn, from the ring of requests. */
static void read_for_one_that_ended(void)
{
	map_in_one_that_ended();
	seam_tables_serve(&world.tables, &world.miss, world.fd);
}

/* In its turn. */
static struct seam_image *known_to_it(int held)
{
	const struct seam_map *map;

	seam_tables_answer(&world.tables, &world.miss, held);
	map = seam_process_map(
		&world.processes,
		seam_process_find(&world.processes, world.miss.head.pid),
		START);
	assert_non_null(map);
	return map->image;
}

static void is_known_by_its_key_where_its_name_leads_to_it(void **state)
{
	(void)state;
	map_in_one_that_ended();
	assert_non_null(known_to_it(-1));
	has(1, 1, 1, 0);
}

/* Nothing is known of its process yet. */
static void ask_for_one_that_ended(void)
{
	world.miss.head.pid = ended_pid();
	world.miss.start = START;
	world.miss.end = START + 4096;
	seam_tables_serve(&world.tables, &world.miss, -1);
	has(0, 0, 0, 1);
	assert_int_equal(table_state, SEAM_TABLE_ASKED);
}

static void is_found_in_its_turn_where_it_was_not_before(void **state)
{
	(void)state;
	ask_for_one_that_ended();
	map_in_one_that_ended();
	assert_non_null(known_to_it(-1));
	has(1, 1, 1, 0);
	assert_int_equal(table_state, SEAM_TABLE_LOADED);
}

/* Another build is there by then. */
static void is_not_found_in_its_turn_where_it_is_another(void **state)
{
	(void)state;
	ask_for_one_that_ended();
	map_in_one_that_ended();
	write_over();
	assert_null(known_to_it(-1));
	has(0, 0, 0, 1);
	assert_int_equal(table_state, SEAM_TABLE_ASKED);
}

/* It lives, and its files are closed to us but by their paths. */
static void is_found_in_its_turn_where_it_was_refused(void **state)
{
	(void)state;
	map_in_one_that_ended();
	assert_int_equal(seam_tables_without(&world.tables, &world.miss.key,
					     SEAM_TABLE_NONE,
					     SEAM_ABSENT_REFUSED),
			 0);
	world.tables.stats.gone++;
	assert_non_null(known_to_it(-1));
	has(1, 1, 1, 0);
	assert_int_equal(table_state, SEAM_TABLE_LOADED);
}

/* Another has them by then, who loads what it is asked for. */
static void stays_lost_where_the_tables_are_anothers(void **state)
{
	(void)state;
	ask_for_one_that_ended();
	world.tables.is_owner = false;
	for (int i = 0; i < 2; i++)
		seam_tables_answer(&world.tables, &world.miss, -1);
	assert_int_equal(world.tables.stats.gone, 1);
}

/* What a compiler has made is no file that is gone, nor is found again. */
static void counts_no_made_code(void **state)
{
	(void)state;
	world.miss.key.kind = SEAM_KEY_MEMORY;
	assert_int_equal(seam_tables_without(&world.tables, &world.miss.key,
					     SEAM_TABLE_NONE,
					     SEAM_ABSENT_REFUSED),
			 0);
	seam_tables_answer(&world.tables, &world.miss, -1);
	assert_int_equal(table_state, SEAM_TABLE_LOADED);
	assert_int_equal(world.tables.stats.gone, 0);
}

static void is_not_where_another_build_has_its_name(void **state)
{
	(void)state;
	map_in_one_that_ended();
	write_over();
	assert_null(known_to_it(-1));
	has(0, 0, 0, 1);
}

/* Its request's turn comes late. */
static void is_known_though_it_is_written_over_once_it_was_read(void **state)
{
	(void)state;
	world.is_bare = true;
	read_for_one_that_ended();
	write_over();
	assert_non_null(known_to_it(-1));
	has(1, 1, 1, 0);
}

/* The key that it has now is not the one that it was read for. */
static void another_build_is_read_anew(void **state)
{
	const struct seam_image *first, *second;

	(void)state;
	world.is_bare = true;
	read_for_one_that_ended();
	first = world.images.newest;
	write_over();
	name_anew();
	second = known_to_it(-1);
	assert_non_null(second);
	assert_ptr_not_equal(second, first);
	has(2, 1, 2, 0);
}

/* Nothing but the number and the times of their files is the same. */
static void is_not_known_by_its_number_and_times(void **state)
{
	(void)state;
	world.is_bare = true;
	read_for_one_that_ended();
	world.images.newest->key.generation++;
	table_state = 0;
	assert_null(known_to_it(-1));
	assert_int_equal(world.images.stats.n, 1);
}

/* What is read of a file without a name is good for who holds it, alone. */
static void is_not_known_to_others_once_its_name_has_gone(void **state)
{
	(void)state;
	map_in_one_that_ended();
	assert_int_equal(unlink(world.path), 0);
	seam_tables_serve(&world.tables, &world.miss, world.fd);
	assert_null(known_to_it(-1));
	assert_int_equal(world.images.stats.n, 1);
}

/* Who asks once its name has gone asks by another key. */
static void is_known_by_its_key_of_before_its_name_went(void **state)
{
	struct seam_file_key before = world.miss.key;

	(void)state;
	world.is_bare = true;
	map_in_one_that_ended();
	assert_int_equal(unlink(world.path), 0);
	name_anew();
	seam_tables_serve(&world.tables, &world.miss, world.fd);
	world.miss.key = before;
	assert_non_null(known_to_it(world.fd));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reads_once_for_all_who_ask),
		TEST(reads_once_and_keeps_nothing_for_others),
		TEST(reads_for_its_image_what_another_has_loaded),
		TEST(keeps_one_whose_name_has_gone),
		TEST(keeps_none_that_was_written_over),
		TEST(keeps_none_that_is_written_over_meanwhile),
		TEST(keeps_none_that_was_written_over_and_unlinked),
		TEST(is_gone_once_whichever_ring_is_first),
		TEST(is_looked_for_again_where_it_is_held),
		TEST(is_known_by_its_key_where_its_name_leads_to_it),
		TEST(is_found_in_its_turn_where_it_was_not_before),
		TEST(is_not_found_in_its_turn_where_it_is_another),
		TEST(is_found_in_its_turn_where_it_was_refused),
		TEST(stays_lost_where_the_tables_are_anothers),
		TEST(counts_no_made_code),
		TEST(is_not_where_another_build_has_its_name),
		TEST(is_known_though_it_is_written_over_once_it_was_read),
		TEST(another_build_is_read_anew),
		TEST(is_not_known_by_its_number_and_times),
		TEST(is_not_known_to_others_once_its_name_has_gone),
		TEST(is_known_by_its_key_of_before_its_name_went),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
