// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Attributes in a copy: what they say of deferral, and how long they are.
 * perf opens a file only if it knows the attributes' size; and of a pipe, what
 * is longer than it knows it takes for ids. So what is longer than all of them
 * know is cut where it says nothing there. */
#include <errno.h>
#include <stdlib.h>

#include "core/uapi.h"
#include "perfdata/copy-priv.h"

/* Bit fields begin at the other end of each byte in the other byte order. */
void seam_pd_copy_attr(const struct pd_copy *c, uint8_t *attr, size_t size)
{
	const bool swap = c->r->swap;
	const unsigned first = SEAM_ATTR_DEFER_CALLCHAIN % 8;
	const size_t at =
		SEAM_ATTR_FLAGS_OFFSET + SEAM_ATTR_DEFER_CALLCHAIN / 8;

	static_assert(SEAM_ATTR_DEFER_OUTPUT == SEAM_ATTR_DEFER_CALLCHAIN + 1 &&
			      SEAM_ATTR_DEFER_OUTPUT % 8,
		      "both bits are in one byte");
	if (size <= at || c->editor->as_it_was)
		return;
	attr[at] &= (uint8_t) ~(swap ? 3u << (6 - first) : 3u << first);
	if (c->editor->defers &&
	    (pd_u64(attr + offsetof(struct perf_event_attr, sample_type),
		    swap) &
	     PERF_SAMPLE_CALLCHAIN))
		attr[at] |= (uint8_t)(1u << (swap ? 7 - first : first));
}

/* {u32 n, attr_size; n times {attr; u32 n_ids; u32 len; name; ids}} */
void seam_pd_copy_desc(const struct pd_copy *c, uint8_t *desc, size_t size)
{
	struct span s = {desc, size, c->r->swap};
	uint32_t n, attr_size, n_ids, len;

	if (!span_u32(&s, &n) || !span_u32(&s, &attr_size))
		return;
	for (; n; n--) {
		uint8_t *attr = desc + (s.p - desc);

		if (!span_take(&s, attr_size) || !span_u32(&s, &n_ids) ||
		    !span_u32(&s, &len) || !span_take(&s, len) ||
		    !span_take(&s, 8ULL * n_ids))
			return;
		seam_pd_copy_attr(c, attr, attr_size);
	}
}

/* A longer one that says something there would not be the same, cut. */
static size_t cut_size(const uint8_t *attr, size_t size)
{
	for (size_t i = SEAM_ATTR_SIZE; i < size; i++)
		if (attr[i])
			return size;
	return size < SEAM_ATTR_SIZE ? size : SEAM_ATTR_SIZE;
}

struct pd_header seam_pd_old_header(const struct seam_pd_reader *r)
{
	struct pd_header h;

	memcpy(&h, r->file, sizeof(h));
	if (r->swap)
		seam_pd_swap_header(&h);
	return h;
}

/* A pipe's have one length each, which need not be one of words. */
size_t seam_pd_attrs_size(const struct seam_pd_reader *r)
{
	size_t longest = 0;

	for (size_t i = 0; i < r->n_events; i++) {
		const struct span *raw = &r->events[i].raw;
		size_t cut = cut_size(raw->p, raw->left);

		longest = cut > longest ? cut : longest;
	}
	return r->info.pipe ? (longest + 7) / 8 * 8 : longest;
}

int seam_pd_check_attr(const struct pd_copy *c, size_t size)
{
	const size_t max = PD_ATTR_SIZE_MAX - sizeof(struct pd_section);

	return (size > SEAM_ATTR_SIZE && !(c->editor && c->editor->defers)) ||
			       (c->filed && size > max)
		       ? -EOPNOTSUPP
		       : 0;
}

#define SAID_SIZE offsetof(struct perf_event_attr, size)

static void say_size(uint8_t *attr, size_t size, bool swap)
{
	uint32_t to = (uint32_t)size;

	if (swap)
		to = __builtin_bswap32(to);
	memcpy(attr + SAID_SIZE, &to, sizeof(to));
}

