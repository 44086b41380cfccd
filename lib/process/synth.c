// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "process/synth.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/maps-path.h"
#include "elf/elf.h"
#include "process/process.h"

#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif

#define NAME_MAX_LEN 4096

/* Room for the largest record and its tail. */
struct record {
	union {
		struct perf_event_header header;
		uint8_t bytes[NAME_MAX_LEN + 256];
	};
};

static void put(struct record *r, const void *data, size_t size)
{
	memcpy(r->bytes + r->header.size, data, size);
	r->header.size = (uint16_t)(r->header.size + size);
}

static void put_u32(struct record *r, uint32_t v)
{
	put(r, &v, sizeof(v));
}

static void put_u64(struct record *r, uint64_t v)
{
	put(r, &v, sizeof(v));
}

/* With its 0 and padding to 8 bytes. */
static void put_string(struct record *r, const char *s)
{
	size_t len = strlen(s);
	uint64_t zero = 0;

	if (len > NAME_MAX_LEN - 8)
		len = NAME_MAX_LEN - 8;

	put(r, s, len);
	put(r, &zero, 8 - len % 8);
}

static void begin(struct record *r, uint32_t type, uint16_t misc)
{
	r->header.type = type;
	r->header.misc = misc;
	r->header.size = sizeof(r->header);
}

static int finish(struct record *r, const struct seam_synth *sy, uint32_t pid,
		  uint32_t tid)
{
	put_u32(r, pid);
	put_u32(r, tid);
	put_u64(r, sy->time_ns);
	put_u64(r, 0); /* cpu */
	put_u64(r, sy->id);
	return sy->fn(sy->ctx, &r->header);
}

void seam_synth_find_kernel(uint64_t *ret_start, uint64_t *ret_end)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512], symbol[256], type;
	uint64_t addr;

	*ret_start = *ret_end = 0;
	while (f && !*ret_end && fgets(line, sizeof(line), f)) {
		if (strchr(line, '['))
			break; /* modules */
		/* A hundred thousand others are not worth their parsing. */
		if (!strstr(line, "text\n") ||
		    sscanf(line, "%" SCNx64 " %c %255s", &addr, &type,
			   symbol) != 3)
			continue;
		if (!strcmp(symbol, "_text"))
			*ret_start = addr;
		if (!strcmp(symbol, "_etext"))
			*ret_end = addr;
	}
	if (f)
		fclose(f);
}

static uint8_t kernel_build_id(uint8_t ret[20])
{
	uint8_t id[SEAM_BUILD_ID_MAX];
	size_t len = seam_own_build_id(id);

	if (len > 20)
		return 0;
	memcpy(ret, id, len);
	return (uint8_t)len;
}

static void put_build_id(struct record *r, const uint8_t id[20], uint8_t len)
{
	put_u32(r, len);
	put(r, id, 20);
}

/* With its build-id readers look for the kernel's symbols when another runs. */
int seam_synth_kernel(const struct seam_synth *sy, uint64_t start, uint64_t end)
{
	uint8_t id[20] = {0}, id_len = start ? kernel_build_id(id) : 0;
	struct record r;

	if (!start)
		return 0; /* hidden addresses: kernel frames stay numbers */
	begin(&r, id_len ? PERF_RECORD_MMAP2 : PERF_RECORD_MMAP,
	      PERF_RECORD_MISC_KERNEL |
		      (id_len ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0));
	put_u32(&r, UINT32_MAX);
	put_u32(&r, 0);
	put_u64(&r, start);
	/* All of the kernel: modules and BPF lie above and below. */
	put_u64(&r, (end > start ? end : UINT64_MAX) - start);
	put_u64(&r, start);
	if (id_len) {
		put_build_id(&r, id, id_len);
		put_u32(&r, PROT_READ | PROT_EXEC);
		put_u32(&r, MAP_PRIVATE);
	}
	/* By the symbol that perf tries first. */
	put_string(&r, "[kernel.kallsyms]_text");
	return finish(&r, sy, UINT32_MAX, 0);
}

