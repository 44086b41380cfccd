/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Description: disks that a daemon or a server gives, and those that lie on
 * others, are told by their names, and no others are taken for such. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/disk.h"

static enum seam_disk kind(const char *name)
{
	char first[8] = "";
	uint64_t word;

	memcpy(first, name, strnlen(name, sizeof(first)));
	memcpy(&word, first, sizeof(word));
	return seam_disk_kind(word);
}

static void kinds(void **state)
{
	static const char *const served[] = {"loop0",  "loop1234", "nbd15",
					     "ublkb0", "rbd0",	   "rnbd0",
					     "drbd1"};
	static const char *const between[] = {"dm-0",	 "dm-1234", "md0",
					      "md_d127", "md_home", "bcache0"};
	static const char *const own[] = {
		"",	"sda",	 "nvme0n1", "vda", "mmcblk0", "mtdblock0",
		"xvda", "zram0", "sr0",	    "rn0", "nullb0",  "m",
		"d",	"dm",	 "lo",	    "nb",  "ubl",     "dmx"};

	(void)state;
	for (size_t i = 0; i < sizeof(served) / sizeof(*served); i++)
		assert_int_equal(kind(served[i]), SEAM_DISK_SERVED);
	for (size_t i = 0; i < sizeof(between) / sizeof(*between); i++)
		assert_int_equal(kind(between[i]), SEAM_DISK_BETWEEN);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		assert_int_equal(kind(own[i]), SEAM_DISK_OWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(kinds)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
