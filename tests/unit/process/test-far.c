// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: which file systems may never answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/wire.h"
#include "process/far.h"

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
	/* ext4 on a loop device */
	assert_true(seam_is_far(0xef53, REQUIRES_DEV | SEAM_FS_ON_A_FILE));
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

/* --- by the mounts --- */

static const char mounts[] =
	"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
	"23 22 0:40 / /home/me/far rw shared:9 master:2 - fuse.sshfs me@it rw\n"
	"24 22 0:41 / /srv rw - nfs4 it:/srv rw\n"
	"25 24 0:42 / /srv/own rw - tmpfs tmpfs rw\n"
	"26 22 0:43 / /with\\040space rw - fuse x rw\n"
	"27 22 0:44 / /twice rw - fuse x rw\n"
	"28 27 0:45 / /twice rw - tmpfs x rw\n"
	"29 22 7:3 / /ntfs rw - fuseblk /dev/sdb rw\n"
	"30 22 0:46 / /layers rw - overlay overlay rw\n"
	"33 22 7:4 / /loop rw - ext4 /dev/loop4 rw\n"
	"34 22 0:48 / /loops rw - btrfs /dev/loop5 rw\n"
	"35 22 43:0 / /net rw - xfs /dev/nbd0 rw\n"
	"36 22 259:7 / /ublk rw - xfs /dev/ublkb0 rw\n"
	"malformed\n"
	"31 22 :\n"
	"32 22 0:47 / /cut";

static void check(const char *path, bool is_far, uint32_t dev)
{
	uint32_t got;

	assert_int_equal(seam_far_in(mounts, path, &got), is_far);
	assert_int_equal(got, dev);
}

static void by_mounts(void **state)
{
	(void)state;
	check("/bin/true", false, 8 << 20 | 1);
	check("/", false, 8 << 20 | 1);
	check("/home/me/far/prog", true, 40);
	check("/home/me/far", true, 40);
	check("/home/me/farther", false, 8 << 20 | 1);
	check("/srv/lib.so", true, 41);
	check("/srv/own/lib.so", false, 42);
	check("/with space/prog", true, 43);
	check("/with\\040space/prog", false, 8 << 20 | 1);
	check("/twice/prog", false, 45);
	check("/ntfs/prog", true, 7 << 20 | 3);
	check("/layers/prog", true, 46);
	check("/loop/prog", true, 7 << 20 | 4);
	check("/loops/prog", true, 48);
	check("/ublk/prog", true, 259 << 20 | 7);
	check("/net/prog", true, 43 << 20);
	check("/cut/prog", false, 8 << 20 | 1);
}

static void of_no_mount(void **state)
{
	uint32_t dev;

	(void)state;
	assert_true(seam_far_in("", "/bin/true", &dev));
	assert_int_equal(dev, 0);
	/* A root directory that is no mount point: only others are shown. */
	assert_true(seam_far_in("25 24 0:42 / /own rw - tmpfs t rw\n",
				"/bin/true", &dev));
}

/* Of this machine, as it is. */
static void here(void **state)
{
	struct seam_far f = {0};
	uint32_t dev;

	(void)state;
	assert_true(
		seam_far_path(&f, (uint32_t)getpid(), "/proc/self/maps", &dev));
	assert_false(seam_far_path(&f, (uint32_t)getpid(), "[heap]", &dev));
	/* It is gone, so ours tell. */
	assert_true(seam_far_path(&f, 1 << 30, "/proc/self/maps", &dev));
	seam_far_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(served),    cmocka_unit_test(own),
		cmocka_unit_test(by_mounts), cmocka_unit_test(of_no_mount),
		cmocka_unit_test(here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
