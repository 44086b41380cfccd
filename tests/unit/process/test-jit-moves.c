// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: of a list whose entries move as it is read, nothing is believed
 * to be gone that was passed over. */
#include "jit-world.h"

#define ENTRIES 4 /* of the list; one of the sections has two */
#define MOVES 2 /* the section that does */

static struct {
	struct seam_jit_registry *list; /* NULL: nothing moves */
	int reads; /* of its entries */
} moving;

int __real_seam_peek_read(struct seam_peek *p, uint32_t pid, uint64_t addr,
			  void *to, size_t size);
int __wrap_seam_peek_read(struct seam_peek *p, uint32_t pid, uint64_t addr,
			  void *to, size_t size);

/* Of the list, as it is while one moves down. */
static void stand_at(struct seam_jit_registry *r, uint64_t at)
{
	for (uint64_t i = 0; i < ENTRIES; i++)
		set_entry(r, i, 0, 1);
	set_entry(r, 2, 1, 2);
	set_entry(r, at, MOVES, 3);
}

/* Each other time it moves from where is yet to be read to where was. */
int __wrap_seam_peek_read(struct seam_peek *p, uint32_t pid, uint64_t addr,
			  void *to, size_t size)
{
	const size_t half = ENTRIES / 2 * sizeof(struct seam_jit_entry);
	struct seam_jit_registry *r = moving.list;
	int err;

	if (!r || addr != (uint64_t)(uintptr_t)r->entries || moving.reads++ % 2)
		return __real_seam_peek_read(p, pid, addr, to, size);
	stand_at(r, ENTRIES - 1);
	err = __real_seam_peek_read(p, pid, addr, to, half);
	stand_at(r, 0);
	return err ? err
		   : __real_seam_peek_read(p, pid, addr + half,
					   (uint8_t *)to + half, size - half);
}

static void test_moves(void **state)
{
	struct world *w = *state;
	struct seam_jit_registry *r = lie(4096);

	r->num = ENTRIES;
	r->changes = 2;
	stand_at(r, 0);
	scan(w);
	assert_int_equal(w->jit.n, 3);
	r->changes = 3;
	moving.list = r;
	scan(w);
	assert_true(moving.reads > 1);
	moving.list = NULL;
	assert_int_equal(w->jit.n, 3);
	assert_int_equal(cfa(&w->jit, MOVES), 16);
	assert_int_equal(w->reader.stats.removed, 0);
	munmap(r, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_moves, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
