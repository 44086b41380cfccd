// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: while who owns the tables of files does not answer, a client
 * loads for itself what is missing; what it has so goes when the owner has it,
 * or does not come to it for long, and nothing else goes with it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pager/tables-priv.h"

#define LOOKS 10
#define SIZE 100
#define MADE 900 /* a key of made code */

/* The kernel side: what it has of our own, and of the owner's file OF. */
enum { OF = 1, ALSO_OF, KEYS };
static struct {
	bool late, loads_own;
	int begins, ends, changes;
	struct seam_file_key own[KEYS];
	size_t n_own;
	uint32_t owners_state[KEYS]; /* 0: it has never heard of it */
} kernel;

static struct seam_file_key own_key(uint64_t ino)
{
	return (struct seam_file_key){.ino = ino,
				      .kind = ino == MADE ? SEAM_KEY_MEMORY
							  : SEAM_KEY_OWN};
}

static bool is_same(const struct seam_file_key *a,
		    const struct seam_file_key *b)
{
	return !memcmp(a, b, sizeof(*a));
}

bool __wrap_seam_kernel_owner_is_late(const struct seam_kernel *k, uint64_t ns);
bool __wrap_seam_kernel_owner_is_late(const struct seam_kernel *k, uint64_t ns)
{
	(void)k;
	assert_int_equal(ns, 2000000000);
	return kernel.late;
}

void __wrap_seam_kernel_load_own(struct seam_kernel *k, bool does);
void __wrap_seam_kernel_load_own(struct seam_kernel *k, bool does)
{
	(void)k;
	kernel.loads_own = does;
	kernel.begins += does;
	kernel.ends += !does;
}

void __wrap_seam_kernel_tables_changed(struct seam_kernel *k);
void __wrap_seam_kernel_tables_changed(struct seam_kernel *k)
{
	(void)k;
	kernel.changes++;
}

int __wrap_seam_kernel_table_get(struct seam_kernel *k,
				 const struct seam_file_key *key,
				 struct seam_table_ref *ret);
int __wrap_seam_kernel_table_get(struct seam_kernel *k,
				 const struct seam_file_key *key,
				 struct seam_table_ref *ret)
{
	(void)k;
	assert_int_equal(key->kind, SEAM_KEY_FILE);
	assert_true(key->ino < KEYS);
	if (!kernel.owners_state[key->ino])
		return -ENOENT;
	*ret = (struct seam_table_ref){.state = kernel.owners_state[key->ino]};
	return 0;
}

int __wrap_seam_kernel_table_drop(struct seam_kernel *k,
				  const struct seam_file_key *key);
int __wrap_seam_kernel_table_drop(struct seam_kernel *k,
				  const struct seam_file_key *key)
{
	size_t to = 0;

	(void)k;
	for (size_t i = 0; i < kernel.n_own; i++)
		if (!is_same(&kernel.own[i], key))
			kernel.own[to++] = kernel.own[i];
	kernel.n_own = to;
	return 0;
}

int __wrap_seam_kernel_own_table_next(struct seam_kernel *k,
				      const struct seam_file_key *key,
				      struct seam_file_key *ret);
int __wrap_seam_kernel_own_table_next(struct seam_kernel *k,
				      const struct seam_file_key *key,
				      struct seam_file_key *ret)
{
	size_t i = 0;

	(void)k;
	if (key) {
		while (i < kernel.n_own && !is_same(&kernel.own[i], key))
			i++;
		i++;
	}
	if (i >= kernel.n_own)
		return -ENOENT;
	*ret = kernel.own[i];
	return 0;
}

/* One of our own that is loaded, and in the kernel side's map. */
static void load(struct seam_tables *t, uint64_t ino)
{
	struct seam_tables_part *p = &t->made;

	p->loaded = realloc(p->loaded, (p->n + 1) * sizeof(*p->loaded));
	assert_non_null(p->loaded);
	p->loaded[p->n++] = (struct seam_loaded){
		.key = own_key(ino), .offset = SIZE * p->n, .size = SIZE};
	t->stats.loaded++;
	t->stats.bytes += SIZE;
	kernel.own[kernel.n_own++] = own_key(ino);
}

static int set_up(void **state)
{
	memset(&kernel, 0, sizeof(kernel));
	*state = calloc(1, sizeof(struct seam_tables));
	return !*state;
}

static int tear_down(void **state)
{
	struct seam_tables *t = *state;

	seam_absent_fini(&t->absent);
	free(t->made.loaded);
	free(t);
	return 0;
}

