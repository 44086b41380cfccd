// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a file that is written to replace another is never one of the
 * standard streams, not even where these are closed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/replace.h"

static void streams_closed(void **state)
{
	char dir[] = "seam-test-XXXXXX", path[64];
	struct seam_replace r = {.fd = -1};
	int kept[3], rc;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x", dir);
	for (int fd = 0; fd < 3; fd++) {
		kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
		close(fd);
	}
	rc = seam_replace_begin(path, &r);
	for (int fd = 0; fd < 3; fd++)
		if (kept[fd] >= 0) {
			dup2(kept[fd], fd);
			close(kept[fd]);
		}
	assert_int_equal(rc, 0);
	assert_true(r.fd > STDERR_FILENO);
	assert_int_equal(write(r.fd, "new", 3), 3);
	assert_int_equal(seam_replace_commit(&r, -1, NULL, NULL), 0);
	assert_int_equal(access(path, F_OK), 0);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
