// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a writer that is killed at any moment, or whose disk is full
 * at any byte, leaves all that it had flushed, and nothing damaged. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "perfdata/format.h"
#include "recording.h"

/* Each batch is one sample and one stack with the number as their cookie. */
static int put_batch(struct seam_pd_writer *w, uint64_t i)
{
	int rc = put_sample(w, 5, 2 * i, i);

	if (!rc)
		rc = put_stack(w, 5, 2 * i + 1, i, 0x400000, 1, 0);
	return rc ? rc : seam_pd_flush(w);
}

/* perf gives up on a file whose feature table is not whole: there is either
 * none, or one whose sections lie in the file. */
static void check_table(const char *path)
{
	struct pd_section section;
	struct pd_header h;
	uint8_t *data;
	size_t size = slurp_file(path, &data), at;

	memcpy(&h, data, sizeof(h));
	at = h.data.offset + h.data.size;
	for (int n = __builtin_popcountll(h.features[0]); n > 0; n--) {
		assert_true(at + sizeof(section) <= size);
		memcpy(&section, data + at, sizeof(section));
		assert_true(section.offset <= size);
		assert_true(section.size && section.size < 4096);
		assert_true(section.size <= size - section.offset);
		at += sizeof(section);
	}
	free(data);
}

/* Of a batch that there was no room for a record may be there, the sample.
 * Return: whole batches in the file. */
static uint64_t check_file(const char *path, bool full)
{
	struct seam_pd_reader *r = open_reader(path);
	size_t n = seam_pd_n_records(r);
	struct seam_pd_rec rec;

	check_table(path);
	assert_false(seam_pd_damage(r)->damaged);
	assert_int_equal(seam_pd_damage(r)->n_malformed, 0);
	assert_true(full || n % 2 == 0);
	for (size_t i = 0; i + 1 < n; i += 2) {
		seam_pd_record(r, i + 1, &rec);
		assert_int_equal(rec.stack.cookie, i / 2 + 1);
		assert_int_equal(seam_pd_word(rec.stack.ips, 2), 0x400200);
	}
	assert_non_null(seam_pd_info(r)->osrelease);
	assert_non_null(seam_pd_info(r)->cmdline);
	seam_pd_close(r);
	return n / 2;
}

/* Says after each flush how many there are, until it is killed. */
static void child(const char *path, int zstd, int fd)
{
	struct seam_pd_writer *w = open_writer(path, zstd);

	for (uint64_t i = 1;; i++) {
		if (put_batch(w, i) || write(fd, &i, sizeof(i)) != sizeof(i))
			_exit(1);
	}
}

static void kill_one(int zstd, unsigned wait_us)
{
	uint64_t said = 0, next;
	struct folder f;
	int fds[2];
	pid_t pid;

	folder_make(&f);
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(fds[0]);
		child(f.file, zstd, fds[1]);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &said, sizeof(said)), sizeof(said));
	usleep(wait_us);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	while (read(fds[0], &next, sizeof(next)) == sizeof(next))
		said = next;
	close(fds[0]);
	/* It may have died between its flush and its word. */
	next = check_file(f.file, false);
	assert_true(next == said || next == said + 1);
	folder_remove(&f);
}

static void test_killed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 60; i++)
		kill_one((int)i % 2, 37 * i);
}

/* The disk ends at this byte. Return: batches flushed without an error. */
static uint64_t fill(const char *path, int zstd, rlim_t limit)
{
	struct rlimit old, lim;
	struct seam_pd_writer *w = open_writer(path, zstd);
	uint64_t i = 0;
	int rc = 0;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	lim = old;
	lim.rlim_cur = limit;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &lim), 0);
	while (!rc && i < 8) {
		rc = put_batch(w, i + 1);
		i += rc == 0;
	}
	if (rc) { /* and so it stays */
		assert_int_equal(rc, -EFBIG);
		assert_int_equal(seam_pd_flush(w), -EFBIG);
		assert_int_equal(put_sample(w, 1, 1, 1), -EFBIG);
	}
	assert_int_equal(seam_pd_writer_close(w), rc);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	return i;
}

static void disk_full(int zstd)
{
	uint64_t batches = 0, steps = 0, there, had = 0, more = 0;
	struct seam_pd_writer *w;
	struct folder f;
	rlim_t limit;

	signal(SIGXFSZ, SIG_IGN);
	folder_make(&f);
	w = open_writer(f.file, zstd);
	limit = seam_pd_bytes(w);
	assert_int_equal(seam_pd_writer_close(w), 0);
	for (; batches < 8; limit += 3, steps++) {
		batches = fill(f.file, zstd, limit);
		there = check_file(f.file, true);
		/* The table may be all that there was no room for. */
		assert_true(there == batches || there == batches + 1);
		assert_true(there >= had);
		had = there;
		more += there > batches;
	}
	assert_true(steps > 50);
	assert_true(more > 0);
	folder_remove(&f);
}

static void test_disk_full(void **state)
{
	(void)state;
	disk_full(0);
}

static void test_disk_full_zstd(void **state)
{
	(void)state;
	disk_full(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_disk_full),
		cmocka_unit_test(test_disk_full_zstd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
