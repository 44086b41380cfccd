// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a reading of a ring that fills as fast as it is emptied ends,
 * behind all that was there when it began; of samples, slice by slice. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/kernel-priv.h"

#define RING (2 * SEAM_SAMPLES_SLICE + 8)

static struct {
	struct seam_bpf skel;
	struct seam_kernel k;
	size_t size; /* of each record */
	uint64_t n; /* that are there; what comes meanwhile is not counted */
	uint64_t taken;
	int err;
} t;

int __wrap_ring_buffer__consume(struct ring_buffer *ring);
uint32_t __wrap_bpf_map__max_entries(const struct bpf_map *map);

/* As libbpf: until nothing is left, or the callback says so. */
int __wrap_ring_buffer__consume(struct ring_buffer *ring)
{
	static uint64_t record[RING / 8];
	uint64_t i;

	assert_null(ring);
	for (i = 0; i < t.n; i++) {
		int err = seam_kernel_on_record(&t.k, record, t.size);

		if (err < 0)
			return err;
		assert_true(t.taken <= 2 * RING);
	}
	return t.err ? t.err : (int)i;
}

uint32_t __wrap_bpf_map__max_entries(const struct bpf_map *map)
{
	assert_null(map);
	return RING;
}

static void keep(void *ctx, const struct seam_wire *rec, size_t size)
{
	assert_ptr_equal(ctx, &t);
	assert_non_null(rec);
	assert_int_equal(size, t.size);
	t.taken += size;
}

static void endless(void **state)
{
	static const size_t sizes[] = {sizeof(struct seam_wire), 41, 4000,
				       RING / 2};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t room = 8 + ((sizes[i] + 7) & ~(size_t)7);

		t.size = sizes[i];
		t.n = UINT64_MAX;
		t.taken = 0;
		assert_int_equal(seam_kernel_drain_copies(&t.k, keep, &t), 0);
		/* The one that goes beyond, and no other. */
		assert_int_equal(t.taken / t.size, (RING + room - 1) / room);
		t.taken = 0;
		assert_int_equal(seam_kernel_drain_samples(&t.k, keep, &t), 1);
		assert_int_equal(t.taken / t.size,
				 (SEAM_SAMPLES_SLICE + room - 1) / room);
	}
}

static void few(void **state)
{
	(void)state;
	t.size = 64;
	t.n = 10;
	t.taken = 0;
	assert_int_equal(seam_kernel_drain_copies(&t.k, keep, &t), 0);
	assert_int_equal(t.taken, 640);
	t.taken = 0;
	assert_int_equal(seam_kernel_drain_samples(&t.k, keep, &t), 0);
	assert_int_equal(t.taken, 640);
	t.err = -EINTR;
	assert_int_equal(seam_kernel_drain_copies(&t.k, keep, &t), -EINTR);
	assert_int_equal(seam_kernel_drain_samples(&t.k, keep, &t), -EINTR);
}

static void no_records(void **state)
{
	(void)state;
	t.size = sizeof(struct seam_wire) - 1;
	t.n = 10;
	t.err = 0;
	t.taken = 0;
	t.k.malformed = 0;
	assert_int_equal(seam_kernel_drain_samples(&t.k, keep, &t), 0);
	assert_int_equal(t.taken, 0);
	assert_int_equal(t.k.malformed, 10);
}

static void slices(void **state)
{
	(void)state;
	assert_int_equal(seam_kernel_slices(&t.k), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(endless),
		cmocka_unit_test(few),
		cmocka_unit_test(no_records),
		cmocka_unit_test(slices),
	};

	t.k.skel = &t.skel;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
