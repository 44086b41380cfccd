// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: which file systems may never answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/far.h"

/* As the kernel has them for their types. */
#define REQUIRES_DEV 1
#define HAS_SUBTYPE 4
#define USERNS_MOUNT 8
#define ALLOW_IDMAP 32

static void served(void **state)
{
	(void)state;
	assert_true(seam_is_far(0x65735546,
				HAS_SUBTYPE | USERNS_MOUNT | ALLOW_IDMAP));
	assert_true(seam_is_far(0x65735546, REQUIRES_DEV | HAS_SUBTYPE));
	assert_true(seam_is_far(0x6969, 0));
	assert_true(seam_is_far(0xfe534d42, 0));
	assert_true(seam_is_far(0xff534d42, 0));
	assert_true(seam_is_far(0x01021997, 0));
	assert_true(seam_is_far(0x0bd00bd0, 0));
}

static void own(void **state)
{
	(void)state;
	assert_false(
		seam_is_far(0xef53, REQUIRES_DEV | ALLOW_IDMAP)); /* ext4 */
	assert_false(seam_is_far(0x01021994, USERNS_MOUNT)); /* tmpfs */
	assert_false(seam_is_far(0x794c7630, USERNS_MOUNT)); /* overlay */
	assert_false(seam_is_far(0x65735546, ALLOW_IDMAP)); /* virtiofs */
	assert_false(seam_is_far(0, 0)); /* no file */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(served),
		cmocka_unit_test(own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
