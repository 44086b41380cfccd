// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: the sections that a process has in its memory are read as it
 * lists them, joined for a mapping, shared with a child; a list that lies, or
 * memory that never comes, is refused by its reason, in bounded time. */
#include <fcntl.h>
#include <pthread.h>

#include "jit-world.h"
#include "tests/unit/never.h"
#include "tests/unit/skip.h"

static void test_list(void **state)
{
	struct world *w = *state;
	struct seam_jit child = {.reader = &w->reader};
	bool changed;

	scan(w);
	assert_int_equal(w->jit.n, 0);
	add(3, 32);
	add(1, 16);
	scan(w);
	assert_int_equal(w->jit.n, 2);
	assert_int_equal(cfa(&w->jit, 3), 32);
	assert_int_equal(cfa(&w->jit, 1), 16);
	assert_int_equal(cfa(&w->jit, 2), 0);
	assert_int_equal(seam_jit_rescan(&w->jit, self(), &changed), 0);
	assert_false(changed);
	assert_int_equal(seam_jit_copy(&child, &w->jit), 0);
	assert_int_equal(seam_jit_remove(all[3].code), 0);
	add(3, 48);
	assert_int_equal(seam_jit_rescan(&w->jit, self(), &changed), 0);
	assert_true(changed);
	assert_int_equal(cfa(&w->jit, 3), 48);
	assert_int_equal(cfa(&child, 3), 32);
	seam_jit_fini(&child);
	assert_int_equal(seam_jit_remove(all[3].code), 0);
	assert_int_equal(seam_jit_remove(all[1].code), 0);
	scan(w);
	assert_int_equal(w->jit.n, 0);
}

/* What was removed is not believed, even where the list cannot be read. */
static void test_end(void **state)
{
	struct world *w = *state;
	uint64_t before = seam_now_ns();

	add(5, 32);
	add(6, 48);
	scan(w);
	seam_jit_end(&w->jit, code_of(5), CODE_SIZE, before);
	seam_jit_end(&w->jit, code_of(4), CODE_SIZE, UINT64_MAX);
	seam_jit_end(&w->jit, code_of(5), UINT64_MAX, UINT64_MAX);
	assert_int_equal(w->jit.n, 2);
	seam_jit_end(&w->jit, code_of(5), CODE_SIZE, UINT64_MAX);
	assert_int_equal(cfa(&w->jit, 5), 0);
	assert_int_equal(cfa(&w->jit, 6), 48);
	assert_int_equal(seam_jit_remove(all[5].code), 0);
	assert_int_equal(seam_jit_remove(all[6].code), 0);
	w->jit.is_slow = true;
	scan(w);
	assert_int_equal(w->jit.n, 0);
}

static void test_join(void **state)
{
	struct world *w = *state;
	uint64_t start = code_of(10), end = code_of(20);
	struct seam_sframe sf;
	struct seam_rule rule;
	uint8_t *bytes;
	size_t size;

	for (int i = 8; i < 24; i++)
		add(i, (uint8_t)(8 * i - 56));
	scan(w);
	assert_int_equal(seam_jit_join(&w->jit, 0, 4096, &bytes, &size),
			 -ENOENT);
	assert_int_equal(seam_jit_join(&w->jit, start, end, &bytes, &size), 0);
	assert_int_equal(seam_sframe_open(&sf, bytes, size), 0);
	assert_int_equal(sf.num_fdes, 10);
	for (int i = 10; i < 20; i++) {
		assert_int_equal(
			seam_sframe_find(&sf, code_of(i) + 8 - start, &rule),
			0);
		assert_int_equal(rule.cfa.off, 8 * i - 56);
	}
	free(bytes);
	for (int i = 8; i < 24; i++)
		assert_int_equal(seam_jit_remove(all[i].code), 0);
}

static void put(struct world *w, uint64_t sframe, uint64_t size, uint64_t code,
		uint64_t code_size)
{
	struct seam_jit_section s = {.sframe = sframe,
				     .sframe_size = size,
				     .code = code,
				     .code_size = code_size};

	assert_int_equal(seam_jit_put(&w->jit, self(), &s), 0);
}

