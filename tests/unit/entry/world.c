// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "world-kernel.h"

/* The bit of the client that ends. */
#define SECOND 2u

static uint64_t hash_world(void *arg)
{
	const uint64_t *words = (const uint64_t *)&w;
	uint64_t hash = 1;

	(void)arg;
	_Static_assert(sizeof(w) % 8 == 0, "whole words");
	for (size_t i = 0; i < sizeof(w) / 8; i++)
		hash = mix(hash, words[i]);
	return hash;
}

static uint32_t pick(uint32_t n)
{
	struct task *t = self();
	uint32_t at = n > 1 ? choose(&s, n) : 0;

	t = self();
	t->known[t->level] = mix(t->known[t->level], at + 1);
	return at;
}

/* Something that may happen so many times. */
static bool may(uint8_t *left)
{
	if (!*left || !pick(2))
		return false;
	--*left;
	return true;
}

static uint64_t step_value(uint64_t value)
{
	struct task *t = self();

	t->known[t->level] = mix(t->known[t->level], value);
	return value;
}

/* Who runs is no task of those that are sampled. */
static bool is_outside(void)
{
	return (plan == PLAN_OUTSIDE || plan == PLAN_SWEEP) && w.current;
}

static uint32_t n_clients(void)
{
	return limits->clients ? limits->clients : 1;
}

static bool is_ready(const struct task *t)
{
	return t->begun && !t->over && !t->waits;
}

static void go_on(uint32_t with)
{
	uint32_t from = w.current;

	w.current = with;
	if (from != with)
		swapcontext(&contexts[from], &contexts[with]);
}

/* The irq_work of an element comes: it queues the task work. */
static void irq_work(struct seam_element *el)
{
	struct task *to = &w.tasks[el->worker];

	el->work = to->no_work || el->dropped ? WORK_STANDBY : WORK_QUEUED;
	TRACE("irq_work: task work %s",
	      el->work == WORK_QUEUED ? "queued" : "refused, silently");
}

static void request(bool in_user);

static void interrupt(void)
{
	struct task *t = self();

	w.left.interrupts--;
	t->level++;
	t->known[t->level] = 0;
	TRACE("an interrupt");
	request(false);
	self()->level--;
}

/* Anything that may come between two steps does. */
static void step(void)
{
	struct task *t = self();

	for (;;) {
		struct seam_element *pending = NULL;
		uint32_t n = 1, at, others[MAX_TASKS], n_others = 0;

		if (!t->level)
			for (int i = 0; i < w.n_elements && !pending; i++)
				if (w.elements[i].work == WORK_PENDING &&
				    w.elements[i].cpu == t->cpu)
					pending = &w.elements[i];
		if (w.left.switches)
			for (int i = 0; i < MAX_TASKS; i++)
				if (i != w.current && is_ready(&w.tasks[i]))
					others[n_others++] = i;
		n += n_others + (pending != NULL);
		n += !is_outside() && w.left.interrupts &&
		     w.n_samples < limits->samples && t->level + 1 < MAX_LEVELS;
		at = pick(n);
		if (!at)
			return;
		if (--at < n_others) {
			w.left.switches--;
			TRACE("task %d goes on", others[at]);
			go_on(others[at]);
			continue;
		}
		at -= n_others;
		if (pending && !at)
			irq_work(pending);
		else
			interrupt();
	}
}

/* No other task has to be waited for but goes on by itself. */
static void let_others(void)
{
	for (int i = 0; i < MAX_TASKS; i++)
		if (i != w.current && is_ready(&w.tasks[i])) {
			go_on(i);
			return;
		}
	WRONG("every task waits");
}

/* Where there are no interrupts, any request may; else those of the task do,
 * and of what interrupts it. */
static bool wants_less(void)
{
	return limits->interrupts ? self()->level + 1 < MAX_LEVELS : pick(2);
}

