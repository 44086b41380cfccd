// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what a process has mapped for execution, as the kernel's
 * records tell it: cut, copied by fork, dropped by exec; and which file it
 * is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "process/process.h"

/* Above the kernel's limit: nobody has it, so no file is found by it. */
#define PID 0x7ffffff0

struct world {
	struct seam_images images;
	struct seam_processes ps;
};

static int set_up(void **state)
{
	static struct world w;

	w.ps.images = &w.images;
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	seam_processes_fini(&w->ps);
	seam_images_fini(&w->images);
	return 0;
}

/* A mapping without a build-id of the file with that inode. */
static void map_file(struct world *w, uint32_t pid, uint64_t start,
		     uint64_t len, uint64_t off, const char *path, uint64_t ino,
		     uint64_t time_ns)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t start, len, off;
		uint32_t maj, min;
		uint64_t ino, ino_generation;
		uint32_t prot, flags;
		char path[64];
	} rec = {
		.header = {PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER,
			   sizeof(rec)},
		.pid = pid,
		.tid = pid,
		.start = start,
		.len = len,
		.off = off,
		.ino = ino,
		.prot = PROT_READ | PROT_EXEC,
	};

	assert_true(strlen(path) < sizeof(rec.path));
	strcpy(rec.path, path);
	assert_int_equal(seam_processes_follow(&w->ps, time_ns, &rec.header),
			 0);
}

static void map(struct world *w, uint32_t pid, uint64_t start, uint64_t len,
		uint64_t off, const char *path)
{
	map_file(w, pid, start, len, off, path, 0, 1);
}

static void fork_to(struct world *w, uint32_t parent, uint32_t child)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, ppid, tid, ptid;
	} rec = {{PERF_RECORD_FORK, 0, sizeof(rec)},
		 child,
		 parent,
		 child,
		 parent};

	assert_int_equal(seam_processes_follow(&w->ps, 1, &rec.header), 0);
}

static void exec(struct world *w, uint32_t pid)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		char comm[8];
	} rec = {{PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, sizeof(rec)},
		 pid,
		 pid,
		 "x"};

	assert_int_equal(seam_processes_follow(&w->ps, 1, &rec.header), 0);
}

/* What is mapped at addr, in words; "": nothing. */
static const char *at(struct world *w, uint32_t pid, uint64_t addr)
{
	static char text[80];
	struct seam_process *p = seam_process_find(&w->ps, pid);
	struct seam_map *m;

	assert_non_null(p);
	m = seam_process_map(&w->ps, p, addr);
	text[0] = 0;
	if (m)
		snprintf(text, sizeof(text), "%llx-%llx %llx %s",
			 (unsigned long long)m->start,
			 (unsigned long long)m->end, (unsigned long long)m->off,
			 m->path);
	return text;
}

static void cut_in_the_middle(void **state)
{
	struct world *w = *state;

	map(w, PID, 0x1000, 0x9000, 0x100, "/old");
	assert_string_equal(at(w, PID, 0x9000), "1000-a000 100 /old");
	map(w, PID, 0x4000, 0x1000, 0, "/new");
	assert_string_equal(at(w, PID, 0xfff), "");
	assert_string_equal(at(w, PID, 0x1000), "1000-4000 100 /old");
	assert_string_equal(at(w, PID, 0x3fff), "1000-4000 100 /old");
	assert_string_equal(at(w, PID, 0x4000), "4000-5000 0 /new");
	assert_string_equal(at(w, PID, 0x5000), "5000-a000 4100 /old");
	assert_string_equal(at(w, PID, 0x9fff), "5000-a000 4100 /old");
	assert_string_equal(at(w, PID, 0xa000), "");
	/* And once more the part that was left above. */
	map(w, PID, 0x6000, 0x1000, 0, "/next");
	assert_string_equal(at(w, PID, 0x5000), "5000-6000 4100 /old");
	assert_string_equal(at(w, PID, 0x8000), "7000-a000 6100 /old");
	map(w, PID, 0x7000, 0x1000, 0, "/last");
	assert_string_equal(at(w, PID, 0x8000), "8000-a000 7100 /old");
	assert_string_equal(at(w, PID, 0x1000), "1000-4000 100 /old");
}

