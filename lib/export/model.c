// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "export/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* Bytes of samples in memory, before there is a file. */
#define FROM (4 << 20)

size_t seam_model_sample_part = 1 << 19;

static int first_ones(struct seam_model *m)
{
	const struct seam_model_module module = {0};
	/* None, and not equal to any that is one. */
	const struct seam_model_levels levels = {UINT32_MAX, UINT32_MAX};
	const struct seam_model_node node = {UINT32_MAX, UINT32_MAX, 0, 0, 0};
	int64_t rc = seam_texts_add(&m->texts, "");

	if (!rc)
		rc = seam_intern(&m->modules, &module, sizeof(module));
	if (!rc)
		rc = seam_grow(&m->module_start, 1, &m->cap_start,
			       sizeof(*m->module_start));
	if (!rc) {
		m->module_start[0] = 0;
		rc = seam_intern(&m->levels, &levels, sizeof(levels));
	}
	if (!rc)
		rc = seam_nodes_add(&m->nodes, &node);
	return (int)rc;
}

int seam_model_init(struct seam_model *m, struct seam_pd_reader *reader)
{
	int rc;

	*m = (struct seam_model){.reader = reader};
	rc = first_ones(m);
	if (rc)
		seam_model_fini(m);
	return rc;
}

void seam_model_fini(struct seam_model *m)
{
	seam_texts_fini(&m->texts);
	seam_intern_fini(&m->modules);
	seam_intern_fini(&m->funcs);
	seam_intern_fini(&m->frames);
	seam_intern_fini(&m->levels);
	seam_intern_fini(&m->spots);
	seam_nodes_fini(&m->nodes);
	seam_intern_fini(&m->tracks);
	seam_intern_fini(&m->seen);
	seam_index_fini(&m->sums);
	seam_strbuf_fini(&m->text);
	free(m->module_start);
	free(m->of_track);
	seam_spill_fini(&m->sample_room);
	free(m->seen_spot);
}

/* Return: the track, or -errno. */
static int64_t begin_track(struct seam_model *m, size_t track, uint32_t event)
{
	int64_t name =
		seam_model_text(m, seam_pd_event(m->reader, event)->name);

	if (name < 0)
		return name;
	m->of_track[track] =
		(struct seam_model_of_track){.event_name = (uint32_t)name};
	return (int64_t)track;
}

static int64_t track_of(struct seam_model *m, const struct seam_stitched *s)
{
	struct seam_model_track track = {.pid = s->rec->pid,
					 .tid = s->rec->tid,
					 .event = (uint32_t)s->rec->event};
	int64_t rc = seam_model_text(m, s->comm);
	size_t n = m->tracks.n;

	if (rc < 0)
		return rc;
	track.comm = (uint32_t)rc;
	if (seam_grow(&m->of_track, n + 1, &m->cap_of_track,
		      sizeof(*m->of_track)))
		return -ENOMEM;
	rc = seam_intern(&m->tracks, &track, sizeof(track));
	return rc == (int64_t)n ? begin_track(m, n, track.event) : rc;
}

static struct seam_model_sample *sample_at(const struct seam_model *m, size_t i)
{
	return (struct seam_model_sample *)m->sample_room.p + i;
}

static uint64_t hash_sum(const struct seam_model_sample *s)
{
	const uint32_t key[] = {s->node, s->track, s->end};

	return seam_hash(SEAM_HASH_START, key, sizeof(key));
}

static struct seam_model_sample *same(struct seam_model *m,
				      const struct seam_model_sample *s)
{
	uint64_t hash = hash_sum(s);
	uint32_t i;

	for (size_t at = 0; seam_index_next(&m->sums, hash, &at, &i);) {
		struct seam_model_sample *other = sample_at(m, i);

		if (other->node == s->node && other->track == s->track &&
		    other->end == s->end)
			return other;
	}
	return NULL;
}

/* Those of the last part are let go, and none of them is added to any more. */
static void next_part(struct seam_model *m)
{
	if (m->n_samples / seam_model_sample_part == m->sample_part)
		return;
	m->sample_part = m->n_samples / seam_model_sample_part;
	seam_index_fini(&m->sums);
	seam_spill_let_go(&m->sample_room);
}

