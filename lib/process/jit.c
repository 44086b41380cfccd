// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "process/jit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "core/sframe-format.h"
#include "process/jit-priv.h"
#include "sframe/encode.h"
#include "sframe/verify.h"

void seam_jit_table_put(struct seam_jit *j, struct seam_jit_table *t)
{
	j->bytes -= t->size;
	if (--t->refs)
		return;
	j->reader->stats.bytes -= t->size;
	free(t);
}

size_t seam_jit_search(const struct seam_jit *j, uint64_t addr)
{
	size_t lo = 0, hi = j->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (j->v[mid]->end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct seam_jit_table *seam_jit_find(const struct seam_jit *j,
					   uint64_t addr)
{
	size_t i = seam_jit_search(j, addr);

	return i < j->n && j->v[i]->code <= addr ? j->v[i] : NULL;
}

/* --- sections --- */

static bool is_range(uint64_t start, uint64_t size)
{
	return size && start && start + size > start;
}

/* However much a process claims, reading it takes only so long. */
static bool may_spend(struct seam_jit *j, uint64_t size)
{
	uint64_t now_ns = seam_now_ns();

	if (now_ns - j->since_ns > 1000000000) {
		j->since_ns = now_ns;
		j->spent = 0;
	}
	j->spent += size;
	return j->spent <= SEAM_JIT_MAX_PROCESS;
}

/* Whether it would take more memory than there is for it. */
static bool is_short(const struct seam_jit *j, const struct seam_jit_section *s)
{
	return s->sframe_size > SEAM_JIT_MAX_SECTION ||
	       j->bytes + s->sframe_size > SEAM_JIT_MAX_PROCESS ||
	       j->reader->stats.bytes + s->sframe_size > SEAM_JIT_MAX_ALL;
}

static int judge(struct seam_jit *j, const struct seam_jit_section *s)
{
	size_t at = seam_jit_search(j, s->code);

	if (!is_range(s->code, s->code_size) ||
	    !is_range(s->sframe, s->sframe_size))
		return SEAM_JIT_BAD_RANGE;
	if (at < j->n && j->v[at]->code < s->code + s->code_size)
		return SEAM_JIT_OVERLAP;
	if (is_short(j, s) || j->n >= SEAM_JIT_MAX_ENTRIES ||
	    !may_spend(j, s->sframe_size))
		return SEAM_JIT_TOO_MUCH;
	return -1;
}

int seam_jit_peek(struct seam_jit *j, uint32_t pid, uint64_t addr, void *to,
		  size_t size)
{
	int err;

	if (j->is_slow)
		return -ETIMEDOUT;
	err = seam_peek_read(&j->reader->peek, pid, addr, to, size);
	j->is_slow = err == -ETIMEDOUT;
	return err;
}

static int check(struct seam_jit_table *t)
{
	const struct seam_sframe_limits limits = {
		.abi = SEAM_SFRAME_ABI_AMD64,
		.section_addr = t->sframe,
		.text_start = t->code,
		.text_end = t->end,
	};

	return seam_sframe_verify(t->bytes, t->size, &limits, NULL) ||
			       seam_sframe_open(&t->sf, t->bytes, t->size)
		       ? -EINVAL
		       : 0;
}

static struct seam_jit_table *table_new(const struct seam_jit_section *s)
{
	struct seam_jit_table *t =
		calloc(1, sizeof(*t) + (size_t)s->sframe_size);

	if (!t)
		return NULL;
	t->refs = 1;
	t->code = s->code;
	t->end = s->code + s->code_size;
	t->sframe = s->sframe;
	t->sframe_size = s->sframe_size;
	t->since_ns = s->since_ns;
	t->size = (size_t)s->sframe_size;
	return t;
}

static void insert(struct seam_jit *j, struct seam_jit_table *t)
{
	size_t at = seam_jit_search(j, t->code);

	memmove(&j->v[at + 1], &j->v[at], (j->n - at) * sizeof(j->v[0]));
	j->v[at] = t;
	j->n++;
	j->edits++;
	j->bytes += t->size;
}

/* What a list names stays so until the list says something else. */
static int leave_out(struct seam_jit *j, struct seam_jit_table *t)
{
	struct seam_jit_table *small = NULL;

	if (t->is_listed) {
		t->size = 0;
		t->sf = (struct seam_sframe){0};
		small = realloc(t, sizeof(*t));
		insert(j, small ? small : t);
	} else {
		free(t);
	}
	return 0;
}

static int refuse(struct seam_jit *j, struct seam_jit_table *t,
		  enum seam_jit_refusal why)
{
	j->reader->stats.refused[why]++;
	return leave_out(j, t);
}

static int fetch(struct seam_jit *j, uint32_t pid,
		 const struct seam_jit_section *s, struct seam_jit_table *t)
{
	if (!s->bytes)
		return seam_jit_peek(j, pid, t->sframe, t->bytes, t->size);
	memcpy(t->bytes, s->bytes, t->size);
	return 0;
}

int seam_jit_read(struct seam_jit *j, uint32_t pid,
		  const struct seam_jit_section *s, uint64_t id)
{
	struct seam_jit_table *t;
	int refused, err;

	if (is_short(j, s))
		seam_jit_past_fini(j);
	refused = judge(j, s);
	if (refused >= 0) {
		j->reader->stats.refused[refused]++;
		return 0;
	}
	if (seam_grow(&j->v, j->n + 1, &j->room, sizeof(j->v[0])))
		return -ENOMEM;
	t = table_new(s);
	if (!t)
		return -ENOMEM;
	t->is_listed = id;
	t->id = id;
	if (id && seam_jit_is_over(j, s)) {
		j->reader->stats.unmapped++;
		return leave_out(j, t);
	}
	err = fetch(j, pid, s, t);
	if (err == -ENOMEM) {
		free(t);
		return err;
	}
	if (err)
		return refuse(j, t, SEAM_JIT_UNREADABLE);
	if (check(t))
		return refuse(j, t, SEAM_JIT_MALFORMED);
	insert(j, t);
	j->reader->stats.bytes += t->size;
	j->reader->stats.added++;
	return 0;
}

int seam_jit_put(struct seam_jit *j, uint32_t pid,
		 const struct seam_jit_section *section)
{
	return seam_jit_read(j, pid, section, 0);
}

static void sift(struct seam_jit *j,
		 bool (*keep)(const struct seam_jit_table *t, void *ctx),
		 void *ctx,
		 void (*put)(struct seam_jit *j, struct seam_jit_table *t))
{
	size_t n = 0;

	for (size_t i = 0; i < j->n; i++) {
		struct seam_jit_table *t = j->v[i];

		if (keep(t, ctx)) {
			j->v[n++] = t;
			continue;
		}
		put(j, t);
		j->edits++;
		j->reader->stats.removed++;
	}
	j->n = n;
}

void seam_jit_keep(struct seam_jit *j,
		   bool (*keep)(const struct seam_jit_table *t, void *ctx),
		   void *ctx)
{
	sift(j, keep, ctx, seam_jit_table_put);
}

void seam_jit_pass(struct seam_jit *j,
		   bool (*keep)(const struct seam_jit_table *t, void *ctx),
		   void *ctx)
{
	sift(j, keep, ctx,
	     j->is_heard ? seam_jit_past_add : seam_jit_table_put);
}

static bool is_other(const struct seam_jit_table *t, void *ctx)
{
	const uint64_t *sframe = ctx;

	return t->is_listed || t->sframe != *sframe;
}

void seam_jit_take(struct seam_jit *j, uint64_t sframe)
{
	uint64_t before = j->reader->stats.removed;

	seam_jit_keep(j, is_other, &sframe);
	if (j->reader->stats.removed != before)
		return;
	if (j->untaken)
		j->untaken--;
	else
		j->reader->stats.refused[SEAM_JIT_UNKNOWN]++;
}

struct ended {
	uint64_t code, end, time_ns;
};

static bool is_not_ended(const struct seam_jit_table *t, void *ctx)
{
	const struct ended *e = ctx;

	return !t->is_listed || t->end <= e->code || t->code >= e->end ||
	       t->since_ns > e->time_ns;
}

void seam_jit_end(struct seam_jit *j, uint64_t code, uint64_t size,
		  uint64_t time_ns)
{
	struct ended ended = {code, code + size, time_ns};

	if (!is_range(code, size))
		return;
	seam_jit_keep(j, is_not_ended, &ended);
	seam_jit_past_keep(j, is_not_ended, &ended);
}

int seam_jit_copy(struct seam_jit *to, const struct seam_jit *from)
{
	seam_jit_fini(to);
	to->is_heard = from->is_heard;
	if (seam_jit_past_copy(to, from))
		return -ENOMEM;
	if (!from->n)
		return 0;
	if (seam_grow(&to->v, from->n, &to->room, sizeof(to->v[0])))
		return -ENOMEM;
	for (size_t i = 0; i < from->n; i++) {
		to->v[i] = from->v[i];
		to->v[i]->refs++;
		to->bytes += from->v[i]->size;
	}
	to->n = from->n;
	to->list = from->list;
	to->changes = from->changes;
	to->seen_ns = from->seen_ns;
	to->was_scanned = from->was_scanned;
	to->untaken = from->untaken;
	to->unmapped_start = from->unmapped_start;
	to->unmapped_end = from->unmapped_end;
	to->unmapped_ns = from->unmapped_ns;
	return 0;
}

void seam_jit_fini(struct seam_jit *j)
{
	for (size_t i = 0; i < j->n; i++)
		seam_jit_table_put(j, j->v[i]);
	free(j->v);
	seam_jit_past_fini(j);
	*j = (struct seam_jit){.reader = j->reader, .edits = j->edits + 1};
}

/* --- one for all --- */

static int join_rows(struct seam_sframe_builder *b,
		     const struct seam_sframe *sf,
		     const struct seam_sframe_func *func)
{
	struct seam_sframe_row row = {.next = func->rows};
	int err = 0;

	for (uint32_t i = 0; !err && i < func->num_rows; i++) {
		struct seam_rule rule;

		if (seam_sframe_row_at(sf, func, row.next, &row) ||
		    seam_sframe_rule(sf, func, &row, &rule) || rule.cfa_add)
			return -EINVAL;
		err = seam_sframe_builder_row(b, row.start, &rule);
	}
	return err;
}

static int join_func(struct seam_sframe_builder *b,
		     const struct seam_jit_table *t, uint32_t i, uint64_t start,
		     uint64_t end)
{
	struct seam_sframe_builder_func to = {0};
	struct seam_sframe_func func;
	uint64_t at;
	int err;

	if (seam_sframe_func_at(&t->sf, i, &func))
		return -EINVAL;
	at = func.start + t->sframe;
	if (at < start || at >= end || end - at < func.size)
		return 0;
	/* Blocks of version 1 do not say how large they are. */
	if (func.info & SEAM_SFRAME_INFO_PCMASK && !func.rep_size)
		return 0;
	to.start = at - start;
	to.signal = !!(func.info & SEAM_SFRAME_INFO_SIGNAL);
	if (func.info & SEAM_SFRAME_INFO_PCMASK)
		to.rep_size = func.rep_size;
	err = seam_sframe_builder_begin(b, &to);
	if (!err)
		err = join_rows(b, &t->sf, &func);
	return err ? err : seam_sframe_builder_end(b, func.size);
}

int seam_jit_join(const struct seam_jit *j, uint64_t start, uint64_t end,
		  uint8_t **ret_bytes, size_t *ret_size)
{
	struct seam_sframe_builder_totals totals = {0};
	struct seam_sframe_builder *b;
	uint8_t *bytes = NULL;
	size_t size = 0, i = seam_jit_search(j, start);
	int err;

	if (i >= j->n || j->v[i]->code >= end)
		return -ENOENT;
	err = seam_sframe_builder_new(0, &b);
	if (err)
		return err;
	for (; !err && i < j->n && j->v[i]->code < end; i++)
		for (uint32_t f = 0; !err && f < j->v[i]->sf.num_fdes; f++)
			err = join_func(b, j->v[i], f, start, end);
	if (!err)
		err = seam_sframe_builder_finish(b, 0, &bytes, &size, &totals);
	seam_sframe_builder_free(b);
	if (err)
		return err;
	if (!totals.functions) {
		free(bytes);
		return -ENOENT;
	}
	*ret_bytes = bytes;
	*ret_size = size;
	return 0;
}
