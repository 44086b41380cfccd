// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what a process's list has no more is still what was there before
 * its end is told, up to a number of them, and for its children. */
#include <stdio.h>

#include "jit-world.h"
#include "tests/unit/records.h"

/* A list may be read before the end of what went from it is told: until then
 * it is what was there before, if not what is there now. */
static void test_past(void **state)
{
	struct world *w = *state;
	struct seam_jit child = {.reader = &w->reader};
	const uint64_t code = code_of(2) + 8;
	const struct seam_jit_table *was, *now;
	uint64_t before_ns, after_ns;

	w->jit.is_heard = true;
	add(2, 16);
	before_ns = seam_now_ns();
	scan(w);
	was = seam_jit_find_at(&w->jit, code, before_ns);
	assert_non_null(was);
	assert_true(was->is_sure);
	assert_null(seam_jit_find_at(&w->jit, code, was->since_ns - 1));
	assert_int_equal(seam_jit_remove(all[2].code), 0);
	add(2, 48);
	after_ns = seam_now_ns();
	scan(w);
	now = seam_jit_find_at(&w->jit, code, after_ns);
	assert_ptr_equal(now, seam_jit_find(&w->jit, code));
	assert_ptr_not_equal(now, was);
	assert_ptr_equal(seam_jit_find_at(&w->jit, code, before_ns), was);
	assert_int_equal(seam_jit_copy(&child, &w->jit), 0);
	/* Of something else, and of before it was there. */
	seam_jit_end(&w->jit, code_of(3), CODE_SIZE, after_ns);
	seam_jit_end(&w->jit, code_of(2), CODE_SIZE, was->since_ns - 1);
	assert_ptr_equal(seam_jit_find_at(&w->jit, code, before_ns), was);
	seam_jit_end(&w->jit, code_of(2), CODE_SIZE, before_ns);
	assert_null(seam_jit_find_at(&w->jit, code, before_ns));
	assert_ptr_equal(seam_jit_find_at(&w->jit, code, after_ns), now);
	/* The child's go by themselves, as by unmapping. */
	assert_ptr_equal(seam_jit_find_at(&child, code, before_ns), was);
	seam_jit_unmap(&child, code_of(2), CODE_SIZE, before_ns);
	assert_null(seam_jit_find_at(&child, code, before_ns));
	seam_jit_fini(&child);
	assert_int_equal(seam_jit_remove(all[2].code), 0);
}

/* Who tells of no end has what is past for so many. */
static void test_past_full(void **state)
{
	struct world *w = *state;
	uint64_t times_ns[300];
	int kept = 0;

	w->jit.is_heard = true;
	for (int i = 0; i < 300; i++) {
		add(2, 16);
		times_ns[i] = seam_now_ns();
		scan(w);
		assert_int_equal(seam_jit_remove(all[2].code), 0);
	}
	scan(w);
	for (int i = 0; i < 300; i++)
		kept += seam_jit_find_at(&w->jit, code_of(2) + 8,
					 times_ns[i]) != NULL;
	assert_int_equal(kept, 256);
	assert_null(seam_jit_find_at(&w->jit, code_of(2) + 8, times_ns[43]));
}

/* A child that inherits nothing but what is past has room for as much as any
 * other. */
static void test_past_bytes(void **state)
{
	struct world *w = *state;
	struct seam_jit child = {.reader = &w->reader};

	w->jit.is_heard = true;
	add(2, 16);
	scan(w);
	assert_int_equal(w->jit.bytes, sizeof(all[2].section));
	assert_int_equal(seam_jit_remove(all[2].code), 0);
	scan(w);
	assert_int_equal(w->jit.n, 0);
	assert_int_equal(w->jit.bytes, sizeof(all[2].section));
	assert_int_equal(seam_jit_copy(&child, &w->jit), 0);
	assert_int_equal(child.bytes, sizeof(all[2].section));
	seam_jit_end(&child, code_of(2), CODE_SIZE, seam_now_ns());
	assert_int_equal(child.bytes, 0);
	add(3, 16);
	assert_int_equal(seam_jit_scan(&child, self()), 0);
	assert_int_equal(cfa(&child, 3), 16);
	assert_int_equal(w->reader.stats.refused[SEAM_JIT_TOO_MUCH], 0);
	seam_jit_fini(&child);
	assert_int_equal(seam_jit_remove(all[3].code), 0);
}

/* What went while its section was read may have had another's bytes. */
static void test_unsure(void **state)
{
	struct world *w = *state;
	uint64_t before_ns;

	w->jit.is_heard = true;
	add(2, 16);
	before_ns = seam_now_ns();
	scan(w);
	assert_int_equal(w->jit.n, 1);
	w->jit.v[0]->is_sure = false;
	assert_int_equal(seam_jit_remove(all[2].code), 0);
	scan(w);
	assert_null(seam_jit_find_at(&w->jit, code_of(2) + 8, before_ns));
	assert_int_equal(w->jit.bytes, 0);
}

/* Nobody tells of ends: what is not there any more is not believed. */
static void test_unheard(void **state)
{
	struct world *w = *state;
	uint64_t before_ns;

	add(2, 16);
	before_ns = seam_now_ns();
	scan(w);
	assert_non_null(seam_jit_find_at(&w->jit, code_of(2) + 8, before_ns));
	assert_int_equal(seam_jit_remove(all[2].code), 0);
	scan(w);
	assert_null(seam_jit_find_at(&w->jit, code_of(2) + 8, before_ns));
	assert_int_equal(w->jit.bytes, 0);
}

/* So what is known is looked at again for each later time; and of who is gone
 * nobody knows what was there in the end. */
static void test_seen(void **state)
{
	struct world *w = *state;
	const uint64_t code = code_of(2) + 8;
	uint64_t first_ns, second_ns;

	add(2, 16);
	first_ns = seam_now_ns();
	scan(w);
	assert_non_null(seam_jit_find_seen(&w->jit, (uint32_t)getpid(), code,
					   first_ns));
	assert_int_equal(seam_jit_remove(all[2].code), 0);
	add(2, 48);
	second_ns = seam_now_ns();
	/* The one of then is still all that was read. */
	assert_non_null(seam_jit_find_at(&w->jit, code, second_ns));
	assert_null(seam_jit_find_seen(&w->jit, ended_pid(), code, second_ns));
	assert_non_null(seam_jit_find_seen(&w->jit, (uint32_t)getpid(), code,
					   second_ns));
	assert_ptr_equal(seam_jit_find_seen(&w->jit, (uint32_t)getpid(), code,
					    second_ns),
			 seam_jit_find(&w->jit, code));
	assert_true(seam_jit_find(&w->jit, code)->since_ns > first_ns);
	assert_null(seam_jit_find_seen(&w->jit, (uint32_t)getpid(), code,
				       first_ns));
	assert_int_equal(seam_jit_remove(all[2].code), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_past, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_past_full, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_past_bytes, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_unsure, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_seen, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unheard, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