void seam_pd_attr_set_size(uint8_t *attr, size_t size, bool swap)
{
	if (pd_u32(attr + SAID_SIZE, swap) > size)
		say_size(attr, size, swap);
}

/* What is longer than the file's are has zeros there. perf goes by the size
 * that the attribute says, to the ids behind it, so in a file all have one. */
void seam_pd_copy_event(const struct pd_copy *c, const struct pd_event *ev,
			uint8_t ret[PD_ATTR_SIZE_MAX])
{
	const size_t size = c->header.attr_size - sizeof(struct pd_section);
	size_t has = ev->raw.left < size ? ev->raw.left : size;

	memcpy(ret, ev->raw.p, has);
	memset(ret + has, 0, size - has);
	if (c->filed)
		say_size(ret, size, c->r->swap);
	else
		seam_pd_attr_set_size(ret, size, c->r->swap);
	seam_pd_copy_attr(c, ret, size);
}

/* Of a record of an attribute, with its ids behind it: how long that is; 0:
 * it contradicts itself. */
static size_t attr_in(struct span s)
{
	const size_t head = sizeof(struct perf_event_header);
	const size_t at = head + SAID_SIZE;
	size_t size = s.left < at + 4 ? 0 : pd_u32(s.p + at, s.swap);

	if (!size)
		size = PERF_ATTR_SIZE_VER0;
	return s.left < head || size > s.left - head ? 0 : size;
}

int seam_pd_copy_attr_record(struct pd_copy *c, struct span s)
{
	const size_t head = sizeof(struct perf_event_header);
	size_t old = attr_in(s), size;
	uint8_t bytes[UINT16_MAX];
	uint16_t len;
	int rc;

	size = old ? cut_size(s.p + head, old) : 0;
	rc = seam_pd_check_attr(c, size);
	if (rc)
		return rc;
	c->attrs_cut += size < old;
	memcpy(bytes, s.p, head + size);
	memcpy(bytes + head + size, s.p + head + old, s.left - head - old);
	len = (uint16_t)(s.left - (old - size));
	if (size)
		seam_pd_attr_set_size(bytes + head, size, s.swap);
	if (c->editor)
		seam_pd_copy_attr(c, bytes + head, len - head);
	rc = len;
	if (s.swap)
		len = __builtin_bswap16(len);
	memcpy(bytes + offsetof(struct perf_event_header, size), &len,
	       sizeof(len));
	return seam_pd_copy_add(c, bytes, (size_t)rc);
}

/* In their place, closer together, each with the section of its ids; nothing
 * behind them moves. */
int seam_pd_copy_cut_attrs(struct pd_copy *c)
{
	const struct pd_header h = seam_pd_old_header(c->r);
	const size_t old = h.attr_size, ids = sizeof(struct pd_section);
	const size_t size = seam_pd_attrs_size(c->r);
	const uint64_t n = h.attrs.size / old;
	uint8_t bytes[PD_ATTR_SIZE_MAX];
	uint64_t words[2] = {size + ids, n * (size + ids)};
	int rc = 0;

	if (size > SEAM_ATTR_SIZE)
		return -EOPNOTSUPP;
	if (size + ids == old)
		return 0;
	for (uint64_t i = 0; !rc && i < n; i++) {
		const uint8_t *attr = c->r->file + h.attrs.offset + i * old;

		memcpy(bytes, attr, size);
		memcpy(bytes + size, attr + old - ids, ids);
		seam_pd_attr_set_size(bytes, size, c->r->swap);
		rc = seam_pd_write_at(c->fd, bytes, size + ids,
				      h.attrs.offset + i * (size + ids));
	}
	for (size_t i = 0; i < 2 && c->r->swap; i++)
		words[i] = __builtin_bswap64(words[i]);
	if (!rc)
		rc = seam_pd_write_at(c->fd, &words[0], 8,
				      offsetof(struct pd_header, attr_size));
	if (!rc)
		rc = seam_pd_write_at(c->fd, &words[1], 8,
				      offsetof(struct pd_header, attrs.size));
	c->attrs_cut += n;
	return rc;
}
