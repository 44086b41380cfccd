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

static struct pd_section section_at(const uint8_t *p, bool swap)
{
	return (struct pd_section){pd_u64(p, swap), pd_u64(p + 8, swap)};
}

/* In the other byte order a bitmap without the host's name is read with its
 * halves exchanged, and so written: one of its bits, of no feature that there
 * is, would then say that the name is there. */
static void find_features(struct pd_copy *c, const struct pd_header *h)
{
	const uint64_t named = 1ULL << PD_FEAT_HOSTNAME;
	struct pd_features f;
	struct pd_section old;
	unsigned bit;

	seam_pd_features_begin(c->r, h, &f);
	while (seam_pd_features_next(c->r, &f, &bit, &old)) {
		if (!seam_pd_copy_keeps(bit))
			continue;
		c->header.features[0] |= 1ULL << bit;
		c->kept[bit] = old;
	}
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
static int add_attr(struct pd_copy *c, const uint8_t *old, uint64_t ids,
		    uint64_t ids_size)
{
	size_t size = c->header.attr_size - sizeof(struct pd_section);
	uint8_t attr[PD_ATTR_SIZE_MAX];
	int rc;

	memcpy(attr, old, size);
	seam_pd_attr_set_size(attr, size, c->r->swap);
	seam_pd_copy_attr(c, attr, size);
	rc = seam_pd_copy_add(c, attr, size);
	if (!rc)
		rc = seam_pd_copy_add_u64(c, ids);
	return rc ? rc : seam_pd_copy_add_u64(c, ids_size);
}

/* The reader has compared all of them with the file's size. */
static int add_attrs(struct pd_copy *c, const struct pd_header *h)
{
	const uint8_t *first = c->r->file + h->attrs.offset;
	const size_t size = h->attr_size - sizeof(struct pd_section);
	const size_t n = h->attrs.size / h->attr_size;
	const size_t new_size = seam_pd_attrs_size(c->r, h);
	uint64_t ids = pd_copy_at(c);
	int rc = seam_pd_check_attr(c, new_size);

	for (size_t i = 0; !rc && i < n; i++) {
		struct pd_section at =
			section_at(first + i * h->attr_size + size, c->r->swap);

		rc = seam_pd_copy_add(c, c->r->file + at.offset, at.size);
	}
	if (!rc)
		rc = align(c);
	c->attrs_cut += new_size < size ? n : 0;
	c->header.attr_size = new_size + sizeof(struct pd_section);
	c->header.attrs.offset = pd_copy_at(c);
	c->header.attrs.size = n * c->header.attr_size;
	for (size_t i = 0; !rc && i < n; i++) {
		const uint8_t *old = first + i * h->attr_size;
		uint64_t ids_size = section_at(old + size, c->r->swap).size;

		rc = add_attr(c, old, ids, ids_size);
		ids += ids_size;
	}
	return rc ? rc : align(c);
}

int seam_pd_copy_front(struct pd_copy *c)
{
	const struct pd_header h = seam_pd_old_header(c->r);
	int rc = seam_pd_copy_add(c, &h, sizeof(h)); /* for its room */

	find_features(c, &h);
	return rc ? rc : add_attrs(c, &h);
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

static bool is_new(const struct pd_copy *c, unsigned bit)
{
	return bit == PD_FEAT_TRACING_DATA && c->tracing.len;
}

static size_t body_size(const struct pd_copy *c, unsigned bit)
{
	return is_new(c, bit) ? c->tracing.len : c->kept[bit].size;
}

static int add_body(struct pd_copy *c, unsigned bit)
{
	const uint8_t *old = c->r->file + c->kept[bit].offset;
	size_t size = c->kept[bit].size;
	uint8_t *body;
	int rc;

	if (is_new(c, bit))
		return seam_pd_copy_add(c, c->tracing.p, c->tracing.len);
	if (bit != PD_FEAT_EVENT_DESC && bit != PD_FEAT_AUXTRACE)
		return seam_pd_copy_add(c, old, size);
	body = malloc(size + 1);
	if (!body)
		return -ENOMEM;
	memcpy(body, old, size);
	if (bit == PD_FEAT_EVENT_DESC)
		seam_pd_copy_desc(c, body, size);
	else
		move_index(c, body, size);
	rc = seam_pd_copy_add(c, body, size);
	free(body);
	return rc;
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
	uint64_t all = c->header.features[0];
	uint64_t at = pd_copy_at(c) + (uint64_t)__builtin_popcountll(all) *
					      sizeof(struct pd_section);
	int rc = 0;

	for (unsigned bit = 0; !rc && bit < PD_FEAT_MAX; bit++) {
		if (!(all & 1ULL << bit))
			continue;
		rc = seam_pd_copy_add_u64(c, at);
		if (!rc)
			rc = seam_pd_copy_add_u64(c, body_size(c, bit));
		at += body_size(c, bit);
	}
	for (unsigned bit = 0; !rc && bit < PD_FEAT_MAX; bit++)
		if (all & 1ULL << bit)
			rc = add_body(c, bit);
	if (!rc)
		rc = seam_pd_copy_flush(c);
	return rc ? rc : write_header(c);
}
