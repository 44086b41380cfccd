/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A tool's own BPF programs: <seam/seam.bpf.h> as they compile it, on what the
 * model's kernel does for them, and the steps of core/entry-turn.h that
 * bpf/seam-request.bpf.c makes for it. For world.c alone. */
#ifndef SEAM_TESTS_ENTRY_WORLD_LENT_H
#define SEAM_TESTS_ENTRY_WORLD_LENT_H

#include "world-ask.h"

/* In place of libbpf's header. */
#define __BPF_HELPERS__
#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __weak __attribute__((weak))
#define __ksym
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define BPF_MAP_TYPE_HASH 1
#define BPF_F_NO_PREALLOC 1

/* Who asks, at this level of this task; and what the request came to. */
struct asking {
	uint32_t client, clients, depth; /* bits */
	struct seam_asked asked;
	struct seam_entry_env env;
	uint32_t tells; /* of missing pages, yet */
};

static struct asking all_asking[MAX_TASKS][MAX_LEVELS];

static struct asking *asking(void)
{
	return &all_asking[w.current][self()->level];
}

static struct seam_element *asked_element(void)
{
	step();
	return element_of(self()->self, group_of(asking()->client));
}

static unsigned long long bpf_get_current_task(void)
{
	return self()->self;
}

static void *bpf_get_current_task_btf(void)
{
	return NULL;
}

static bool is_works(const void *map);
__attribute__((noinline)) static void *works_of(const void *key);

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	return is_works(map) ? works_of(key) : asked_element();
}

/* Sleeps, and others go on. */
static long bpf_copy_from_user(void *to, uint32_t size, const void *from)
{
	(void)to;
	(void)size;
	(void)from;
	step();
	return 0;
}

#define SEAM_KERNEL_SINCE_7_2
#include "seam/seam.bpf.h"

static bool is_works(const void *map)
{
	return map == &seam_works;
}

static void *works_of(const void *key)
{
	const struct seam_lent_work *work = key;
	struct other *other = other_of(work->task);

	return other ? &other->work[work->which] : NULL;
}

/* Another task is to do it. */
static int schedule_other(uint8_t *work)
{
	step();
	if (*work != WORK_STANDBY) {
		TRACE("schedule of another: busy");
		return -(int)step_value(SEAM_ENTRY_EBUSY);
	}
	if (may(&w.left.refusals)) {
		TRACE("schedule of another: refused");
		return -ENOROOM;
	}
	*work = WORK_PENDING;
	TRACE("schedule of another: accepted");
	return 0;
}

int bpf_task_work_schedule_resume(struct seam_lent_any *task,
				  struct seam_lent_any *work, void *map,
				  int (*callback)(struct seam_lent_any *map,
						  void *key, void *value))
{
	(void)task;
	(void)callback;
	return is_works(map) ? schedule_other((void *)work)
			     : schedule((void *)work, true);
}

static void turn_keep(struct seam_lent_stack *st, const struct seam_turn *turn)
{
	st->cookie = turn->cookie;
	st->clients = turn->clients;
	st->flags = (uint16_t)turn->flags;
	st->why_not = (uint16_t)turn->why_not;
	st->taking = (uint8_t)turn->taking;
}

static int answer(struct seam_lent *l, const struct seam_turn *turn, int next)
{
	l->cookie = turn->asked.cookie;
	l->again = turn->again;
	if (next == SEAM_LENT_TAKE)
		turn_keep(&l->stack, turn);
	return next;
}

int seam_lent_begin(struct seam_lent *l)
{
	struct asking *a = asking();
	struct seam_turn turn = {0};
	struct seam_entry_env env;
	struct seam_entry_task t;
	int next;

	entry_task(&t, &env, a->client);
	t.depth = a->depth;
	a->clients = t.clients;
	next = seam_turn_begin(&t, seam_lent_in_user(l->from), &turn);
	a->asked = turn.asked;
	a->env = env;
	return answer(l, &turn, next);
}

int seam_lent_scheduled(struct seam_lent *l, int err)
{
	struct seam_turn turn = {.asked.cookie = l->cookie, .again = l->again};
	struct seam_entry_env env;
	struct seam_entry_task t;

	entry_task(&t, &env, asking()->client);
	t.depth = asking()->depth;
	return answer(l, &turn, seam_turn_scheduled(&t, &turn, err));
}

int seam_lent_return(struct seam_lent_stack *st)
{
	struct seam_turn turn = {0};
	struct seam_entry_env env;
	struct seam_entry_task t;
	int next;

	entry_task(&t, &env, asking()->client);
	next = seam_turn_return(&t, &turn);
	turn_keep(st, &turn);
	asking()->tells = MAX_FAULTS;
	return next;
}

unsigned long long seam_lent_take(struct seam_lent_stack *st)
{
	struct seam_element *el = asked_element();

	if (!el || !st->clients)
		return 0;
	return take_or_miss(el, st->cookie, st->clients, st->why_not,
			    asking()->tells);
}

int seam_lent_taken(struct seam_lent_stack *st, unsigned long long missing)
{
	struct seam_turn turn = {.cookie = st->cookie, .taking = st->taking};
	struct seam_entry_env env;
	struct seam_entry_task t;
	int next;

	if (missing) {
		asking()->tells--;
		return 1;
	}
	entry_task(&t, &env, asking()->client);
	next = seam_turn_taken(&t, &turn);
	st->clients = turn.clients;
	return next == SEAM_LENT_TAKE;
}

/* What that tool's program at the event is told. */
static void request_lent(uint32_t number, bool in_user,
			 struct seam_entry_task *t, struct seam_asked *asked)
{
	struct asking *a = asking();
	const struct seam_element *el;
	uint64_t cookie;

	*a = (struct asking){.client = 1u << number, .depth = t->depth};
	cookie = seam_request(number,
			      in_user ? SEAM_FROM_USER : SEAM_FROM_KERNEL);
	*asked = a->asked;
	asked->cookie = cookie;
	t->clients = a->clients;
	*t->env = a->env;
	el = element_of(self()->self, group_of(a->client));
	if (el && step_value(el->entry.flags) & SEAM_ENTRY_TAKEN &&
	    !(asked->flags & SEAM_SAMPLE_OWN))
		asked->flags |= SEAM_SAMPLE_TAIL;
}

/* The task work that such a program scheduled. */
static void return_lent(struct seam_element *el)
{
	uint64_t key = el->self;

	*asking() = (struct asking){.client = el->group ? SECOND : 1};
	seam_lent_callback(NULL, &key, el);
}

#endif
