// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "process/followed.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "process/target.h"

#define LOOK_NS 1000000000ULL

struct one {
	uint64_t exited_ns; /* its first thread; 0: lives */
};

int seam_followed_add(struct seam_followed *f, uint32_t pid)
{
	struct one *one = seam_idmap_make(&f->by_pid, pid, sizeof(*one));

	if (!one)
		return -ENOMEM;
	one->exited_ns = 0;
	return 0;
}

/* pid, ppid, tid and ptid of FORK and EXIT; the first is any record's. */
enum word { PID, PPID, TID };

static uint32_t word(const struct perf_event_header *h, enum word which)
{
	uint32_t value;

	memcpy(&value, (const uint8_t *)(h + 1) + 4 * (int)which,
	       sizeof(value));
	return value;
}

/* A new process, perhaps under the number of one that was followed. */
static int on_fork(struct seam_followed *f, uint32_t pid, uint32_t ppid)
{
	if (pid == ppid)
		return 0; /* a thread */
	if (!f->alone && seam_idmap_get(&f->by_pid, ppid))
		return seam_followed_add(f, pid);
	free(seam_idmap_remove(&f->by_pid, pid));
	return 0;
}

int seam_followed_record(struct seam_followed *f, uint64_t time_ns,
			 const struct perf_event_header *h)
{
	struct one *one;
	int err = 0;

	if (h->type == PERF_RECORD_FORK)
		err = on_fork(f, word(h, PID), word(h, PPID));
	if (err)
		return err;
	one = seam_idmap_get(&f->by_pid, word(h, PID));
	if (one && h->type == PERF_RECORD_EXIT && word(h, PID) == word(h, TID))
		one->exited_ns = time_ns;
	return one != NULL;
}

bool seam_followed_exited(const struct perf_event_header *h, uint32_t pid,
			  uint32_t tid)
{
	return h->type == PERF_RECORD_EXIT && word(h, PID) == pid &&
	       word(h, TID) == tid;
}

/* As in process.c: a process outlives its first thread. */
static bool is_over(void *ctx, uint64_t pid, void *value)
{
	const uint64_t *now_ns = ctx;
	struct one *one = value;

	if (!seam_task_over((uint32_t)pid, &one->exited_ns, *now_ns))
		return false;
	free(one);
	return true;
}

void seam_followed_forget(struct seam_followed *f, uint64_t now_ns)
{
	if (now_ns - f->looked_ns < LOOK_NS)
		return;
	f->looked_ns = now_ns;
	seam_idmap_sweep(&f->by_pid, is_over, &now_ns);
}

void seam_followed_fini(struct seam_followed *f)
{
	seam_idmap_fini(&f->by_pid, free);
}
