// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What comes from the kernel side and there is no memory for, or no room with
 * the worker: it is counted, and who was given the cookie of a stack otherwise
 * than with a sample, or wants the registers of all, is told that it is lost.
 */
#include <string.h>

#include "capture/round.h"
#include "capture/session-priv.h"
#include "core/arch.h"
#include "core/err.h"
#include "pager/tables.h"
#include "process/far.h"

/* So that the next stack asks again. What was asked of others is theirs, and
 * near files have been asked for in the ring of requests, too, whose answer may
 * be there at any moment. */
static void lose_request(struct seam_session *s,
			 const struct seam_wire_miss *miss)
{
	s->lost_requests++;
	if (miss->key.kind != SEAM_KEY_MEMORY &&
	    (!seam_kernel_owns(s->kernel) ||
	     !seam_is_far(miss->fs_magic, miss->fs_flags)))
		return;
	seam_tables_unask(s->kernel, &miss->key);
}

/* As the kernel side tells of one that it loses itself (bpf/lose.h). ip, regs:
 * NULL: not known. */
static void tell(struct seam_session *s, const struct seam_wire *head,
		 uint32_t flags, const uint64_t *ip, const uint64_t *regs)
{
	struct {
		struct seam_wire_stack stack;
		uint64_t words[1 + SEAM_WIRE_REGS];
	} loss = {.stack = {.head = *head,
			    .flags = flags & ~(uint32_t)SEAM_STACK_REGS,
			    .end = SEAM_LOST,
			    .nr = ip != NULL}};
	uint64_t *to = loss.words;

	if (!s->hears_losses)
		return;
	loss.stack.head.type = SEAM_WIRE_STACK;
	if (ip)
		*to++ = *ip;
	if (regs) {
		loss.stack.flags |= SEAM_STACK_REGS;
		memcpy(to, regs, SEAM_WIRE_REGS * sizeof(*regs));
	}
	seam_session_keep_loss(s, &loss.stack.head, sizeof(loss));
}

static void lose_copy(struct seam_session *s, const struct seam_wire_copy *copy)
{
	s->lost_waiting++;
	tell(s, &copy->head, copy->flags, &copy->regs[SEAM_AMD64_REG_IP],
	     copy->regs);
}

/* NULL: it came without. */
static const uint64_t *regs_of(const struct seam_wire_stack *rec, size_t words)
{
	const uint64_t before = (uint64_t)rec->nr + rec->by_fp;

	if (!(rec->flags & SEAM_STACK_REGS) || words < before + SEAM_WIRE_REGS)
		return NULL;
	return rec->ips + before;
}

static void lose_stack(struct seam_session *s,
		       const struct seam_wire_stack *rec, size_t size)
{
	size_t words = size < sizeof(*rec) ? 0 : (size - sizeof(*rec)) / 8;
	bool has_ip = words && rec->nr;

	s->lost_stacks++;
	if (size >= sizeof(*rec))
		tell(s, &rec->head, rec->flags, has_ip ? rec->ips : NULL,
		     regs_of(rec, words));
}

/* Return: false: it is none of them, or too short to say what it was. */
static bool lose_kind(struct seam_session *s, const struct seam_wire *rec,
		      size_t size)
{
	switch (rec->type) {
	case SEAM_WIRE_SAMPLE:
		s->lost_samples++;
		return true;
	case SEAM_WIRE_STACK:
		lose_stack(s, (const void *)rec, size);
		return true;
	case SEAM_WIRE_COPY:
		if (size < sizeof(struct seam_wire_copy))
			return false;
		lose_copy(s, (const void *)rec);
		return true;
	case SEAM_WIRE_MISS:
		if (size < sizeof(struct seam_wire_miss))
			return false;
		lose_request(s, (const void *)rec);
		return true;
	case SEAM_WIRE_JIT:
		s->lost_made++;
		return true;
	}
	return false;
}

static void lose(struct seam_session *s, const struct seam_wire *rec,
		 size_t size)
{
	if (!lose_kind(s, rec, size))
		s->lost_malformed++;
}

void seam_session_keep_sample(void *ctx, const struct seam_wire *rec,
			      size_t size)
{
	struct seam_session *s = ctx;

	if (!seam_batch_add(&s->samples, rec, size))
		lose(s, rec, size);
}

void seam_session_keep_copy(void *ctx, const struct seam_wire *rec, size_t size)
{
	struct seam_session *s = ctx;

	if (seam_batch_add(&s->copies, rec, size))
		return;
	lose(s, rec, size);
	if (seam_round_ends_tables(rec, size))
		seam_worker_untold(s->worker, rec->time_ns);
}

/* Of what has no place here, the batch has the number. */
void seam_session_keep_loss(void *ctx, const struct seam_wire *rec, size_t size)
{
	struct seam_session *s = ctx;

	(void)seam_batch_add(&s->losses, rec, size);
}

void seam_session_lose_copies(struct seam_session *s)
{
	const struct seam_wire *rec;
	size_t at = 0, size;

	while ((rec = seam_batch_next(&s->copies, &at, &size)))
		lose(s, rec, size);
	seam_batch_clear(&s->copies);
	seam_held_fini(&s->held);
}
