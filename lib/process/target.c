// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "process/target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What a task's status says; 0 is what it does not. */
struct status {
	char state;
	unsigned tgid, threads;
};

/* Closes it. */
static void read_status(int fd, struct status *s)
{
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char line[128];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "State: %c", &s->state) == 1 ||
		    sscanf(line, "Tgid: %u", &s->tgid) == 1)
			continue;
		if (sscanf(line, "Threads: %u", &s->threads) == 1)
			break;
	}
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
}

static struct status status_of(uint32_t tid)
{
	struct status s = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	read_status(open(path, O_RDONLY | O_CLOEXEC), &s);
	return s;
}

static bool is_over(const struct status *s, uint32_t tid)
{
	return s->state == 'X' ||
	       (s->state == 'Z' && (s->threads <= 1 || s->tgid != tid));
}

bool seam_task_gone(uint32_t tid)
{
	struct status s;

	/* /proc may be hidden from us; signals tell who is there. */
	if (kill((pid_t)tid, 0) && errno == ESRCH)
		return true;
	s = status_of(tid);
	return is_over(&s, tid);
}

bool seam_task_over(uint32_t tid, uint64_t *exited_ns, uint64_t now_ns)
{
	if (!*exited_ns || *exited_ns + SEAM_KEEP_DEAD_NS > now_ns)
		return false;
	if (seam_task_gone(tid))
		return true;
	*exited_ns = now_ns;
	return false;
}

uint32_t seam_task_process(uint32_t tid)
{
	return status_of(tid).tgid;
}

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* Linux 6.9 */
#endif

static int pidfd_open(uint32_t id, unsigned flags)
{
	long fd = syscall(SYS_pidfd_open, (pid_t)id, flags);

	return fd < 0 ? -errno : (int)fd;
}

/* A thread's own, before Linux 6.9: the folder of one that ended stays empty,
 * whoever has its number then. */
static int folder_open(uint32_t tid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/task/%u", tid, tid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int task_open(uint32_t id, bool is_thread, bool *ret_is_folder)
{
	int fd = pidfd_open(id, is_thread ? PIDFD_THREAD : 0);

	*ret_is_folder = is_thread && fd == -EINVAL;
	return *ret_is_folder ? folder_open(id) : fd;
}

int seam_target_open(uint32_t id, bool is_thread, struct seam_target *ret)
{
	struct seam_target t = {.process = -1, .id = id};

	t.task = task_open(id, is_thread, &t.is_folder);
	if (t.task < 0) /* EINVAL, ENOENT: a thread's number as a process's */
		return t.task == -EINVAL || t.task == -ENOENT ? -ESRCH : t.task;
	t.tgid = seam_task_process(id);
	if (is_thread)
		t.process = pidfd_open(t.tgid, 0);
	/* Asked by number: if it lives still, the answers were its own. */
	if (!t.tgid || (is_thread && t.process < 0) || seam_target_ended(&t)) {
		int err = is_thread && t.process < 0 && t.process != -EINVAL
				  ? t.process
				  : -ESRCH;

		seam_target_close(&t);
		return err;
	}
	*ret = t;
	return 0;
}

void seam_target_close(struct seam_target *target)
{
	if (target->task >= 0)
		close(target->task);
	if (target->process >= 0)
		close(target->process);
}

static bool ended(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

/* A first thread is there until the last, since by an exec that may become it:
 * as newer kernels' pidfds have it. */
static bool folder_ended(int folder, uint32_t tid)
{
	struct status s = {0};
	int fd = openat(folder, "status", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT || errno == ESRCH;
	read_status(fd, &s);
	return !s.state || is_over(&s, tid);
}

bool seam_target_ended(const struct seam_target *target)
{
	if (!target->is_folder)
		return ended(target->task);
	/* That first, since it takes no descriptor more. */
	return (target->process >= 0 && ended(target->process)) ||
	       folder_ended(target->task, target->id);
}

bool seam_target_process_ended(const struct seam_target *target)
{
	return target->process < 0 || ended(target->process);
}

/* A regular file, or nothing: opening a pipe may wait for ever, and opening
 * a device may do things to it. The path is another's to choose. */
static int open_regular(const char *path)
{
	int at = open(path, O_PATH | O_CLOEXEC), fd = -ENOENT;
	struct stat st;
	char again[32];

	if (at < 0)
		return -errno;
	if (!fstat(at, &st) && S_ISREG(st.st_mode)) {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", at);
		/* Who holds a lease on it is not waited for. */
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			fd = -errno;
	}
	close(at);
	return fd;
}

int seam_open_mapped(uint32_t pid, uint64_t start, uint64_t end)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64,
		 pid, start, end);
	return open_regular(path);
}

int seam_open_path(uint32_t pid, const char *path)
{
	char rooted[4200];
	int fd;

	if (path[0] != '/')
		return -ENOENT;
	/* The process may have another root; when it is gone, try ours. */
	snprintf(rooted, sizeof(rooted), "/proc/%u/root%s", pid, path);
	fd = open_regular(rooted);
	return fd < 0 ? open_regular(path) : fd;
}
