// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"

size_t seam_spill_from = 64 << 20;

int seam_spill_file(void)
{
	const char *folder = secure_getenv("TMPDIR");
	char *path;
	int fd, rc;

	if (asprintf(&path, "%s/seam-XXXXXX",
		     folder && *folder ? folder : "/var/tmp") < 0)
		return -ENOMEM;
	fd = mkostemp(path, O_CLOEXEC);
	rc = fd < 0 ? -errno : fd;
	if (fd >= 0)
		unlink(path);
	free(path);
	return rc;
}

/* Its room is taken at once: a full disk found later would be a SIGBUS. Nor is
 * a limit of files' sizes, which comes with a signal, the program's end. */
static bool take_room(int fd, size_t bytes)
{
	const struct timespec at_once = {0};
	sigset_t limit, was;
	int err;

	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	if (pthread_sigmask(SIG_BLOCK, &limit, &was))
		return false;
	err = posix_fallocate(fd, 0, (off_t)bytes);
	if (err == EFBIG && !sigismember(&was, SIGXFSZ))
		sigtimedwait(&limit, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	return !err;
}

static int extend(struct seam_spill *s, size_t bytes)
{
	void *p;

	if (!take_room(s->fd, bytes))
		return -ENOSPC;
	p = s->mapped ? mremap(s->p, s->mapped, bytes, MREMAP_MAYMOVE)
		      : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			     s->fd, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	s->p = p;
	s->mapped = bytes;
	return 0;
}

/* From memory to a file of that size. */
static int to_file(struct seam_spill *s, size_t bytes, size_t used)
{
	struct seam_spill file = {.fd = seam_spill_file()};
	int rc;

	if (file.fd < 0)
		return file.fd;
	rc = extend(&file, bytes);
	if (rc) {
		close(file.fd);
		return rc;
	}
	if (used)
		memcpy(file.p, s->p, used);
	free(s->p);
	file.max = s->max;
	file.from = s->from;
	*s = file;
	return 0;
}

/* And back, where the file cannot grow. */
static int to_memory(struct seam_spill *s, size_t bytes, size_t used)
{
	void *p = malloc(bytes);

	if (!p)
		return -ENOMEM;
	memcpy(p, s->p, used);
	munmap(s->p, s->mapped);
	close(s->fd);
	s->p = p;
	s->mapped = 0;
	return 0;
}

static size_t to_file_from(const struct seam_spill *s)
{
	return s->from && s->from < seam_spill_from ? s->from : seam_spill_from;
}

int seam_spill_grow(struct seam_spill *s, size_t need, size_t size)
{
	size_t n = s->max, used = s->max * size;
	int rc;

	if (need <= s->max)
		return 0;
	if (need > PTRDIFF_MAX / 2 / size)
		return -ENOMEM;
	if (!s->mapped && need * size < to_file_from(s))
		return seam_grow(&s->p, need, &s->max, size);
	for (n = n ? n : need; n < need;)
		n *= 2;
	if (s->mapped)
		rc = extend(s, n * size) ? to_memory(s, n * size, used) : 0;
	else
		rc = to_file(s, n * size, used);
	if (!rc)
		s->max = n;
	else if (!s->mapped)
		rc = seam_grow(&s->p, need, &s->max, size);
	return rc;
}

void seam_spill_fini(struct seam_spill *s)
{
	if (s->mapped) {
		munmap(s->p, s->mapped);
		close(s->fd);
	} else {
		free(s->p);
	}
	*s = (struct seam_spill){0};
}

void seam_spill_let_go(const struct seam_spill *s)
{
	/* What is shared with a file stays in that. */
	if (s->mapped)
		madvise(s->p, s->mapped, MADV_DONTNEED);
}

/* Merging takes a pass for each doubling of their number, qsort one for each of
 * the items', through pointers: of a million items in 256 runs 0.18 s for 0.30.
 */
#define FEW_RUNS 1024

struct sorting {
	size_t n, size;
	int (*compare)(const void *, const void *);
};

static size_t run_end(const struct sorting *o, const char *v, size_t from)
{
	size_t i = from + 1;

	while (i < o->n &&
	       o->compare(v + (i - 1) * o->size, v + i * o->size) <= 0)
		i++;
	return i < o->n ? i : o->n;
}

/* Two runs, the one that ends at mid and the one from there to end. */
static void merge(const struct sorting *o, const char *v, char *out, size_t at,
		  size_t mid, size_t end)
{
	size_t a = at, b = mid;

	for (; at < end; at++) {
		bool second = a == mid ||
			      (b < end && o->compare(v + b * o->size,
						     v + a * o->size) < 0);
		size_t from = second ? b++ : a++;

		memcpy(out + at * o->size, v + from * o->size, o->size);
	}
}

/* Merges runs two by two from v to out. Return: how many are left. */
static size_t pass(const struct sorting *o, const char *v, char *out)
{
	size_t runs = 0;

	for (size_t at = 0; at < o->n; runs++) {
		size_t mid = run_end(o, v, at);
		size_t end = mid < o->n ? run_end(o, v, mid) : o->n;

		merge(o, v, out, at, mid, end);
		at = end;
	}
	return runs;
}

static bool has_few_runs(const struct sorting *o, const char *v)
{
	size_t runs = 0;

	for (size_t at = 0; at < o->n && runs <= FEW_RUNS; runs++)
		at = run_end(o, v, at);
	return runs <= FEW_RUNS;
}

int seam_spill_sort(struct seam_spill *s, size_t n, size_t size,
		    int (*compare)(const void *, const void *))
{
	struct sorting o = {n, size, compare};
	struct seam_spill other = {0};
	size_t runs;

	if (!n || run_end(&o, s->p, 0) == n)
		return 0;
	/* qsort wants as much memory again. */
	if (!s->mapped &&
	    (!has_few_runs(&o, s->p) || seam_spill_grow(&other, n, size))) {
		qsort(s->p, n, size, compare);
		return 0;
	}
	if (seam_spill_grow(&other, n, size))
		return -ENOMEM;
	do { /* the number of runs halves each time */
		struct seam_spill tmp = *s;

		runs = pass(&o, s->p, other.p);
		*s = other;
		other = tmp;
	} while (runs > 1);
	seam_spill_fini(&other);
	return 0;
}
