// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "unwind/own-memory.h"

#include <errno.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#define PAGE UINT64_C(4096)
#define PAGE_BITS 12
#define NEAR (64 * PAGE) /* below the known stretch: the stack has grown */
#define CLIMB_MAX (256 * PAGE) /* to the stack's end at once */
#define EXTEND_MAX (UINT64_C(1) << 26) /* one frame's size, no more */

/*
 * What is known of the thread's own stack, up to its end: one word, so that a
 * signal between two stores finds no half of it, with the page behind the end
 * in the upper 36 bits, how many pages in the lower 28. Other stacks may be
 * unmapped at any time, or protected, and what was known of them would be
 * wrong. Initial-exec: its memory is there before the thread runs, where that
 * of other models is allocated at the first use.
 */
static __thread uint64_t known __attribute__((tls_model("initial-exec")));
static __thread uint64_t end_page __attribute__((tls_model("initial-exec")));

static long own_number(long call)
{
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(call)
			 : "rcx", "r11", "memory");
	return ret;
}

static struct seam_stretch unpack(uint64_t word)
{
	struct seam_stretch s = {.hi = word >> 28 << PAGE_BITS, .is_own = true};

	s.lo = s.hi - ((word & 0xfffffff) << PAGE_BITS);
	return s;
}

/*
 * The last page of the thread's own stack, above all frames, which is there as
 * long as the thread is. The kernel puts random bytes behind the first one's;
 * at the end of any other's, whoever allocated that, the C library has what
 * the thread pointer leads to.
 */
static uint64_t own_end(void)
{
	uint64_t end = end_page;

	if (!end) {
		bool is_first =
			own_number(SYS_gettid) == own_number(SYS_getpid);

		end = is_first ? getauxval(AT_RANDOM)
			       : (uintptr_t)__builtin_thread_pointer();
		end &= -PAGE;
		end_page = end;
	}
	return end;
}

/* Does so if it is the thread's own stack; of what lies behind that nothing
 * is kept. */
static void remember(struct seam_stretch s)
{
	uint64_t end = own_end(), pages;

	if (s.lo > end || s.hi <= end)
		return;
	s.hi = end + PAGE;
	pages = (s.hi - s.lo) >> PAGE_BITS;
	if (pages < 1 << 28)
		known = s.hi >> PAGE_BITS << 28 | pages;
}

/*
 * rt_sigprocmask reads the new mask before it looks at how to use it, and
 * there is no such way as ~0. Not libc's: that one sets errno.
 */
bool seam_own_readable(uint64_t addr)
{
	long ret;
	register long size __asm__("r10") = 8;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(SYS_rt_sigprocmask), "D"(~0L), "S"(addr),
			   "d"(NULL), "r"(size)
			 : "rcx", "r11", "memory");
	return ret == -EINVAL;
}

static bool readable_pages(uint64_t lo, uint64_t hi)
{
	for (; lo < hi; lo += PAGE)
		if (!seam_own_readable(lo))
			return false;
	return true;
}

struct seam_stretch seam_own_stretch(uint64_t sp)
{
	struct seam_stretch s = unpack(known);
	uint64_t page = sp & -PAGE, end;

	if (sp >= s.lo && sp < s.hi)
		return s;
	if (sp < s.lo && s.lo - page <= NEAR && readable_pages(page, s.lo)) {
		s.lo = page;
		remember(s);
		return s;
	}
	if (page < PAGE || !seam_own_readable(page))
		return (struct seam_stretch){0};
	s = (struct seam_stretch){.lo = page, .hi = page + PAGE};
	end = own_end();
	if (page <= end && end - page <= CLIMB_MAX &&
	    readable_pages(s.hi, end + PAGE)) {
		s.hi = end + PAGE;
		s.is_own = true;
		remember(s);
	}
	return s;
}

bool seam_own_read(struct seam_stretch *stack, uint64_t addr, uint64_t *ret)
{
	if (!seam_own_holds(stack, addr) && !seam_own_extend(stack, addr) &&
	    (!seam_own_readable(addr) || !seam_own_readable(addr + 7)))
		return false;
	*ret = seam_own_word(addr);
	return true;
}

bool seam_own_extend(struct seam_stretch *s, uint64_t addr)
{
	uint64_t hi;

	if (addr < s->lo || addr > UINT64_MAX - 2 * PAGE ||
	    addr - s->lo > EXTEND_MAX + (s->hi - s->lo))
		return false;
	hi = ((addr + 7) & -PAGE) + PAGE;
	if (hi <= s->hi)
		return true;
	if (!readable_pages(s->hi, hi))
		return false;
	s->hi = hi;
	/* Grown to its end, it is the thread's own. */
	remember(*s);
	return true;
}
