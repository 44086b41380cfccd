// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What lies around the data of a file: header, ids and attributes before it,
 * features behind it. */
#include <errno.h>
#include <stdlib.h>

#include "core/uapi.h"
#include "perfdata/copy-priv.h"

#define DATA_ALIGN 8

bool seam_pd_copy_keeps(unsigned bit)
{
	return bit != PD_FEAT_COMPRESSED && bit != PD_FEAT_DIR_FORMAT;
}

static void find_features(struct pd_copy *c)
{
	const struct pd_header h = seam_pd_old_header(c->r);
	struct pd_features f;
	struct pd_section old;
	unsigned bit;

	seam_pd_features_begin(c->r, &h, &f);
	while (seam_pd_features_next(c->r, &f, &bit, &old)) {
		if (!seam_pd_copy_keeps(bit))
			continue;
		c->header.features[0] |= 1ULL << bit;
		c->bodies[bit] = (struct pd_body){c->r->file + old.offset,
						  old.size, false};
	}
}

/* In the other byte order a bitmap without the host's name is read with its
 * halves exchanged, and so written: one of its bits, of no feature that there
 * is, would then say that the name is there. */
static void leave_unreadable(struct pd_copy *c)
{
	const uint64_t named = 1ULL << PD_FEAT_HOSTNAME;

	if (c->r->swap && !(c->header.features[0] & named))
		c->header.features[0] &= ~(named << 32);
}

static int align(struct pd_copy *c)
{
	static const uint8_t zeros[DATA_ALIGN];

	return seam_pd_copy_add(c, zeros,
				(DATA_ALIGN - pd_copy_at(c) % DATA_ALIGN) %
					DATA_ALIGN);
}

/* One attribute with the section of its ids, which lie at ids now. */
static int add_attr(struct pd_copy *c, const struct pd_event *ev, uint64_t ids)
{
	size_t size = c->header.attr_size - sizeof(struct pd_section);
	uint8_t attr[PD_ATTR_SIZE_MAX];
	int rc;

	seam_pd_copy_event(c, ev, attr);
	c->attrs_cut += ev->raw.left > size;
	rc = seam_pd_copy_add(c, attr, size);
	if (!rc)
		rc = seam_pd_copy_add_u64(c, ids);
	return rc ? rc : seam_pd_copy_add_u64(c, ev->raw_ids.left);
}

static int add_attrs(struct pd_copy *c)
{
	const struct pd_event *events = c->r->events;
	const size_t n = c->r->n_events, size = seam_pd_attrs_size(c->r);
	uint64_t ids = pd_copy_at(c);
	int rc = seam_pd_check_attr(c, size);

	for (size_t i = 0; !rc && i < n; i++)
		rc = seam_pd_copy_add(c, events[i].raw_ids.p,
				      events[i].raw_ids.left);
	if (!rc)
		rc = align(c);
	c->header.attr_size = size + sizeof(struct pd_section);
	c->header.attrs.offset = pd_copy_at(c);
	c->header.attrs.size = n * c->header.attr_size;
	for (size_t i = 0; !rc && i < n; i++) {
		rc = add_attr(c, &events[i], ids);
		ids += events[i].raw_ids.left;
	}
	return rc ? rc : align(c);
}

int seam_pd_copy_front(struct pd_copy *c)
{
	static const struct pd_header room;
	int rc = seam_pd_copy_add(c, &room, sizeof(room));

	if (!c->filed)
		find_features(c);
	if (!rc)
		rc = add_attrs(c);
	return rc || !c->filed ? rc : seam_pd_filed_begin(c);
}

static int by_from(const void *a, const void *b)
{
	const struct pd_moved *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* {u64 n; n times {u64 offset, size}} */
static void move_index(const struct pd_copy *c, uint8_t *body, size_t size)
{
	bool swap = c->r->swap;

	for (size_t at = 8; at + 16 <= size; at += 16) {
		struct pd_moved key = {pd_u64(body + at, swap), 0}, *hit;

		hit = c->n_moved ? bsearch(&key, c->moved, c->n_moved,
					   sizeof(key), by_from)
				 : NULL;
		if (hit) {
			uint64_t to =
				swap ? __builtin_bswap64(hit->to) : hit->to;

			memcpy(body + at, &to, sizeof(to));
		}
	}
}

static int add_body(struct pd_copy *c, unsigned bit)
{
	const struct pd_body *old = &c->bodies[bit];
	uint8_t *body;
	int rc;

	if (old->is_made ||
	    (bit != PD_FEAT_EVENT_DESC && bit != PD_FEAT_AUXTRACE))
		return seam_pd_copy_add(c, old->p, old->size);
	body = malloc(old->size + 1);
	if (!body)
		return -ENOMEM;
	memcpy(body, old->p, old->size);
	if (bit == PD_FEAT_EVENT_DESC)
		seam_pd_copy_desc(c, body, old->size);
	else
		move_index(c, body, old->size);
	rc = seam_pd_copy_add(c, body, old->size);
	free(body);
	return rc;
}

/* Which features there are, and what they say. */
static uint64_t choose_features(struct pd_copy *c)
{
	if (c->filed)
		seam_pd_filed_end(c);
	leave_unreadable(c);
	if (c->tracing.len)
		c->bodies[PD_FEAT_TRACING_DATA] =
			(struct pd_body){c->tracing.p, c->tracing.len, true};
	return c->header.features[0];
}

/* A bitmap without the host's name is taken for one of 32-bit words. */
static int write_header(struct pd_copy *c)
{
	const uint64_t named = 1ULL << PD_FEAT_HOSTNAME;
	struct pd_header h = c->header;
	uint64_t *v = (uint64_t *)&h;

	h.magic = PD_MAGIC;
	h.size = sizeof(h);
	if (c->r->swap) {
		if (!(h.features[0] & named))
			h.features[0] =
				h.features[0] << 32 | h.features[0] >> 32;
		for (size_t i = 0; i < sizeof(h) / sizeof(*v); i++)
			v[i] = __builtin_bswap64(v[i]);
	}
	return seam_pd_write_at(c->fd, &h, sizeof(h), 0);
}

int seam_pd_copy_back(struct pd_copy *c)
{
	const uint64_t all = choose_features(c);
	uint64_t at = pd_copy_at(c) + (uint64_t)__builtin_popcountll(all) *
					      sizeof(struct pd_section);
	int rc = 0;

	for (unsigned bit = 0; !rc && bit < PD_FEAT_MAX; bit++) {
		if (!(all & 1ULL << bit))
			continue;
		rc = seam_pd_copy_add_u64(c, at);
		if (!rc)
			rc = seam_pd_copy_add_u64(c, c->bodies[bit].size);
		at += c->bodies[bit].size;
	}
	for (unsigned bit = 0; !rc && bit < PD_FEAT_MAX; bit++)
		if (all & 1ULL << bit)
			rc = add_body(c, bit);
	if (!rc)
		rc = seam_pd_copy_flush(c);
	return rc ? rc : write_header(c);
}
