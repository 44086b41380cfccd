// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* With it longjmp goes down no stack, and so not to another one. */
#undef _FORTIFY_SOURCE

#include <string.h>
#include <ucontext.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "world-checks.h"
#include "world-outside.h"
#include "world-steps.h"

static uint64_t hash_world(void *arg)
{
	const uint64_t *words = (const uint64_t *)&w;
	uint64_t hash[LANES] = {1, 2, 3, 4}, all = 1;

	(void)arg;
	_Static_assert(sizeof(w) % (8 * LANES) == 0, "whole words, for all");
	for (size_t i = 0; i < sizeof(w) / 8; i += LANES)
		for (size_t j = 0; j < LANES; j++)
			hash[j] = mix(hash[j], words[i + j]);
	for (size_t j = 0; j < LANES; j++)
		all = mix(all, hash[j]);
	return all;
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

static uint8_t *other_queued(void)
{
	for (int i = 0; i < 2; i++)
		if (w.other.work[i] == WORK_QUEUED &&
		    w.other.worker == w.current)
			return &w.other.work[i];
	return NULL;
}

static void other_irq_works(void)
{
	for (uint8_t *work = other_pending(); work; work = other_pending())
		other_irq_work(work);
}

/* What others have asked, one after the other. */
static bool run_other_work(void)
{
	uint8_t *work = other_queued();

	if (!work)
		return false;
	*work = WORK_RUNNING;
	TRACE("callback for others");
	self()->inside[0]++;
	return_other(work - w.other.work);
	self()->inside[0]--;
	TRACE("callback for others ends");
	step();
	*work = WORK_STANDBY;
	step();
	return true;
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

	if (!el || (other_queued() && pick(2)))
		return run_other_work();
	if (el->dropped) {
		el->work = WORK_STANDBY;
		return true;
	}
	el->work = WORK_RUNNING;
	TRACE("callback");
	self()->inside[el->group]++;
	if (el->lent)
		return_lent(el);
	else
		return_own(el);
	self()->inside[el->group]--;
	TRACE("callback ends");
	step();
	el->work = WORK_STANDBY;
	step();
	return true;
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

static void exec_begins(uint32_t clients)
{
	tail_own(clients, false);
}

static void exec_ends(uint32_t clients)
{
	struct seam_entry_env env;
	struct seam_entry_task t;

	entry_task(&t, &env, clients);
	seam_entry_exec_done(&t);
}

static void exits(uint32_t clients)
{
	tail_own(clients, true);
}

/* One after the other, each client's program at an exec, its end or an exit. */
static void run_programs(void (*program)(uint32_t clients))
{
	uint32_t all = (1u << n_clients()) - 1;

	for (uint32_t i = 0; i < n_clients(); i++) {
		uint32_t clients = limits->told ? all : 1u << i;
		uint32_t group = group_of(clients);

		if (limits->late && !(step_value(w.came) >> i & 1) && pick(2))
			continue;
		/* Between two that have its bit there is none. */
		if (step_value(w.ended) >> i & 1)
			continue;
		w.asking[i]++;
		self()->inside[group]++;
		program(clients);
		self()->inside[group]--;
		w.asking[i]--;
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
	if (!may(&w.left.unseen))
		run_programs(exits);
	TRACE("its memory goes");
	task->no_mm = 1;
	requests();
	irq_works();
	if (!may(&w.left.unseen))
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
	run_programs(exec_begins);
	requests();
	if (plan == PLAN_MOVE)
		take_over();
	TRACE("the new program");
	task->at.image++;
	requests();
	if (limits->may_exit && pick(2))
		return false;
	run_programs(exec_ends);
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
	/* Of what is open then its end is to be seen. */
	if (what == EXIT && limits->unseen)
		requests();
	if (what == EXIT || (what == EXEC && !run_exec())) {
		run_exit();
		return false;
	}
	leave();
	return true;
}

static void run_task(void)
{
	bool lives = true;

	if (plan == PLAN_SWEEP && is_outside()) {
		sweep(w.current);
		return;
	}
	if (plan == PLAN_OTHER_SWEEP && w.current == 2) {
		sweep(pick(n_clients()));
		return;
	}
	if (is_asked() && is_outside()) {
		for (uint8_t i = 0; i < limits->asks; i++)
			request_other();
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
	/* User code is interrupted for what others ask. */
	while (lives && is_asked() && (waits_for_others() || others_ask())) {
		if (waits_for_others()) {
			other_irq_works();
			enter();
			leave();
		} else {
			let_others();
		}
	}
}

/* The kernel frees a dead task; another gets its number and its memory. */
static void run_free(void)
{
	for (uint32_t group = 0; group < 1u + limits->groups; group++) {
		struct seam_element *el = element_of(self()->self, group);

		/* Which is not always seen. */
		if (!el || (!limits->unseen && pick(2)))
			continue;
		lose(el->entry.cookie,
		     seam_entry_untaken(&el->entry, self()->start));
		el->dropped = 1;
	}
	if (other_of(self()->self)) {
		uint64_t cookie = 0, clients;

		clients = seam_outside_drop(&w.other.o, &cookie);
		if (clients)
			lose(cookie, clients);
		w.other.self = 0;
	}
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
			_longjmp(main_context, 1);
		go_on(others[pick(n)]);
	}
}

static jmp_buf first[MAX_TASKS]; /* as they are before they run */
static int made;
static ucontext_t maker, making;

static void stand_by(void)
{
	if (!_setjmp(first[made]))
		setcontext(&maker);
	task_main();
}

/* Of a run that was given up no frame was left in order, and the sanitizer
 * holds what lies around their variables for out of bounds. */
static void forget_frames(void)
{
#ifdef __SANITIZE_ADDRESS__
	__asan_unpoison_memory_region(stacks, sizeof(stacks));
#endif
}

static void make_contexts(void)
{
	for (; made < MAX_TASKS; made++) {
		getcontext(&making);
		making.uc_stack.ss_sp = stacks[made];
		making.uc_stack.ss_size = sizeof(stacks[made]);
		makecontext(&making, stand_by, 0);
		swapcontext(&maker, &making);
	}
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
	}
	make_contexts();
	forget_frames();
	memcpy(contexts, first, sizeof(contexts));
	/* Not all at the same request. */
	for (int i = 0; i < N_CPUS; i++)
		w.counts[i] = FIRST_COUNT + i;
	w.left = *limits;
	w.current = plan == PLAN_MOVE;
	if (plan == PLAN_MOVE) {
		w.tasks[1].self = 0x200;
		w.tasks[1].tid = 2;
	}
	w.tasks[w.current].begun = 1;
	if (plan == PLAN_OUTSIDE || is_swept() || is_asked())
		w.tasks[1].begun = 1;
	if (is_asked())
		w.tasks[1].self = 0x300;
	w.tasks[2].begun = plan == PLAN_SWEEP	      ? n_clients() > 2
			   : plan == PLAN_OTHER_SWEEP ? 1
						      : limits->askers > 1;
	if (is_asked())
		w.tasks[2].self = 0x400;
}

static void run(void *arg)
{
	(void)arg;
	set_up();
	if (!_setjmp(main_context))
		_longjmp(contexts[w.current], 1);
	check_samples();
	check_again();
	/* But of a client that ended nobody adds up what was its. */
	if (is_swept())
		return;
	for (uint32_t i = 0; i < n_clients(); i++) {
		check_losses(1u << i);
		check_told(1u << i);
	}
}

uint64_t world_search(const char *name, enum plan with,
		      const struct limits *up_to)
{
	s = (struct search){
		.run = run, .hash = hash_world, .max_states = WORLD_STATES};
	plan = with;
	limits = up_to;
	search(&s);
	printf("# %s: %llu states, %llu runs, at most %u choices in one\n",
	       name, (unsigned long long)s.states, (unsigned long long)s.runs,
	       s.deepest);
	if (!s.failed)
		return s.states;
	printf("# %s\n", s.why);
	return 0;
}
