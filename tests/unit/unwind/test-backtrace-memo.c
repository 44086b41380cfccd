// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: seam_backtrace, which goes by what it found the last time, is
 * right whatever has changed since. Calls and returns by chance, of frames
 * that are equal in all but the address, that hold another FP, or none, or
 * are found by it; each stack is compared with the C library's. Also deeper
 * than what is kept, the same calls at other places on the stack, in more
 * threads than there is room for, and while signals interrupt the walks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "seam/backtrace.h"
#include "theirs.h"

#define MAX 512
#define THREADS 80

/* Of a thread, that signals may share. */
struct calls {
	uint64_t chance;
	int depth, deepest;
	int left; /* stacks to be taken */
	int taken, wrong;
};
static __thread struct calls *calls;
static volatile sig_atomic_t interrupted, interrupted_badly;

static uint64_t chance(uint64_t below)
{
	calls->chance = calls->chance * 6364136223846793005 + 1442695040888963;
	return (calls->chance >> 33) % below;
}

typedef void *address;

/* The whole stack, and a part of it, which changes what is kept. */
static __attribute__((noinline)) void take(void)
{
	address ours[MAX], part[MAX], theirs[MAX];
	int size = (int)chance(40) + 1, end, n, num_part, num_theirs;

	n = seam_backtrace_ex(ours, MAX, NULL, 0, &end);
	num_part = seam_backtrace_ex(part, size, NULL, 0, NULL);
	num_theirs = take_theirs(theirs, MAX, __builtin_return_address(0));
	calls->taken++;
	calls->left--;
	calls->wrong +=
		end != SEAM_END_OUTERMOST || n != num_theirs ||
		memcmp(ours + 1, theirs + 1, sizeof(*ours) * (size_t)(n - 1)) ||
		num_part != (size < n ? size : n) ||
		memcmp(part + 1, ours + 1,
		       sizeof(*ours) * (size_t)(num_part - 1));
}

static void go(void);

/*
 * same_N: frames of one size, which leave FP; holds_fp: FP is another in what
 * it calls; moves_fp: saved at another place, and the frame is found by it.
 */
void same_1(void (*to)(void));
void same_2(void (*to)(void));
void holds_fp(void (*to)(void), uint64_t fp);
void moves_fp(void (*to)(void), uint64_t words);
__asm__(".text\n"
	".macro same name\n"
	".type \\name, @function\n"
	"\\name:\n"
	"	.cfi_startproc\n"
	"	sub $40, %rsp\n"
	"	.cfi_adjust_cfa_offset 40\n"
	"	call *%rdi\n"
	"	add $40, %rsp\n"
	"	.cfi_adjust_cfa_offset -40\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size \\name, .-\\name\n"
	".endm\n"
	"same same_1\n"
	"same same_2\n"
	".type holds_fp, @function\n"
	"holds_fp:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset rbp, 0\n"
	"	mov %rsi, %rbp\n"
	"	sub $32, %rsp\n"
	"	.cfi_adjust_cfa_offset 32\n"
	"	call *%rdi\n"
	"	add $32, %rsp\n"
	"	.cfi_adjust_cfa_offset -32\n"
	"	pop %rbp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size holds_fp, .-holds_fp\n"
	".type moves_fp, @function\n"
	"moves_fp:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset rbp, 0\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register rbp\n"
	"	shl $4, %rsi\n"
	"	sub %rsi, %rsp\n"
	"	call *%rdi\n"
	"	leave\n"
	"	.cfi_def_cfa rsp, 8\n"
	"	.cfi_restore rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size moves_fp, .-moves_fp\n");

static __attribute__((noinline)) void by_a_signal(void)
{
	raise(SIGUSR1);
	calls->chance++;
}

static void on_signal(int sig)
{
	(void)sig;
	go();
}

static void call_one(void)
{
	switch (chance(33)) {
	case 0:
		by_a_signal();
		break;
	case 1 ... 8:
		same_1(go);
		break;
	case 9 ... 16:
		same_2(go);
		break;
	case 17 ... 24:
		holds_fp(go, chance(3) << 4);
		break;
	default:
		moves_fp(go, chance(3) + 1);
	}
}

static __attribute__((noinline)) void go(void)
{
	int most = calls->depth < calls->deepest ? 3 : 0;

	calls->depth++;
	if (!most || !chance(4))
		take();
	for (; most && calls->left > 0; most--) {
		call_one();
		if (!chance(4))
			break;
	}
	calls->depth--;
}