/* A name may have a newline in it, as the file has behind it. */
static int read_name(const char *path, char *to, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, to, room - 1);
	close(fd);
	if (n < 0)
		return -EIO;
	if (n && to[n - 1] == '\n')
		n--;
	to[n] = 0;
	return 0;
}

static int synth_comm(const struct seam_synth *sy, uint32_t pid, uint32_t tid)
{
	char path[64], comm[64];
	struct record r;
	int err;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid);
	err = read_name(path, comm, sizeof(comm));
	if (err)
		return err == -ENOENT ? -ESRCH : err;
	begin(&r, PERF_RECORD_COMM, 0);
	put_u32(&r, pid);
	put_u32(&r, tid);
	put_string(&r, comm);
	return finish(&r, sy, pid, tid);
}

static int synth_fork(const struct seam_synth *sy, uint32_t pid, uint32_t tid)
{
	struct record r;

	begin(&r, PERF_RECORD_FORK, 0);
	put_u32(&r, pid);
	put_u32(&r, pid);
	put_u32(&r, tid);
	put_u32(&r, pid);
	put_u64(&r, sy->time_ns);
	return finish(&r, sy, pid, tid);
}

/* What one line of /proc/PID/maps says. */
struct maps_line {
	uint64_t start, end, off, ino;
	unsigned maj, min;
	char perms[8];
	const char *path;
	uint8_t build_id[20];
	uint8_t build_id_len; /* 0: not told */
	char name[PATH_MAX]; /* .path, where the line does not tell it */
};

/* struct procmap_query and its ioctl, Linux 6.11: the kernel reads the
 * build-id of the very file that is mapped, deleted or replaced. */
struct map_query {
	uint64_t size, flags, addr;
	uint64_t start, end, vma_flags, page_size, off, inode;
	uint32_t major, minor, name_size, build_id_size;
	uint64_t name_addr, build_id_addr;
};
#define MAP_QUERY _IOWR('f', 17, struct map_query)

static void query_build_id(int maps, struct maps_line *m)
{
	struct map_query q = {
		.size = sizeof(q),
		.addr = m->start,
		.build_id_size = sizeof(m->build_id),
		.build_id_addr = (uint64_t)(uintptr_t)m->build_id,
	};

	m->build_id_len = 0;
	if (m->ino && !ioctl(maps, MAP_QUERY, &q) &&
	    q.build_id_size <= sizeof(m->build_id))
		m->build_id_len = (uint8_t)q.build_id_size;
}

/* Without rights the query tells it, before Linux 6.11 the link. */
static void query_name(int maps, uint32_t pid, struct maps_line *m)
{
	struct map_query q = {
		.size = sizeof(q),
		.addr = m->start,
		.name_size = sizeof(m->name),
		.name_addr = (uint64_t)(uintptr_t)m->name,
	};
	char link[96];
	ssize_t n;

	if (!m->ino || !seam_maps_path_is_unsure(m->path))
		return;
	if (!ioctl(maps, MAP_QUERY, &q) && q.name_size) {
		m->path = m->name;
		return;
	}
	snprintf(link, sizeof(link), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64,
		 pid, m->start, m->end);
	n = readlink(link, m->name, sizeof(m->name) - 1);
	if (n > 0) {
		m->name[n] = '\0';
		m->path = m->name;
	}
}

/*
 * What leads to the process's root, and is not for us: where it has mounts of
 * its own, and we are in a chroot, paths are told from the root of all its
 * mounts on, where we see nothing. Else paths are as we see them.
 */
struct hidden_root {
	char path[PATH_MAX];
	size_t len; /* 0: there is none */
};

