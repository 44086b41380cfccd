// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: only a file gives way to a recording of its name. Devices,
 * pipes, sockets and folders stay what they are: those that keep nothing are
 * written to, all others are refused. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "recording.h"

static int try_open(const char *path, struct seam_errinfo *ret)
{
	static const uint64_t ids[] = {EVENT_ID};
	struct seam_pd_event event = {.name = "x", .ids = ids, .n_ids = 1};
	struct seam_pd_opts opts = {
		.sz = sizeof(opts), .events = &event, .n_events = 1};
	struct seam_pd_writer *w = NULL;
	int rc;

	memset(ret, 0, sizeof(*ret));
	rc = seam_pd_writer_open(path, &opts, &w, ret);
	if (!rc)
		rc = seam_pd_writer_close(w);
	return rc;
}

static void refused(const struct folder *f, int want, const char *why)
{
	struct stat before, after;
	struct seam_errinfo err;

	assert_int_equal(lstat(f->file, &before), 0);
	assert_int_equal(try_open(f->file, &err), want);
	assert_string_equal(err.where, "output");
	assert_non_null(strstr(err.reason, why));
	assert_int_equal(lstat(f->file, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(before.st_mode, after.st_mode);
	assert_int_equal(before.st_rdev, after.st_rdev);
	assert_int_equal(access(f->old, F_OK), -1);
	assert_int_equal(remove(f->file), 0);
}

static void test_streams(void **state)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct folder f;
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	folder_make(&f);
	assert_int_equal(mkfifo(f.file, 0600), 0);
	refused(&f, -EINVAL, "'-o -'");
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", f.file);
	assert_int_equal(bind(s, (struct sockaddr *)&addr, sizeof(addr)), 0);
	refused(&f, -EINVAL, "'-o -'");
	assert_int_equal(symlink("/proc/self/fd/1", f.file), 0);
	refused(&f, -EINVAL, "'-o -'");
	close(s);
	folder_remove(&f);
}

static void test_folder(void **state)
{
	struct folder f;

	(void)state;
	folder_make(&f);
	assert_int_equal(mkdir(f.file, 0700), 0);
	refused(&f, -EISDIR, "folder");
	folder_remove(&f);
}

/* A node of our own, as the machine's are not to be tried. */
static void make_node(struct folder *f, mode_t mode, unsigned major,
		      unsigned minor)
{
	int fd;

	if (mknod(f->file, mode | 0600, makedev(major, minor))) {
		print_message("# no devices can be made: %s\n",
			      strerror(errno));
		rmdir(f->path);
		skip();
	}
	/* Memory is not there everywhere, and is nothing to be tried. */
	fd = S_ISCHR(mode) && major == 1 && minor != 1 ? open(f->file, O_WRONLY)
						       : 0;
	if (fd < 0) {
		print_message("# the file system has no devices: %s\n",
			      strerror(errno));
		folder_remove(f);
		skip();
	}
	if (fd)
		close(fd);
}

static void test_devices(void **state)
{
	struct folder f;

	(void)state;
	folder_make(&f);
	make_node(&f, S_IFBLK, 7, 200); /* a disk */
	refused(&f, -EINVAL, "no regular file");
	make_node(&f, S_IFCHR, 4, 0); /* a terminal */
	refused(&f, -EINVAL, "no regular file");
	make_node(&f, S_IFCHR, 1, 1); /* memory */
	refused(&f, -EINVAL, "no regular file");
	make_node(&f, S_IFCHR, 1, 7); /* it is full */
	refused(&f, -ENOSPC, "No space");
	folder_remove(&f);
}

static void test_in_place(void **state)
{
	struct seam_errinfo err;
	struct folder f;
	struct stat st;

	(void)state;
	folder_make(&f);
	make_node(&f, S_IFCHR, 1, 3);
	assert_int_equal(try_open(f.file, &err), 0);
	assert_int_equal(stat(f.file, &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(access(f.old, F_OK), -1);
	/* Also by another name, which is not renamed either. */
	assert_int_equal(symlink("perf.data", f.old), 0);
	assert_int_equal(try_open(f.old, &err), 0);
	assert_int_equal(lstat(f.old, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	folder_remove(&f);
}

/* What a symbolic link leads to is not touched: the link gives way. */
static void test_links(void **state)
{
	struct seam_errinfo err;
	struct folder f;
	struct stat st;

	(void)state;
	folder_make(&f);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(symlink(i ? "/etc/passwd" : "none", f.file),
				 0);
		assert_int_equal(try_open(f.file, &err), 0);
		assert_int_equal(lstat(f.file, &st), 0);
		assert_true(S_ISREG(st.st_mode));
		assert_int_equal(lstat(f.old, &st), 0);
		assert_true(S_ISLNK(st.st_mode));
		unlink(f.file);
	}
	folder_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams), cmocka_unit_test(test_folder),
		cmocka_unit_test(test_devices), cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
