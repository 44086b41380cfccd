// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The process that may be left behind: see fetch.h. */
#include "process/fetch-child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/pass.h"
#include "elf/parts.h"
#include "kernel/kernel.h"
#include "process/target.h"

/* Read between two signs of life. */
#define PIECE (64 * 1024)
#define MAX_BYTES (1ULL << 30) /* more is refused of any file */
#define SOCKET 3
#define KEY_PROG 4

struct child {
	bool has_key_prog;
	int file; /* -1: none */
};

static bool answer(const struct fetch_answer *a, const void *bytes, size_t size,
		   int fd)
{
	struct iovec v[2] = {{(void *)a, sizeof(*a)}, {(void *)bytes, size}};

	return seam_pass(SOCKET, v, size ? 2 : 1, fd) > 0;
}

static void go_on(void)
{
	const struct fetch_answer a = {.result = -EINPROGRESS};

	answer(&a, NULL, 0, -1);
}

static int look(const struct child *c, struct seam_fetched *ret)
{
	struct seam_key_args args = {0};
	char link[32];

	memset(ret, 0, sizeof(*ret));
	snprintf(link, sizeof(link), "/proc/self/fd/%d", c->file);
	if (readlink(link, ret->path, sizeof(ret->path) - 1) < 0)
		ret->path[0] = 0;
	if (fstat(c->file, &ret->st))
		return -errno;
	go_on();
	ret->has_key = c->has_key_prog &&
		       !seam_kernel_ask_key(KEY_PROG, c->file, &args);
	ret->key = args.key;
	ret->mtime_ns = args.mtime_ns;
	return 0;
}

static void close_file(struct child *c)
{
	if (c->file >= 0)
		close(c->file);
	c->file = -1;
}

static int open_file(struct child *c, const struct fetch_ask *ask,
		     struct seam_fetched *ret)
{
	close_file(c);
	c->file = ask->path[0]
			  ? seam_open_path(ask->pid, ask->path)
			  : seam_open_mapped(ask->pid, ask->start, ask->end);
	if (c->file < 0)
		return c->file;
	go_on();
	return look(c, ret);
}

static int copy_part(int from, int to, struct seam_elf_part p)
{
	static char piece[PIECE];

	while (p.off < p.end) {
		size_t size = p.end - p.off < PIECE ? p.end - p.off : PIECE;
		ssize_t n = pread(from, piece, size, (off_t)p.off);

		if (n <= 0)
			return n ? -errno : -EIO;
		if (pwrite(to, piece, (size_t)n, (off_t)p.off) != n)
			return -ENOMEM;
		p.off += (uint64_t)n;
		go_on();
	}
	return 0;
}

static int copy_file(const struct child *c, struct seam_fetched *ret)
{
	struct seam_elf_parts parts = {0};
	struct stat st;
	int err, to;

	if (fstat(c->file, &st))
		return -errno;
	err = seam_elf_parts_of_fd(c->file, (uint64_t)st.st_size,
				   SEAM_ELF_FOR_ALL, &parts);
	if (err)
		return err;
	err = seam_elf_parts_settle(&parts, (uint64_t)st.st_size) > MAX_BYTES
		      ? -EFBIG
		      : 0;
	to = memfd_create("seam-fetched", MFD_CLOEXEC);
	if (to < 0 || ftruncate(to, st.st_size))
		err = -ENOMEM;
	for (size_t i = 0; !err && i < parts.n; i++)
		err = copy_part(c->file, to, parts.v[i]);
	seam_elf_parts_fini(&parts);
	if (!err)
		err = look(c, ret);
	if (!err)
		return to;
	if (to >= 0)
		close(to);
	return err;
}

static bool serve_one(struct child *c, const struct fetch_ask *ask)
{
	struct fetch_answer a = {0};
	char bytes[SEAM_FETCH_PAGE];
	int fd = -1;
	ssize_t n = 0;
	bool ok;

	switch (ask->what) {
	case FETCH_OPEN:
		a.result = open_file(c, ask, &a.file);
		break;
	case FETCH_COPY:
		fd = copy_file(c, &a.file);
		a.result = fd < 0 ? fd : 0;
		break;
	case FETCH_READ:
		n = pread(c->file, bytes,
			  ask->size < sizeof(bytes) ? ask->size : sizeof(bytes),
			  (off_t)ask->off);
		a.result = n < 0 ? -errno : 0;
		break;
	case FETCH_CLOSE:
		close_file(c);
		break;
	}
	ok = answer(&a, bytes, n > 0 ? (size_t)n : 0, fd);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* What we share with who began us: maps of BPF's, for one, would be there as
 * long as we are, which may be longer than they are. */
static void unshare_memory(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], perms[5];
	uint64_t start, end;

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &start, &end,
			   perms) == 3 &&
		    perms[3] == 's')
			munmap((void *)(uintptr_t)start, end - start);
	if (maps)
		fclose(maps);
}

void seam_fetch_serve(int fd, int key_prog)
{
	struct child c = {key_prog >= 0, -1};
	struct fetch_ask ask;
	int high = fcntl(fd, F_DUPFD, 16);
	int high_prog = key_prog < 0 ? -1 : fcntl(key_prog, F_DUPFD, 16);

	/* Else what has our numbers would be taken for ours. */
	if (high < 0 || (key_prog >= 0 && high_prog < 0))
		_exit(1);
	/* Standard streams are others' pipes, who wait for their end. */
	for (int i = 0; i < 3; i++)
		close(i);
	dup2(high, SOCKET);
	if (high_prog >= 0)
		dup2(high_prog, KEY_PROG);
	close_range(c.has_key_prog ? KEY_PROG + 1 : KEY_PROG, ~0U, 0);
	/* Whoever opens a file gets no number that programs write to. */
	for (int i = 0; i < 3; i++)
		open("/dev/null", O_RDWR);
	unshare_memory();
	while (recv(SOCKET, &ask, sizeof(ask), 0) == sizeof(ask) &&
	       serve_one(&c, &ask))
		;
	_exit(0);
}