/* Of made code, and of OF in the owner's place. */
static void be_late(struct seam_tables *t)
{
	load(t, MADE);
	kernel.late = true;
	seam_tables_watch_owner(t);
	load(t, OF);
	kernel.owners_state[OF] = SEAM_TABLE_ASKED;
}

static void has_only_made(const struct seam_tables *t)
{
	assert_int_equal(t->made.n, 1);
	assert_int_equal(t->made.loaded[0].key.ino, MADE);
	assert_int_equal(t->stats.loaded, 1);
	assert_int_equal(t->stats.bytes, SIZE);
	assert_int_equal(kernel.n_own, 1);
	assert_int_equal(kernel.own[0].ino, MADE);
}

static void leaves_it_to_an_owner_that_answers(void **state)
{
	struct seam_tables *t = *state;

	seam_tables_watch_owner(t);
	assert_false(t->loads_own);
	assert_int_equal(kernel.begins + kernel.ends + kernel.changes, 0);
}

/* Who asked as it was ended the last time has no answer. */
static void begins_once_and_without_old_keys(void **state)
{
	struct seam_tables *t = *state;

	kernel.own[kernel.n_own++] = own_key(OF);
	load(t, MADE);
	kernel.late = true;
	for (int i = 0; i < 3; i++)
		seam_tables_watch_owner(t);
	assert_true(t->loads_own && kernel.loads_own);
	assert_int_equal(kernel.begins, 1);
	assert_int_equal(kernel.changes, 1);
	has_only_made(t);
}

static void stays_while_the_owner_has_it_not(void **state)
{
	struct seam_tables *t = *state;

	be_late(t);
	kernel.late = false;
	for (int i = 0; i < LOOKS; i++)
		seam_tables_watch_owner(t);
	assert_true(t->loads_own);
	assert_int_equal(t->made.n, 2);
	seam_tables_watch_owner(t);
	assert_false(t->loads_own || kernel.loads_own);
	assert_int_equal(kernel.changes, 2);
	has_only_made(t);
}

static void counts_looks_anew_when_it_is_late_again(void **state)
{
	struct seam_tables *t = *state;

	be_late(t);
	for (int round = 0; round < 2; round++) {
		kernel.late = false;
		for (int i = 0; i < LOOKS; i++)
			seam_tables_watch_owner(t);
		kernel.late = true;
		seam_tables_watch_owner(t);
	}
	assert_true(t->loads_own);
	assert_int_equal(kernel.begins, 1);
	assert_int_equal(t->made.n, 2);
}

static void ends_when_the_owner_has_all(void **state)
{
	struct seam_tables *t = *state;

	be_late(t);
	load(t, ALSO_OF);
	kernel.owners_state[ALSO_OF] = SEAM_TABLE_ASKED;
	kernel.late = false;
	kernel.owners_state[OF] = SEAM_TABLE_LOADED;
	seam_tables_watch_owner(t);
	assert_true(t->loads_own);
	kernel.owners_state[ALSO_OF] = SEAM_TABLE_NONE;
	seam_tables_watch_owner(t);
	assert_false(t->loads_own);
	has_only_made(t);
}

static void ends_with_the_session(void **state)
{
	struct seam_tables *t = *state;

	be_late(t);
	t->has_ended = true;
	seam_tables_watch_owner(t);
	assert_false(t->loads_own);
	has_only_made(t);
	seam_tables_watch_owner(t);
	assert_int_equal(kernel.begins, 1);
}

/* Made code has keys of its own in any case. */
static void names_them_as_its_own(void **state)
{
	const struct seam_file_key file = {.ino = OF};
	const struct seam_file_key made = own_key(MADE);
	struct seam_tables *t = *state;
	struct seam_file_key named;

	assert_true(is_same(seam_tables_key(t, &file, &named), &file));
	t->at.is_for_us = true;
	assert_int_equal(seam_tables_key(t, &file, &named)->kind, SEAM_KEY_OWN);
	assert_true(is_same(seam_tables_key(t, &made, &named), &made));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(leaves_it_to_an_owner_that_answers),
		TEST(begins_once_and_without_old_keys),
		TEST(stays_while_the_owner_has_it_not),
		TEST(counts_looks_anew_when_it_is_late_again),
		TEST(ends_when_the_owner_has_all),
		TEST(ends_with_the_session),
		TEST(names_them_as_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
