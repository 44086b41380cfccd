// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The bytes of a recording: a file, a folder of them, a pipe, memory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfdata/reader-priv.h"

#define MAX_PARTS 65536
/* Of files' pages; enough for pages to be read once in order of time. More of
 * them stay where there is little else to keep, so that what is read again, as
 * recordings of stack copies are, is seldom mapped again. */
#define RESIDENT_MIN (32ULL << 20)
#define RESIDENT_MAX (224ULL << 20)
/* What a record may take in all, here and where it is joined. */
#define RECORD_MEMORY 96
/* Of a stream that is kept in memory; a longer one goes to a file. */
#define SPOOL_MIN (32u << 20)
#define SLURP_MIN (64u << 10) /* most pipes' whole content */

static int map_file(struct pd_part *part, int fd, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	part->size = size;
	part->p = p;
	part->mapped = true;
	return 0;
}

static ssize_t read_some(int fd, uint8_t *p, size_t size)
{
	ssize_t n;

	do
		n = read(fd, p, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int write_all(int fd, const uint8_t *p, size_t size)
{
	while (size) {
		ssize_t n = write(fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

/* The first of a long stream is in buf, full; the rest follows it to a file,
 * by way of the same memory. What comes when that is full is counted, rather
 * than lose all: a stream comes once. */
static int spool(struct pd_part *part, int fd, int file, uint8_t *buf,
		 size_t size)
{
	uint64_t total = 0;
	ssize_t n = (ssize_t)size;
	off_t kept;
	int rc = 0;

	for (; n > 0; n = read_some(fd, buf, size)) {
		total += (size_t)n;
		if (!rc)
			rc = write_all(file, buf, (size_t)n);
	}
	if (n < 0)
		return (int)n;
	kept = lseek(file, 0, SEEK_CUR);
	if (kept <= 0)
		return rc ? rc : -EIO;
	part->missed = total - (uint64_t)kept;
	return map_file(part, file, (size_t)kept);
}

bool seam_pd_has_magic(const void *p, size_t size)
{
	uint64_t magic;

	if (size < sizeof(magic))
		return false;
	memcpy(&magic, p, sizeof(magic));
	return magic == PD_MAGIC || magic == PD_MAGIC_SWAPPED;
}

/* Or may be one. What is none may have no end: /dev/zero, a log. */
static bool is_recording(const uint8_t *p, size_t len)
{
	return len < PD_PIPE_HEADER_SIZE || seam_pd_has_magic(p, len);
}

/* Return: whether there is any, or *p is NULL: there is no memory. */
static bool has_room(uint8_t **p, size_t len, size_t *cap)
{
	uint8_t *larger;

	if (len < *cap || *cap >= SPOOL_MIN)
		return len < *cap;
	*cap = *cap < SPOOL_MIN / 2 ? 2 * *cap : SPOOL_MIN;
	larger = realloc(*p, *cap);
	if (!larger)
		free(*p);
	*p = larger;
	return larger;
}

/* Pipes and the like, which cannot be mapped. The first len bytes are in p, of
 * cap bytes from the heap, which is the part's from here on. */
static int slurp_rest(struct pd_part *part, int fd, uint8_t *p, size_t len,
		      size_t cap)
{
	ssize_t n = 1;
	int file, rc;

	while (p && has_room(&p, len, &cap) && is_recording(p, len) &&
	       (n = read_some(fd, p + len, cap - len)) > 0)
		len += (size_t)n;
	if (p && n >= 0 && (len < cap || !is_recording(p, len))) {
		part->p = p;
		part->size = len;
		part->allocated = true;
		return 0;
	}
	rc = p ? (int)n : -ENOMEM;
	if (rc > 0) { /* it is full */
		file = seam_spill_file();
		rc = file < 0 ? -EDQUOT : spool(part, fd, file, p, len);
		if (file >= 0)
			close(file);
	}
	free(p);
	return rc;
}

static int slurp(struct pd_part *part, int fd)
{
	return slurp_rest(part, fd, malloc(SLURP_MIN), 0, SLURP_MIN);
}

static int load_fd(struct pd_part *part, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return slurp(part, fd);
	if (!st.st_size)
		return 0;
	return map_file(part, fd, (size_t)st.st_size);
}

static struct pd_part *add_part(struct seam_pd_reader *r, const char *name)
{
	struct pd_part *parts, *part;

	parts = realloc(r->parts, (r->n_parts + 1) * sizeof(*parts));
	if (!parts)
		return NULL;
	r->parts = parts;
	part = &parts[r->n_parts++];
	*part = (struct pd_part){0};
	snprintf(part->name, sizeof(part->name), "%s", name);
	return part;
}

static int load_part(struct seam_pd_reader *r, int folder, const char *name)
{
	bool inside = folder != AT_FDCWD; /* where a pipe would be waited for */
	int fd = openat(folder, name,
			O_RDONLY | O_CLOEXEC | O_NOCTTY |
				(inside ? O_NONBLOCK : 0));
	struct pd_part *part;
	struct stat st;
	int rc;

	if (fd < 0)
		return -errno;
	if (inside && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		return -EBADMSG;
	}
	part = add_part(r, name);
	rc = part ? load_fd(part, fd) : -ENOMEM;
	close(fd);
	return rc;
}

static int is_part(const struct dirent *d)
{
	const char *number = d->d_name + 5;

	if (strncmp(d->d_name, "data.", 5) || !*number || strlen(number) >= 15)
		return false;
	return (*number != '0' || !number[1]) &&
	       !number[strspn(number, "0123456789")];
}

static int add_missing(struct seam_pd_reader *r, unsigned long long number)
{
	struct pd_part *part;
	char name[32];

	snprintf(name, sizeof(name), "data.%llu", number);
	part = add_part(r, name);
	if (!part)
		return -ENOMEM;
	snprintf(part->cut, sizeof(part->cut), "the folder has no such file");
	return 0;
}

/* They are numbered from 0 on: perf leaves one for each of its threads, be it
 * empty. Of several that are missing one stands for those beside it; of the
 * last ones nothing tells. */
static int load_numbered(struct seam_pd_reader *r, int folder, const char *name,
			 unsigned long long *next)
{
	unsigned long long number = strtoull(name + 5, NULL, 10);
	int rc = number > *next ? add_missing(r, *next) : 0;

	*next = number + 1;
	return rc ? rc : load_part(r, folder, name);
}

/* perf record --threads; --kcore leaves one too, with a copy of the kernel that
 * is not used, not tried: no machine at hand lets it be read. */
static int load_folder(struct seam_pd_reader *r, const char *path)
{
	int folder = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY), n = 0;
	struct dirent **names = NULL;
	unsigned long long next = 0;
	int rc;

	if (folder < 0)
		return -errno;
	rc = load_part(r, folder, "data");
	if (rc == -ENOENT)
		rc = -EBADMSG;
	if (!rc)
		n = scandir(path, &names, is_part, versionsort);
	if (n < 0)
		rc = -errno;
	if (n > MAX_PARTS)
		rc = -E2BIG;
	for (int i = 0; i < n; i++) {
		if (!rc)
			rc = load_numbered(r, folder, names[i]->d_name, &next);
		free(names[i]);
	}
	free(names);
	close(folder);
	return rc;
}

static void load_done(struct seam_pd_reader *r)
{
	r->part = r->parts;
	r->file = r->parts[0].p;
	r->size = r->parts[0].size;
	for (size_t i = 0; i < r->n_parts; i++)
		r->total_size += r->parts[i].size;
}

int seam_pd_load(struct seam_pd_reader *r, const char *path)
{
	struct pd_part *part;
	struct stat st;
	int rc;

	if (!strcmp(path, "-")) {
		part = add_part(r, "data");
		rc = part ? load_fd(part, STDIN_FILENO) : -ENOMEM;
	} else if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		rc = load_folder(r, path);
	} else {
		rc = load_part(r, AT_FDCWD, path);
		if (!rc)
			strcpy(r->parts[0].name, "data");
	}
	if (!rc)
		load_done(r);
	return rc;
}

int seam_pd_load_rest(struct seam_pd_reader *r, int fd, uint8_t *buf,
		      size_t len, size_t cap)
{
	struct pd_part *part = add_part(r, "data");
	int rc = -ENOMEM;

	if (part)
		rc = slurp_rest(part, fd, buf, len, cap);
	else
		free(buf);
	if (!rc)
		load_done(r);
	return rc;
}

int seam_pd_load_mem(struct seam_pd_reader *r, const void *data, size_t size)
{
	struct pd_part *part = add_part(r, "data");

	if (!part)
		return -ENOMEM;
	part->p = data;
	part->size = size;
	load_done(r);
	return 0;
}

void seam_pd_unload(struct seam_pd_reader *r)
{
	for (size_t i = 0; i < r->n_parts; i++) {
		if (r->parts[i].mapped)
			seam_pd_unmap(&r->parts[i]);
		if (r->parts[i].allocated)
			free((void *)r->parts[i].p);
	}
	free(r->parts);
}

static uint64_t resident_max(const struct seam_pd_reader *r)
{
	uint64_t other = (uint64_t)r->n_index * RECORD_MEMORY;

	return other < RESIDENT_MAX - RESIDENT_MIN ? RESIDENT_MAX - other
						   : RESIDENT_MIN;
}

static bool is_resident(const struct seam_pd_reader *r)
{
	uint64_t max = resident_max(r);

	return r->touched < max || (!r->spool.open && r->total_size <= max);
}

void seam_pd_touch(struct seam_pd_reader *r, size_t n)
{
	r->touched += n;
	if (r->touched < RESIDENT_MIN || is_resident(r))
		return;
	r->touched = 0;
	for (size_t i = 0; i < r->n_parts; i++)
		if (r->parts[i].mapped)
			madvise((void *)r->parts[i].p, r->parts[i].size,
				MADV_DONTNEED);
	seam_pd_spool_let_go(&r->spool);
}
