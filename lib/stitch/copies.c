// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "stitch/copies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/maps-path.h"
#include "base/populate.h"
#include "core/err.h"
#include "offline/pool.h"
#include "offline/steps.h"
#include "stitch/here.h"
#include "stitch/kernel-doubt.h"

#define WINDOW 256 /* samples */
#define WINDOW_RECORDS 65536 /* others between them */
#define WINDOW_AREAS (1U << 20) /* in address spaces kept for them */
/* Fewer than this are not worth a thread. */
#define POOL_MIN 16
#define AHEAD 8 /* records */
#define NEXT 2 /* copies */
#define MISC_CPUMODE 0x7

struct job {
	struct copies *c;
	size_t place; /* of the sample in the reader */
	struct seam_offline_copy copy;
	bool is_kernel;
	struct seam_kernel_place in_kernel; /* then */
	struct space *space, *before;
	struct space_near near;
};

struct window {
	size_t n, at; /* the next one that is asked for */
	size_t populated; /* of stacks */
	struct job jobs[WINDOW];
	struct seam_offline_stack stacks[WINDOW];
};

struct need { /* of a thread */
	uint64_t top; /* the highest end of a whole stack */
	uint64_t low; /* the lowest SP of a cut one; 0: none was */
	uint64_t missing; /* that cut ones lack at least, from SP on */
};

struct total {
	uint64_t size;
	bool is_least;
};

struct copies {
	const struct seam_pd_reader *r;
	struct seam_offline offline;
	struct world world; /* at the next record */
	size_t record;
	struct seam_offline_file **by_map; /* by number; NULL: no file */
	size_t n_by_map, cap_by_map;
	struct seam_pool *pool; /* NULL: not needed yet */
	struct seam_offline_steps *steps; /* by who unwinds */
	struct window *ready, *next; /* next may be under way */
	struct seam_idmap needs; /* struct need, by tid */
	struct total total; /* of threads that are gone */
	bool is_foreign; /* of another architecture */
	bool is_not_intel; /* for sure */
	const char *kallsyms;
	bool has_doubt; /* doubt has been read */
	struct seam_kernel_doubt doubt;
};

bool seam_copies_has(const struct seam_pd_attr *attr)
{
	const uint64_t both = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;

	return (attr->attr.sample_type & both) == both;
}

bool seam_copies_foreign(const struct seam_pd_reader *r)
{
	const struct seam_pd_info *info = seam_pd_info(r);

	return info->swapped ||
	       (info->arch && strcmp(info->arch, "x86_64") != 0);
}

static void look_at_machine(struct copies *c)
{
	const struct seam_pd_info *info = seam_pd_info(c->r);

	c->is_foreign = seam_copies_foreign(c->r);
	c->is_not_intel =
		info->cpuid && strncmp(info->cpuid, "GenuineIntel", 12) != 0;
	c->offline.files.lost_ids = info->lost_build_ids;
	c->offline.files.is_other_kernel = seam_other_kernel_runs(c->r);
}

int seam_copies_new(const struct seam_pd_reader *r, const char *kallsyms,
		    struct copies **ret)
{
	struct copies *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	rc = seam_offline_init(&c->offline);
	if (rc) {
		free(c);
		return rc;
	}
	c->r = r;
	c->kallsyms = kallsyms;
	seam_world_init(&c->world, seam_pd_n_records(r));
	c->world.is_of_code = true;
	c->steps = calloc(SEAM_POOL_WHO, sizeof(*c->steps));
	c->ready = calloc(1, sizeof(*c->ready));
	c->next = calloc(1, sizeof(*c->next));
	look_at_machine(c);
	if (!c->steps || !c->ready || !c->next) {
		seam_copies_free(c);
		return -ENOMEM;
	}
	*ret = c;
	return 0;
}

static void let_go(struct window *w)
{
	for (size_t i = 0; w && i < w->n; i++) {
		w->jobs[i].space = seam_space_put(w->jobs[i].space);
		w->jobs[i].before = seam_space_put(w->jobs[i].before);
	}
}

struct copies *seam_copies_free(struct copies *c)
{
	if (!c)
		return NULL;
	seam_pool_free(c->pool);
	let_go(c->ready);
	let_go(c->next);
	free(c->steps);
	free(c->ready);
	free(c->next);
	free(c->by_map);
	seam_idmap_fini(&c->needs, free);
	seam_world_fini(&c->world);
	seam_offline_fini(&c->offline);
	free(c);
	return NULL;
}

/* --- a window --- */

