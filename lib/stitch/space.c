// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "stitch/space.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define KERNEL_PID UINT32_MAX
#define MISC_COMM_EXEC (1 << 13) /* PERF_RECORD_MISC_COMM_EXEC */
#define MISC_FORK_EXEC (1 << 13) /* PERF_RECORD_MISC_FORK_EXEC */
#define MISC_MMAP_DATA (1 << 13) /* PERF_RECORD_MISC_MMAP_DATA */
#define MISC_CPUMODE 0x7

/* Mappings are made in blocks, as some recordings have them by the million. */
#define MAPS 256

#define AREAS_MIN (8U << 20)
#define AREAS_PER_RECORD 64

struct space *seam_space_put(struct space *s)
{
	if (s && --s->refs == 0) {
		*s->live -= s->areas.cap;
		seam_ranges_fini(&s->areas, NULL);
		free(s);
	}
	return NULL;
}

struct space *seam_space_get(struct space *s)
{
	if (s)
		s->refs++;
	return s;
}

uint32_t seam_space_version(const struct space *s)
{
	return s ? s->version : 0;
}

static uint32_t next_version(struct world *w)
{
	return w->n_versions == UINT32_MAX ? 0 : ++w->n_versions;
}

/* Makes *ps one that nobody else sees, with room for one more mapping, and
 * another version, as it is about to change. */
static int own(struct world *w, struct space **ps)
{
	static const struct seam_ranges none;
	struct space *old = *ps, *s;
	const struct seam_ranges *from = old ? &old->areas : &none;
	size_t room = from->n / 2 + 16;

	if (old && old->refs == 1 && from->cap - from->n >= SEAM_RANGES_PUT) {
		old->version = next_version(w);
		return 0;
	}
	if (from->n + room > w->max_areas - w->n_areas)
		return -ENOMEM;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	if (seam_ranges_copy(&s->areas, from, room, NULL)) {
		free(s);
		return -ENOMEM;
	}
	s->live = &w->n_areas;
	w->n_areas += s->areas.cap;
	s->refs = 1;
	s->version = next_version(w);
	seam_space_put(old);
	*ps = s;
	return 0;
}

const struct seam_stitch_map *seam_space_find(const struct space *s,
					      uint64_t ip)
{
	const struct seam_range *r = s ? seam_ranges_find(&s->areas, ip) : NULL;

	return r ? r->value : NULL;
}

const struct seam_stitch_map *
seam_space_next(struct space_near *near, const struct space *space, uint64_t ip)
{
	const struct seam_range *r =
		space ? seam_ranges_find(&space->areas, ip) : NULL;

	if (!r)
		return NULL;
	*near = (struct space_near){space, r};
	return r->value;
}

/* A new mapping takes the place of what was there. */
static int insert(struct world *w, struct space **ps,
		  struct seam_stitch_map *map)
{
	struct seam_range range = {map->start, map->end, map};
	int err = own(w, ps);

	return err ? err : seam_ranges_put(&(*ps)->areas, &range, NULL);
}

struct process *seam_world_process(struct world *w, uint32_t pid)
{
	return seam_idmap_make(&w->processes, pid, sizeof(struct process));
}

struct thread *seam_world_thread(struct world *w, uint32_t pid, uint32_t tid)
{
	struct thread *t = seam_idmap_make(&w->threads, tid, sizeof(*t));

	if (!t || t->fallback[0])
		return t;
	t->pid = pid;
	if (tid)
		snprintf(t->fallback, sizeof(t->fallback), ":%d", (int)tid);
	else
		snprintf(t->fallback, sizeof(t->fallback), "swapper");
	return t;
}

const struct seam_stitch_map *seam_world_map(const struct world *w, size_t i)
{
	return &w->maps[i / MAPS][i % MAPS];
}

static struct seam_stitch_map *new_map(struct world *w)
{
	size_t block = w->n_maps / MAPS;
	struct seam_stitch_map *m;

	if (seam_grow(&w->maps, block + 1, &w->cap_maps, sizeof(*w->maps)))
		return NULL;
	if (w->n_maps % MAPS == 0)
		w->maps[block] = calloc(MAPS, sizeof(*m));
	if (!w->maps[block])
		return NULL;
	m = &w->maps[block][w->n_maps % MAPS];
	m->number = (uint32_t)w->n_maps++;
	return m;
}

bool seam_world_leaves_out(const struct world *w, const struct seam_pd_rec *rec)
{
	const struct seam_pd_rec_map *map = &rec->map;
	const struct process *p;

	if (!w->is_of_code || !(rec->misc & MISC_MMAP_DATA))
		return false;
	p = seam_idmap_get(&w->processes, rec->pid);
	return !p || !p->space ||
	       !seam_ranges_any(&p->space->areas, map->start,
				seam_range_end(map->start, map->len));
}

