// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: code is read from the ELF file that is mapped; from other files
 * and from memory only to guess by, and nobody waits for a page that never
 * comes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "process/code.h"
#include "tests/unit/never.h"
#include "tests/unit/records.h"
#include "tests/unit/skip.h"

#define CODE 0x10000
#define PAGE 4096

struct world {
	struct seam_images images;
	struct seam_processes ps;
	struct seam_code_pages pages;
	char path[64];
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int fd;

	w->ps.images = &w->images;
	strcpy(w->path, "/tmp/seam-code-XXXXXX");
	fd = mkstemp(w->path);
	*state = w;
	return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
	struct world *w = *state;

	seam_code_fini(&w->pages);
	seam_processes_fini(&w->ps);
	seam_images_fini(&w->images);
	unlink(w->path);
	free(w);
	return 0;
}

/* Two pages, of which the second ends early. */
static void make_file(const struct world *w, const char *magic)
{
	uint8_t bytes[PAGE + 100];
	FILE *f = fopen(w->path, "wb");

	assert_non_null(f);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	memcpy(bytes, magic, strlen(magic));
	assert_int_equal(fwrite(bytes, sizeof(bytes), 1, f), 1);
	assert_int_equal(fclose(f), 0);
}

/* Mapped an hour later, when the file was old; this process's memory has
 * nothing there. */
static struct seam_process *map(struct world *w, uint64_t start)
{
	union record r;
	uint32_t pid = (uint32_t)getpid();

	assert_int_equal(
		seam_processes_follow(&w->ps, seam_now_ns() + 3600000000000,
				      map_record(&r, pid, start, w->path)),
		0);
	return seam_process_find(&w->ps, pid);
}

static size_t get(struct world *w, struct seam_process *p, uint64_t avma,
		  enum seam_dump_when when, uint8_t ret[16])
{
	return seam_code_read(&w->pages, &w->ps, p, avma, when, ret, 16);
}

static void test_elf(void **state)
{
	struct world *w = *state;
	struct seam_process *p;
	uint8_t got[16];

	make_file(w, "\177ELF");
	p = map(w, CODE);
	assert_int_equal(get(w, p, CODE + 256, SEAM_DUMP_THEN, got), 16);
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(got[i], (uint8_t)((256 + i) * 7));
	/* Up to the end of the mapping. */
	assert_int_equal(get(w, p, CODE + PAGE - 4, SEAM_DUMP_THEN, got), 4);
	assert_int_equal(get(w, p, CODE + PAGE, SEAM_DUMP_THEN, got), 0);
	assert_int_equal(get(w, NULL, CODE, SEAM_DUMP_NOW, got), 0);
	/* Another file by now, but not for this stack. */
	make_file(w, "\177ELF2");
	assert_int_equal(get(w, p, CODE, SEAM_DUMP_THEN, got), 16);
	seam_code_forget(&w->pages);
	assert_int_equal(get(w, p, CODE, SEAM_DUMP_THEN, got), 0);
}

/* Of a file that is no ELF file the process's memory has what is true. */
static void test_other_file(void **state)
{
	static uint8_t here[2 * PAGE] __attribute__((aligned(PAGE)));
	struct world *w = *state;
	struct seam_process *p;
	uint8_t got[16];

	make_file(w, "code");
	p = map(w, (uint64_t)(uintptr_t)here);
	here[5] = 77;
	assert_int_equal(
		get(w, p, (uint64_t)(uintptr_t)here, SEAM_DUMP_THEN, got), 0);
	assert_int_equal(
		get(w, p, (uint64_t)(uintptr_t)here, SEAM_DUMP_NOW, got), 16);
	assert_memory_equal(got, here, 16);
	/* What was read so is still no proof. */
	assert_int_equal(
		get(w, p, (uint64_t)(uintptr_t)here, SEAM_DUMP_THEN, got), 0);
}

static void test_never(void **state)
{
	struct world *w = *state;
	struct seam_process *p;
	uint8_t got[16];
	uint64_t at;
	int fd;
	void *page = never(&fd);

	if (!page)
		skip_since("userfaultfd cannot be had here");
	at = (uint64_t)(uintptr_t)page;
	make_file(w, "code");
	p = map(w, at);
	assert_int_equal(get(w, p, at, SEAM_DUMP_NOW, got), 0);
	assert_int_equal(w->ps.jit.peek.left, 1);
	/* Neither again for this stack nor for the next. */
	assert_int_equal(get(w, p, at + 8, SEAM_DUMP_NOW, got), 0);
	seam_code_forget(&w->pages);
	assert_int_equal(get(w, p, at, SEAM_DUMP_NOW, got), 0);
	assert_int_equal(w->ps.jit.peek.left, 1);
	close(fd); /* which lets the reader go */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_elf, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_file, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_never, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