static void request(bool in_user)
{
	struct seam_entry_env env;
	struct seam_entry_task t;
	struct seam_asked asked;
	struct sample *sample;
	struct place at = self()->at;
	bool unwinding = self()->unwinding, inside = self()->inside;
	uint32_t client;

	/* Its room is taken before others can come in between. */
	sample = &w.samples[step_value(w.n_samples++)];
	client = 1u << pick(w.ended ? 1 : n_clients());
	w.asking += client == SECOND;
	TRACE("request of %x%s", client, in_user ? " from user code" : "");
	entry_task(&t, &env, client);
	if (limits->depths && wants_less())
		t.depth = SHALLOW;
	self()->inside++;
	seam_entry_request(&t, in_user, &asked);
	self()->inside--;
	w.asking -= client == SECOND;
	*sample = (struct sample){
		asked.cookie, at,      asked.cookie ? 0 : asked.end,
		asked.flags,  t.depth, client};
	TRACE("cookie %llx, end %d, flags %d, depth %d",
	      (unsigned long long)sample->cookie, sample->end, sample->flags,
	      sample->depth);
	HOLDS(asked.cookie || asked.end || (asked.flags & SEAM_SAMPLE_OWN),
	      "neither a stack to come nor a reason");
	HOLDS(asked.stack_tid, "a sample whose stack comes under tid 0");
	HOLDS(!unwinding || (asked.flags & SEAM_SAMPLE_OWN),
	      "a sample of the unwind that does not say so");
	HOLDS(inside || !(asked.flags & SEAM_SAMPLE_OWN),
	      "a sample said to be of the unwind is not");
}

static bool can_ask(void)
{
	return w.n_samples < limits->samples;
}

static void requests(void)
{
	while (can_ask() && pick(2)) {
		request(false);
		step();
	}
	step();
}

static struct seam_element *queued(void)
{
	for (int i = 0; i < w.n_elements; i++)
		if (w.elements[i].work == WORK_QUEUED &&
		    w.elements[i].worker == w.current)
			return &w.elements[i];
	return NULL;
}

/* What interrupts raised on this CPU does not wait for the task any more. */
static void irq_works(void)
{
	for (int i = 0; i < w.n_elements; i++)
		if (w.elements[i].work == WORK_PENDING &&
		    w.elements[i].worker == w.current)
			irq_work(&w.elements[i]);
}

/* Runs the task works that are queued. Return: whether there was one. */
static bool run_works(void)
{
	struct seam_element *el = queued();
	struct seam_entry_env env;
	struct seam_entry_task t;

	if (!el)
		return false;
	if (el->dropped) {
		el->work = WORK_STANDBY;
		return true;
	}
	el->work = WORK_RUNNING;
	TRACE("callback");
	entry_task(&t, &env, 1);
	self()->inside++;
	seam_entry_return(&t, el);
	self()->inside--;
	TRACE("callback ends");
	step();
	el->work = WORK_STANDBY;
	step();
	return true;
}

static void check_user(void)
{
	const struct task *t = self();

	for (int i = 0; i < w.n_elements; i++) {
		const struct seam_element *el = &w.elements[i];

		if (el->entry.self != t->self || el->entry.start != t->start ||
		    el->dropped)
			continue;
		HOLDS(!el->entry.cookie,
		      "back in user space, and its entry is open for ever");
		HOLDS(!el->entry.flags, "back in user space, with flags %u",
		      el->entry.flags);
	}
}

static void leave(void)
{
	do {
		step();
		irq_works();
	} while (run_works());
	self()->in_user = 1;
	/* Between two entries all that the code knew is forgotten. */
	self()->known[0] = 0;
	TRACE("in user space");
	check_user();
}

static void enter(void)
{
	self()->in_user = 0;
	self()->at.entry++;
	self()->entries++;
}

/* One after the other, each client's program at an exec, its end or an exit. */
static void run_programs(void (*program)(struct seam_entry_task *))
{
	uint32_t all = (1u << n_clients()) - 1;

	for (uint32_t i = 0; i < n_clients(); i++) {
		struct seam_entry_env env;
		struct seam_entry_task t;

		if (limits->late && pick(2))
			continue;
		/* Between two that have its bit there is none. */
		if (step_value(w.ended) && 1u << i == SECOND)
			continue;
		w.asking += 1u << i == SECOND;
		entry_task(&t, &env, limits->told ? all : 1u << i);
		self()->inside++;
		program(&t);
		self()->inside--;
		w.asking -= 1u << i == SECOND;
		if (i + 1 < n_clients())
			step();
	}
}

static void run_exit(void)
{
	struct task *task = self();

	TRACE("exit");
	task->exiting = 1;
	requests();
	run_programs(seam_entry_exit);
	TRACE("its memory goes");
	task->no_mm = 1;
	requests();
	irq_works();
	while (run_works())
		irq_works();
	task->no_work = 1;
	requests();
	TRACE("dead");
	task->dead = 1;
	requests();
	for (int i = 0; i < MAX_TASKS; i++)
		if (w.tasks[i].waits)
			w.tasks[i].waits--;
	requests();
}