static bool is_file(const char *path)
{
	return !strcmp(path, "[vdso]") || seam_maps_is_probe_page(path) ||
	       (path[0] == '/' && path[1] != '/' &&
		strncmp(path, "/dev/zero", 9) != 0 &&
		strncmp(path, "/memfd:", 7) != 0 &&
		strncmp(path, "/SYSV", 5) != 0);
}

/* The files of what is mapped for the first time. */
static int name_files(struct copies *c)
{
	const struct map_numbers *maps = c->world.numbers;

	if (seam_grow(&c->by_map, maps->n, &c->cap_by_map,
		      sizeof(struct seam_offline_file *)))
		return -ENOMEM;
	while (c->n_by_map < maps->n) {
		const struct seam_stitch_map *m = &maps->v[c->n_by_map];
		struct seam_offline_file *f = NULL;

		if (!m->kernel && is_file(m->path)) {
			f = seam_offline_file(&c->offline.files, m->path,
					      m->build_id, m->build_id_len);
			if (!f)
				return -ENOMEM;
		}
		c->by_map[c->n_by_map++] = f;
	}
	return 0;
}

static bool find(void *ctx, uint64_t avma, struct seam_offline_file **ret,
		 uint64_t *ret_off)
{
	struct job *job = ctx;
	const struct seam_stitch_map *m =
		seam_space_near(&job->near, job->space, avma);

	if (!m)
		m = seam_space_find(job->before, avma);
	if (!m || m->kernel)
		return false;
	*ret = job->c->by_map[m->number];
	*ret_off = avma - m->start + m->pgoff;
	return true;
}

/* Those of before an exec, too: who calls may be of either. */
static bool area(void *ctx, size_t i, struct seam_offline_area *ret)
{
	static const struct seam_ranges none;
	const struct job *job = ctx;
	const struct seam_ranges *now, *before;
	const struct seam_range *range;
	const struct seam_stitch_map *m;

	now = job->space ? &job->space->areas : &none;
	before = job->before ? &job->before->areas : &none;
	if (i >= now->n + before->n)
		return false;
	range = i < now->n ? &now->v[i] : &before->v[i - now->n];
	m = range->value;
	*ret = (struct seam_offline_area){
		.start = range->start,
		.end = range->end,
		.off = range->start - m->start + m->pgoff,
		.file = m->kernel ? NULL : job->c->by_map[m->number],
	};
	return true;
}

/* Where the ip is exact the registers are those of a moment later. */
static bool is_precise(const struct copies *c, const struct seam_pd_rec *rec)
{
	const struct seam_pd_attr *ev = seam_pd_event(c->r, (size_t)rec->event);

	return (rec->misc & MISC_CPUMODE) == PERF_RECORD_MISC_USER &&
	       ev->attr.precise_ip && (rec->misc & PERF_RECORD_MISC_EXACT_IP);
}

static void name_maps(struct job *job)
{
	const uint32_t before = seam_space_version(job->before);

	if (job->before && !before)
		return;
	job->copy.maps[0] = seam_space_version(job->space);
	job->copy.maps[1] = before;
}

static bool is_of_hardware(const struct perf_event_attr *attr)
{
	return attr->type != PERF_TYPE_SOFTWARE &&
	       attr->type != PERF_TYPE_TRACEPOINT &&
	       attr->type != PERF_TYPE_BREAKPOINT;
}

/* PEBS stores the registers behind the instruction, and the kernel gives them
 * to who asks for REGS_INTR; else, until some version, those of the interrupt,
 * which is some instructions behind. So it does where the ip is not exact; but
 * of others than Intel that one is the interrupt's as well. */
static bool may_be_later(const struct copies *c, const struct seam_pd_rec *rec)
{
	const struct perf_event_attr *attr =
		&seam_pd_event(c->r, (size_t)rec->event)->attr;

	if ((rec->misc & MISC_CPUMODE) != PERF_RECORD_MISC_USER ||
	    !attr->precise_ip || !is_of_hardware(attr) ||
	    (c->is_not_intel && !(rec->misc & PERF_RECORD_MISC_EXACT_IP)))
		return false;
	return !(attr->sample_type & PERF_SAMPLE_REGS_INTR) ||
	       !(attr->sample_regs_intr & SEAM_PERF_REGS_MASK);
}

/* IBS knows the ip alone, of whatever event. */
static bool is_later(const struct copies *c, const struct seam_pd_rec *rec)
{
	return c->is_not_intel &&
	       (rec->misc & MISC_CPUMODE) == PERF_RECORD_MISC_USER &&
	       (rec->misc & PERF_RECORD_MISC_EXACT_IP);
}

/* What that takes is the price of one sample in the kernel. */
static int prepare_doubt(struct copies *c)
{
	if (c->has_doubt)
		return 0;
	c->has_doubt = true;
	return seam_kernel_doubt_read(c->r, c->kallsyms, &c->doubt);
}

