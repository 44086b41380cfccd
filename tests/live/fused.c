/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A file system in a process: fused MOUNTPOINT PROGRAM. It has two files,
 * PROGRAM's content as "prog", and "never", whose pages it never gives to
 * anybody. It prints a line when it is mounted and after each command, a
 * letter from standard input: w, run for a while with a stack pointer into its
 * own "never"; s, answer nothing any more; g, go on; d, answer nothing at once
 * from here on; ?, how many requests wait. It ends with its input.
 *
 * The protocol is the kernel's own (linux/fuse.h), on one thread.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PROG 2
#define NEVER 3
#define NEVER_SIZE (1 << 20)
#define MAX_HELD 256
#define MAX_READ (256 << 10)

#define DELAY_NS 30000000L

static int fd, content, stuck, slow;
static struct stat st;
static char *never;
static struct held {
	uint64_t unique, offset;
	uint32_t opcode, size;
	uint64_t node;
} held[MAX_HELD];
static int n_held;

static void need(int good, const char *what)
{
	if (!good) {
		perror(what);
		exit(9);
	}
}

static void reply(uint64_t unique, int error, const void *data, size_t size)
{
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + size),
		.error = error,
		.unique = unique,
	};
	struct iovec v[2] = {{&head, sizeof(head)}, {(void *)data, size}};
	struct timespec delay = {.tv_nsec = DELAY_NS};

	if (slow)
		nanosleep(&delay, NULL);
	/* ENOENT: who asked was interrupted. */
	if (writev(fd, v, size ? 2 : 1) < 0 && errno != ENOENT)
		perror("answer");
}

static struct fuse_attr attr_of(uint64_t node)
{
	struct fuse_attr a = {.ino = node, .mode = S_IFREG | 0755, .nlink = 1};

	if (node == FUSE_ROOT_ID) {
		a.mode = S_IFDIR | 0755;
		return a;
	}
	a.size = node == PROG ? (uint64_t)st.st_size : NEVER_SIZE;
	a.mtime = a.ctime = 1000000000;
	a.blksize = 4096;
	return a;
}

static void lookup(uint64_t unique, const char *name)
{
	struct fuse_entry_out out = {.entry_valid = 1000, .attr_valid = 1000};

	if (!strcmp(name, "prog"))
		out.nodeid = PROG;
	else if (!strcmp(name, "never"))
		out.nodeid = NEVER;
	out.attr = attr_of(out.nodeid);
	reply(unique, out.nodeid ? 0 : -ENOENT, &out,
	      out.nodeid ? sizeof(out) : 0);
}

static void hold(const struct held *request)
{
	need(n_held < MAX_HELD, "too many requests");
	held[n_held++] = *request;
}

static void answer_read(const struct held *r)
{
	static char buf[MAX_READ];
	size_t size = r->size < sizeof(buf) ? r->size : sizeof(buf);
	ssize_t n = pread(content, buf, size, (off_t)r->offset);

	reply(r->unique, n < 0 ? -EIO : 0, buf, n < 0 ? 0 : (size_t)n);
}

static void answer(const struct held *r)
{
	struct fuse_attr_out attr = {.attr_valid = 1000,
				     .attr = attr_of(r->node)};
	struct fuse_open_out open_out = {.open_flags = 0};
	struct fuse_statfs_out statfs = {.st = {.bsize = 4096, .namelen = 255}};

	switch (r->opcode) {
	case FUSE_GETATTR:
		reply(r->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		reply(r->unique, 0, &open_out, sizeof(open_out));
		break;
	case FUSE_READ:
		if (r->node == NEVER)
			hold(r);
		else
			answer_read(r);
		break;
	case FUSE_STATFS:
		reply(r->unique, 0, &statfs, sizeof(statfs));
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_ACCESS:
		reply(r->unique, 0, NULL, 0);
		break;
	default:
		reply(r->unique, -ENOSYS, NULL, 0);
	}
}

static void init(uint64_t unique, const struct fuse_init_in *in)
{
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = in->max_readahead,
		.flags = FUSE_ASYNC_READ,
		.max_write = 4096,
	};

	reply(unique, 0, &out, sizeof(out));
}

static void serve(void)
{
	static char buf[(1 << 20) + 4096];
	struct fuse_in_header *in = (void *)buf;
	struct fuse_read_in *rd = (void *)(in + 1);
	struct held r;

	if (read(fd, buf, sizeof(buf)) < (ssize_t)sizeof(*in))
		return;
	r = (struct held){
		.unique = in->unique, .opcode = in->opcode, .node = in->nodeid};
	if (in->opcode == FUSE_READ) {
		r.offset = rd->offset;
		r.size = rd->size;
	}
	if (in->opcode == FUSE_INIT)
		init(in->unique, (void *)(in + 1));
	else if (in->opcode == FUSE_FORGET || in->opcode == FUSE_BATCH_FORGET ||
		 in->opcode == FUSE_INTERRUPT)
		return;
	else if (stuck)
		hold(&r);
	else if (in->opcode == FUSE_LOOKUP)
		lookup(in->unique, (char *)(in + 1));
	else
		answer(&r);
}

/* Nothing may be called or pushed meanwhile. */
__attribute__((noinline)) void spin_own(unsigned long sp, long n)
{
	unsigned long own;

	__asm__ volatile("mov %%rsp, %0; mov %2, %%rsp\n"
			 "1: dec %1; jnz 1b\n"
			 "mov %0, %%rsp"
			 : "=&r"(own), "+r"(n)
			 : "r"(sp)
			 : "memory");
}

static void go_on(void)
{
	int n = n_held;

	stuck = n_held = 0;
	for (int i = 0; i < n; i++)
		answer(&held[i]);
}

static int command(void)
{
	char c;

	if (read(0, &c, 1) != 1)
		return 0;
	if (c == 'w')
		spin_own((unsigned long)never + 8192, 400000000);
	if (c == 's')
		stuck = 1;
	if (c == 'g')
		go_on();
	if (c == 'd')
		slow = 1;
	if (c == '?')
		printf("%d\n", n_held);
	else
		puts("done");
	return 1;
}

static void *server(void *arg)
{
	struct pollfd p[2] = {{.fd = 0, .events = POLLIN},
			      {.fd = fd, .events = POLLIN}};

	for (;;) {
		poll(p, 2, -1);
		if (p[1].revents & POLLIN)
			serve();
		if (p[0].revents && !command())
			_exit(0);
	}
	return arg;
}

int main(int argc, char **argv)
{
	char options[128], path[4096];
	pthread_t thread;
	int own;

	need(argc == 3, "fused MOUNTPOINT PROGRAM");
	setvbuf(stdout, NULL, _IOLBF, 0);
	content = open(argv[2], O_RDONLY);
	need(content >= 0 && !fstat(content, &st), argv[2]);
	fd = open("/dev/fuse", O_RDWR);
	need(fd >= 0, "/dev/fuse");
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
	need(!mount("fused", argv[1], "fuse", 0, options), "mount");
	need(!pthread_create(&thread, NULL, server, NULL), "thread");
	snprintf(path, sizeof(path), "%s/never", argv[1]);
	own = open(path, O_RDONLY);
	need(own >= 0, path);
	never = mmap(NULL, NEVER_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, own,
		     0);
	need(never != MAP_FAILED, "mmap");
	/* At our end nobody would answer what a close asks. */
	close(own);
	puts("mounted");
	pause();
	return 0;
}
