// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The code that another process has mapped. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/maps-path.h"
#include "elf/fail.h"
#include "unwind/tables.h"

int seam_read_process(void *ctx, uint64_t addr, void *to, size_t size)
{
	const int saved_errno = errno;
	struct iovec local = {to, size};
	struct iovec remote = {(void *)(uintptr_t)addr, size};
	ssize_t n = process_vm_readv(*(pid_t *)ctx, &local, 1, &remote, 1, 0);
	int r = n < 0 ? -errno : (size_t)n == size ? 0 : -EFAULT;

	errno = saved_errno;
	return r;
}

/* A line of /proc/PID/maps. */
struct line {
	uint64_t start, end, off;
	unsigned int major, minor;
	uint64_t ino;
	bool is_code;
	const char *path; /* in the line; may be "" */
};

static bool parse(char *text, struct line *ret)
{
	char perms[5];
	int at = 0;

	if (sscanf(text,
		   "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64
		   " %n",
		   &ret->start, &ret->end, perms, &ret->off, &ret->major,
		   &ret->minor, &ret->ino, &at) < 7 ||
	    !at)
		return false;
	ret->is_code = perms[2] == 'x';
	ret->path = text + at;
	text[strcspn(text, "\n")] = 0;
	return true;
}

/* The file at a path, if that is the one of the mapping. */
static int open_path(pid_t pid, const struct line *l, const char *path)
{
	char name[4096 + 64];
	struct stat st;
	int fd;

	if (snprintf(name, sizeof(name), "/proc/%d/root%s", (int)pid, path) >=
	    (int)sizeof(name))
		return -1;
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 &&
	    (fstat(fd, &st) || st.st_ino != l->ino ||
	     major(st.st_dev) != l->major || minor(st.st_dev) != l->minor)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The file of a mapping, by the link that needs rights, or by its path if
 * that is still the same file. Return: a descriptor or -1. */
static int open_mapped(pid_t pid, const struct line *l)
{
	char name[96], *other;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
		 (int)pid, l->start, l->end);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		fd = open_path(pid, l, l->path);
	if (fd >= 0)
		return fd;
	other = seam_maps_path_other(l->path);
	if (other)
		fd = open_path(pid, l, other);
	free(other);
	return fd;
}

static int add_memory(struct seam_tables *t, pid_t pid, const struct line *l)
{
	struct seam_elf *elf;
	int r = seam_elf_open_loaded(seam_read_process, &pid, l->start, &elf,
				     NULL);

	if (r)
		return r;
	r = seam_tables_add_elf(t, l->start, l->end, 0, elf);
	if (r)
		seam_elf_close(elf);
	return r;
}

/* Return: 0, -ENOMEM, or another -errno: it has no rules. */
static int add_line(struct seam_tables *t, pid_t pid, const struct line *l)
{
	int fd, r;

	if (!strcmp(l->path, "[vdso]"))
		return add_memory(t, pid, l);
	if (l->path[0] != '/')
		return -ENOENT;
	fd = open_mapped(pid, l);
	if (fd < 0)
		return -ENOENT;
	r = seam_tables_add_file(t, l->start, l->end, l->off, fd, NULL);
	close(fd);
	return r;
}

static int add_lines(struct seam_tables *t, pid_t pid, FILE *maps)
{
	char *text = NULL;
	size_t room = 0;
	int n = 0, r = 0;

	while (r != -ENOMEM && getline(&text, &room, maps) > 0) {
		struct line l;

		if (!parse(text, &l) || !l.is_code)
			continue;
		r = add_line(t, pid, &l);
		n += !r;
	}
	if (r == -ENOMEM)
		n = r;
	else if (!feof(maps))
		n = ferror(maps) ? -EIO : -ENOMEM;
	free(text);
	return n;
}

int seam_tables_add_process(struct seam_tables *t, pid_t pid,
			    struct seam_errinfo *reterr)
{
	const int saved_errno = errno;
	char name[32];
	FILE *maps;
	int r;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	maps = fopen(name, "re");
	r = maps ? add_lines(t, pid, maps) : -errno;
	if (maps)
		fclose(maps);
	else
		seam_elf_fail(reterr, 0, 0, name,
			      "the process's mappings cannot be read");
	errno = saved_errno;
	return r;
}
