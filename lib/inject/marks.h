/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Guessed frames in a merged chain, as PD_SAMPLE_GUESSES has it. */
#ifndef SEAM_LIB_INJECT_MARKS_H
#define SEAM_LIB_INJECT_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfdata/reader.h"

/* Whether one of its first n frames is guessed. */
bool seam_marks_any(const struct seam_pd_rec_stack *stack, size_t n);
/* So many frames with their marks, as the chain is to have them, in the
 * recording's byte order; ret has room for twice as many words. Return: the
 * words. */
size_t seam_marks_put(const struct seam_pd_rec_stack *stack, size_t n,
		      uint64_t *ret);
/* Words that seam_marks_put wrote, cut to so many: without a mark at their end.
 * Return: how many are left; *ret_any: there are marks among them. */
size_t seam_marks_cut(struct seam_pd_words words, size_t n, bool *ret_any);

/* Of the words behind the user half's own marker, how many are frames. Return:
 * 0: they are not as seam_marks_put has them, or there are none. */
size_t seam_marks_frames(struct seam_pd_words chain, size_t from);
/* The frames alone, and behind them how each was found, as a record of a stack
 * has both. Return: what is behind. */
uint8_t *seam_marks_take(uint8_t *to, struct seam_pd_words chain, size_t from);

#endif