/* A thread takes over the number and start of its process's first. */
static void take_over(void)
{
	struct task *t = self(), *first = &w.tasks[0];
	uint8_t tid = t->tid;

	TRACE("waits for the first thread");
	first->begun = 1;
	t->waits = 1;
	while (t->waits)
		let_others();
	TRACE("takes over its tid");
	t->tid = first->tid;
	t->start = first->start;
	first->tid = tid;
}

/* Return: whether it went well; else the task is to die. */
static bool run_exec(void)
{
	struct task *task = self();

	TRACE("exec");
	requests();
	run_programs(seam_entry_exec);
	requests();
	if (plan == PLAN_MOVE)
		take_over();
	TRACE("the new program");
	task->at.image++;
	requests();
	if (limits->may_exit && pick(2))
		return false;
	run_programs(seam_entry_exec_done);
	return true;
}

static void run_syscall(void)
{
	requests();
	/* As io_uring does, in the middle of a system call. */
	if (queued() && pick(2))
		run_works();
	requests();
	if (may(&w.left.moves)) {
		self()->cpu = !self()->cpu;
		TRACE("now on CPU %d", self()->cpu);
		requests();
	}
}

/* One stay in the kernel. Return: whether it comes back. */
static bool run_entry(void)
{
	enum { SYSCALL, EVENT, EXEC, EXIT, N };
	uint32_t what = pick(N);

	if ((what == EVENT && !can_ask()) ||
	    (what == EXEC && !limits->may_exec) ||
	    (what == EXIT && !limits->may_exit))
		what = SYSCALL;
	enter();
	if (what == EVENT)
		request(true);
	if (what == SYSCALL)
		run_syscall();
	if (what == EXIT || (what == EXEC && !run_exec())) {
		run_exit();
		return false;
	}
	leave();
	return true;
}

/* Whoever ends a recording looks at a task, and takes its stack if it does not
 * run meanwhile. */
static void take_outside(void)
{
	struct seam_element *el = &w.elements[0];
	uint64_t was = 0, cookie = 0;
	struct place regs;
	uint32_t clients;

	step();
	if (step_value(w.n_elements) && !step_value(el->dropped))
		cookie = seam_entry_asleep(&el->entry, 1, &was);
	if (!cookie)
		return;
	step();
	regs = el->regs;
	step_value(regs.task | regs.entry << 8 | regs.image << 16);
	TRACE("takes cookie %llx from outside", (unsigned long long)cookie);
	clients = seam_who_claim(&el->entry, was, 1);
	if (!clients)
		return;
	w.n_outside++;
	send(regs, seam_who_depth(was), cookie, clients, 0);
}

/* What was asked by the client that ended is nobody's any more. */
static void forget_second(void)
{
	for (int i = 0; i < w.n_samples; i++)
		if (w.samples[i].client == SECOND)
			w.samples[i].cookie = 0;
	for (int i = 0; i < w.n_stacks; i++)
		w.stacks[i].clients &= ~SECOND;
}

/* The second client ends, and when its bit was swept it is given to the next.
 */
static void sweep(void)
{
	step();
	/* Its programs run to their end, which is long before. */
	if (w.asking)
		return;
	w.ended = 1;
	TRACE("client %x ends", SECOND);
	step();
	/* What is sent from here on comes to the next. */
	forget_second();
	for (int i = 0; i < w.n_elements; i++)
		seam_who_sweep(&w.elements[i].entry, SECOND);
	w.ended = 0;
	TRACE("client %x begins", SECOND);
}

static void run_task(void)
{
	bool lives = true;

	if (plan == PLAN_SWEEP && is_outside()) {
		sweep();
		return;
	}
	if (is_outside()) {
		while (w.left.outside) {
			w.left.outside--;
			take_outside();
		}
		return;
	}
	if (plan == PLAN_MOVE && w.current == 1) {
		enter();
		if (run_exec())
			leave();
		else
			run_exit(), lives = false;
	} else if (plan == PLAN_MOVE) {
		enter();
		run_exit();
		lives = false;
	}
	while (lives && self()->entries < limits->entries && pick(2))
		lives = run_entry();
}

/* The kernel frees a dead task; another gets its number and its memory. */
static void run_free(void)
{
	struct seam_element *el = element_of(self()->self);

	/* Which is not always seen. */
	if (el && !pick(2))
		el->dropped = 1;
	if (plan == PLAN_REUSE && !w.current)
		w.tasks[1].begun = 1;
}

