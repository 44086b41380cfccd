// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/uapi.h"
#include "perfdata/reader-priv.h"

int seam_pd_fill_err(struct seam_errinfo *err, int rc, const char *where,
		     uint64_t offset, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return rc;
	memset(err, 0, sizeof(*err));
	err->offset = offset;
	snprintf(err->where, sizeof(err->where), "%s", where);
	va_start(ap, fmt);
	vsnprintf(err->reason, sizeof(err->reason), fmt, ap);
	va_end(ap);
	return rc;
}

static void set_damage(struct seam_pd_reader *r, uint64_t offset,
		       const char *fmt, va_list ap)
{
	struct seam_errinfo *err = &r->damage.err;

	if (!r->damage.damaged || r->damaged_part != r->part)
		r->damage.n_files++;
	r->damaged_part = r->part;
	if (r->damage.damaged)
		return;
	r->damage.damaged = true;
	err->offset = offset;
	snprintf(err->where, sizeof(err->where), "%s",
		 r->part ? r->part->name : "data");
	vsnprintf(err->reason, sizeof(err->reason), fmt, ap);
}

void seam_pd_set_damage(struct seam_pd_reader *r, uint64_t offset,
			const char *fmt, ...)
{
	va_list ap;

	r->damage.lacks_records = true;
	va_start(ap, fmt);
	set_damage(r, offset, fmt, ap);
	va_end(ap);
}

void seam_pd_set_damage_behind(struct seam_pd_reader *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_damage(r, r->size, fmt, ap);
	va_end(ap);
}

/* The data as far as the file has it. A recorder that died before it wrote
 * the size left 0: then all of the file is data. */
static struct span data_span(struct seam_pd_reader *r,
			     const struct pd_header *h)
{
	struct span data = {.swap = r->swap};
	struct pd_part *part = &r->parts[0];
	uint64_t left;

	if (h->data.offset > r->size) {
		seam_pd_set_damage(r, r->size,
				   "the file ends before its data begins");
		return data;
	}
	data.p = r->file + h->data.offset;
	left = r->size - h->data.offset;
	if (part->missed) /* that is why it ends, and said */
		;
	else if (!h->data.size)
		snprintf(part->cut, sizeof(part->cut),
			 "the recorder never wrote the data's size");
	else if (h->data.size > left)
		snprintf(part->cut, sizeof(part->cut),
			 "the file ends %llu bytes before its data",
			 (unsigned long long)(h->data.size - left));
	data.left = h->data.size && h->data.size < left ? h->data.size : left;
	return data;
}

/* A folder's other files have records alone: what has a header was put there
 * by hand, and its events would be taken for those of the folder. */
static bool has_header(const struct pd_part *part)
{
	return seam_pd_has_magic(part->p, part->size);
}

static int read_part(struct seam_pd_reader *r, struct pd_part *part)
{
	struct span records = pd_span(r, part->p, part->size);

	if (has_header(part)) {
		snprintf(part->cut, sizeof(part->cut),
			 "it has a header of its own: it is none of the "
			 "folder's");
		records.left = 0;
	}
	r->part = part;
	r->last_ns = 0;
	return seam_pd_walk(r, records);
}

static int read_file(struct seam_pd_reader *r, struct seam_errinfo *reterr)
{
	const char *why = "the attributes of the events do not lie in the file";
	struct pd_header h;
	int rc;

	if (r->size < sizeof(h))
		return seam_pd_fill_err(reterr, -EBADMSG, "header", r->size,
					"the file ends inside its header");
	memcpy(&h, r->file, sizeof(h));
	if (r->swap)
		seam_pd_swap_header(&h);
	if (h.size < sizeof(h))
		return seam_pd_fill_err(reterr, -EBADMSG, "header", 8,
					"the header's size is not one of perf");
	rc = seam_pd_read_attrs(r, &h, &why);
	if (rc)
		return seam_pd_fill_err(reterr, rc, "attributes",
					h.attrs.offset, "%s",
					rc == -ENOMEM ? "no memory" : why);
	seam_pd_plan_ids(r);
	seam_pd_read_features(r, &h);
	rc = seam_pd_walk(r, data_span(r, &h));
	seam_pd_tell_lost(r);
	for (size_t i = 1; !rc && i < r->n_parts; i++)
		rc = read_part(r, &r->parts[i]);
	return rc ? seam_pd_fill_err(reterr, rc, "data", h.data.offset,
				     "no memory")
		  : 0;
}

