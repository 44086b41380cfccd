// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What a recording says of tracepoints; writer-tracing.c has its layout. */
#include "perfdata/reader-priv.h"

static const char *take_name(struct span *s)
{
	const uint8_t *end = memchr(s->p, 0, s->left);

	return end ? (const char *)span_take(s, (uint64_t)(end + 1 - s->p))
		   : NULL;
}

static bool take_text(struct span *s, struct span *ret)
{
	uint64_t size;

	if (!span_u64(s, &size))
		return false;
	ret->p = span_take(s, size);
	ret->left = (size_t)size;
	ret->swap = s->swap;
	return ret->p;
}

/* Up to ftrace's own events. */
static bool take_front(struct span *s, struct span *ret_page)
{
	static const char magic[] = {23,  8,   68,  't', 'r',
				     'a', 'c', 'i', 'n', 'g'};
	const uint8_t *p = span_take(s, sizeof(magic));
	const char *version, *page, *event;
	struct span text;

	if (!p || memcmp(p, magic, sizeof(magic)) != 0)
		return false;
	version = take_name(s);
	p = span_take(s, 6);
	/* Byte order: that of the machine, as the recording's is; a long has
	 * 8 bytes. */
	if (!version || !p || p[0] || p[1] != 8)
		return false;
	page = take_name(s);
	if (!page || strcmp(page, "header_page") != 0 ||
	    !take_text(s, ret_page))
		return false;
	event = take_name(s);
	return event && !strcmp(event, "header_event") && take_text(s, &text);
}

/* Events of one system: count, then texts. */
static bool give_events(struct span *s, const char *system,
			const struct seam_pd_format_ops *ops)
{
	struct span text;
	uint32_t n;

	if (!span_u32(s, &n))
		return false;
	for (; n; n--) {
		if (!take_text(s, &text))
			return false;
		ops->format(ops->ctx, system, (const char *)text.p, text.left);
	}
	return true;
}

/* All of it. Return: where the count of systems is; NULL: malformed. */
static const uint8_t *give_all(struct span *s,
			       const struct seam_pd_format_ops *ops)
{
	const uint8_t *count;
	struct span page;
	uint32_t n;

	if (!s->p || !take_front(s, &page))
		return NULL;
	ops->page(ops->ctx, (const char *)page.p, page.left);
	if (!give_events(s, "ftrace", ops))
		return NULL;
	count = s->p;
	if (!span_u32(s, &n))
		return NULL;
	for (; n; n--) {
		const char *system = take_name(s);

		if (!system || !give_events(s, system, ops))
			return NULL;
	}
	return count;
}

bool seam_pd_formats(const struct seam_pd_reader *r,
		     const struct seam_pd_format_ops *ops)
{
	const struct seam_pd_info *info = seam_pd_info(r);
	struct span s = pd_span(r, info->tracing, info->tracing_len);

	return give_all(&s, ops);
}

static void pass_page(void *ctx, const char *text, size_t size)
{
	(void)ctx;
	(void)text;
	(void)size;
}

static void find_lost(void *ctx, const char *system, const char *text,
		      size_t size)
{
	static const char name[] = "name: payload_lost\n";
	struct pd_systems *found = ctx;

	found->has_lost |= !strcmp(system, "seam") && size >= strlen(name) &&
			   !memcmp(text, name, strlen(name));
}

bool seam_pd_systems(const struct seam_pd_reader *r, struct pd_systems *ret)
{
	const struct seam_pd_info *info = seam_pd_info(r);
	struct pd_systems found = {0};
	const struct seam_pd_format_ops ops = {pass_page, find_lost, &found};
	struct span s = pd_span(r, info->tracing, info->tracing_len);
	const uint8_t *count = give_all(&s, &ops);

	if (!count)
		return false;
	found.count_at = (size_t)(count - info->tracing);
	found.end = (size_t)(s.p - info->tracing);
	*ret = found;
	return true;
}
