// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "table/tidy.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"

#define BLOCK 4096 /* what a file takes on most disks, however small */

struct used {
	struct timespec at;
	uint64_t size;
	char *name;
};

struct tables {
	struct used *files;
	size_t n, max;
	uint64_t size; /* of all */
};

static DIR *open_list(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

void seam_cache_remove_stale(int dir)
{
	time_t limit = time(NULL) - 3600;
	DIR *d = open_list(dir);
	struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d))) {
		if (!strncmp(e->d_name, SEAM_CACHE_TMP,
			     strlen(SEAM_CACHE_TMP)) &&
		    !fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    st.st_mtime < limit)
			unlinkat(dir, e->d_name, 0);
	}
	if (d)
		closedir(d);
}

/* BUILDID.kN or .lN, of any version: nobody else removes the old ones. */
static bool is_table(const char *name)
{
	size_t n = strspn(name, "0123456789abcdef");

	return n && name[n] == '.' &&
	       (name[n + 1] == 'k' || name[n + 1] == 'l') &&
	       isdigit((unsigned char)name[n + 2]) &&
	       !name[n + 2 + strspn(name + n + 2, "0123456789")];
}

static void list_tables(int dir, struct tables *t)
{
	DIR *d = open_list(dir);
	struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d))) {
		struct used u;

		if (!is_table(e->d_name) ||
		    fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		u.at = st.st_mtim;
		u.size = ((uint64_t)st.st_size / BLOCK + 1) * BLOCK;
		/* Without memory for all, those listed so far are judged. */
		if (seam_grow(&t->files, t->n + 1, &t->max, sizeof(u)))
			break;
		u.name = strdup(e->d_name);
		if (!u.name)
			break;
		t->files[t->n++] = u;
		t->size += u.size;
	}
	if (d)
		closedir(d);
}

static int compare_times(struct timespec a, struct timespec b)
{
	if (a.tv_sec != b.tv_sec)
		return a.tv_sec < b.tv_sec ? -1 : 1;
	return (a.tv_nsec > b.tv_nsec) - (a.tv_nsec < b.tv_nsec);
}

static int by_use(const void *a, const void *b)
{
	const struct used *x = a, *y = b;

	return compare_times(x->at, y->at);
}

/* Return: whether it is gone. Not if it was used, or made anew, since it was
 * listed. */
static bool remove_unused(int dir, const struct used *u)
{
	struct stat st;

	if (fstatat(dir, u->name, &st, AT_SYMLINK_NOFOLLOW))
		return true;
	return !compare_times(st.st_mtim, u->at) && !unlinkat(dir, u->name, 0);
}

void seam_cache_shrink(int dir, uint64_t max)
{
	struct tables t = {0};

	list_tables(dir, &t);
	if (t.size > max)
		qsort(t.files, t.n, sizeof(*t.files), by_use);
	for (size_t i = 0; i < t.n; i++) {
		if (t.size > max && remove_unused(dir, &t.files[i]))
			t.size -= t.files[i].size;
		free(t.files[i].name);
	}
	free(t.files);
}