static void run(struct calls *c)
{
	calls = c;
	while (calls->left > 0)
		go();
}

static void changing(void **state)
{
	struct calls c = {.chance = 1, .deepest = 30, .left = 20000};

	(void)state;
	run(&c);
	assert_true(c.taken >= 20000);
	assert_int_equal(c.wrong, 0);
}

/* More frames than are kept. */
static void deep(void **state)
{
	struct calls c = {.chance = 2, .deepest = 110, .left = 2000};

	(void)state;
	run(&c);
	assert_int_equal(c.wrong, 0);
}

/* The same calls with more or less on the stack below them, and in them. */
static const char *links;

static __attribute__((noinline)) void next_link(void)
{
	switch (*links++) {
	case 's':
		same_1(next_link);
		break;
	case 'h':
		holds_fp(next_link, chance(3) << 4);
		break;
	case 'm':
		moves_fp(next_link, 1);
		break;
	case 'M':
		moves_fp(next_link, chance(3) + 1);
		break;
	default:
		take();
	}
	calls->depth = 0;
}

static __attribute__((noinline)) void from_elsewhere(const char *chain,
						     size_t words)
{
	volatile char *room = alloca(16 * words);

	room[0] = 1;
	links = chain;
	next_link();
	calls->depth = room[0];
}

static void moved(void **state)
{
	static const char *const chains[] = {
		"ssssmmmmssmm",
		"sshhsshhsshs",
		"mmmmmmmmmmmm",
		"sMshMsmhsMss",
		"MMMMMMsssshh",
		"hhhhhhmmmmmm",
		/* These two part where FP has moved otherwise than SP. */
		"ssssMssssssss",
		"ssssmssssssss",
	};
	const size_t n = sizeof(chains) / sizeof(*chains);
	struct calls c = {.chance = 3};

	(void)state;
	calls = &c;
	for (size_t i = 0; i < n; i++) {
		for (int j = 0; j < 2000; j++)
			from_elsewhere(chains[i], chance(8) + 1);
		/* And now and then another one. */
		for (int j = 0; j < 1000; j++)
			from_elsewhere(chains[chance(4) ? i : chance(n)],
				       chance(8) + 1);
	}
	assert_int_equal(c.taken, (int)n * 3000);
	assert_int_equal(c.wrong, 0);
}

static void *in_thread(void *arg)
{
	run(arg);
	return NULL;
}

static void threads(void **state)
{
	struct calls c[THREADS];
	pthread_t ids[THREADS];
	int wrong = 0;

	(void)state;
	for (unsigned int i = 0; i < THREADS; i++) {
		c[i] = (struct calls){.chance = i, .deepest = 20, .left = 200};
		assert_int_equal(
			pthread_create(&ids[i], NULL, in_thread, &c[i]), 0);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(ids[i], NULL);
		wrong += c[i].wrong;
	}
	assert_int_equal(wrong, 0);
}

/* Walks amid walks: these are right, and do the others no harm. */
static void on_timer(int sig)
{
	address v[MAX];
	int end;

	(void)sig;
	seam_backtrace_ex(v, MAX, NULL, 0, &end);
	interrupted_badly += end != SEAM_END_OUTERMOST;
	interrupted++;
}

static void amid_walks(void **state)
{
	struct itimerval often = {{0, 100}, {0, 100}}, never = {0};

	(void)state;
	signal(SIGALRM, on_timer);
	setitimer(ITIMER_REAL, &often, NULL);
	do {
		struct calls c = {.chance = (uint64_t)interrupted,
				  .deepest = 30,
				  .left = 500};

		run(&c);
		assert_int_equal(c.wrong, 0);
	} while (interrupted < 1000);
	setitimer(ITIMER_REAL, &never, NULL);
	assert_int_equal(interrupted_badly, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changing),   cmocka_unit_test(deep),
		cmocka_unit_test(moved),      cmocka_unit_test(threads),
		cmocka_unit_test(amid_walks),
	};
	struct sigaction action = {.sa_flags = SA_NODEFER};
	void *v[1];

	action.sa_handler = on_signal;
	sigaction(SIGUSR1, &action, NULL);
	backtrace(v, 1); /* loads libgcc_s */
	if (seam_backtrace_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
