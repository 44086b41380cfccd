// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a batch keeps records of all sizes in order, however large it
 * becomes; its memory is used again, as far as that is bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/spares.h"

#define MOST 70000

static uint8_t bytes[MOST];

static size_t size_of(size_t i)
{
	return sizeof(struct seam_wire) + i * 7919 % (MOST - 64);
}

static void fill(struct seam_batch *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct seam_wire head = {.time_ns = i};

		memcpy(bytes, &head, sizeof(head));
		bytes[size_of(i) - 1] = (uint8_t)i;
		assert_true(seam_batch_add(b, (const void *)bytes, size_of(i)));
	}
}

static void read_back(const struct seam_batch *b, size_t n)
{
	const struct seam_wire *rec;
	size_t at = 0, size, i = 0;

	for (; (rec = seam_batch_next(b, &at, &size)); i++) {
		assert_int_equal(rec->time_ns, i);
		assert_int_equal(size, size_of(i));
		assert_int_equal(((const uint8_t *)rec)[size - 1], (uint8_t)i);
	}
	assert_int_equal(i, n);
}

/* Through small pages into huge ones: 14 MiB. */
static void grows(void **state)
{
	struct seam_batch b = {0};

	(void)state;
	for (size_t n = 1; n <= 400; n += n < 40 ? 1 : 60) {
		seam_batch_clear(&b);
		fill(&b, n);
		read_back(&b, n);
	}
	assert_true(b.room >= b.used && b.room < 4 * b.used);
	seam_batch_fini(&b);
	assert_null(b.bytes);
}

static struct seam_batch of(size_t room)
{
	return (struct seam_batch){
		.bytes = malloc(room), .room = room, .used = 1, .err = 1};
}

static void spares(void **state)
{
	const size_t all = SEAM_SPARES_BYTES;
	struct seam_batch one = of(all / 4), two = of(all / 2),
			  big = of(all / 2 + 1), empty = {0}, got = {0};
	struct seam_spares s = {0};
	const uint8_t *second = two.bytes;

	(void)state;
	seam_spares_take(&s, &got);
	assert_null(got.bytes);
	seam_spares_put(&s, &empty);
	seam_spares_put(&s, &one);
	assert_null(one.bytes);
	seam_spares_put(&s, &two);
	assert_int_equal(s.bytes, all / 4 * 3);
	/* No room for it. */
	seam_spares_put(&s, &big);
	assert_non_null(big.bytes);
	/* The larger one, empty. */
	seam_spares_take(&s, &got);
	assert_ptr_equal(got.bytes, second);
	assert_int_equal(got.room, all / 2);
	assert_int_equal(got.used, 0);
	assert_int_equal(got.err, 0);
	assert_int_equal(s.bytes, all / 4);
	seam_batch_fini(&got);
	for (int i = 0; i < SEAM_SPARES + 1; i++) {
		got = of(64);
		seam_spares_put(&s, &got);
		seam_batch_fini(&got);
	}
	assert_int_equal(s.n, SEAM_SPARES);
	seam_spares_fini(&s);
	assert_int_equal(s.n, 0);
	assert_int_equal(s.bytes, 0);
	seam_batch_fini(&big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows),
		cmocka_unit_test(spares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
