// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Processes and threads, for as long as they live and somewhat longer: what
 * has ended waits in a queue, and is let go when many others have ended since.
 *
 * Nothing but a sample asks for what has ended, and what comes of a task behind
 * its EXIT is of the exit itself: in the kernel, whose mappings stay, with no
 * user half, since its memory is gone. Stacks, and samples before it, come
 * behind it only as far as records are out of order, which a reader's sorting
 * leaves within one thread's buffers and a stream's window counts. That is
 * microseconds, and of a task that was preempted in its exit some thousand of
 * those, not as long as it takes thousands of others to end. It is counted in
 * these and not in time, which not all recordings have, and of which no memory
 * is a function. A task that samples do ask for stays as long as they do.
 */
#include <errno.h>
#include <stdlib.h>

#include "stitch/space.h"

#define ENDED_MAX 4096 /* threads that have ended, and are kept */
#define PIDS (1U << 22) /* the kernel has no more: PID_MAX_LIMIT */
#define WORD 64

static void forget_pid(struct world *w, uint32_t pid)
{
	if (!w->forgotten)
		w->forgotten = calloc(PIDS / WORD, sizeof(*w->forgotten));
	w->forgets_all |= !w->forgotten;
	if (w->forgotten && pid < PIDS)
		w->forgotten[pid / WORD] |= UINT64_C(1) << pid % WORD;
}

bool seam_world_forgot(const struct world *w, uint32_t pid)
{
	return w->forgets_all || (w->forgotten && pid < PIDS &&
				  w->forgotten[pid / WORD] >> pid % WORD & 1);
}

struct process *seam_world_process(struct world *w, uint32_t pid)
{
	struct process *p = seam_idmap_get(&w->processes, pid);

	if (p)
		return p;
	p = seam_idmap_make(&w->processes, pid, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	if (w->forgotten && pid < PIDS)
		w->forgotten[pid / WORD] &= ~(UINT64_C(1) << pid % WORD);
	return p;
}

static void process_free(void *value)
{
	struct process *p = value;

	seam_space_put(p->space);
	for (size_t i = 0; i < SEAM_SPACE_EXECS; i++)
		seam_space_put(p->before[i]);
	free(p);
}

/* --- a process's threads --- */

static void join(struct process *p, struct thread *t)
{
	t->process = p;
	t->prev = NULL;
	t->next = p->threads;
	if (t->next)
		t->next->prev = t;
	p->threads = t;
}

static void leave(struct thread *t)
{
	if (t->prev)
		t->prev->next = t->next;
	else
		t->process->threads = t->next;
	if (t->next)
		t->next->prev = t->prev;
}

/* --- those that have ended --- */

static void enqueue(struct world *w, struct thread *t)
{
	t->has_ended = true;
	t->is_used = false;
	t->newer = NULL;
	t->older = w->newest;
	if (w->newest)
		w->newest->newer = t;
	else
		w->oldest = t;
	w->newest = t;
	w->n_ended++;
}

static void dequeue(struct world *w, struct thread *t)
{
	if (!t->has_ended)
		return;
	if (t->older)
		t->older->newer = t->newer;
	else
		w->oldest = t->newer;
	if (t->newer)
		t->newer->older = t->older;
	else
		w->newest = t->older;
	t->has_ended = false;
	w->n_ended--;
}

/* With its last thread a process goes. */
static void let_go(struct world *w, struct thread *t)
{
	struct process *p = t->process;

	dequeue(w, t);
	leave(t);
	seam_idmap_remove(&w->threads, t->tid);
	if (w->on_gone)
		w->on_gone(w->ctx, t->tid);
	free(t);
	if (p->threads)
		return;
	seam_idmap_remove(&w->processes, p->pid);
	forget_pid(w, p->pid);
	process_free(p);
}

static bool is_last_of(const struct thread *t, const struct process *p)
{
	return t->process == p && !t->next && !t->prev;
}

void seam_world_let_go(struct world *w, size_t n, size_t areas,
		       const struct process *p)
{
	/* Each is looked at twice at most: it is used no more meanwhile. */
	for (size_t looks = 2 * w->n_ended;
	     looks && w->n_ended > n && w->n_areas >= areas; looks--) {
		struct thread *t = w->oldest;

		if (t->is_used || is_last_of(t, p)) {
			dequeue(w, t);
			enqueue(w, t);
		} else {
			let_go(w, t);
		}
	}
}

static void end(struct world *w, struct thread *t)
{
	dequeue(w, t);
	enqueue(w, t);
}

void seam_world_ended(struct world *w, struct thread *t)
{
	end(w, t);
	seam_world_let_go(w, ENDED_MAX, 0, NULL);
}

void seam_world_ended_but(struct world *w, struct process *p,
			  const struct thread *but)
{
	for (struct thread *t = p->threads; t; t = t->next)
		if (t != but && !t->has_ended)
			end(w, t);
	seam_world_let_go(w, ENDED_MAX, 0, NULL);
}

/* --- */

struct thread *seam_world_thread(struct world *w, uint32_t pid, uint32_t tid)
{
	struct process *p = seam_world_process(w, pid);
	struct thread *t =
		p ? seam_idmap_make(&w->threads, tid, sizeof(*t)) : NULL;

	if (!t)
		return NULL;
	dequeue(w, t);
	if (t->process == p)
		return t;
	/* The number is used again, and that its end was not recorded may be.
	 * Of the process that it was of nothing is known then. */
	if (t->process) {
		struct process *from = t->process;

		leave(t);
		if (!from->threads) {
			seam_idmap_remove(&w->processes, from->pid);
			process_free(from);
		}
	}
	t->tid = tid;
	join(p, t);
	return t;
}

const struct process *seam_world_ask(struct world *w, uint32_t pid,
				     uint32_t tid, const struct thread **ret)
{
	struct thread *t = seam_idmap_get(&w->threads, tid);

	if (t && t->has_ended)
		t->is_used = true;
	*ret = t;
	return seam_idmap_get(&w->processes, pid);
}

void seam_world_tasks_fini(struct world *w)
{
	seam_idmap_fini(&w->processes, process_free);
	seam_idmap_fini(&w->threads, free);
	free(w->forgotten);
}
