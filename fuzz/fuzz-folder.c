// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Any bytes as the folder of perf record --threads: files of records, some
 * missing, cut, damaged, of another recording, or no files. What all of them
 * give is what each gives beside the one with the header, so that a damaged one
 * costs nothing of the others. Each that is damaged is counted, and those that
 * are missing between others; the one that is named is one of these. And what
 * is true of every recording is true of a folder.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz/recording.h"
#include "perfdata/format.h"

#define FILES_MAX 8
#define TYPES 128

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum kind { KIND_FILE, KIND_PIPE = 5, KIND_FOLDER, KIND_MISSING, KINDS };

/* Before the bytes of each; the first is data, the others are data.NUMBER. */
struct head {
	uint8_t kind, number;
	uint16_t unused;
	uint32_t size;
};

struct file {
	enum kind kind;
	unsigned number;
	char name[16];
	const uint8_t *p;
	size_t size;
};

struct files {
	struct file v[FILES_MAX];
	size_t n;
};

/* What a folder says. */
struct told {
	int rc;
	bool bomb, pipe;
	uint64_t damaged; /* files */
	uint64_t malformed, passed_over, lost, lost_samples;
	uint64_t counts[TYPES];
};

static char root[] = "/tmp/seam-fuzz-folder-XXXXXX";

static bool is_known(const struct files *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->v[i].name, name))
			return true;
	return false;
}

static void take_files(const uint8_t *data, size_t size, struct files *ret)
{
	struct head h;

	ret->n = 0;
	while (ret->n < FILES_MAX && size >= sizeof(h)) {
		struct file f = {.name = "data"};

		memcpy(&h, data, sizeof(h));
		data += sizeof(h);
		size -= sizeof(h);
		f.kind = h.kind % KINDS;
		f.p = data;
		f.size = h.size < size ? h.size : size;
		data += f.size;
		size -= f.size;
		f.number = h.number;
		if (ret->n)
			snprintf(f.name, sizeof(f.name), "data.%u", f.number);
		if (!is_known(ret, f.name))
			ret->v[ret->n++] = f;
	}
}

static void write_file(int folder, const struct file *f)
{
	int fd = openat(folder, f->name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	check(fd >= 0);
	check(write(fd, f->p, f->size) == (ssize_t)f->size);
	close(fd);
}

static void put(int folder, const struct file *f)
{
	switch (f->kind) {
	case KIND_MISSING:
		return;
	case KIND_PIPE:
		check(!mkfifoat(folder, f->name, 0600));
		return;
	case KIND_FOLDER:
		check(!mkdirat(folder, f->name, 0700));
		return;
	default:
		write_file(folder, f);
	}
}

static void take_away(int folder, const struct file *f)
{
	if (f->kind != KIND_MISSING)
		check(!unlinkat(folder, f->name,
				f->kind == KIND_FOLDER ? AT_REMOVEDIR : 0));
}

static bool has_number(const struct files *f, unsigned number)
{
	for (size_t i = 1; i < f->n; i++)
		if (f->v[i].number == number && f->v[i].kind != KIND_MISSING)
			return true;
	return false;
}

/* Rows of numbers that no file has, before one that a file has. */
static unsigned count_gaps(const struct files *f)
{
	unsigned gaps = 0;

	for (size_t i = 1; i < f->n; i++) {
		unsigned number = f->v[i].number;

		gaps += f->v[i].kind != KIND_MISSING && number &&
			!has_number(f, number - 1);
	}
	return gaps;
}

/* Of a file that is there, or of the first of several that are not. */
static void check_place(const struct files *f, const char *name,
			uint64_t offset)
{
	unsigned number;

	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].kind != KIND_MISSING &&
		    !strcmp(f->v[i].name, name)) {
			check(offset <= f->v[i].size);
			return;
		}
	check(sscanf(name, "data.%u", &number) == 1 && !offset);
	check(!number || has_number(f, number - 1));
	check(count_gaps(f) > 0);
}

static void tell(const struct seam_pd_reader *r, const struct files *f,
		 struct told *ret)
{
	const struct seam_pd_damage *d = seam_pd_damage(r);
	uint64_t n;

