// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What the recording says of itself. None of it is needed to read records,
 * so what is malformed is passed over. */
#include <stdio.h>
#include <stdlib.h>

#include "perfdata/reader-priv.h"

/* Return: a string that ends inside the file, or NULL. */
static const char *take_string(struct span *s)
{
	const uint8_t *p;
	uint32_t len;

	if (!span_u32(s, &len))
		return NULL;
	p = span_take(s, len);
	return p && memchr(p, 0, len) ? (const char *)p : NULL;
}

static void read_cmdline(struct seam_pd_reader *r, struct span s)
{
	size_t len = 0;
	uint32_t n;
	char *line;

	if (!span_u32(&s, &n) || r->cmdline)
		return;
	line = malloc(s.left + 1); /* the strings' lengths make up for ' ' */
	if (!line)
		return;
	for (uint32_t i = 0; i < n; i++) {
		const char *arg = take_string(&s);
		size_t arg_len = arg ? strlen(arg) : 0;

		if (!arg)
			break;
		memcpy(line + len, arg, arg_len);
		len += arg_len;
		line[len++] = ' ';
	}
	line[len ? len - 1 : 0] = '\0';
	r->cmdline = line;
	r->info.cmdline = line;
}

static int event_of_ids(struct seam_pd_reader *r, struct span ids, size_t i)
{
	uint64_t id;

	return span_u64(&ids, &id) ? seam_pd_event_by_id(r, id) : (int)i;
}

static void read_event_desc(struct seam_pd_reader *r, struct span s)
{
	uint32_t n, attr_size;

	if (!span_u32(&s, &n) || !span_u32(&s, &attr_size))
		return;
	for (uint32_t i = 0; i < n; i++) {
		const char *name;
		struct span ids = {.swap = s.swap};
		uint32_t n_ids;
		int event;

		if (!span_take(&s, attr_size) || !span_u32(&s, &n_ids))
			return;
		name = take_string(&s);
		ids.p = span_take(&s, 8ULL * n_ids);
		ids.left = 8ULL * n_ids;
		if (!name || !ids.p)
			return;
		event = event_of_ids(r, ids, i);
		if (event >= 0)
			seam_pd_set_name(r, (size_t)event, name,
					 strlen(name) + 1);
	}
}

static void read_clock_data(struct seam_pd_reader *r, struct span s)
{
	uint32_t version, clockid;
	uint64_t wall, clock;

	if (!span_u32(&s, &version) || !span_u32(&s, &clockid) ||
	    !span_u64(&s, &wall) || !span_u64(&s, &clock))
		return;
	r->info.clockid = clockid;
	r->info.wall_clock_ns = wall;
	r->info.clockid_ns = clock;
}

static void set_id(struct pd_path_id *id, const uint8_t bytes[24])
{
	id->len = bytes[20] && bytes[20] <= 20 ? bytes[20] : 20;
	memcpy(id->id, bytes, 20);
}

/* {header; u32 pid; u8 id[24]; path}: id[20] is the length, 0 in old files,
 * where it was always 20. */
void seam_pd_add_build_id(struct seam_pd_reader *r, struct span s)
{
	struct pd_path_id *ids, *id;
	const uint8_t *bytes;
	uint64_t hash;
	uint32_t pid;

	if (!span_take(&s, 8) || !span_u32(&s, &pid))
		return;
	bytes = span_take(&s, 24);
	if (!bytes || !s.left || !memchr(s.p, 0, s.left))
		return;
	/* The last of a path counts, as with perf. */
	id = pd_path_id(r, (const char *)s.p);
	if (id) {
		set_id(id, bytes);
		return;
	}
	ids = realloc(r->path_ids, (r->n_path_ids + 1) * sizeof(*ids));
	if (!ids)
		return;
	r->path_ids = ids;
	id = &ids[r->n_path_ids];
	id->path = (const char *)s.p;
	set_id(id, bytes);
	hash = seam_hash(SEAM_HASH_START, id->path, strlen(id->path));
	if (!seam_index_add(&r->path_index, hash, r->n_path_ids))
		r->n_path_ids++;
}

/* Return: false: there is no whole one more. */
static bool next_build_id(struct span *s, struct span *ret)
{
	struct perf_event_header h;

	if (s->left < sizeof(h))
		return false;
	h = pd_record_header(s->p, s->swap);
	if (h.size < sizeof(h) || h.size > s->left)
		return false;
	*ret = (struct span){.p = s->p, .left = h.size, .swap = s->swap};
	span_take(s, h.size);
	return true;
}

static void read_build_ids(struct seam_pd_reader *r, struct span s)
{
	struct span one;

	while (next_build_id(&s, &one))
		seam_pd_add_build_id(r, one);
}

size_t seam_pd_build_ids_len(struct span s)
{
	const size_t all = s.left;
	struct span one;

	while (next_build_id(&s, &one))
		;
	return all - s.left;
}

/* Of a section that ends behind the file. */
static uint64_t whole_build_ids(const struct seam_pd_reader *r, uint64_t at)
{
	return at > r->size ? 0
			    : seam_pd_build_ids_len(
				      pd_span(r, r->file + at, r->size - at));
}

