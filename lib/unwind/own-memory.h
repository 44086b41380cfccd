/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Reads this process's own memory where a wrong address must not be a fault.
 * Whether a page can be read the kernel is asked, by a call that looks at
 * eight bytes and does nothing; a thread remembers the answers for its own
 * stack, which stays as long as it runs, and for no other.
 */
#ifndef SEAM_LIB_UNWIND_OWN_MEMORY_H
#define SEAM_LIB_UNWIND_OWN_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* A stretch of memory that can be read. */
struct seam_stretch {
	uint64_t lo, hi;
	bool is_own; /* the thread's own stack, up to its end */
};

/*
 * The stretch that holds sp, which is where the thread runs, or was running
 * when a signal came: of its own stack what is known, of another the page.
 * Good for one walk. Return: an empty one if sp is no good.
 */
struct seam_stretch seam_own_stretch(uint64_t sp);

/* Makes the stretch reach to addr, which is not below it, where all pages on
 * the way can be read. */
bool seam_own_extend(struct seam_stretch *s, uint64_t addr);

/* Whether the word at addr lies in it. */
static inline bool seam_own_holds(const struct seam_stretch *s, uint64_t addr)
{
	return addr >= s->lo && addr < s->hi && s->hi - addr >= 8;
}

/* Whether the 8 bytes at addr can be read. */
bool seam_own_readable(uint64_t addr);

/*
 * A word, if it can be read: of the stack that is walked, or of anywhere else,
 * for which the kernel is asked each time.
 */
bool seam_own_read(struct seam_stretch *stack, uint64_t addr, uint64_t *ret);

/*
 * A word that can be read. AddressSanitizer would take parts of a stack for
 * forbidden; what the compiler does not see it does not check.
 */
static inline uint64_t seam_own_word(uint64_t addr)
{
#if defined(__SANITIZE_ADDRESS__) || defined(SEAM_HAS_ASAN)
	uint64_t word;

	__asm__ volatile("movq (%1), %0" : "=r"(word) : "r"(addr));
	return word;
#else
	return *(const volatile uint64_t *)(uintptr_t)addr;
#endif
}

#endif
