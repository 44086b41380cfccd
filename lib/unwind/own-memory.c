// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "unwind/own-memory.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

#define PAGE UINT64_C(4096)
#define PAGE_BITS 12
#define STRETCHES 4 /* remembered by a thread */
#define NEAR (64 * PAGE) /* below a known stretch: the stack has grown */
#define EXTEND_MAX (UINT64_C(1) << 26) /* one frame's size, no more */

/*
 * One word each, so that a signal between two stores finds no half of one:
 * the page behind the end in the upper 36 bits, how many pages in the lower
 * 28. Initial-exec: its memory is there before the thread runs, where that
 * of other models is allocated at the first use.
 */
static __thread uint64_t known[STRETCHES]
	__attribute__((tls_model("initial-exec")));
static __thread unsigned int next_known
	__attribute__((tls_model("initial-exec")));

static struct seam_stretch unpack(uint64_t word)
{
	struct seam_stretch s = {.hi = word >> 28 << PAGE_BITS};

	s.lo = s.hi - ((word & 0xfffffff) << PAGE_BITS);
	return s;
}

static void remember(struct seam_stretch s, volatile uint64_t *to)
{
	uint64_t pages = (s.hi - s.lo) >> PAGE_BITS;

	if (pages < 1 << 28)
		*to = s.hi >> PAGE_BITS << 28 | pages;
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
	struct seam_stretch s;
	uint64_t page = sp & -PAGE;

	for (int i = 0; i < STRETCHES; i++) {
		s = unpack(known[i]);
		if (sp >= s.lo && sp < s.hi)
			return s;
	}
	for (int i = 0; i < STRETCHES; i++) {
		s = unpack(known[i]);
		if (sp < s.lo && s.lo - page <= NEAR &&
		    readable_pages(page, s.lo)) {
			s.lo = page;
			remember(s, &known[i]);
			return s;
		}
	}
	if (page < PAGE || !seam_own_readable(page))
		return (struct seam_stretch){0};
	s = (struct seam_stretch){page, page + PAGE};
	remember(s, &known[next_known++ % STRETCHES]);
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
	for (int i = 0; i < STRETCHES; i++) {
		struct seam_stretch k = unpack(known[i]);

		if (k.lo == s->lo && k.hi == s->hi) {
			s->hi = hi;
			remember(*s, &known[i]);
			return true;
		}
	}
	s->hi = hi;
	return true;
}