static void read_nrcpus(struct seam_pd_reader *r, struct span s)
{
	uint32_t conf, online;

	if (span_u32(&s, &conf) && span_u32(&s, &online))
		r->info.n_cpus_online = online;
}

void seam_pd_read_feature(struct seam_pd_reader *r, unsigned bit,
			  struct span body)
{
	r->read_features |= 1ULL << bit;
	switch (bit) {
	case PD_FEAT_TRACING_DATA:
		r->info.tracing = body.p;
		r->info.tracing_len = body.left;
		break;
	case PD_FEAT_BUILD_ID:
		read_build_ids(r, body);
		break;
	case PD_FEAT_HOSTNAME:
		r->info.hostname = take_string(&body);
		break;
	case PD_FEAT_OSRELEASE:
		r->info.osrelease = take_string(&body);
		break;
	case PD_FEAT_VERSION:
		r->info.version = take_string(&body);
		break;
	case PD_FEAT_ARCH:
		r->info.arch = take_string(&body);
		break;
	case PD_FEAT_NRCPUS:
		read_nrcpus(r, body);
		break;
	case PD_FEAT_CPUID:
		r->info.cpuid = take_string(&body);
		break;
	case PD_FEAT_CMDLINE:
		read_cmdline(r, body);
		break;
	case PD_FEAT_EVENT_DESC:
		read_event_desc(r, body);
		break;
	case PD_FEAT_COMPRESSED:
		r->info.compressed = true;
		break;
	case PD_FEAT_CLOCK_DATA:
		read_clock_data(r, body);
		break;
	}
}

void seam_pd_features_begin(const struct seam_pd_reader *r,
			    const struct pd_header *h, struct pd_features *ret)
{
	uint64_t at = h->data.offset;

	static_assert(PD_FEAT_MAX == 64, "one word has all");
	*ret = (struct pd_features){.lost = h->features[0]};
	/* A recorder that died left none, or not at this place. */
	if (!h->data.size || at > r->size || h->data.size > r->size - at)
		return;
	at += h->data.size;
	ret->table = pd_span(r, r->file + at, r->size - at);
	ret->bits = h->features[0];
	ret->lost = 0;
}

bool seam_pd_features_next(const struct seam_pd_reader *r,
			   struct pd_features *f, unsigned *ret_bit,
			   struct pd_section *ret)
{
	struct pd_section s;

	while (f->bits) {
		unsigned bit = (unsigned)__builtin_ctzll(f->bits);

		if (!span_u64(&f->table, &s.offset) ||
		    !span_u64(&f->table, &s.size)) {
			f->lost |= f->bits;
			return false;
		}
		f->bits &= f->bits - 1;
		if (s.offset > r->size || s.size > r->size - s.offset) {
			f->lost |= 1ULL << bit;
			s.size = bit == PD_FEAT_BUILD_ID
					 ? whole_build_ids(r, s.offset)
					 : 0;
			if (!s.size)
				continue;
		}
		*ret_bit = bit;
		*ret = s;
		return true;
	}
	return false;
}

void seam_pd_read_features(struct seam_pd_reader *r, const struct pd_header *h)
{
	struct pd_features f;
	struct pd_section s;
	unsigned bit;

	seam_pd_features_begin(r, h, &f);
	while (seam_pd_features_next(r, &f, &bit, &s))
		seam_pd_read_feature(r, bit,
				     pd_span(r, r->file + s.offset, s.size));
	r->lost_features = f.lost;
	r->read_features &= ~f.lost; /* of one that is cut */
}

/* Those whose loss changes what is shown. */
static const struct {
	unsigned bit;
	const char *name;
} telling[] = {
	{PD_FEAT_BUILD_ID, "build-ids"},
	{PD_FEAT_OSRELEASE, "the kernel's release"},
	{PD_FEAT_ARCH, "the kind of machine"},
	{PD_FEAT_EVENT_DESC, "names of events"},
	{PD_FEAT_TRACING_DATA, "formats of tracepoints"},
};

static bool is_partly(const struct seam_pd_reader *r, unsigned bit)
{
	return bit == PD_FEAT_BUILD_ID && r->n_path_ids;
}

void seam_pd_tell_lost(struct seam_pd_reader *r)
{
	const uint64_t gone = r->lost_features & ~r->read_features;
	const char *before = "; lost are ";
	char names[128] = "";
	size_t len = 0;

	r->info.lost_build_ids = gone & 1ULL << PD_FEAT_BUILD_ID;
	r->info.n_build_ids = r->n_path_ids;
	if (!r->lost_features)
		return;
	for (size_t i = 0; i < sizeof(telling) / sizeof(*telling); i++) {
		if (!(gone & 1ULL << telling[i].bit))
			continue;
		len += (size_t)snprintf(
			names + len, sizeof(names) - len, "%s%s%s", before,
			is_partly(r, telling[i].bit) ? "some " : "",
			telling[i].name);
		before = ", ";
	}
	seam_pd_set_damage_behind(
		r, "the file ends inside what it says of itself%s", names);
}
