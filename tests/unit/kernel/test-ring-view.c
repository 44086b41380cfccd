// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a ring's positions tell whether all that was put into it by some
 * time has been read, also where a record is held up behind another's place. A
 * file plays the ring. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernel/ring-view.h"

struct ring {
	struct seam_ring_view view;
	uint64_t *taken, *put;
	int fd;
};

static int set_up(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ring *r = calloc(1, sizeof(*r));

	*state = r;
	r->fd = memfd_create("ring", 0);
	assert_true(r->fd >= 0 && !ftruncate(r->fd, (off_t)(3 * page)));
	r->taken = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED,
			r->fd, 0);
	assert_ptr_not_equal(r->taken, MAP_FAILED);
	r->put = r->taken + page / sizeof(*r->put);
	return seam_ring_view_open(&r->view, r->fd);
}

static int tear_down(void **state)
{
	struct ring *r = *state;

	seam_ring_view_close(&r->view);
	seam_ring_view_close(&r->view);
	munmap(r->taken, 2 * (size_t)sysconf(_SC_PAGESIZE));
	close(r->fd);
	free(r);
	return 0;
}

static void held_up(void **state)
{
	struct ring *r = *state;
	uint64_t put;

	*r->taken = 64;
	*r->put = 128;
	put = seam_ring_put(&r->view);
	assert_int_equal(put, 128);
	assert_false(seam_ring_taken(&r->view, put));
	*r->taken = 120;
	assert_false(seam_ring_taken(&r->view, put));
	/* More has come meanwhile. */
	*r->put = 256;
	*r->taken = 128;
	assert_true(seam_ring_taken(&r->view, put));
	assert_false(seam_ring_taken(&r->view, seam_ring_put(&r->view)));
}

static void no_ring(void **state)
{
	const struct seam_ring_view none = {0};
	struct seam_ring_view v = {0};

	(void)state;
	assert_true(seam_ring_taken(&none, seam_ring_put(&none)));
	assert_int_equal(seam_ring_view_open(&v, -1), -EBADF);
	assert_null(v.taken);
	seam_ring_view_close(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(held_up, set_up, tear_down),
		cmocka_unit_test(no_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