/* In a process that has run another program the first samples may still be in
 * the call of the old one: that made no more than this call, and the new one
 * has mappings. */
static bool may_be_exec(struct process *p, const struct seam_perf_user *user)
{
	uint64_t ip;

	if (!p || !p->fresh || !seam_perf_user_ip(user, &ip))
		return false;
	if (!p->left_ip)
		p->left_ip = ip;
	p->fresh = user->in_kernel && ip == p->left_ip &&
		   !seam_space_find(p->space, ip);
	return p->fresh;
}

static int add_job(struct copies *c, const struct seam_pd_rec *rec,
		   size_t place)
{
	struct process *p = seam_idmap_get(&c->world.processes, rec->pid);
	const struct seam_pd_rec_sample *s = &rec->sample;
	unsigned mode = rec->misc & MISC_CPUMODE;
	struct job *job = &c->next->jobs[c->next->n];

	*job = (struct job){.c = c, .place = place};
	job->copy = (struct seam_offline_copy){
		.user = {.abi = s->user_regs_abi,
			 .mask = s->user_regs_mask,
			 .regs = s->user_regs.p,
			 .n_regs = s->user_regs.n,
			 .stack = s->user_stack,
			 .stack_size = s->user_stack_len,
			 .stack_room = s->user_stack_room,
			 .in_kernel = mode != PERF_RECORD_MISC_USER},
		.ip = s->ip,
		.is_precise = is_precise(c, rec),
		.is_later = is_later(c, rec),
		.may_be_later = may_be_later(c, rec),
		.find = find,
		.area = area,
		.ctx = job,
	};
	job->copy.may_be_exec = may_be_exec(p, &job->copy.user);
	job->space = seam_space_get(p ? p->space : NULL);
	/* Inside execve the new program is there already. */
	if (p && mode == PERF_RECORD_MISC_KERNEL)
		job->before = seam_space_get(p->before[0]);
	name_maps(job);
	c->next->n++;
	if (mode != PERF_RECORD_MISC_KERNEL || c->is_foreign)
		return 0;
	job->is_kernel = true;
	job->in_kernel = (struct seam_kernel_place){
		s->chain, s->ip,
		seam_kernel_is_fault(
			&seam_pd_event(c->r, (size_t)rec->event)->attr)};
	return prepare_doubt(c);
}

static int fill(struct copies *c)
{
	size_t end = seam_pd_n_records(c->r), passed = 0;
	const size_t areas = c->world.n_areas;
	struct seam_pd_rec rec;
	int rc = 0;

	c->next->n = c->next->at = 0;
	for (; !rc && c->record < end && c->next->n < WINDOW; c->record++) {
		seam_pd_prefetch(c->r, c->record + AHEAD);
		if (seam_pd_data_map(c->r, c->record, &rec) &&
		    seam_world_leaves_out(&c->world, &rec))
			continue;
		seam_pd_record(c->r, c->record, &rec);
		if (rec.type != PERF_RECORD_SAMPLE)
			rc = seam_world_apply(&c->world, c->r, &rec);
		else if (seam_copies_has(
				 seam_pd_event(c->r, (size_t)rec.event)))
			rc = add_job(c, &rec, c->record);
		if (c->next->n && (++passed == WINDOW_RECORDS ||
				   c->world.n_areas > areas + WINDOW_AREAS))
			end = c->record;
	}
	return rc ? rc : name_files(c);
}

/* A stack's first words are mostly in no cache yet. */
static void prefetch(const struct seam_perf_user *user)
{
	for (size_t at = 0; at < 2048 && at < user->stack_size; at += 64)
		__builtin_prefetch(user->stack + at);
}

static bool is_doubted(const struct copies *c, const struct job *job)
{
	return job->is_kernel && seam_kernel_doubts(&c->doubt, &job->in_kernel);
}

static void unwind_one(void *ctx, size_t i, size_t who)
{
	struct window *w = ctx;
	struct seam_offline_stack *to = &w->stacks[i];
	struct copies *c = w->jobs[i].c;

	if (i + NEXT < w->n)
		prefetch(&w->jobs[i + NEXT].copy.user);
	if (c->is_foreign) {
		*to = (struct seam_offline_stack){
			.end = w->jobs[i].copy.user.abi ? SEAM_NO_TABLE
							: SEAM_NO_USER,
		};
		return;
	}
	w->jobs[i].copy.steps = &c->steps[who];
	w->jobs[i].copy.is_doubted = is_doubted(c, &w->jobs[i]);
	seam_offline_unwind(&c->offline, &w->jobs[i].copy, to);
	to->is_unchecked = w->jobs[i].is_kernel && !c->doubt.is_known;
}