static void test_refused(void **state)
{
	struct world *w = *state;
	const uint64_t *refused = w->reader.stats.refused;
	const size_t size = sizeof(struct made_section);

	make(0, 16);
	make(1, 16);
	put(w, section_of(0), size, code_of(0), CODE_SIZE);
	assert_int_equal(w->reader.stats.added, 1);
	put(w, section_of(0), size, code_of(0), CODE_SIZE);
	put(w, section_of(0), size, code_of(0) - 8, 9);
	put(w, section_of(0), size, code_of(0) - 8, 4096);
	assert_int_equal(refused[SEAM_JIT_OVERLAP], 3);
	put(w, section_of(1), size, code_of(1), 0);
	put(w, section_of(1), 0, code_of(1), CODE_SIZE);
	put(w, section_of(1), size, code_of(1), UINT64_MAX);
	put(w, UINT64_MAX - 8, size, code_of(1), CODE_SIZE);
	put(w, 0, size, code_of(1), CODE_SIZE);
	assert_int_equal(refused[SEAM_JIT_BAD_RANGE], 5);
	put(w, section_of(1), size - 1, code_of(1), CODE_SIZE);
	put(w, section_of(1), size, code_of(1), CODE_SIZE - 1);
	put(w, section_of(1), size, code_of(1) + 1, CODE_SIZE);
	assert_int_equal(refused[SEAM_JIT_MALFORMED], 3);
	put(w, 4096, size, code_of(1), CODE_SIZE);
	assert_int_equal(refused[SEAM_JIT_UNREADABLE], 1);
	put(w, section_of(1), SEAM_JIT_MAX_SECTION + 1, code_of(1), CODE_SIZE);
	assert_int_equal(refused[SEAM_JIT_TOO_MUCH], 1);
	seam_jit_take(&w->jit, section_of(1));
	assert_int_equal(refused[SEAM_JIT_UNKNOWN], 1);
	seam_jit_take(&w->jit, section_of(0));
	assert_int_equal(w->jit.n, 0);
}

/* Code that is unmapped without a word: its entry is still in the list, and
 * says nothing any more. */
static void test_unmap(void **state)
{
	struct world *w = *state;
	const struct seam_jit_stats *st = &w->reader.stats;
	struct seam_jit child = {.reader = &w->reader};
	uint64_t before = seam_now_ns();
	bool changed;

	for (int i = 30; i < 33; i++)
		add(i, 32);
	scan(w);
	assert_int_equal(seam_jit_copy(&child, &w->jit), 0);
	seam_jit_unmap(&w->jit, code_of(31), 1, before);
	seam_jit_unmap(&w->jit, code_of(31), 0, UINT64_MAX);
	seam_jit_unmap(&w->jit, code_of(31), UINT64_MAX, UINT64_MAX);
	assert_int_equal(st->unmapped, 0);
	assert_int_equal(st->vain, 1);
	seam_jit_unmap(&w->jit, code_of(31) + CODE_SIZE - 1, 1, seam_now_ns());
	assert_int_equal(st->unmapped, 1);
	/* Another's change has it look at all anew. */
	add(40, 16);
	assert_int_equal(seam_jit_rescan(&w->jit, self(), &changed), 0);
	assert_int_equal(st->unmapped, 1);
	assert_int_equal(cfa(&w->jit, 30), 32);
	assert_int_equal(cfa(&w->jit, 31), 0);
	assert_int_equal(cfa(&w->jit, 32), 32);
	assert_int_equal(cfa(&w->jit, 40), 16);
	assert_int_equal(cfa(&child, 31), 32);
	seam_jit_fini(&child);
	/* And what comes there later is believed. */
	assert_int_equal(seam_jit_remove(all[31].code), 0);
	add(31, 48);
	scan(w);
	assert_int_equal(cfa(&w->jit, 31), 48);
	for (int i = 30; i < 33; i++)
		assert_int_equal(seam_jit_remove(all[i].code), 0);
	assert_int_equal(seam_jit_remove(all[40].code), 0);
}

/* What the list had when code was unmapped, but is read only later. */
static void test_unmap_unread(void **state)
{
	struct world *w = *state;

	add(30, 32);
	seam_jit_unmap(&w->jit, code_of(30), CODE_SIZE, seam_now_ns());
	add(31, 32);
	scan(w);
	assert_int_equal(cfa(&w->jit, 30), 0);
	assert_int_equal(cfa(&w->jit, 31), 32);
	assert_int_equal(w->reader.stats.unmapped, 1);
	scan(w);
	assert_int_equal(w->reader.stats.unmapped, 1);
	assert_int_equal(seam_jit_remove(all[30].code), 0);
	assert_int_equal(seam_jit_remove(all[31].code), 0);
}

/* Word of their end may be lost: those that were there by then are over. */
static void test_untold(void **state)
{
	struct world *w = *state;
	const struct seam_jit_stats *st = &w->reader.stats;
	struct seam_jit_section later = {
		.sframe = section_of(0),
		.sframe_size = sizeof(struct made_section),
		.code = code_of(0),
		.code_size = CODE_SIZE,
	};
	uint64_t then;

	add(30, 32);
	add(31, 32);
	scan(w);
	then = seam_now_ns();
	make(0, 16);
	later.since_ns = then + 1;
	assert_int_equal(seam_jit_put(&w->jit, self(), &later), 0);
	seam_jit_untold(&w->jit, code_of(31), CODE_SIZE, then);
	assert_int_equal(st->untold, 1);
	assert_int_equal(cfa(&w->jit, 30), 32);
	assert_int_equal(cfa(&w->jit, 31), 0);
	seam_jit_untold(&w->jit, 0, UINT64_MAX, then);
	assert_int_equal(st->untold, 2);
	assert_int_equal(cfa(&w->jit, 30), 0);
	scan(w);
	assert_int_equal(cfa(&w->jit, 30), 0);
	assert_int_equal(cfa(&w->jit, 0), 16);
	assert_int_equal(st->unmapped + st->vain, 0);
	for (int i = 30; i < 32; i++)
		assert_int_equal(seam_jit_remove(all[i].code), 0);
}