static int read_pipe(struct seam_pd_reader *r, struct seam_errinfo *reterr)
{
	struct span data = pd_span(r, r->file, r->size);

	r->info.pipe = true;
	span_take(&data, PD_PIPE_HEADER_SIZE);
	if (seam_pd_walk(r, data))
		return seam_pd_fill_err(reterr, -ENOMEM, "data",
					PD_PIPE_HEADER_SIZE, "no memory");
	if (r->n_parts > 1)
		seam_pd_set_damage(r, r->size,
				   "it is a pipe's: the folder's other files "
				   "are not read");
	return 0;
}

static int read_all(struct seam_pd_reader *r, struct seam_errinfo *reterr)
{
	uint64_t magic;
	int rc;

	if (r->size < PD_PIPE_HEADER_SIZE)
		return seam_pd_fill_err(reterr, -EBADMSG, "header", r->size,
					r->size ? "it is no perf.data file"
						: "the file is empty");
	if (r->parts[0].missed)
		snprintf(r->parts[0].cut, sizeof(r->parts[0].cut),
			 "TMPDIR has no room for the last %llu bytes",
			 (unsigned long long)r->parts[0].missed);
	memcpy(&magic, r->file, 8);
	r->swap = magic == PD_MAGIC_SWAPPED;
	r->info.swapped = r->swap;
	if (magic != PD_MAGIC && !r->swap)
		return seam_pd_fill_err(reterr, -EBADMSG, "header", 0,
					"it is no perf.data file");
	rc = pd_u64(r->file + 8, r->swap) == PD_PIPE_HEADER_SIZE
		     ? read_pipe(r, reterr)
		     : read_file(r, reterr);
	if (!rc && seam_pd_sort(r))
		rc = seam_pd_fill_err(reterr, -ENOMEM, "data", 0, "no memory");
	return rc;
}

static int finish_open(struct seam_pd_reader *r, struct seam_pd_reader **ret,
		       struct seam_errinfo *reterr)
{
	int rc = read_all(r, reterr);

	if (rc)
		seam_pd_close(r);
	else
		*ret = r;
	return rc;
}

/* rc: of loading. */
static int loaded(struct seam_pd_reader *r, int rc, struct seam_pd_reader **ret,
		  struct seam_errinfo *reterr)
{
	if (!rc)
		return finish_open(r, ret, reterr);
	seam_pd_close(r);
	return seam_pd_fill_err(reterr, rc, "", 0, "%s",
				rc == -EBADMSG ? "the folder is no recording"
				: rc == -EDQUOT
					? "TMPDIR cannot keep what is read"
					: strerror(-rc));
}

int seam_pd_open_mem(const void *data, size_t size, struct seam_pd_reader **ret,
		     struct seam_errinfo *reterr)
{
	struct seam_pd_reader *r = calloc(1, sizeof(*r));

	if (!r || seam_pd_load_mem(r, data, size)) {
		seam_pd_close(r);
		return seam_pd_fill_err(reterr, -ENOMEM, "", 0, "no memory");
	}
	return finish_open(r, ret, reterr);
}

int seam_pd_open_rest(int fd, uint8_t *buf, size_t len, size_t cap,
		      struct seam_pd_reader **ret, struct seam_errinfo *reterr)
{
	struct seam_pd_reader *r = calloc(1, sizeof(*r));
	int rc = -ENOMEM;

	if (r)
		rc = seam_pd_load_rest(r, fd, buf, len, cap);
	else
		free(buf);
	return loaded(r, rc, ret, reterr);
}

int seam_pd_open(const char *path, struct seam_pd_reader **ret,
		 struct seam_errinfo *reterr)
{
	struct seam_pd_reader *r = calloc(1, sizeof(*r));
	int rc = r ? seam_pd_load(r, path) : -ENOMEM;

	return loaded(r, rc, ret, reterr);
}

struct seam_pd_reader *seam_pd_close(struct seam_pd_reader *r)
{
	if (!r)
		return NULL;
	for (size_t i = 0; i < r->n_events; i++) {
		free(r->events[i].name);
		free(r->events[i].ids);
	}
	for (size_t i = 0; i < r->n_chunks; i++)
		if (r->chunks[i].allocated)
			free(r->chunks[i].p);
	seam_pd_spool_fini(&r->spool);
	seam_pd_stream_free(r);
	free(r->events);
	free(r->ids.p);
	seam_spill_fini(&r->index_room);
	free(r->chunks);
	free(r->path_ids);
	seam_index_fini(&r->path_index);
	free(r->cmdline);
	seam_pd_inflate_free(r->zstd);
	seam_pd_unload(r);
	free(r);
	return NULL;
}

size_t seam_pd_n_events(const struct seam_pd_reader *r)
{
	return r->n_events;
}

