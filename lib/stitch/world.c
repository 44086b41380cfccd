// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What records say of who has what mapped. */
#include <errno.h>
#include <string.h>

#include "stitch/space.h"

#define KERNEL_PID UINT32_MAX
#define MISC_COMM_EXEC (1 << 13) /* PERF_RECORD_MISC_COMM_EXEC */
#define MISC_FORK_EXEC (1 << 13) /* PERF_RECORD_MISC_FORK_EXEC */
#define MISC_MMAP_DATA (1 << 13) /* PERF_RECORD_MISC_MMAP_DATA */
#define MISC_CPUMODE 0x7

/* Of the spaces of what has ended so many areas are no matter, nor are those of
 * the last few, nor as many as all others have. */
#define COLLECT_AREAS (1U << 20)
#define COLLECT_KEPT 64

#define AREAS_MIN (8U << 20)
#define AREAS_PER_RECORD 64

/* Where there is no room even without what has ended nothing is known any more
 * of the process's mappings: what was where the new one is would be wrong. */
static int insert_of(struct world *w, struct process *p,
		     struct seam_stitch_map *map)
{
	if (!seam_space_has_room(w, p->space))
		seam_world_let_go(w, 0, 0, p);
	if (seam_space_has_room(w, p->space))
		return seam_space_insert(w, &p->space, map);
	seam_maps_put(map);
	p->space = seam_space_put(p->space);
	p->is_bare = true;
	return 0;
}

/* So that what has ended takes no more than what has not. */
static void collect(struct world *w)
{
	if (w->n_areas <= w->collect_areas)
		return;
	seam_world_let_go(w, COLLECT_KEPT, w->collect_areas / 2, NULL);
	w->collect_areas =
		2 * w->n_areas > COLLECT_AREAS ? 2 * w->n_areas : COLLECT_AREAS;
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

static struct seam_stitch_map *map_of(struct world *w,
				      const struct seam_pd_reader *r,
				      const struct seam_pd_rec *rec,
				      uint64_t end)
{
	const struct seam_pd_rec_map *from = &rec->map;
	struct seam_stitch_map *m = seam_maps_new(&w->maps);

	if (!m)
		return NULL;
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
	m->kernel = rec->pid == KERNEL_PID ||
		    (rec->misc & MISC_CPUMODE) == PERF_RECORD_MISC_KERNEL;
	return m;
}

/* The process, which has a thread. */
static struct process *process_of(struct world *w, uint32_t pid)
{
	struct process *p = seam_world_process(w, pid);

	return !p || p->threads || seam_world_thread(w, pid, pid) ? p : NULL;
}

static int apply_map(struct world *w, const struct seam_pd_reader *r,
		     const struct seam_pd_rec *rec)
{
	/* "[kernel.kallsyms]_text" may go to the very end. */
	uint64_t end = seam_range_end(rec->map.start, rec->map.len);
	struct seam_stitch_map *m;
	struct process *p;

	if (end == rec->map.start || seam_world_leaves_out(w, rec))
		return 0;
	m = map_of(w, r, rec, end);
	if (!m)
		return -ENOMEM;
	if (m->kernel)
		return seam_space_insert(w, &w->kernel, m);
	collect(w);
	p = process_of(w, rec->pid);
	if (!p) {
		seam_maps_put(m);
		return -ENOMEM;
	}
	m->began_ns = p->began_ns;
	return insert_of(w, p, m);
}

/* The kernel names BPF programs as they come; what was there before they
 * come is never asked for again, so that they go needs no action. */
static int apply_ksymbol(struct world *w, const struct seam_pd_rec *rec)
{
	const struct seam_pd_rec_ksymbol *k = &rec->ksymbol;
	struct seam_stitch_map *m;

	if (k->gone || !k->len || k->start > UINT64_MAX - k->len)
		return 0;
	m = seam_maps_new(&w->maps);
	if (!m)
		return -ENOMEM;
	m->path = k->name;
	m->start = k->start;
	m->end = k->start + k->len;
	m->kernel = true;
	m->symbol = true;
	return seam_space_insert(w, &w->kernel, m);
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
 * to come. Of the other threads, which end, not all are recorded to: the one
 * that called it becomes the first. */
static int apply_comm(struct world *w, const struct seam_pd_rec *rec)
{
	struct thread *t = seam_world_thread(w, rec->pid, rec->tid);
	struct process *p;

	if (!t)
		return -ENOMEM;
	t->comm = rec->comm;
	if (!(rec->misc & MISC_COMM_EXEC))
		return 0;
	p = t->process;
	replace_space(p);
	p->fresh = true;
	p->is_bare = false;
	p->left_ip = 0;
	p->began_ns = rec->time_ns;
	seam_world_ended_but(w, p, t);
	return 0;
}

static void begin(struct world *w, struct thread *t, struct space *space,
		  bool is_bare, uint64_t time_ns)
{
	struct process *p = t->process;

	seam_space_put(p->space);
	forget_before(p);
	p->space = space;
	p->fresh = false;
	p->is_bare = is_bare;
	p->began_ns = time_ns;
	seam_world_ended_but(w, p, t);
}

/* A new thread shares, a new process starts with its parent's mappings,
 * whatever had its number before. */
static int apply_fork(struct world *w, const struct seam_pd_rec *rec)
{
	const struct process *from =
		seam_idmap_get(&w->processes, rec->task.ppid);
	const struct thread *parent =
		seam_idmap_get(&w->threads, rec->task.ptid);
	const char *comm = parent ? parent->comm : NULL;
	struct space *space = NULL;
	bool is_bare = false;
	struct thread *child;

	/* perf says of processes that were there before what they have mapped.
	 */
	if (rec->pid != rec->task.ppid && !(rec->misc & MISC_FORK_EXEC)) {
		space = seam_space_get(from ? from->space : NULL);
		is_bare = from ? from->is_bare
			       : seam_world_forgot(w, rec->task.ppid);
	}
	child = seam_world_thread(w, rec->pid, rec->tid);
	if (!child) {
		seam_space_put(space);
		return -ENOMEM;
	}
	if (comm)
		child->comm = comm;
	if (rec->pid != rec->task.ppid)
		begin(w, child, space, is_bare, rec->time_ns);
	return 0;
}

static int apply_exit(struct world *w, const struct seam_pd_rec *rec)
{
	struct thread *t;

	if (!seam_idmap_get(&w->processes, rec->pid))
		return 0;
	t = seam_world_thread(w, rec->pid, rec->tid);
	if (!t)
		return -ENOMEM;
	seam_world_ended(w, t);
	collect(w);
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
	case PERF_RECORD_EXIT:
		return apply_exit(w, rec);
	}
	return 0;
}

void seam_world_init(struct world *w, size_t n_records)
{
	*w = (struct world){.collect_areas = COLLECT_AREAS};
	w->numbers = &w->own_numbers;
	seam_world_expect(w, n_records);
}

void seam_world_share(struct world *w, struct world *with)
{
	w->numbers = with->numbers;
}

void seam_world_expect(struct world *w, size_t n_records)
{
	w->max_areas = AREAS_MIN + AREAS_PER_RECORD * n_records;
}

void seam_world_fini(struct world *w)
{
	seam_world_tasks_fini(w);
	seam_space_put(w->kernel);
	seam_maps_fini(&w->maps);
	seam_maps_numbers_fini(&w->own_numbers);
}