/* Sections of prctl: whether or not they are taken away afterwards. */
static void test_unmap_told(void **state)
{
	struct world *w = *state;
	const size_t size = sizeof(struct made_section);
	const struct seam_jit_stats *st = &w->reader.stats;

	for (int i = 0; i < 2; i++) {
		make(i, 16);
		put(w, section_of(i), size, code_of(i), CODE_SIZE);
	}
	seam_jit_doubt(&w->jit, code_of(0), code_of(0) + 1, 0);
	assert_int_equal(st->unseen, 0);
	seam_jit_doubt(&w->jit, code_of(0), code_of(0) + 1, 1);
	seam_jit_doubt(&w->jit, code_of(0), code_of(0) + 1, 2);
	assert_int_equal(st->unseen, 1);
	seam_jit_unmap(&w->jit, code_of(0), CODE_SIZE, seam_now_ns());
	assert_int_equal(st->unmapped, 1);
	assert_int_equal(w->jit.n, 1);
	seam_jit_take(&w->jit, section_of(0));
	assert_int_equal(st->refused[SEAM_JIT_UNKNOWN], 0);
	seam_jit_take(&w->jit, section_of(0));
	assert_int_equal(st->refused[SEAM_JIT_UNKNOWN], 1);
	make(0, 48);
	put(w, section_of(0), size, code_of(0), CODE_SIZE);
	assert_int_equal(cfa(&w->jit, 0), 48);
}

/* However often it is told to, it reads only so much. */
static void test_too_much(void **state)
{
	struct world *w = *state;
	size_t size = SEAM_JIT_MAX_SECTION;
	uint8_t *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint64_t *refused = w->reader.stats.refused;
	uint64_t began = seam_now_ns(), seconds;

	assert_true(bytes != MAP_FAILED);
	for (int i = 0; i < 100; i++)
		put(w, (uint64_t)(uintptr_t)bytes, size, code_of(i % PLACES),
		    CODE_SIZE);
	seconds = (seam_now_ns() - began) / 1000000000 + 2;
	assert_int_equal(
		refused[SEAM_JIT_TOO_MUCH] + refused[SEAM_JIT_MALFORMED], 100);
	assert_true(refused[SEAM_JIT_MALFORMED] * size <=
		    seconds * SEAM_JIT_MAX_PROCESS);
	munmap(bytes, size);
}

static void test_lies(void **state)
{
	struct world *w = *state;
	struct seam_jit_registry *r = lie(16384);
	const uint64_t *refused = w->reader.stats.refused;

	r->num = UINT64_MAX / 48;
	scan(w);
	r->num = 1000; /* more than there is room for */
	scan(w);
	assert_int_equal(w->jit.n, 0);
	r->num = 1;
	r->changes = 1; /* for ever */
	set_entry(r, 0, 0, 1);
	scan(w);
	assert_int_equal(w->jit.n, 0);
	r->changes = 2;
	r->num = 5;
	set_entry(r, 1, 0, 2); /* the same code again */
	set_entry(r, 2, 1, 3);
	set_entry(r, 3, 2, 4);
	set_entry(r, 4, 3, 0); /* none */
	all[1].section.version = 9;
	scan(w);
	assert_int_equal(cfa(&w->jit, 0), 16);
	assert_int_equal(cfa(&w->jit, 1), 0);
	assert_int_equal(cfa(&w->jit, 3), 0);
	assert_int_equal(refused[SEAM_JIT_OVERLAP] > 0, 1);
	assert_int_equal(refused[SEAM_JIT_MALFORMED], 1);
	/* Refused once, not read again. */
	r->changes = 4;
	scan(w);
	assert_int_equal(refused[SEAM_JIT_MALFORMED], 1);
	munmap(r, 16384);
}

/* Amid a change, of a program that may not run for long: what is listed is
 * there, what is not is gone, and the rest is read later. */
