// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * What other tools' BPF programs have linked in, to ask for user stacks:
 * <seam/seam.bpf.h>. It is all that takes a stack, with the maps that it works
 * on; a loader makes those a session's own before it loads.
 *
 * A global function that may sleep, or that names a callback which may, can be
 * called from programs alone that may sleep (Linux 6.18: "global functions that
 * may sleep are not allowed in non-sleepable context"). So the task work is
 * scheduled by what the header has compiled into the tool's own program, and
 * the pages that a stack lacks are brought in there. There is no license here,
 * since the tool's own object has one.
 */
#define SEAM_LENT 1
#include "bpf/lent-names.h"

#include "bpf/watch.h"
#include "core/entry-other.h"
#include "core/entry-turn.h"
#include "seam/seam.bpf.h"

/* As often a stack is taken anew with a page more. */
#define TELLS_MAX 48
_Static_assert(sizeof(struct seam_bpf_stack) == sizeof(struct seam_wire_kept) &&
		       SEAM_BPF_FRAMES == SEAM_KEPT_FRAMES,
	       "one layout");
_Static_assert(TELLS_MAX < SEAM_LENT_TRIES, "the last try tells nothing");

_Static_assert(SEAM_FROM_AREA == SEAM_KERNEL_ENTRY_AREA &&
		       SEAM_FROM_AREA_SIZE == SEAM_KERNEL_ENTRY_AREA_SIZE &&
		       SEAM_FROM_REGS_SIZE == SEAM_KERNEL_REGS_SIZE,
	       "one rule");

/* The address of the task's registers is a pointer to the verifier until it has
 * been in memory, and is in the answer's place for that. */
static __always_inline bool lacks_regs(struct seam_lent *l,
				       struct task_struct *task)
{
	volatile unsigned long long *place = &l->cookie;
	unsigned long long cookie = *place, regs;

	if ((l->from & SEAM_FROM_KIND) != SEAM_FROM_STACK)
		return false;
	*place = (uint64_t)task_regs(task);
	regs = *place;
	*place = cookie;
	return seam_lent_lacks_regs(l->from, regs);
}

static __always_inline void asker(struct seam_entry_task *t,
				  struct seam_entry_env *env,
				  struct seam_lent *l)
{
	entry_task(t, env, bpf_get_current_task_btf());
	env->unsure = lacks_regs(l, env->task);
	t->depth = seam_request_depth;
}

_Static_assert((int)SEAM_LENT_DONE == (int)SEAM_TURN_DONE &&
		       (int)SEAM_LENT_SCHEDULE == (int)SEAM_TURN_SCHEDULE &&
		       (int)SEAM_LENT_TAKE == (int)SEAM_TURN_TAKE,
	       "one meaning");

/* What the tool's program keeps of a turn (core/entry-turn.h) while it is at
 * work. */
static __always_inline void turn_keep(struct seam_lent_stack *st,
				      const struct seam_turn *turn)
{
	st->cookie = turn->cookie;
	st->clients = turn->clients;
	st->flags = turn->flags;
	st->why_not = turn->why_not;
	st->taking = turn->taking;
}

/* A request comes to this. */
static __always_inline int answer(struct seam_lent *l,
				  struct seam_entry_task *t,
				  const struct seam_turn *turn, int next)
{
	struct seam_element *el;

	l->cookie = turn->asked.cookie;
	l->again = turn->again;
	if (next == SEAM_LENT_SCHEDULE)
		return next;
	if (!l->cookie)
		count(SEAM_COUNT_REQUESTS_NONE);
	else if (l->from == SEAM_FROM_PROBE)
		keep_probe(t->env->task, l->cookie);
	if (next != SEAM_LENT_TAKE)
		return next;
	turn_keep(&l->stack, turn);
	el = seam_entry_env_element(t);
	if (el) {
		tries_begin(&el->state, 0);
		if (turn->clients)
			el->state.taken_ns = bpf_ktime_get_ns();
	}
	return next;
}

#define NR_EXECVE 59
#define NR_EXECVEAT 322

/* The memory may be the next program's already, and the registers still the
 * one's before: those at the return are right, whichever it returns to. */
static __always_inline bool is_in_exec(struct task_struct *task)
{
	uint64_t nr = task_regs(task)->orig_ax;

	return nr == NR_EXECVE || nr == NR_EXECVEAT;
}

/* Whether the task is one of the client's. Of one that is it is noted where the
 * request comes by anyhow: who joins has no other map to look into. */
static __always_inline bool is_client_of(struct seam_entry_task *t)
{
	const struct seam_element *el = seam_entry_env_element(t);

	if (el && el->state.known & OWN_CLIENT &&
	    el->state.entry.start == t->start)
		return true;
	return has_user(t->env->task) && is_watched(t->env->task);
}

static __always_inline void note_client(struct seam_entry_task *t)
{
	struct seam_element *el = seam_entry_env_element(t);

	if (el && !(el->state.known & OWN_CLIENT))
		__sync_fetch_and_or(&el->state.known, OWN_CLIENT);
}

int seam_lent_begin(struct seam_lent *l ARG_NONNULL)
{
	bool in_user = seam_lent_in_user(l->from);
	struct seam_turn turn = {0};
	struct seam_entry_env env;
	struct seam_entry_task t;
	struct seam_element *el;
	int next;

	asker(&t, &env, l);
	count(SEAM_COUNT_REQUESTS);
	l->cookie = 0;
	/* Another's number is another session's, which did not ask. */
	if (l->client != seam_client || !is_client_of(&t)) {
		count(SEAM_COUNT_REQUESTS_FILTERED);
		return SEAM_LENT_DONE;
	}
	turn.unsure = env.unsure;
	next = seam_turn_begin(&t, in_user, &turn);
	note_client(&t);
	/* An entry that is new, whose registers were just kept. */
	if (next == SEAM_LENT_SCHEDULE && !in_user && is_in_exec(env.task)) {
		el = seam_entry_env_element(&t);
		if (el)
			el->state.regs_flags |= REGS_FLUX;
	}
	return answer(l, &t, &turn, next);
}

int seam_lent_scheduled(struct seam_lent *l ARG_NONNULL, int err)
{
	struct seam_turn turn = {.asked.cookie = l->cookie, .again = l->again};
	struct seam_entry_env env;
	struct seam_entry_task t;
	int next;

	asker(&t, &env, l);
	turn.unsure = env.unsure;
	next = seam_turn_scheduled(&t, &turn, err);
	return answer(l, &t, &turn, next);
}

static __always_inline int take_begin(struct seam_lent_stack *st,
				      struct seam_entry_task *t,
				      const struct seam_turn *turn, int next)
{
	struct seam_element *el = seam_entry_env_element(t);

	if (next != SEAM_LENT_TAKE || !el)
		return SEAM_LENT_DONE;
	turn_keep(st, turn);
	st->flags = regs_at_return(&el->state, t->env->task);
	tries_begin(&el->state, TELLS_MAX);
	return next;
}

int seam_lent_return(struct seam_lent_stack *st ARG_NONNULL)
{
	struct seam_turn turn = {0};
	struct seam_entry_env env;
	struct seam_entry_task t;
	int next;

	entry_task(&t, &env, bpf_get_current_task_btf());
	next = seam_turn_return(&t, &turn);
	return take_begin(st, &t, &turn, next);
}

/* The same for what others asked of the task. */
int seam_lent_outside(struct seam_lent_stack *st ARG_NONNULL)
{
	struct seam_turn turn = {0};
	struct seam_entry_env env;
	struct seam_entry_task t;
	int next;

	entry_task(&t, &env, bpf_get_current_task_btf());
	t.clients = all_clients();
	t.depth = 0;
	next = seam_turn_outside(&t, st->work & 1, &turn);
	return take_begin(st, &t, &turn, next);
}

/* Of a task that is not the current one. Return: the cookie that it is to come
 * with, once its task work is scheduled; 0: .cookie is the answer. */
static __always_inline uint64_t other_ask(struct seam_entry_task *t,
					  struct seam_lent *l)
{
	struct seam_element *el = seam_entry_env_element(t);
	struct seam_outside *o;
	uint64_t cookie = 0, lost;

	if (el)
		l->cookie = seam_other_join(t, &el->state.entry);
	if (l->cookie)
		return 0;
	o = outside_make(t->self, t->start);
	if (!o) {
		count(SEAM_COUNT_NO_ELEMENT);
		return 0;
	}
	if (SEAM_ENTRY_GET(o->start) != t->start) {
		count(SEAM_COUNT_STALE);
		lost = seam_other_renew(t, o, &cookie);
		if (lost)
			seam_lose_other(t->env->task, cookie, lost);
	}
	cookie = seam_other_ask(t, o);
	l->again = seam_other_work(o);
	/* Its first request may just have made it. */
	el = seam_entry_env_element(t);
	if (el && cookie)
		SEAM_ENTRY_PUT(el->state.no_outside, 0);
	return cookie;
}

static __always_inline int other_begin(struct seam_lent *l,
				       struct task_struct *task)
{
	struct seam_entry_env env;
	struct seam_entry_task t;

	entry_task(&t, &env, task);
	t.depth = seam_request_depth;
	if (l->client != seam_client || !has_user(task) || !t.image ||
	    !is_client_of(&t)) {
		count(SEAM_COUNT_REQUESTS_FILTERED);
		return SEAM_LENT_DONE;
	}
	if (!t.exiting && !t.dead) {
		uint64_t cookie = other_ask(&t, l);

		note_client(&t);
		if (cookie) {
			l->cookie = cookie;
			return SEAM_LENT_SCHEDULE;
		}
	}
	if (!l->cookie)
		count(SEAM_COUNT_REQUESTS_NONE);
	return SEAM_LENT_DONE;
}

/* While this is at work the task is not freed: what it has asked of one that is
 * dying, that tells. */
int seam_lent_other(struct seam_lent *l ARG_NONNULL,
		    struct task_struct *task ARG_TRUSTED)
{
	int next;

	count(SEAM_COUNT_REQUESTS);
	l->cookie = 0;
	bpf_rcu_read_lock();
	next = other_begin(l, task);
	bpf_rcu_read_unlock();
	return next;
}

/* What was asked stays, for whom it is told in another's request. */
int seam_lent_other_scheduled(struct seam_lent *l ARG_NONNULL, int err)
{
	if (err && err != -SEAM_ENTRY_EBUSY) {
		l->cookie = 0;
		count(SEAM_COUNT_REFUSED);
		count(SEAM_COUNT_REQUESTS_NONE);
	}
	return SEAM_LENT_DONE;
}

/* Return: as take_stack. Little else is here: "combined stack size of 6 calls
 * is 528. Too large" (Linux 6.18, clang 19). */
unsigned long long seam_lent_take(struct seam_lent_stack *st ARG_NONNULL)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint64_t self = (uint64_t)task;
	struct seam_element *el = bpf_map_lookup_elem(&elements, &self);

	if (!el || !st->clients)
		return 0;
	el->state.tries.failed = st->failed;
	return take_stack(&el->state, task, st->cookie,
			  (uint64_t)st->clients << 32 | st->flags, st->why_not);
}

/* missing: what that said. Return: whether it is to be called again, with that
 * page there or for who came to it since; or the stack is out. */
int seam_lent_taken(struct seam_lent_stack *st ARG_NONNULL,
		    unsigned long long missing)
{
	struct seam_turn turn = {.cookie = st->cookie, .taking = st->taking};
	struct seam_entry_env env;
	struct seam_entry_task t;
	struct seam_element *el;
	int next;

	if (missing)
		return 1;
	entry_task(&t, &env, bpf_get_current_task_btf());
	el = seam_entry_env_element(&t);
	if (!el)
		return 0;
	if (st->clients && !st->why_not)
		leave(&el->state, task_regs(env.task));
	next = seam_turn_taken(&t, &turn);
	st->clients = turn.clients;
	if (next != SEAM_LENT_TAKE)
		return 0;
	/* What there is to bring in has just been brought. */
	tries_begin(&el->state, 0);
	return 1;
}