/* Each stack has pages of its own. */
static void populate(struct window *w)
{
	if (w->n <= w->populated)
		return;
	seam_populate(&w->stacks[w->populated],
		      (w->n - w->populated) * sizeof(*w->stacks));
	w->populated = w->n;
}

static int begin(struct copies *c)
{
	struct window *w = c->next;

	populate(w);
	if (!c->pool && w->n >= POOL_MIN && seam_pool_new(&c->pool))
		return -ENOMEM;
	if (c->pool)
		seam_pool_begin(c->pool, w->n, unwind_one, w);
	for (size_t i = 0; !c->pool && i < w->n; i++)
		unwind_one(w, i, 0);
	return 0;
}

/* The next window becomes the ready one, and the one behind it begins. */
static int turn(struct copies *c)
{
	struct window *w = c->ready;
	int rc = 0;

	if (!c->next->n) { /* the very first */
		rc = fill(c);
		if (!rc)
			rc = begin(c);
	}
	if (rc)
		return rc;
	if (c->pool)
		seam_pool_finish(c->pool);
	let_go(c->next);
	c->ready = c->next;
	c->next = w;
	rc = fill(c);
	return rc ? rc : begin(c);
}

int seam_copies_get(struct copies *c, size_t place,
		    const struct seam_offline_stack **ret)
{
	for (;;) {
		struct window *w = c->ready;

		while (w->at < w->n && w->jobs[w->at].place < place)
			w->at++;
		if (w->at < w->n) {
			*ret = &w->stacks[w->at];
			return w->jobs[w->at].place == place ? 0 : -ENOENT;
		}
		if (c->record >= seam_pd_n_records(c->r) && !c->next->n)
			return -ENOENT;
		int rc = turn(c);

		if (rc)
			return rc;
	}
}

/* --- counts --- */

int seam_copies_count(struct copies *c, uint32_t tid,
		      const struct seam_offline_stack *s,
		      struct seam_stitch_stats *stats)
{
	struct need *need;

	if (s->end == SEAM_NO_USER) /* there is none in the sample */
		return 0;
	stats->copies++;
	stats->copies_by_cfi += s->by_cfi;
	stats->copies_unchecked += s->is_unchecked;
	stats->copies_foreign += c->is_foreign;
	seam_skid_count(&stats->skid, &s->skid);
	if (s->end != SEAM_OUTERMOST && s->end != SEAM_UNPROVEN && !s->is_cut)
		return 0;
	need = seam_idmap_make(&c->needs, tid, sizeof(*need));
	if (!need)
		return -ENOMEM;
	if (s->is_cut) {
		stats->copies_cut++;
		if (!need->low || s->sp < need->low)
			need->low = s->sp;
		if (s->reach.missing > need->missing)
			need->missing = s->reach.missing;
	} else if (s->sp + s->reach.read > need->top) {
		need->top = s->sp + s->reach.read;
	}
	return 0;
}

/* Where the thread had whole stacks as well, it is known where they end. */
static void add_need(void *ctx, uint64_t tid, void *value)
{
	struct total *total = ctx;
	const struct need *need = value;
	uint64_t size = need->missing;

	(void)tid;
	if (!need->low)
		return;
	if (need->top > need->low && need->top - need->low >= size &&
	    need->top - need->low < SEAM_OFFLINE_STACK_MAX)
		size = need->top - need->low;
	else
		total->is_least = true;
	if (size > total->size)
		total->size = size;
}

void seam_copies_forget(struct copies *c, uint32_t tid)
{
	struct need *need = seam_idmap_remove(&c->needs, tid);

	if (need)
		add_need(&c->total, tid, need);
	free(need);
}

void seam_copies_total(const struct copies *c, struct seam_stitch_stats *stats)
{
	struct total total = c->total;

	seam_idmap_each(&c->needs, add_need, &total);
	stats->copy_size = (total.size + 7) & ~UINT64_C(7);
	stats->copy_size_is_least = total.is_least;
}

const char *seam_copies_lacking(const struct copies *c, size_t *at,
				const char **ret_path, uint64_t *ret_stacks)
{
	const struct seam_offline_files *files = &c->offline.files;

	while (*at < files->n) {
		const struct seam_offline_file *f = files->v[(*at)++];
		uint64_t stacks = __atomic_load_n(&f->stacks, __ATOMIC_RELAXED);

		if (!stacks)
			continue;
		*ret_path = f->path;
		*ret_stacks = stacks;
		return seam_offline_why(f);
	}
	return NULL;
}