	check(d->damaged == (d->n_files > 0));
	ret->damaged = d->n_files;
	if (d->damaged)
		check_place(f, d->err.where, d->err.offset);
	ret->pipe = seam_pd_info(r)->pipe;
	ret->bomb = d->damaged && strstr(d->err.reason, "decompresses to more");
	ret->malformed = d->n_malformed;
	if (d->n_malformed)
		check_place(f, d->malformed_where, d->malformed_offset);
	for (size_t i = 0; seam_pd_passed_over(r, i, &n); i++)
		ret->passed_over += n;
	ret->lost = seam_pd_lost_records(r);
	ret->lost_samples = seam_pd_lost_samples(r);
	for (uint32_t t = 0; t < TYPES; t++)
		ret->counts[t] = seam_pd_count(r, t);
}

/* The folder that has those of the files. */
static struct told read_folder(int folder, const struct files *f,
			       void (*look)(struct seam_pd_reader *r))
{
	struct seam_pd_reader *r;
	struct told told = {0};
	struct seam_errinfo err;

	for (size_t i = 0; i < f->n; i++)
		put(folder, &f->v[i]);
	told.rc = seam_pd_open(root, &r, &err);
	for (size_t i = 0; i < f->n; i++)
		take_away(folder, &f->v[i]);
	if (told.rc)
		return told;
	tell(r, f, &told);
	look(r);
	seam_pd_close(r);
	return told;
}

static void look_no_more(struct seam_pd_reader *r)
{
	(void)r;
}

/* What is there in sum, with what there would be twice left out. */
static void add(struct told *sum, const struct told *one,
		const struct told *head)
{
	sum->damaged += one->damaged - head->damaged;
	sum->bomb |= one->bomb;
	sum->malformed += one->malformed - head->malformed;
	sum->passed_over += one->passed_over - head->passed_over;
	sum->lost += one->lost - head->lost;
	sum->lost_samples += one->lost_samples - head->lost_samples;
	for (int t = 0; t < TYPES; t++)
		sum->counts[t] += one->counts[t] - head->counts[t];
}

static void check_same(const struct told *a, const struct told *b)
{
	check(a->damaged == b->damaged && a->malformed == b->malformed);
	check(a->passed_over == b->passed_over);
	check(a->lost == b->lost && a->lost_samples == b->lost_samples);
	check(!memcmp(a->counts, b->counts, sizeof(a->counts)));
}

static bool is_file(const struct file *f)
{
	return f->kind < KIND_PIPE;
}

static bool has_header(const struct file *f)
{
	uint64_t magic = 0;

	if (f->size >= sizeof(magic))
		memcpy(&magic, f->p, sizeof(magic));
	return magic == PD_MAGIC || magic == PD_MAGIC_SWAPPED;
}

/* A pipe's recording has no other files, and says so where there are any. Of
 * one that has a header nothing is taken. */
static void check_foreign(const struct file *f, const struct told *one,
			  struct told head)
{
	if (head.pipe)
		head.damaged = 1;
	else if (has_header(f))
		head.damaged++;
	else
		return;
	check_same(one, &head);
}

/* Return: false: for one of the files the folder is refused. */
static bool sum_up(int folder, const struct files *f, struct told *sum)
{
	struct files two = {.v = {f->v[0]}, .n = 1};
	const struct told head = read_folder(folder, &two, look_no_more);

	*sum = head;
	if (head.rc)
		return false;
	two.n = 2;
	for (size_t i = 1; i < f->n; i++) {
		struct told one;

		if (f->v[i].kind == KIND_MISSING)
			continue;
		two.v[1] = f->v[i];
		two.v[1].number = 0;
		strcpy(two.v[1].name, "data.0");
		one = read_folder(folder, &two, look_no_more);
		check(!one.rc == is_file(&f->v[i]));
		if (one.rc)
			return false;
		check_foreign(&f->v[i], &one, head);
		add(sum, &one, &head);
	}
	sum->damaged += count_gaps(f);
	if (head.pipe)
		sum->damaged = sum->damaged > 0;
	return true;
}

static void check_apart(int folder, const struct files *f,
			const struct told *all)
{
	struct told sum;

	if (!sum_up(folder, f, &sum)) {
		check(all->rc);
		return;
	}
	check(!all->rc);
	/* How much may be decompressed depends on the size of all. */
	if (!sum.bomb && !all->bomb)
		check_same(&sum, all);
}

static void remove_root(void)
{
	rmdir(root);
}

static int open_root(void)
{
	int fd;

	check(mkdtemp(root) != NULL);
	atexit(remove_root);
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	check(fd >= 0);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int folder = -1;
	struct files files;
	struct told all;

	if (folder < 0)
		folder = open_root();
	take_files(data, size, &files);
	all = read_folder(folder, &files, check_recording);
	if (files.n)
		check_apart(folder, &files, &all);
	return 0;
}