static void task_main(void)
{
	struct task *t = self();

	run_task();
	t = self();
	t->over = 1;
	t->level = 0;
	t->known[0] = 0;
	if (t->dead)
		run_free();
	for (;;) {
		uint32_t others[MAX_TASKS], n = 0;

		for (int i = 0; i < MAX_TASKS; i++)
			if (is_ready(&w.tasks[i]))
				others[n++] = i;
		if (!n)
			setcontext(&main_context);
		go_on(others[pick(n)]);
	}
}

static void check_samples(void)
{
	for (int i = 0; i < w.n_samples; i++) {
		const struct sample *a = &w.samples[i];
		const struct stack *found = NULL;

		for (int k = 0; k < w.n_samples; k++)
			HOLDS(!a->cookie || a->cookie != w.samples[k].cookie ||
				      (a->at.task == w.samples[k].at.task &&
				       a->at.entry == w.samples[k].at.entry),
			      "cookie %llx names two entries",
			      (unsigned long long)a->cookie);
		for (int k = 0; a->cookie && k < w.n_stacks; k++)
			if (w.stacks[k].cookie == a->cookie &&
			    w.stacks[k].clients & a->client)
				found = &w.stacks[k];
		HOLDS(!a->cookie || found,
		      "cookie %llx: no stack, and no reason, for %x",
		      (unsigned long long)a->cookie, a->client);
		HOLDS(!found || (a->at.task == found->at.task &&
				 a->at.entry == found->at.entry),
		      "cookie %llx: another entry's stack",
		      (unsigned long long)a->cookie);
		/* What exec and exit took is as deep as any may want it. */
		HOLDS(!found || found->end || found->depth >= a->depth,
		      "cookie %llx: wanted %d frames deep, cut at %d",
		      (unsigned long long)a->cookie, a->depth,
		      (int)found->depth);
		HOLDS(!found || found->end || is_same(a->at, found->at) ||
			      (a->flags & SEAM_SAMPLE_TAIL),
		      "cookie %llx: joined across an exec",
		      (unsigned long long)a->cookie);
	}
}

/* Each further stack of one stay in the kernel was counted. */
static void check_again(void)
{
	int n = 0;

	/* Where each event has its own, none is another's. */
	if (limits->at_once) {
		HOLDS(!w.n_again, "again %d times, at once", w.n_again);
		return;
	}
	/* What is counted for a client that ends need not come any more. */
	if (plan == PLAN_SWEEP)
		return;
	for (int i = 0; i < w.n_stacks; i++)
		for (int k = 0; k < i; k++)
			if (is_same(w.stacks[i].at, w.stacks[k].at)) {
				n++;
				break;
			}
	/* But not what user code asks for, when an interrupt's own request was
	 * refused in the very middle of that. */
	HOLDS(n >= w.n_again && n - w.n_again <= limits->refusals -
							 w.left.refusals +
							 w.n_outside,
	      "again %d times, counted %d", n, w.n_again);
}

static void set_up(void)
{
	static const struct task tasks[MAX_TASKS] = {
		{.start = 100, .self = 0x100, .tid = 1},
		{.start = 200, .self = 0x100, .tid = 1, .cpu = 1},
	};

	memset(&w, 0, sizeof(w));
	memcpy(w.tasks, tasks, sizeof(tasks));
	for (int i = 0; i < MAX_TASKS; i++) {
		w.tasks[i].at.task = i + 1;
		w.tasks[i].at.image = 1;
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
		makecontext(&contexts[i], task_main, 0);
	}
	for (int i = 0; i < N_CPUS; i++)
		w.counts[i] = FIRST_COUNT;
	w.left = *limits;
	w.current = plan == PLAN_MOVE;
	if (plan == PLAN_MOVE) {
		w.tasks[1].self = 0x200;
		w.tasks[1].tid = 2;
	}
	w.tasks[w.current].begun = 1;
	if (plan == PLAN_OUTSIDE || plan == PLAN_SWEEP)
		w.tasks[1].begun = 1;
}

static void run(void *arg)
{
	(void)arg;
	set_up();
	swapcontext(&main_context, &contexts[w.current]);
	check_samples();
	check_again();
}

uint64_t world_search(const char *name, enum plan with,
		      const struct limits *up_to)
{
	s = (struct search){.run = run, .hash = hash_world};
	plan = with;
	limits = up_to;
	search(&s);
	printf("# %s: %llu states, %llu runs, at most %u choices in one\n",
	       name, (unsigned long long)s.states, (unsigned long long)s.runs,
	       s.deepest);
	if (!s.failed)
		return s.states;
	printf("# %s\n", s.why);
	if (getenv("SEAM_STOP_AT_FIRST"))
		exit(1);
	return 0;
}
