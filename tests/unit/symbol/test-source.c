/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Description: debugging information that was made to take forever, all
 * memory or all stack is used as far as it goes, and what stopped it has a
 * name; when memory runs out in our own allocations, nothing leaks and later
 * look-ups work. A failure may be a test that does not end.
 */
#include "run.h"

#include <errno.h>

#include "symbol/source.h"
#include "tests/unit/oom.h"

/* The linker gives these to our code in place of the C library's. libdw's own
 * allocations always work: some of theirs end in an assertion. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t num, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_reallocarray(void *p, size_t num, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t num, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_reallocarray(void *p, size_t num, size_t size);

void *__wrap_malloc(size_t size)
{
	return may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t num, size_t size)
{
	return may_allocate() ? __real_calloc(num, size) : NULL;
}

void *__wrap_realloc(void *p, size_t size)
{
	return may_allocate() ? __real_realloc(p, size) : NULL;
}

void *__wrap_reallocarray(void *p, size_t num, size_t size)
{
	return may_allocate() ? __real_reallocarray(p, num, size) : NULL;
}

static struct seam_elf *open_input(const char *name)
{
	struct seam_elf *elf;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", getenv("SEAM_CORPUS"), name);
	assert_int_equal(seam_symbol_open_elf(path, &elf), 0);
	return elf;
}

/* Inputs of the fuzzer that each have code at 0x1000. */
static const struct {
	const char *name, *problem;
	int frames; /* at the code's first byte */
} hostile[] = {
	{"origin-itself", NULL, 2},
	{"origin-each-other", NULL, 2},
	{"origin-alt-itself", NULL, 2},
	{"abbreviation-huge", "damaged", 1},
	{"abbreviation-wide", "more work", 1},
	{"scopes-deep", "nests deeper", 1},
	{"calls-deep", "nests deeper", SEAM_SOURCE_DEPTH},
	{"sibling-itself", "damaged", 1},
	{"ranges-shared", "more work", 1},
	{"lines-empty-entries", "line information is damaged", 1},
	{"lines-many-entries", "line information is damaged", 1},
	{"split4", ".dwo", 1},
	{"split5", ".dwo", 1},
};

static void test_hostile(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
		struct seam_elf *elf = open_input(hostile[i].name);
		const struct seam_source_frame *frames;
		struct seam_source *s;
		const char *why;
		int n;

		assert_int_equal(seam_source_open(elf, elf, true, &s), 0);
		n = seam_source_find(s, 0x1000, &frames);
		why = seam_source_problem(s);
		print_message("%s: %d frames, %s\n", hostile[i].name, n,
			      why ? why : "no problem");
		assert_int_equal(!why, !hostile[i].problem);
		if (why)
			assert_non_null(strstr(why, hostile[i].problem));
		assert_int_equal(n, hostile[i].frames);
		seam_source_close(s);
		seam_elf_close(elf);
	}
}

/* Return: how many allocations were left of n; -1: they were too few. */
static long use(struct seam_elf *elf, long n)
{
	const struct seam_source_frame *frames;
	struct seam_source *s = NULL;
	int rc;

	left = n;
	rc = seam_source_open(elf, elf, true, &s);
	for (uint64_t svma = 0x1000; !rc && svma < 0x1100; svma += 4) {
		rc = seam_source_find(s, svma, &frames);
		assert_true(rc >= 0 || rc == -ENOMEM);
		rc = rc < 0 ? rc : 0;
	}
	n = left;
	left = -1;
	seam_source_close(s);
	assert_true(!rc || rc == -ENOMEM);
	return rc ? -1 : n;
}

static void test_out_of_memory(void **state)
{
	static const char *const names[] = {"gcc4", "gxx5", "clang5", "zstd"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct seam_elf *elf = open_input(names[i]);
		long n = 0;

		/* Names and paths do without; so it goes on until some are
		 * left over. */
		while (use(elf, n) <= 0)
			n++;
		print_message("%s: %ld allocations\n", names[i], n);
		assert_true(n > 10);
		seam_elf_close(elf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
