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
	if (fit.other)
		return;
	ret->shift = fit.shift;
	ret->is_known = !seam_unsure_read(kallsyms, &ret->entry, &ret->saved);
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

/* Whether it is in one of them, so many bytes behind its start. Those that
 * there are come first. */
static bool is_in(const struct seam_kernel_range *v, size_t n, uint64_t addr,
		  uint64_t behind)
{
	for (size_t i = 0; i < n && v[i].end; i++)
		if (addr >= v[i].start && addr < v[i].end)
			return addr - v[i].start >= behind;
	return false;
}

static bool is_door(const struct seam_kernel_doubt *d, uint64_t addr)
{
	return is_in(d->entry.doors, N(d->entry.doors), addr, 0);
}

static bool is_saved(const struct seam_kernel_doubt *d, uint64_t addr)
{
	return is_in(d->saved.out, N(d->saved.out), addr, 0) ||
	       is_in(d->saved.saving, N(d->saved.saving), addr,
		     SEAM_KERNEL_SAVING);
}

static bool replaces(const struct seam_kernel_doubt *d, uint64_t addr)
{
	return is_in(d->entry.writers, N(d->entry.writers), addr, 0) ||
	       is_in(d->entry.probers, N(d->entry.probers), addr, 0);
}

/* What a door was come to from was interrupted, and not called anything; and so
 * was the first. */
static bool doubts_chain(const struct seam_kernel_doubt *d,
			 struct seam_pd_words chain, size_t *ret_n)
{
	bool is_kernel = false, was_door = true;

	*ret_n = 0;
	for (size_t i = 0; i < chain.n; i++) {
		uint64_t at = seam_pd_word(chain, i);

		if (at >= (uint64_t)PERF_CONTEXT_MAX) {
			is_kernel = at == (uint64_t)PERF_CONTEXT_KERNEL;
			continue;
		}
		if (!is_kernel)
			continue;
		at -= (uint64_t)d->shift;
		if (!(*ret_n)++ && is_door(d, at) && !is_saved(d, at))
			return true;
		if (was_door && replaces(d, at))
			return true;
		was_door = is_door(d, at);
	}
	return false;
}

bool seam_kernel_doubts(const struct seam_kernel_doubt *d, uint64_t ip,
			struct seam_pd_words chain)
{
	size_t n;

	if (!d->is_known)
		return false;
	if (doubts_chain(d, chain, &n))
		return true;
	ip -= (uint64_t)d->shift;
	return !n && (is_door(d, ip) ? !is_saved(d, ip) : replaces(d, ip));
}
