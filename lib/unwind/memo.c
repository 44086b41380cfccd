// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "unwind/memo.h"

#include <string.h>

static void move(struct seam_memo *m, uint32_t to, uint32_t from, uint32_t n)
{
	memmove(&m->frames[to], &m->frames[from], n * sizeof(m->frames[0]));
	memmove(&m->fps[to], &m->fps[from], n * sizeof(m->fps[0]));
}

static void add_first(struct seam_memo *m, const struct seam_cursor *c)
{
	m->fps[0] = (struct seam_memo_fp){.fp = c->fp};
	m->frames[0].ra_slot = c->sp - 8;
	m->frames[0].ra = c->ip + c->exact;
	m->n = 1;
}

bool seam_memo_begin(struct seam_memo *m, uint64_t serial)
{
	if (m->serial != serial) {
		m->serial = serial;
		m->first = SEAM_MEMO_FRAMES;
		m->is_same_top = m->tries_moved = false;
		m->idle = m->idle_max = 0;
	}
	if (m->idle) {
		m->idle--;
		return false;
	}
	if (m->tries_moved && !m->is_from_top)
		m->first = SEAM_MEMO_FRAMES;
	m->is_written = m->is_same_top || m->first == SEAM_MEMO_FRAMES;
	m->next = m->first;
	m->n = m->alone = m->followed = 0;
	return true;
}

bool seam_memo_begin_writing(struct seam_memo *m, const struct seam_cursor *c)
{
	if (!m->is_written && m->alone < SEAM_MEMO_TOP)
		return true;
	m->is_written = true;
	/* Nothing that is kept will be met in so deep a stack. */
	if (m->n == m->next)
		m->next = SEAM_MEMO_FRAMES;
	if (m->n == SEAM_MEMO_FRAMES) {
		seam_memo_keep(m, false);
		return false;
	}
	if (!m->n) {
		m->is_from_top = !m->alone && !m->followed;
		add_first(m, c);
	}
	return true;
}

/*
 * Says of the frames from first to before last what is to be compared. Of the
 * last it is known whether it needs FP.
 */
static void judge(struct seam_memo *m, uint32_t first, uint32_t last)
{
	for (uint32_t at = last;; at--) {
		struct seam_memo_frame *f = &m->frames[at];
		struct seam_memo_fp *fp = &m->fps[at];
		const uint64_t slot = fp->slot & SEAM_MEMO_SLOT;
		const bool needs = fp->slot & SEAM_MEMO_NEEDS_FP;

		f->fp_slot = slot && needs ? slot : f->ra_slot;
		f->fp = slot && needs ? fp->fp : f->ra;
		if (at == first)
			break;
		fp[-1].slot &= ~SEAM_MEMO_NEEDS_FP;
		if (fp->slot & SEAM_MEMO_BY_FP || (!slot && needs))
			fp[-1].slot |= SEAM_MEMO_NEEDS_FP;
	}
}

/* After a walk: twice as many are idle as before if this one was of little use,
 * half as many if it was. */
static void set_idle(struct seam_memo *m)
{
	if (m->alone <= m->followed) {
		m->idle_max /= 2;
		return;
	}
	if (m->idle_max < SEAM_MEMO_IDLE)
		m->idle_max = 2 * m->idle_max + 1;
	m->idle = m->idle_max;
	m->tries_moved = true;
}

void seam_memo_end_moved(struct seam_memo *m, uint32_t n, bool are_all)
{
	m->tries_moved = are_all;
	if (are_all)
		m->idle_max = 0;
	else
		m->alone = n;
}

void seam_memo_join(struct seam_memo *m)
{
	const uint64_t needs = m->fps[m->next].slot & SEAM_MEMO_NEEDS_FP;

	m->followed += SEAM_MEMO_FRAMES - 1 - m->next;
	m->is_same_top = m->alone && m->alone <= m->followed &&
			 m->met == m->next && m->met_alone == m->alone;
	m->met = m->next;
	m->met_alone = m->alone;
	set_idle(m);
	if (!m->n)
		return;
	/* The last one written is the kept one, known by the step to it. */
	m->first = m->next + 1 - m->n;
	move(m, m->first, 0, m->n);
	m->fps[m->next].slot &= ~SEAM_MEMO_NEEDS_FP;
	m->fps[m->next].slot |= needs;
	judge(m, m->first, m->next);
	m->n = 0;
}

void seam_memo_part(struct seam_memo *m, uint32_t last)
{
	const uint32_t from = m->n ? m->next + 1 : m->next;

	m->followed += last - m->next;
	if (!m->is_written) {
		m->next = last + 1;
		return;
	}
	move(m, m->n, from, last + 1 - from);
	m->n += last + 1 - from;
	m->next = last + 1;
}

void seam_memo_keep(struct seam_memo *m, bool is_whole)
{
	const uint32_t last = SEAM_MEMO_FRAMES - 1;

	m->first = SEAM_MEMO_FRAMES - m->n;
	move(m, m->first, 0, m->n);
	m->is_whole = is_whole;
	m->fps[last].slot &= ~SEAM_MEMO_NEEDS_FP;
	if (!is_whole)
		m->fps[last].slot |= SEAM_MEMO_NEEDS_FP;
	judge(m, m->first, last);
	m->next = m->first;
	m->n = 0;
	set_idle(m);
}
