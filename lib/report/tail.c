// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/tail.h"

#include <string.h>

static bool is_same(const struct seam_tail_frame *a, const struct seam_frame *b)
{
	return a->ip == b->ip && a->map == seam_frame_map(b) &&
	       a->kernel == b->kernel && a->exact == b->exact &&
	       a->method == b->method;
}

size_t seam_tail_common(const struct seam_tail *tail, unsigned of,
			const struct seam_frame *f, size_t n)
{
	size_t most = tail->n < n ? tail->n : n, k = 0;

	if (tail->of != of)
		return 0;
	while (k < most &&
	       is_same(&tail->v[SEAM_TAIL_FRAMES - 1 - k], &f[n - 1 - k]))
		k++;
	return k;
}

static size_t text_len(const struct seam_tail *tail, size_t k)
{
	return k ? tail->v[SEAM_TAIL_FRAMES - k].len : 0;
}

void seam_tail_print(const struct seam_tail *tail, size_t k,
		     struct seam_strbuf *b)
{
	size_t len = text_len(tail, k);

	seam_strbuf_add(b, tail->text + SEAM_TAIL_TEXT - len, len);
}

void seam_tail_keep(struct seam_tail *tail, size_t k,
		    const struct seam_tail_new *add, unsigned of,
		    const struct seam_strbuf *b, size_t end)
{
	size_t old = text_len(tail, k), at = add->n ? add->begin[0] : end;
	struct seam_tail_frame *to;

	tail->of = of;
	tail->n = k;
	if (add->n > SEAM_TAIL_FRAMES - k || end - at > SEAM_TAIL_TEXT - old)
		return;
	tail->n += add->n;
	to = &tail->v[SEAM_TAIL_FRAMES - tail->n];
	if (end > at)
		memcpy(tail->text + SEAM_TAIL_TEXT - old - (end - at),
		       b->s + at, end - at);
	for (size_t i = 0; i < add->n; i++)
		to[i] = (struct seam_tail_frame){
			.ip = add->frames[i].ip,
			.map = seam_frame_map(&add->frames[i]),
			.kernel = add->frames[i].kernel,
			.exact = add->frames[i].exact,
			.method = add->frames[i].method,
			.len = (uint32_t)(old + (end - add->begin[i])),
			.flags = add->flags[i],
		};
}
