// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "stitch/kernel-doubt.h"

#include <errno.h>
#include <stdlib.h>

#include "stitch/kernel.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static void read_from(const struct seam_pd_reader *r, const char *kallsyms,
		      struct seam_kernel_doubt *ret)
{
	struct seam_kernel_fit fit;

	seam_kernel_fit(r, kallsyms, &fit);
	if (fit.other || fit.unplaced)
		return;
	ret->shift = fit.shift;
	ret->is_known =
		!(kallsyms ? seam_kernel_code_read(kallsyms, &ret->entry,
						   &ret->doors)
			   : seam_kernel_code_here(&ret->entry, &ret->doors));
}

int seam_kernel_doubt_read(const struct seam_pd_reader *r, const char *kallsyms,
			   struct seam_kernel_doubt *ret)
{
	char *kept = NULL;
	int rc = 0;

	*ret = (struct seam_kernel_doubt){0};
	if (!kallsyms)
		rc = seam_kernel_kept(r, &kept);
	if (!rc)
		read_from(r, kept ? kept : kallsyms, ret);
	free(kept);
	return rc == -ENOMEM ? rc : 0;
}

/* Ranges that there are come first. Return: NULL: it is in none. */
static const struct seam_kernel_range *
range_of(const struct seam_kernel_range *v, size_t n, uint64_t addr)
{
	for (size_t i = 0; i < n && v[i].end; i++)
		if (addr >= v[i].start && addr < v[i].end)
			return &v[i];
	return NULL;
}

#define IN(ranges, addr) (range_of((ranges), N(ranges), (addr)) != NULL)

static bool is_saved(const struct seam_kernel_doors *doors, uint64_t addr)
{
	const struct seam_kernel_range *saving =
		range_of(doors->saving, N(doors->saving), addr);

	return IN(doors->out, addr) ||
	       (saving && addr - saving->start >= SEAM_KERNEL_SAVING);
}

/* What is seen of a kernel's stack, from its leaf on. */
struct seen {
	size_t n; /* frames */
	bool was_door, has_door; /* the last; any */
	/* By a page fault it was come to, from what follows behind the door; or
	 * to the event itself. */
	bool is_fault;
	bool is_early; /* all may be before the registers are saved */
	bool is_replaced; /* they may be of two moments */
};

/* Code that writes them calls nothing with some of them written, but the
 * probes'; and what faults in it is the user's memory, before the first, since
 * Linux 5.8. */
static bool may_be_written(const struct seam_kernel_doubt *d,
			   const struct seen *s, uint64_t at)
{
	return IN(d->entry.probers, at) ||
	       (s->was_door && !s->is_fault && IN(d->entry.writers, at));
}

/* Few doors call anything before that; and what came to a door, and is none
 * itself, had its own behind it. */
static bool may_be_early(const struct seam_kernel_doubt *d,
			 const struct seen *s, uint64_t at, bool is_door)
{
	if (!is_door)
		return !s->has_door;
	if (s->n && !s->was_door && !IN(d->doors.early, at))
		return false;
	return !is_saved(&d->doors, at);
}

static void see(const struct seam_kernel_doubt *d, struct seen *s, uint64_t at)
{
	bool is_door;

	at -= (uint64_t)d->shift;
	is_door = IN(d->entry.doors, at);
	s->is_replaced |= may_be_written(d, s, at);
	s->is_early &= may_be_early(d, s, at, is_door);
	if (s->was_door && !is_door)
		s->is_fault = false;
	s->is_fault |= IN(d->doors.fault, at);
	s->has_door |= is_door;
	s->was_door = is_door;
	s->n++;
}

bool seam_kernel_is_fault(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE &&
	       (attr->config == PERF_COUNT_SW_PAGE_FAULTS ||
		attr->config == PERF_COUNT_SW_PAGE_FAULTS_MIN ||
		attr->config == PERF_COUNT_SW_PAGE_FAULTS_MAJ);
}

bool seam_kernel_doubts(const struct seam_kernel_doubt *d,
			const struct seam_kernel_place *at)
{
	struct seen s = {
		.was_door = true,
		.is_fault = at->is_fault,
		.is_early = true,
	};
	bool is_kernel = false;

	if (!d->is_known)
		return false;
	for (size_t i = 0; i < at->chain.n; i++) {
		uint64_t word = seam_pd_word(at->chain, i);

		if (word >= (uint64_t)PERF_CONTEXT_MAX)
			is_kernel = word == (uint64_t)PERF_CONTEXT_KERNEL;
		else if (is_kernel)
			see(d, &s, word);
	}
	if (!s.n)
		see(d, &s, at->ip);
	return s.is_replaced || (s.is_early && s.has_door);
}
