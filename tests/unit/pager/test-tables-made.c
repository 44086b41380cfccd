// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: where the kernel tells of no code that is made and ends, who
 * keeps a list of it has his stacks copied, and who keeps none, as most JIT
 * compilers, goes on without a table. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "one-table.h"
#include "pager/tables-priv.h"
#include "seam/jit.h"
#include "tests/unit/jit/made.h"

static struct {
	uint8_t code[32];
	struct made_section section;
} made;

static struct {
	struct seam_processes processes;
	struct seam_images images;
	struct seam_tables tables;
	int answers, spans;
	int err; /* of an answer */
} t;

bool __wrap_seam_kernel_hears_made(const struct seam_kernel *k);
bool __wrap_seam_kernel_hears_made(const struct seam_kernel *k)
{
	(void)k;
	return false;
}

/* So that it is seen where that is unmapped. */
int __wrap_seam_kernel_span(struct seam_kernel *k, uint32_t tgid,
			    uint64_t start, uint64_t size);
int __wrap_seam_kernel_span(struct seam_kernel *k, uint32_t tgid,
			    uint64_t start, uint64_t size)
{
	(void)k;
	assert_int_equal(tgid, getpid());
	assert_true(start <= (uintptr_t)made.code);
	assert_true(start + size >= (uintptr_t)made.code + sizeof(made.code));
	t.spans++;
	return 0;
}

int __wrap_seam_tables_without(struct seam_tables *tables,
			       const struct seam_file_key *key,
			       enum seam_table_state want,
			       enum seam_absence why);
int __wrap_seam_tables_without(struct seam_tables *tables,
			       const struct seam_file_key *key,
			       enum seam_table_state want,
			       enum seam_absence why)
{
	assert_ptr_equal(tables, &t.tables);
	assert_int_equal(key->ino, 9);
	assert_int_equal(why, SEAM_ABSENT_NO_CFI);
	t.answers++;
	if (!t.err)
		table_state = want;
	return t.err;
}

int __wrap_seam_kernel_table_drop(struct seam_kernel *k,
				  const struct seam_file_key *key);
int __wrap_seam_kernel_table_drop(struct seam_kernel *k,
				  const struct seam_file_key *key)
{
	(void)k;
	(void)key;
	table_state = 0;
	return 0;
}

uint32_t __wrap_seam_kernel_client(const struct seam_kernel *k);
uint32_t __wrap_seam_kernel_client(const struct seam_kernel *k)
{
	(void)k;
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

static enum seam_table_state answer(void)
{
	const struct seam_wire_miss miss = {
		.head = {.pid = (uint32_t)getpid()},
		.key = {.kind = SEAM_KEY_MEMORY, .ino = 9},
	};

	t.answers = 0;
	assert_int_equal(seam_tables_answer_made(&t.tables, &miss), 0);
	assert_int_equal(t.answers, 1);
	return table_state;
}

static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	table_state = 0;
	t.processes.images = &t.images;
	t.tables.processes = &t.processes;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	seam_absent_fini(&t.tables.absent);
	seam_processes_fini(&t.processes);
	seam_images_fini(&t.images);
	return 0;
}

static void where_nobody_tells(void **state)
{
	(void)state;
	assert_int_equal(answer(), SEAM_TABLE_NONE);
	assert_int_equal(t.spans, 0);
	made.section = made_section(
		(int64_t)((intptr_t)made.code - (intptr_t)&made.section),
		sizeof(made.code), 16);
	assert_int_equal(seam_jit_add(&made.section, sizeof(made.section),
				      made.code, sizeof(made.code), NULL),
			 0);
	assert_int_equal(answer(), SEAM_TABLE_ASKED);
	assert_int_equal(t.spans, 1);
	assert_true(t.processes.has_made);
	/* It is looked at for what may come. */
	assert_int_equal(seam_jit_remove(made.code), 0);
	assert_int_equal(answer(), SEAM_TABLE_ASKED);
}

/* There is no memory to answer with: it is asked for again, and counted. */
static void asked_again(void **state)
{
	const struct seam_wire_miss miss = {
		.head = {.pid = (uint32_t)getpid()},
		.key = {.kind = SEAM_KEY_MEMORY, .ino = 9},
	};

	(void)state;
	t.err = -ENOMEM;
	table_state = SEAM_TABLE_ASKED;
	assert_int_equal(seam_tables_serve(&t.tables, &miss, -1), -ENOMEM);
	assert_int_equal(table_state, 0);
	assert_int_equal(t.tables.stats.lost, 1);
	t.err = 0;
	assert_int_equal(seam_tables_serve(&t.tables, &miss, -1), 0);
	assert_int_equal(table_state, SEAM_TABLE_ASKED);
	assert_int_equal(t.tables.stats.lost, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(where_nobody_tells, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(asked_again, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