static void test_amid(void **state)
{
	struct world *w = *state;
	struct seam_jit_registry *r = lie(4096);

	r->num = 2;
	r->changes = 2;
	set_entry(r, 0, 0, 1);
	set_entry(r, 1, 1, 2);
	scan(w);
	assert_int_equal(w->jit.n, 2);
	assert_true(w->jit.was_scanned);
	r->changes = 5;
	set_entry(r, 1, 2, 3);
	scan(w);
	assert_int_equal(cfa(&w->jit, 0), 16);
	assert_int_equal(cfa(&w->jit, 1), 0);
	assert_int_equal(cfa(&w->jit, 2), 0);
	assert_false(w->jit.was_scanned);
	r->changes = 6;
	scan(w);
	assert_int_equal(cfa(&w->jit, 2), 16);
	assert_int_equal(w->reader.stats.added, 3);
	/* The second is to be the third, and where it was is half the first. */
	r->changes = 7;
	r->num = 3;
	r->entries[2] = r->entries[1];
	set_entry(r, 1, 0, 3);
	scan(w);
	assert_int_equal(w->jit.n, 2);
	r->changes = 8;
	set_entry(r, 1, 1, 4);
	scan(w);
	assert_int_equal(w->jit.n, 3);
	assert_int_equal(w->reader.stats.added, 4);
	munmap(r, 4096);
}

struct changer {
	struct seam_jit_registry *r;
	unsigned pause_us;
};

/* As many entries as a scan reads times, and one more. */
static void *change(void *arg)
{
	const struct changer *c = arg;

	for (int i = 1; i < 5; i++) {
		usleep(c->pause_us);
		__atomic_store_n(&c->r->changes, c->r->changes + 1,
				 __ATOMIC_SEQ_CST);
		set_entry(c->r, (uint64_t)i, i, (uint64_t)i + 1);
		c->r->num++;
		__atomic_store_n(&c->r->changes, c->r->changes + 1,
				 __ATOMIC_SEQ_CST);
	}
	return NULL;
}

/* Changed while it is scanned, again and again: nothing that is listed then is
 * held for read that was not. */
static void test_changed(void **state)
{
	struct world *w = *state;
	struct changer c = {.r = lie(4096)};

	for (unsigned i = 0; i < 400; i++) {
		pthread_t thread;
		bool changed;

		c.r->num = 1;
		c.r->changes = 2;
		set_entry(c.r, 0, 0, 1);
		c.pause_us = i % 80;
		assert_int_equal(pthread_create(&thread, NULL, change, &c), 0);
		scan(w);
		pthread_join(thread, NULL);
		assert_int_equal(seam_jit_rescan(&w->jit, self(), &changed), 0);
		assert_int_equal(w->jit.n, 5);
		seam_jit_fini(&w->jit);
	}
	munmap(c.r, 4096);
}

static volatile bool stop;

/* The first of all comes and goes, so that all the others move. */
static void *come_and_go(void *arg)
{
	const struct made *m = &all[0];

	(void)arg;
	while (!stop)
		if (seam_jit_add(&m->section, sizeof(m->section), m->code,
				 CODE_SIZE, NULL) ||
		    seam_jit_remove(m->code))
			return arg;
	return NULL;
}

/* Sections that stand are there, whatever their list does meanwhile. */
static void test_standing(void **state)
{
	struct world *w = *state;
	pthread_t thread;
	void *failed;

	make(0, 16);
	for (int i = 1; i < PLACES; i++)
		add(i, 16);
	scan(w);
	stop = false;
	assert_int_equal(pthread_create(&thread, NULL, come_and_go, w), 0);
	for (int i = 0; i < 3000; i++) {
		scan(w);
		for (int k = 1; k < PLACES; k++)
			assert_int_equal(cfa(&w->jit, k), 16);
	}
	stop = true;
	pthread_join(thread, &failed);
	assert_null(failed);
	for (int i = 1; i < PLACES; i++)
		assert_int_equal(seam_jit_remove(all[i].code), 0);
}

static void test_never(void **state)
{
	struct world *w = *state;
	uint64_t at;
	int fd;
	void *page = never(&fd);

	if (!page)
		skip_since("userfaultfd cannot be had here");
	at = (uint64_t)(uintptr_t)page;
	put(w, at, 64, code_of(0), CODE_SIZE);
	assert_int_equal(w->reader.stats.refused[SEAM_JIT_UNREADABLE], 1);
	assert_true(w->jit.is_slow);
	assert_int_equal(w->reader.peek.left, 1);
	/* It is not asked a second time; another process is. */
	put(w, at, 64, code_of(0), CODE_SIZE);
	assert_int_equal(w->reader.peek.left, 1);
	w->jit.is_slow = false;
	make(1, 16);
	put(w, section_of(1), sizeof(all[1].section), code_of(1), CODE_SIZE);
	assert_int_equal(cfa(&w->jit, 1), 16);
	close(fd); /* which lets the reader go */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* Before there is a list that is true. */
		cmocka_unit_test_setup_teardown(test_lies, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_amid, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_changed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_standing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_list, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_join, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_unmap, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_untold, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unmap_unread, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_unmap_told, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_too_much, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_never, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