static int append(struct seam_model *m, const struct seam_model_sample *s)
{
	struct seam_model_of_track *of = &m->of_track[s->track];
	int rc;

	if (m->n_samples >= UINT32_MAX - 1)
		return -EOVERFLOW;
	m->sample_room.from = FROM;
	if (seam_spill_grow(&m->sample_room, m->n_samples + 1, sizeof(*s)))
		return -ENOMEM;
	rc = m->add_up ? seam_index_add(&m->sums, hash_sum(s), m->n_samples)
		       : 0;
	if (rc)
		return rc;
	*sample_at(m, m->n_samples++) = *s;
	if (of->last)
		sample_at(m, of->last - 1)->next = (uint32_t)m->n_samples;
	else
		of->first = (uint32_t)m->n_samples;
	of->last = (uint32_t)m->n_samples;
	return 0;
}

static int add_sample(struct seam_model *m, struct seam_model_sample *s)
{
	struct seam_model_of_track *of = &m->of_track[s->track];
	struct seam_model_sample *sum;
	int rc = 0;

	next_part(m);
	sum = m->add_up ? same(m, s) : NULL;
	if (sum) {
		sum->count++;
		sum->weight = seam_add_up(sum->weight, s->weight);
	} else {
		if (m->add_up)
			s->count = 1;
		rc = append(m, s);
	}
	if (rc)
		return rc;
	of->n++;
	of->weight = seam_add_up(of->weight, s->weight);
	return 0;
}

int seam_model_add(struct seam_model *m, const struct seam_text *t)
{
	const struct seam_stitched *s = t->sample;
	uint64_t period = s->rec->sample.period;
	struct seam_model_sample sample = {.time_ns = s->rec->time_ns,
					   .weight = period ? period : 1,
					   .end = (uint32_t)s->end};
	int64_t track = track_of(m, s);
	int64_t node =
		track < 0 ? track : seam_model_stack(m, (uint32_t)track, t);

	if (node < 0)
		return (int)node;
	if (!m->n_samples || s->rec->time_ns < m->first_ns)
		m->first_ns = s->rec->time_ns;
	if (!m->n_samples || s->rec->time_ns > m->last_ns)
		m->last_ns = s->rec->time_ns;
	sample.node = (uint32_t)node;
	sample.track = (uint32_t)track;
	return add_sample(m, &sample);
}

const struct seam_model_sample *seam_model_sample(struct seam_model *m,
						  size_t i)
{
	if (i / seam_model_sample_part != m->sample_part) {
		m->sample_part = i / seam_model_sample_part;
		seam_spill_let_go(&m->sample_room);
	}
	return sample_at(m, i);
}

uint32_t seam_model_n_levels(const struct seam_model *m, uint32_t spot)
{
	uint32_t n = 0;

	for (uint32_t at = SEAM_MODEL_GET(spot, m->spots, spot).levels; at;
	     at = SEAM_MODEL_GET(levels, m->levels, at).outer)
		n++;
	return n;
}

uint32_t seam_model_leaf_row(struct seam_model *m, uint32_t node)
{
	const struct seam_model_node *n = seam_model_node(m, node);

	return n->row + seam_model_n_levels(m, n->spot) - 1;
}

const char *seam_model_track_event(const struct seam_model *m, uint32_t track)
{
	return seam_model_string(m, m->of_track[track].event_name);
}

bool seam_model_in_ns(const struct seam_model *m, uint32_t event)
{
	const struct seam_pd_attr *a = seam_pd_event(m->reader, event);

	if (!strncmp(a->name, "offcpu-time", strlen("offcpu-time")))
		return true;
	return a->attr.type == PERF_TYPE_SOFTWARE &&
	       (a->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
		a->attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

void seam_model_marked(const struct seam_model *m,
		       const struct seam_model_func *f, struct seam_strbuf *b)
{
	seam_strbuf_puts(b, seam_model_string(m, f->name));
	if (f->flags & SEAM_FUNC_KERNEL)
		seam_strbuf_puts(b, "_[k]");
	if (f->flags & SEAM_FUNC_INLINED)
		seam_strbuf_puts(b, "_[i]");
}
