// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "inject/marks.h"

#include "core/uapi.h"
#include "inject/record.h"
#include "seam/tracer.h"

static bool is_guess(const struct seam_pd_rec_stack *stack, size_t i)
{
	return stack->methods.n &&
	       seam_pd_method(stack, i) == SEAM_METHOD_GUESS;
}

static bool is_mark(uint64_t word)
{
	return word == (uint64_t)PERF_CONTEXT_USER;
}

bool seam_marks_any(const struct seam_pd_rec_stack *stack, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_guess(stack, i))
			return true;
	return false;
}

size_t seam_marks_put(const struct seam_pd_rec_stack *stack, size_t n,
		      uint64_t *ret)
{
	const bool swap = stack->ips.swap;
	uint8_t *to = (uint8_t *)ret;
	bool guessed = false;

	for (size_t i = 0; i < n; i++) {
		if (is_guess(stack, i) != guessed)
			to = seam_put_word(to, (uint64_t)PERF_CONTEXT_USER,
					   swap);
		guessed = is_guess(stack, i);
		to = seam_put(to, stack->ips.p + 8 * i, 8);
	}
	return (size_t)(to - (uint8_t *)ret) / 8;
}

size_t seam_marks_cut(struct seam_pd_words words, size_t n, bool *ret_any)
{
	bool any = false;

	if (n && is_mark(seam_pd_word(words, n - 1)))
		n--;
	for (size_t i = 0; i < n && !any; i++)
		any = is_mark(seam_pd_word(words, i));
	*ret_any = any;
	return n;
}

size_t seam_marks_frames(struct seam_pd_words chain, size_t from)
{
	bool was_mark = false;
	size_t n = 0;

	for (size_t i = from; i < chain.n; i++) {
		uint64_t word = seam_pd_word(chain, i);
		bool mark = is_mark(word);

		if ((mark && was_mark) || (!mark && word >= SEAM_CONTEXT_MAX))
			return 0;
		n += !mark;
		was_mark = mark;
	}
	return was_mark || from + n == chain.n ? 0 : n;
}

uint8_t *seam_marks_take(uint8_t *to, struct seam_pd_words chain, size_t from)
{
	uint64_t words[SEAM_RECORD_MAX / 8 / PD_METHODS_PER_WORD + 1] = {0};
	bool guessed = false;
	size_t n = 0;

	for (size_t i = from; i < chain.n; i++) {
		if (is_mark(seam_pd_word(chain, i))) {
			guessed = !guessed;
			continue;
		}
		if (guessed)
			words[n / PD_METHODS_PER_WORD] |=
				(uint64_t)SEAM_METHOD_GUESS
				<< n % PD_METHODS_PER_WORD * PD_METHOD_BITS;
		to = seam_put(to, chain.p + 8 * i, 8);
		n++;
	}
	for (size_t i = 0; i * PD_METHODS_PER_WORD < n; i++)
		to = seam_put_word(to, words[i], chain.swap);
	return to;
}
