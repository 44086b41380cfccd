// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: a coroutine's stack is unmapped, and mapped anew with less that
 * can be read. CFI that lies leads there, and ends the stack. The thread's own
 * stack is known as a whole after the first walk, a coroutine's never.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "seam/backtrace.h"
#include "unwind/own-memory.h"

#define PAGE ((size_t)4096)
#define PAGES 16u
#define MAX 64

/* Calls fn, and says that its frame is 4 pages larger than it is. */
void lies(void (*fn)(void));
__asm__(".text\n"
	".type lies, @function\n"
	"lies:\n"
	"	.cfi_startproc\n"
	"	sub $8, %rsp\n"
	"	.cfi_def_cfa %rsp, 16400\n"
	"	call *%rdi\n"
	"	add $8, %rsp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size lies, . - lies\n");

static void *stack[MAX];
static int num_stack, end;
static volatile int after;

static __attribute__((noinline)) void take(void)
{
	num_stack = seam_backtrace_ex(stack, MAX, NULL, 0, &end);
	after++;
}

/* Down through most of the stack's pages, a page a frame. */
static __attribute__((noinline)) void down(int n)
{
	volatile char room[4096];

	room[0] = (char)n;
	if (n)
		down(n - 1);
	else
		take();
	after += room[0];
}

static char *region;
static ucontext_t here, there;

static void run_on(void (*fn)(void), size_t pages)
{
	getcontext(&there);
	there.uc_stack.ss_sp = region;
	there.uc_stack.ss_size = pages * PAGE;
	there.uc_link = &here;
	makecontext(&there, fn, 0);
	assert_int_equal(swapcontext(&here, &there), 0);
}

static void map(size_t readable)
{
	char *at = mmap(region, PAGES * PAGE, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | (region ? MAP_FIXED : 0),
			-1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	region = at;
	assert_int_equal(
		mprotect(region, readable * PAGE, PROT_READ | PROT_WRITE), 0);
}

static void goes_down(void)
{
	down(PAGES - 4);
}

static void is_lied_to(void)
{
	lies(take);
	after++;
}

static void unmapped(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		map(PAGES);
		run_on(goes_down, PAGES);
		/* Its first frame is makecontext's, which has no CFI. */
		assert_true(num_stack >= (int)PAGES - 2);
		assert_int_equal(munmap(region, PAGES * PAGE), 0);
		map(PAGES / 2);
		run_on(is_lied_to, PAGES / 2);
		assert_int_equal(end, SEAM_END_UNREADABLE);
		assert_int_equal(num_stack, 2);
		assert_int_equal(munmap(region, PAGES * PAGE), 0);
	}
}

static struct seam_stretch first, again;

static __attribute__((noinline)) void look(void)
{
	uint64_t sp = (uintptr_t)__builtin_frame_address(0);

	first = seam_own_stretch(sp);
	again = seam_own_stretch(sp);
}

static void look_deep(void)
{
	volatile char room[3 * 4096];

	room[0] = 1;
	take();
	look();
	after += room[0];
}

static void coroutine_is_not_known(void **state)
{
	(void)state;
	map(PAGES);
	run_on(look_deep, PAGES);
	assert_int_equal(num_stack, 3);
	assert_int_equal(first.hi - first.lo, PAGE);
	assert_int_equal(again.lo, first.lo);
	assert_int_equal(again.hi, first.hi);
	assert_int_equal(munmap(region, PAGES * PAGE), 0);
}

static uint64_t outer;

static __attribute__((noinline)) void look_from_far(void)
{
	outer = (uintptr_t)__builtin_frame_address(0);
	look_deep();
	assert_int_equal(end, SEAM_END_OUTERMOST);
	assert_true(first.lo <= outer - 3 * PAGE && first.hi > outer);
	assert_int_equal(again.lo, first.lo);
	assert_int_equal(again.hi, first.hi);
}

static void *in_thread(void *arg)
{
	look_from_far();
	return arg;
}

static void own_is_known(void **state)
{
	pthread_attr_t attr;
	pthread_t id;
	char *own = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	look_from_far();
	assert_int_equal(pthread_create(&id, NULL, in_thread, NULL), 0);
	pthread_join(id, NULL);
	/* On a stack of the program's. */
	assert_ptr_not_equal(own, MAP_FAILED);
	pthread_attr_init(&attr);
	assert_int_equal(pthread_attr_setstack(&attr, own, 64 * PAGE), 0);
	assert_int_equal(pthread_create(&id, &attr, in_thread, NULL), 0);
	pthread_join(id, NULL);
	pthread_attr_destroy(&attr);
	munmap(own, 64 * PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_is_known),
		cmocka_unit_test(unmapped),
		cmocka_unit_test(coroutine_is_not_known),
	};

	assert_int_equal(seam_backtrace_init(), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