static void find_hidden_root(uint32_t pid, struct hidden_root *ret)
{
	char link[64];
	struct stat its, ours;
	ssize_t n;

	ret->len = 0;
	snprintf(link, sizeof(link), "/proc/%u/root", pid);
	n = readlink(link, ret->path, sizeof(ret->path) - 1);
	if (n <= 1 || stat(link, &its))
		return;
	ret->path[n] = '\0';
	if (!stat(ret->path, &ours) && ours.st_dev == its.st_dev &&
	    ours.st_ino == its.st_ino)
		return;
	ret->len = (size_t)n;
}

static void leave_out(const struct hidden_root *root, struct maps_line *m)
{
	if (root->len && !strncmp(m->path, root->path, root->len) &&
	    m->path[root->len] == '/')
		m->path += root->len;
}

static bool parse_line(char *line, struct maps_line *m)
{
	int at = 0;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line,
		   "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64
		   " %n",
		   &m->start, &m->end, m->perms, &m->off, &m->maj, &m->min,
		   &m->ino, &at) < 7)
		return false;
	m->path = line + at;
	if (!*m->path)
		m->path = "//anon";
	return strlen(m->perms) >= 4 && m->perms[2] == 'x';
}

static int synth_mmap2(const struct seam_synth *sy, uint32_t pid,
		       const struct maps_line *m)
{
	uint32_t prot = PROT_EXEC;
	struct record r;

	if (m->perms[0] == 'r')
		prot |= PROT_READ;
	if (m->perms[1] == 'w')
		prot |= PROT_WRITE;
	begin(&r, PERF_RECORD_MMAP2,
	      PERF_RECORD_MISC_USER |
		      (m->build_id_len ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0));
	put_u32(&r, pid);
	put_u32(&r, pid);
	put_u64(&r, m->start);
	put_u64(&r, m->end - m->start);
	put_u64(&r, m->off);
	if (m->build_id_len) {
		put_build_id(&r, m->build_id, m->build_id_len);
	} else {
		put_u32(&r, m->maj);
		put_u32(&r, m->min);
		put_u64(&r, m->ino);
		put_u64(&r, 0);
	}
	put_u32(&r, prot);
	put_u32(&r, m->perms[3] == 's' ? MAP_SHARED : MAP_PRIVATE);
	put_string(&r, m->path);
	return finish(&r, sy, pid, pid);
}

static int synth_maps(const struct seam_synth *sy, uint32_t pid)
{
	char path[64], *line = NULL;
	struct hidden_root root;
	struct maps_line m = {0};
	size_t room = 0;
	int err = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	find_hidden_root(pid, &root);
	while (!err && getline(&line, &room, f) > 0)
		if (parse_line(line, &m)) {
			query_build_id(fileno(f), &m);
			query_name(fileno(f), pid, &m);
			leave_out(&root, &m);
			err = synth_mmap2(sy, pid, &m);
		}
	free(line);
	fclose(f);
	return err;
}

int seam_synth_process(const struct seam_synth *sy, uint32_t pid)
{
	int err = synth_comm(sy, pid, pid);
	struct dirent *de;
	char path[64];
	DIR *dir;

	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && (de = readdir(dir))) {
		uint32_t tid = (uint32_t)strtoul(de->d_name, NULL, 10);

		if (!tid || tid == pid)
			continue;
		err = synth_fork(sy, pid, tid);
		if (!err)
			err = synth_comm(sy, pid, tid);
		if (err == -ESRCH) /* a thread that has ended since */
			err = 0;
	}
	closedir(dir);
	return err ? err : synth_maps(sy, pid);
}

int seam_synth_all(const struct seam_synth *sy)
{
	DIR *dir = opendir("/proc");
	struct dirent *de;
	int err = 0;

	if (!dir)
		return -errno;
	while (!err && (de = readdir(dir))) {
		if (!isdigit((unsigned char)de->d_name[0]))
			continue;
		err = seam_synth_process(
			sy, (uint32_t)strtoul(de->d_name, NULL, 10));
		if (err == -ESRCH || err == -EACCES)
			err = 0;
	}
	closedir(dir);
	return err;
}
