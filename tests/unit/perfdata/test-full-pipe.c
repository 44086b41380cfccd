// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a pipe that nobody reads can be given up, and what did not get
 * out is counted: with what did get out it is all that was written. */
#include <errno.h>

#include "recording.h"

#define N 900 /* records of a kilobyte: a pipe is full, a buffer not */
#define ROOM (1u << 20)

struct asked {
	int fd;
	unsigned n, most;
};

static int done(void *ctx)
{
	struct asked *a = ctx;
	char c;

	assert_int_equal(read(a->fd, &c, 1), 1);
	return ++a->n >= a->most ? -ECANCELED : 0;
}

/* The writer's standard output is the pipe as long as it is opened. */
static struct seam_pd_writer *open_into(int fd, int zstd,
					const struct seam_pd_wait *wait)
{
	static const uint64_t id = EVENT_ID;
	struct seam_pd_event event = {.name = "e", .ids = &id, .n_ids = 1};
	struct seam_pd_opts opts = {
		.sz = sizeof(opts),
		.events = &event,
		.n_events = 1,
		.zstd_level = zstd,
		.wait = wait,
	};
	int out = dup(STDOUT_FILENO);
	struct seam_pd_writer *w;

	assert_true(dup2(fd, STDOUT_FILENO) >= 0);
	assert_int_equal(seam_pd_writer_open("-", &opts, &w, NULL), 0);
	assert_true(dup2(out, STDOUT_FILENO) >= 0);
	close(out);
	close(fd);
	return w;
}

static void give(struct seam_pd_writer *w, int expected)
{
	uint64_t ips[120], word = 88172645463325252ULL;

	for (unsigned i = 0; i < N; i++) {
		struct seam_pd_sample s = {
			.id = {1, 1, 1000 + i, 0, EVENT_ID},
			.misc = PERF_RECORD_MISC_KERNEL,
			.period = 1,
			.kernel_ips = ips,
			.n_kernel = 120,
		};

		for (size_t j = 0; j < 120; j++) {
			word ^= word << 13;
			word ^= word >> 7;
			word ^= word << 17;
			ips[j] = word;
		}
		assert_int_equal(seam_pd_write_sample(w, &s), 0);
	}
	assert_int_equal(seam_pd_flush(w), expected);
}

/* Return: the samples that are in the pipe. */
static uint64_t got(int fd)
{
	uint8_t *bytes = malloc(ROOM);
	struct seam_pd_reader *r;
	uint64_t n;
	ssize_t len;

	assert_non_null(bytes);
	len = read(fd, bytes, ROOM);
	assert_in_range(len, 1, ROOM - 1);
	assert_int_equal(seam_pd_open_mem(bytes, (size_t)len, &r, NULL), 0);
	n = seam_pd_n_records(r);
	seam_pd_close(r);
	free(bytes);
	return n;
}

/* A pipe that nobody reads, and one that says so often that it goes on. */
struct pipes {
	int out[2], ask[2];
	struct asked asked;
	struct seam_pd_wait wait;
};

static struct seam_pd_writer *begin(struct pipes *p, const char *asks,
				    int level)
{
	size_t n = strlen(asks);

	assert_int_equal(pipe(p->out) | pipe(p->ask), 0);
	p->asked = (struct asked){p->ask[0], 0, (unsigned)n};
	p->wait = (struct seam_pd_wait){p->ask[0], done, &p->asked};
	assert_int_equal(write(p->ask[1], asks, n), n);
	return open_into(p->out[1], level, &p->wait);
}

static void end(struct pipes *p)
{
	close(p->out[0]);
	close(p->ask[0]);
	close(p->ask[1]);
}

static void given_up(void **state)
{
	struct pipes p;
	struct seam_pd_writer *w = begin(&p, "..", 0);

	(void)state;
	give(w, -ECANCELED);
	assert_int_equal(p.asked.n, 2);
	assert_in_range(seam_pd_unwritten(w), 1, N - 1);
	/* A sample more has no chance, and is counted too. */
	assert_int_equal(seam_pd_write_raw(w, NULL), -ECANCELED);
	assert_int_equal(got(p.out[0]) + seam_pd_unwritten(w), N + 1);
	assert_int_equal(seam_pd_writer_close(w), -ECANCELED);
	end(&p);
}

/* Of a compressed one nobody knows how many of the last are out. */
static void compressed(void **state)
{
	struct pipes p;
	struct seam_pd_writer *w = begin(&p, ".", 1);

	(void)state;
	give(w, -ECANCELED);
	assert_int_equal(seam_pd_unwritten(w), N);
	assert_int_equal(seam_pd_writer_close(w), -ECANCELED);
	end(&p);
}

/* All gets out where there is a reader, in parts that a pipe holds. */
static void file_instead(void **state)
{
	FILE *f = tmpfile();
	struct seam_pd_writer *w;

	(void)state;
	assert_non_null(f);
	w = open_into(dup(fileno(f)), 0, NULL);
	give(w, 0);
	assert_int_equal(seam_pd_unwritten(w), 0);
	assert_int_equal(seam_pd_writer_close(w), 0);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_up),
		cmocka_unit_test(compressed),
		cmocka_unit_test(file_instead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
