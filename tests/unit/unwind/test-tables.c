// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: of stretches that overlap the one added last is asked, at each
 * address, however they lie; and what is no file, no ELF file or no process is
 * refused with the error that the man page names, and without errno.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/err.h"
#include "core/sframe-format.h"
#include "sframe/encode.h"
#include "unwind/tables.h"

#define SPACE 256u
#define STRETCHES 60
#define SPACES 200

/* The whole space has one rule: CFA = SP + 8 * number. */
static uint8_t *build_section(unsigned int number, size_t *ret_size)
{
	const struct seam_sframe_builder_func func = {.start = 0};
	const struct seam_rule rule = {.cfa = {.kind = SEAM_REG_OFF,
					       .reg = 7,
					       .off = 8 * (int32_t)number}};
	struct seam_sframe_builder *b;
	uint8_t *bytes;

	assert_int_equal(seam_sframe_builder_new(0, &b), 0);
	assert_int_equal(seam_sframe_builder_begin(b, &func), 0);
	assert_int_equal(seam_sframe_builder_row(b, 0, &rule), 0);
	assert_int_equal(seam_sframe_builder_end(b, SPACE), 0);
	assert_int_equal(
		seam_sframe_builder_finish(b, 0, &bytes, ret_size, NULL), 0);
	seam_sframe_builder_free(b);
	return bytes;
}

/* last: of each address the stretch that was added last; 0: none. */
static void check(struct seam_tables *tables, const unsigned int *last)
{
	for (unsigned int pc = 0; pc < SPACE; pc++) {
		struct seam_rule rule;
		int r = seam_tables_rule(tables, SEAM_SFRAME_ABI_AMD64, pc,
					 &rule);

		assert_int_equal(r, last[pc] ? SEAM_OK : SEAM_NO_TABLE);
		if (last[pc])
			assert_int_equal(rule.cfa.off, 8 * (int)last[pc]);
	}
}

static void overlapping(void **state)
{
	uint8_t *sections[STRETCHES + 1];
	size_t sizes[STRETCHES + 1];

	(void)state;
	for (unsigned int i = 1; i <= STRETCHES; i++)
		sections[i] = build_section(i, &sizes[i]);
	srand(1);
	for (int round = 0; round < SPACES; round++) {
		unsigned int last[SPACE] = {0};
		struct seam_tables *tables;

		assert_int_equal(seam_tables_new(&tables), 0);
		for (unsigned int i = 1; i <= STRETCHES; i++) {
			unsigned int start = (unsigned int)rand() % SPACE;
			unsigned int end = start + (unsigned int)rand() % 40;

			if (end > SPACE)
				end = SPACE;
			assert_int_equal(seam_tables_add_sframe(
						 tables, start, end, 0,
						 sections[i], sizes[i], NULL),
					 0);
			while (start < end)
				last[start++] = i;
			if (i % 10 == 0)
				check(tables, last);
		}
		seam_tables_free(tables);
	}
	for (unsigned int i = 1; i <= STRETCHES; i++)
		free(sections[i]);
}

/* More than any system gives. */
#define NO_PID 0x7fffffff

static void refused(void **state)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct seam_errinfo why = {0};
	struct seam_tables *t;
	struct seam_rule rule;
	pid_t pid = NO_PID;
	uint64_t word;

	(void)state;
	assert_int_equal(seam_tables_new(&t), 0);
	errno = 0;
	assert_int_equal(seam_tables_add_file(t, 0, 64, 0, -1, &why), -EBADF);
	assert_int_equal(seam_tables_add_file(t, 0, 64, 0, null, &why),
			 -EINVAL);
	assert_true(why.reason[0]);
	assert_int_equal(seam_tables_add_sframe(t, 0, 64, 0, "no", 2, &why),
			 -EINVAL);
	assert_string_equal(seam_err_name(why.code), "sframe-short");
	assert_int_equal(seam_tables_add_process(t, pid, NULL), -ENOENT);
	assert_int_equal(seam_read_process(&pid, 64, &word, 8), -ESRCH);
	assert_int_equal(errno, 0);
	assert_int_equal(seam_tables_rule(t, SEAM_SFRAME_ABI_AMD64, 10, &rule),
			 SEAM_NO_TABLE);
	assert_null(seam_tables_free(t));
	assert_null(seam_tables_free(NULL));
	close(null);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overlapping),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
