// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Events, their ids and names, and where a record holds its event's id. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "core/uapi.h"
#include "perfdata/reader-priv.h"

#define ATTR_SIZE_MIN 64 /* PERF_ATTR_SIZE_VER0 */

static const char *const software_names[] = {
	"cpu-clock",	    "task-clock",   "page-faults",  "context-switches",
	"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
	"emulation-faults", "dummy",	    "bpf-output",   "cgroup-switches",
};

static const char *const hardware_names[] = {
	"cycles",
	"instructions",
	"cache-references",
	"cache-misses",
	"branches",
	"branch-misses",
	"bus-cycles",
	"stalled-cycles-frontend",
	"stalled-cycles-backend",
	"ref-cycles",
};

/* A name for an event whose recording gives none. */
static char *default_name(const struct perf_event_attr *attr)
{
	const char *const *names = NULL;
	size_t n = 0;
	char *s;

	if (attr->type == PERF_TYPE_SOFTWARE) {
		names = software_names;
		n = sizeof(software_names) / sizeof(*names);
	} else if (attr->type == PERF_TYPE_HARDWARE) {
		names = hardware_names;
		n = sizeof(hardware_names) / sizeof(*names);
	}
	if (names && attr->config < n)
		return strdup(names[attr->config]);
	if (attr->type == PERF_TYPE_TRACEPOINT)
		return asprintf(&s, "tracepoint %llu", attr->config) < 0 ? NULL
									 : s;
	return asprintf(&s, "type %u config 0x%llx", attr->type, attr->config) <
			       0
		       ? NULL
		       : s;
}

static void fill_event(struct pd_event *ev, struct span attr)
{
	struct perf_event_attr *a = &ev->pub.attr;

	memcpy(a, attr.p, attr.left < sizeof(*a) ? attr.left : sizeof(*a));
	memcpy(&ev->pub.flags, attr.p + SEAM_ATTR_FLAGS_OFFSET,
	       sizeof(ev->pub.flags));
	if (attr.swap)
		seam_pd_swap_attr(a, &ev->pub.flags);
	ev->sample_type = a->sample_type;
	ev->read_format = a->read_format;
	ev->branch_type = a->branch_sample_type;
	ev->regs_user = a->sample_regs_user;
	ev->regs_intr = a->sample_regs_intr;
	ev->sample_id_all = a->sample_id_all;
}

static int add_ids(struct seam_pd_reader *r, struct pd_event *ev,
		   struct span ids)
{
	size_t n = ids.left / 8;
	int rc;

	/* Files can point many events at the same ids; ours is then the
	 * memory that grows, not the file. */
	if (n > r->size / 8 - r->ids.n)
		return -EBADMSG;
	if (!n)
		return 0;
	ev->ids = malloc(8 * n);
	rc = seam_pd_ids_grow(&r->ids, n);
	if (rc || !ev->ids)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		ev->ids[i] = pd_u64(ids.p + 8 * i, ids.swap);
	for (size_t i = 0; i < n; i++)
		r->ids.p[r->ids.n++] =
			(struct pd_id){ev->ids[i], (uint32_t)(ev - r->events)};
	ev->pub.ids = ev->ids;
	ev->pub.n_ids = n;
	return 0;
}

int seam_pd_add_event(struct seam_pd_reader *r, struct span attr,
		      struct span ids)
{
	struct pd_event *ev;

	if (attr.left < ATTR_SIZE_MIN || r->n_events >= PD_EVENTS_MAX)
		return -EBADMSG;
	if (seam_grow(&r->events, r->n_events + 1, &r->max_events,
		      sizeof(*r->events)))
		return -ENOMEM;
	ev = &r->events[r->n_events++];
	*ev = (struct pd_event){0};
	fill_event(ev, attr);
	if (!r->stream) {
		ev->raw = attr;
		ev->raw_ids = ids;
	}
	ev->name = default_name(&ev->pub.attr);
	ev->pub.name = ev->name;
	return ev->name ? add_ids(r, ev, ids) : -ENOMEM;
}

static struct span section(const struct seam_pd_reader *r, struct pd_section at,
			   bool *ret_ok)
{
	*ret_ok = at.offset <= r->size && at.size <= r->size - at.offset;
	return *ret_ok ? pd_span(r, r->file + at.offset, at.size)
		       : (struct span){0};
}

int seam_pd_read_attrs(struct seam_pd_reader *r, const struct pd_header *h,
		       const char **ret_why)
{
	const uint64_t ids_size = sizeof(struct pd_section);
	bool ok;
	struct span attrs = section(r, h->attrs, &ok);

	if (!ok || h->attr_size < ATTR_SIZE_MIN + ids_size ||
	    h->attr_size > PD_ATTR_SIZE_MAX)
		return -EBADMSG;
	if (attrs.left / h->attr_size > PD_EVENTS_MAX) {
		*ret_why = PD_TOO_MANY_EVENTS;
		return -EBADMSG;
	}
	while (attrs.left >= h->attr_size) {
		struct span attr = pd_span(r, attrs.p, h->attr_size - ids_size);
		struct pd_section at;
		struct span ids;
		int rc;

		at.offset = pd_u64(attrs.p + attr.left, r->swap);
		at.size = pd_u64(attrs.p + attr.left + 8, r->swap);
		ids = section(r, at, &ok);
		rc = ok ? seam_pd_add_event(r, attr, ids) : -EBADMSG;
		if (rc)
			return rc;
		span_take(&attrs, h->attr_size);
	}
	return r->n_events ? 0 : -EBADMSG;
}

int seam_pd_set_name(struct seam_pd_reader *r, size_t event, const char *name,
		     size_t len)
{
	char *copy;

	if (event >= r->n_events || !memchr(name, 0, len) || !*name)
		return -EBADMSG;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	free(r->events[event].name);
	r->events[event].name = copy;
	r->events[event].pub.name = copy;
	r->events[event].named = true;
	return 0;
}

/* The words of a sample that come before its id. */
static int id_word(uint64_t type)
{
	const uint64_t before = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
				PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;

	if (type & PERF_SAMPLE_IDENTIFIER)
		return 0;
	if (!(type & PERF_SAMPLE_ID))
		return -1;
	return __builtin_popcountll(type & before);
}

static int id_tail_word(const struct pd_event *ev)
{
	uint64_t type = ev->sample_type;

	if (!ev->sample_id_all)
		return -1;
	if (type & PERF_SAMPLE_IDENTIFIER)
		return 1;
	if (!(type & PERF_SAMPLE_ID))
		return -1;
	return 1 + __builtin_popcountll(
			   type & (PERF_SAMPLE_CPU | PERF_SAMPLE_STREAM_ID));
}

/* Before a record's event is known, its id must be found; so all events
 * have it in the same place, and the first tells where. */
void seam_pd_plan_ids(struct seam_pd_reader *r)
{
	r->id_word = r->n_events ? id_word(r->events[0].sample_type) : -1;
	r->id_tail_word = r->n_events ? id_tail_word(&r->events[0]) : -1;
}