static void forked(void **state)
{
	struct world *w = *state;

	map(w, PID, 0x1000, 0x3000, 0, "/old");
	map(w, PID + 1, 0x1000, 0x9000, 0, "/before");
	fork_to(w, PID, PID + 1);
	map(w, PID, 0x2000, 0x1000, 0, "/new");
	assert_string_equal(at(w, PID + 1, 0x2000), "1000-4000 0 /old");
	assert_string_equal(at(w, PID + 1, 0x8000), "");
	exec(w, PID + 1);
	assert_string_equal(at(w, PID + 1, 0x2000), "");
	assert_string_equal(at(w, PID, 0x2000), "2000-3000 0 /new");
	assert_string_equal(at(w, PID, 0x3000), "3000-4000 2000 /old");
}

static void hostile(void **state)
{
	struct world *w = *state;

	map(w, PID, 0x1000, 0, 0, "/empty");
	map(w, PID, UINT64_MAX, 0x1000, 0, "/none");
	assert_null(seam_process_find(&w->ps, PID));
	map(w, PID, UINT64_MAX - 0xfff, UINT64_MAX, 0, "/top");
	assert_string_equal(at(w, PID, UINT64_MAX - 1),
			    "fffffffffffff000-ffffffffffffffff 0 /top");
	assert_string_equal(at(w, PID, 0), "");
}

/* The image of what is mapped at addr. */
static struct seam_image *image_at(struct world *w, uint64_t addr)
{
	struct seam_map *m =
		seam_process_map(&w->ps, seam_process_find(&w->ps, PID), addr);

	assert_non_null(m);
	return m->image;
}

/* A copy of this very program, an ELF file of which we know all. */
static void make_file(const char *path)
{
	char bytes[65536];
	FILE *from = fopen("/proc/self/exe", "rb"), *to = fopen(path, "wb");
	size_t n;

	assert_non_null(from);
	assert_non_null(to);
	while ((n = fread(bytes, 1, sizeof(bytes), from)))
		assert_int_equal(fwrite(bytes, 1, n, to), n);
	fclose(from);
	assert_int_equal(fclose(to), 0);
}

/* Without a build-id only the inode says whose code it is, and it is used
 * again at once. */
static void another_file(void **state)
{
	const uint64_t second = 1000000000;
	struct world *w = *state;
	char path[] = "/tmp/seam-process-XXXXXX";
	int fd = mkstemp(path);
	struct seam_image *image;
	struct stat st;

	assert_true(fd >= 0);
	make_file(path);
	assert_int_equal(fstat(fd, &st), 0);
	map_file(w, PID, 0x1000, 0x1000, 0, path, st.st_ino,
		 seam_now_ns() + second);
	image = image_at(w, 0x1000);
	assert_non_null(image);
	assert_non_null(image->elf);
	/* Mapped before the file last changed: it was another. */
	map_file(w, PID, 0x2000, 0x1000, 0, path, st.st_ino,
		 seam_now_ns() - second);
	assert_null(image_at(w, 0x2000));
	map_file(w, PID, 0x3000, 0x1000, 0, path, st.st_ino + 1,
		 seam_now_ns() + second);
	assert_null(image_at(w, 0x3000));
	close(fd);
	unlink(path);
}

/* What was opened in time is believed, of that mapping alone. */
static void known_file(void **state)
{
	/* Mappings name it until the tear-down. */
	static struct seam_image image, other;
	struct world *w = *state;
	struct seam_process *p;

	map(w, PID, 0x1000, 0x2000, 0, "/gone");
	map(w, PID, 0x5000, 0x1000, 0, "/gone too");
	p = seam_process_find(&w->ps, PID);
	seam_process_know(p, 0x2000, &other); /* none begins there */
	seam_process_know(p, 0x9000, &other);
	seam_process_know(p, 0x1000, &image);
	seam_process_know(p, 0x1000, &other);
	assert_ptr_equal(image_at(w, 0x2000), &image);
	assert_null(image_at(w, 0x5000));
	assert_int_equal(image.refs, 1);
	assert_int_equal(other.refs, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(cut_in_the_middle, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(forked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(hostile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(another_file, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(known_file, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