const struct seam_pd_attr *seam_pd_event(const struct seam_pd_reader *r,
					 size_t i)
{
	return &r->events[i].pub;
}

const struct seam_pd_info *seam_pd_info(const struct seam_pd_reader *r)
{
	return &r->info;
}

const struct seam_pd_damage *seam_pd_damage(const struct seam_pd_reader *r)
{
	return &r->damage;
}

uint64_t seam_pd_count(const struct seam_pd_reader *r, uint32_t type)
{
	return type < PD_COUNTED_TYPES ? r->counts[type] : 0;
}

size_t seam_pd_n_records(const struct seam_pd_reader *r)
{
	return r->first + r->n_index;
}

uint64_t seam_pd_offset(const struct seam_pd_reader *r, size_t i)
{
	uintptr_t at = (uintptr_t)r->index[i - r->first].rec;

	for (size_t f = 0; f < r->n_parts; f++)
		if (at - (uintptr_t)r->parts[f].p < r->parts[f].size)
			return at - (uintptr_t)r->parts[f].p;
	for (size_t c = 0; c < r->n_chunks; c++)
		if (at - (uintptr_t)r->chunks[c].p < r->chunks[c].len)
			return r->chunks[c].offset;
	return 0;
}

const uint8_t *seam_pd_raw(const struct seam_pd_reader *r, size_t i)
{
	return pd_index_rec(&r->index[i - r->first]);
}

uint64_t seam_pd_time(const struct seam_pd_reader *r, size_t i)
{
	return r->index[i - r->first].time_ns;
}

void seam_pd_record(const struct seam_pd_reader *r, size_t i,
		    struct seam_pd_rec *ret)
{
	struct seam_pd_reader *own = (struct seam_pd_reader *)r;
	const struct pd_index *ix = &r->index[i - r->first];
	const uint8_t *rec = pd_index_rec(ix);

	/* It was parsed once when it was indexed, so it can be again. */
	seam_pd_parse(own, rec, ret);
	seam_pd_touch(own, pd_record_header(rec, r->swap).size);
	ret->time_ns = ix->time_ns;
}

bool seam_pd_asks_nothing(const struct seam_pd_reader *r, size_t i)
{
	return r->index[i - r->first].no_cookie;
}

bool seam_pd_tells_no_join(const struct seam_pd_reader *r, size_t i)
{
	const struct pd_index *ix = &r->index[i - r->first];

	return ix->no_cookie || (ix->is_sample && r->is_complete);
}

bool seam_pd_data_map(const struct seam_pd_reader *r, size_t i,
		      struct seam_pd_rec *ret)
{
	const struct pd_index *ix = &r->index[i - r->first];
	const uint8_t *rec = pd_index_rec(ix);

	if (!ix->is_data)
		return false;
	/* It was parsed when it was indexed: all of this is in it. */
	ret->type = pd_u32(rec, r->swap);
	ret->misc = pd_u16(rec + 4, r->swap);
	ret->pid = pd_u32(rec + 8, r->swap);
	ret->map.start = pd_u64(rec + 16, r->swap);
	ret->map.len = pd_u64(rec + 24, r->swap);
	return true;
}

uint64_t seam_pd_lost_records(const struct seam_pd_reader *r)
{
	return r->lost_records;
}

uint64_t seam_pd_lost_samples(const struct seam_pd_reader *r)
{
	return r->lost_samples;
}

uint64_t seam_pd_filtered_samples(const struct seam_pd_reader *r)
{
	return r->filtered_samples;
}

bool seam_pd_has_cookies(const struct seam_pd_reader *r)
{
	return r->n_asking || seam_pd_count(r, SEAM_RECORD_CALLCHAIN_DEFERRED);
}

/* Records are far apart, and none of them says where the next one is. */
void seam_pd_prefetch(const struct seam_pd_reader *r, size_t i)
{
	const uint8_t *rec;

	i -= r->first;
	if (i >= r->n_index)
		return;
	rec = pd_index_rec(&r->index[i]);
	pd_prefetch_record(rec);
}

struct pd_path_id *pd_path_id(const struct seam_pd_reader *r, const char *path)
{
	uint64_t hash = seam_hash(SEAM_HASH_START, path, strlen(path));
	uint32_t i;

	for (size_t at = 0; seam_index_next(&r->path_index, hash, &at, &i);)
		if (!strcmp(r->path_ids[i].path, path))
			return &r->path_ids[i];
	return NULL;
}

size_t seam_pd_path_build_id(const struct seam_pd_reader *r, const char *path,
			     const uint8_t **ret)
{
	const struct pd_path_id *id = pd_path_id(r, path);

	if (!id)
		return 0;
	*ret = id->id;
	return id->len;
}