static int apply_map(struct world *w, const struct seam_pd_reader *r,
		     const struct seam_pd_rec *rec)
{
	const struct seam_pd_rec_map *from = &rec->map;
	/* "[kernel.kallsyms]_text" may go to the very end. */
	uint64_t end = seam_range_end(from->start, from->len);
	struct process *p;
	struct seam_stitch_map *m;

	if (end == from->start || seam_world_leaves_out(w, rec))
		return 0;
	m = new_map(w);
	if (!m)
		return -ENOMEM;
	m->path = from->path;
	m->start = from->start;
	m->end = end;
	m->pgoff = from->pgoff;
	m->build_id = from->build_id;
	m->build_id_len = from->build_id_len;
	if (!m->build_id)
		m->build_id_len = (uint32_t)seam_pd_path_build_id(r, m->path,
								  &m->build_id);
	m->pid = rec->pid;
	if (rec->pid == KERNEL_PID ||
	    (rec->misc & MISC_CPUMODE) == PERF_RECORD_MISC_KERNEL) {
		m->kernel = true;
		return insert(w, &w->kernel, m);
	}
	p = seam_world_process(w, rec->pid);
	if (!p)
		return -ENOMEM;
	m->began_ns = p->began_ns;
	return insert(w, &p->space, m);
}

/* The kernel names BPF programs as they come; what was there before they
 * come is never asked for again, so that they go needs no action. */
static int apply_ksymbol(struct world *w, const struct seam_pd_rec *rec)
{
	const struct seam_pd_rec_ksymbol *k = &rec->ksymbol;
	struct seam_stitch_map *m;

	if (k->gone || !k->len || k->start > UINT64_MAX - k->len)
		return 0;
	m = new_map(w);
	if (!m)
		return -ENOMEM;
	m->path = k->name;
	m->start = k->start;
	m->end = k->start + k->len;
	m->kernel = true;
	m->symbol = true;
	return insert(w, &w->kernel, m);
}

static void forget_before(struct process *p)
{
	for (size_t i = 0; i < SEAM_SPACE_EXECS; i++)
		p->before[i] = seam_space_put(p->before[i]);
}

static void replace_space(struct process *p)
{
	seam_space_put(p->before[SEAM_SPACE_EXECS - 1]);
	memmove(&p->before[1], &p->before[0],
		sizeof(p->before) - sizeof(p->before[0]));
	p->before[0] = p->space;
	p->space = NULL;
}

/* At an exec the old mappings go, but stacks taken just before it are still
 * to come. */
static int apply_comm(struct world *w, const struct seam_pd_rec *rec)
{
	struct thread *t = seam_world_thread(w, rec->pid, rec->tid);
	struct process *p;

	if (!t)
		return -ENOMEM;
	t->comm = rec->comm;
	if (!(rec->misc & MISC_COMM_EXEC))
		return 0;
	p = seam_world_process(w, rec->pid);
	if (!p)
		return -ENOMEM;
	replace_space(p);
	p->fresh = true;
	p->left_ip = 0;
	p->began_ns = rec->time_ns;
	return 0;
}

/* A new thread shares, a new process starts with its parent's mappings,
 * whatever had its number before. */
static int apply_fork(struct world *w, const struct seam_pd_rec *rec)
{
	struct thread *child = seam_world_thread(w, rec->pid, rec->tid);
	struct thread *parent =
		seam_world_thread(w, rec->task.ppid, rec->task.ptid);
	struct process *p, *from;

	if (!child || !parent)
		return -ENOMEM;
	child->pid = rec->pid;
	if (parent->comm)
		child->comm = parent->comm;
	if (rec->pid == rec->task.ppid)
		return 0;
	p = seam_world_process(w, rec->pid);
	from = seam_world_process(w, rec->task.ppid);
	if (!p || !from)
		return -ENOMEM;
	p->space = seam_space_put(p->space);
	forget_before(p);
	/* perf says of processes that were there before what they have mapped.
	 */
	if (!(rec->misc & MISC_FORK_EXEC))
		p->space = seam_space_get(from->space);
	p->fresh = false;
	p->began_ns = rec->time_ns;
	return 0;
}

int seam_world_apply(struct world *w, const struct seam_pd_reader *r,
		     const struct seam_pd_rec *rec)
{
	switch (rec->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return apply_map(w, r, rec);
	case PERF_RECORD_KSYMBOL:
		return apply_ksymbol(w, rec);
	case PERF_RECORD_COMM:
		return apply_comm(w, rec);
	case PERF_RECORD_FORK:
		return apply_fork(w, rec);
	}
	/* After EXIT samples may still come: everything is kept. */
	return 0;
}

void seam_world_init(struct world *w, size_t n_records)
{
	*w = (struct world){0};
	seam_world_expect(w, n_records);
}

void seam_world_expect(struct world *w, size_t n_records)
{
	w->max_areas = AREAS_MIN + AREAS_PER_RECORD * n_records;
}

static void process_free(void *value)
{
	struct process *p = value;

	seam_space_put(p->space);
	forget_before(p);
	free(p);
}

void seam_world_fini(struct world *w)
{
	seam_idmap_fini(&w->processes, process_free);
	seam_idmap_fini(&w->threads, free);
	seam_space_put(w->kernel);
	for (size_t i = 0; i * MAPS < w->n_maps; i++)
		free(w->maps[i]);
	free(w->maps);
}
