// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "base/grow.h"
#include "perfdata/writer.h"
#include "seam/tracer.h"
#include "stitch/stitch-priv.h"

static int reserve(struct seam_stitch *s, size_t more)
{
	return seam_grow(&s->frames, s->n + more, &s->cap, sizeof(*s->frames));
}

/* What lies there is shown. */
static const struct seam_stitch_map *find_shown(const struct space *space,
						uint64_t ip)
{
	const struct seam_stitch_map *map = seam_space_find(space, ip);

	if (map)
		seam_maps_show(map);
	return map;
}

/* That one was, where it is the last one again. */
static const struct seam_stitch_map *
near_shown(struct space_near *near, const struct space *space, uint64_t ip)
{
	const struct seam_range *r = near->range;
	const struct seam_stitch_map *map;

	if (seam_space_is_near(near, space, ip))
		return r->value;
	map = seam_space_next(near, space, ip);
	if (map)
		seam_maps_show(map);
	return map;
}

static void add_frame(struct seam_stitch *s, uint64_t ip, bool kernel,
		      const struct space *user)
{
	const struct space *space = kernel ? s->world.kernel : user;

	s->frames[s->n] = (struct seam_frame){
		.ip = ip,
		.map = near_shown(&s->near[kernel], space, ip),
		.kernel = kernel,
		.exact = s->n == 0,
	};
	s->n++;
}

struct walk {
	struct seam_stitched *out;
	const char *comm; /* NULL: not known */
	const struct process *process; /* the sample's; NULL: not known */
	const struct space *space; /* of the process */
	const struct space *before; /* the same before its last exec */
	bool user; /* the chain had a user half */
};

/* The sample's own chain: markers say whose the next addresses are, and in the
 * user half that was merged into it, which are guessed. */
static int own_chain(struct seam_stitch *s, struct walk *w)
{
	struct seam_pd_words chain = s->rec.sample.chain;
	bool kernel =
		(s->rec.misc & SEAM_MISC_CPUMODE) == PERF_RECORD_MISC_KERNEL;
	bool skip = false, user = false, guessed = false;

	if (reserve(s, chain.n + 1))
		return -ENOMEM;
	for (size_t i = 0; i < chain.n; i++) {
		uint64_t ip = seam_pd_word(chain, i);

		if (ip == SEAM_CONTEXT_USER_DEFERRED)
			break;
		if (ip >= SEAM_CONTEXT_MAX) {
			bool again = user && ip == (uint64_t)PERF_CONTEXT_USER;

			guessed ^= again && s->rec.sample.has_guesses;
			user = ip == (uint64_t)PERF_CONTEXT_USER;
			kernel = ip == (uint64_t)PERF_CONTEXT_KERNEL;
			skip = !kernel && !user;
			continue;
		}
		if (skip)
			continue;
		if (!kernel && !w->user) {
			w->user = true;
			w->out->n_kernel = s->n;
		}
		add_frame(s, ip, kernel, w->space);
		if (user && guessed)
			s->frames[s->n - 1].method = SEAM_METHOD_GUESS;
		/* Inside execve the new program is there before the user
		 * registers are its own. */
		if (!kernel && w->before && !s->frames[s->n - 1].map)
			s->frames[s->n - 1].map = find_shown(w->before, ip);
	}
	if (!w->user)
		w->out->n_kernel = s->n;
	return 0;
}

static size_t n_mapped(const struct space *space, struct seam_pd_words ips)
{
	size_t n = 0;

	for (size_t i = 0; space && i < ips.n; i++)
		n += seam_space_find(space, seam_pd_word(ips, i)) != NULL;
	return n;
}

struct choice {
	const struct space *space;
	size_t mapped; /* of the stack's addresses */
};

static void consider(struct choice *c, const struct space *space,
		     struct seam_pd_words ips)
{
	size_t mapped = n_mapped(space, ips);

	if (mapped > c->mapped)
		*c = (struct choice){space, mapped};
}

/*
 * In which program the addresses of a stack are. Sample and record may lie
 * on two sides of an exec: then the stack was taken on the way back to user
 * space, in the new program (only the first stack after an exec is concerned),
 * or, if it says so, before, in the one that was replaced, some execs ago even:
 * a thread that an exec ends is sampled to its very last step.
 */
static const struct space *space_of(const struct walk *w,
				    const struct process *p,
				    struct space *const kept[static 2],
				    const struct seam_pd_rec_stack *stack)
{
	struct choice c = {.space = kept[0] ? kept[0] : w->space};

	if (!(stack->flags & SEAM_PD_STACK_EXEC))
		return c.space;
	c.mapped = n_mapped(c.space, stack->ips);
	if (kept[1])
		consider(&c, kept[1], stack->ips);
	for (size_t i = 0; p && i < SEAM_SPACE_EXECS; i++)
		consider(&c, p->before[i], stack->ips);
	return c.space;
}

/* Events share a stack, each with a depth of its own; perf's kernel cuts
 * before it writes, and says no end. Return: how many frames the sample
 * shows. */
static size_t cut(const struct seam_stitch *s,
		  const struct seam_pd_rec_stack *stack, int *ret_end)
{
	size_t max = seam_stitch_event(s)->attr.sample_max_stack;

	*ret_end = stack->end;
	if (!stack->end || !max || stack->ips.n <= max)
		return stack->ips.n;
	*ret_end = SEAM_MAX_STACK;
	return max;
}

/* A record of ours that says an end but no methods has tables' frames alone. */
static uint8_t method_of(const struct seam_pd_rec_stack *stack, size_t i)
{
	if (stack->methods.n)
		return (uint8_t)seam_pd_method(stack, i);
	return i && stack->end ? SEAM_METHOD_SFRAME : SEAM_METHOD_NONE;
}

/* Its first n frames, of which most of a recording's are: there is room. */
static void add_stack(struct seam_stitch *s,
		      const struct seam_pd_rec_stack *stack, size_t n,
		      const struct space *space)
{
	struct seam_frame *to = s->frames + s->n;
	struct space_near near = {0};

	for (size_t i = 0; i < n; i++) {
		uint64_t ip = seam_pd_word(stack->ips, i);

		to[i] = (struct seam_frame){
			.ip = ip,
			.map = near_shown(&near, space, ip),
			.exact = s->n + i == 0,
			.method = method_of(stack, i),
		};
	}
	s->n += n;
}

static int join(struct seam_stitch *s, struct walk *w, struct cookie_entry *e)
{
	const struct process *p = w->process;
	struct space *kept[2] = {NULL, NULL};
	struct seam_pd_rec stack;
	size_t n;
	int rc;

	seam_pd_record(s->r, e->record, &stack);
	if (!s->rec.has_tid && e->has_tid) { /* the record knows whose */
		p = seam_idmap_get(&s->world.processes, e->pid);
		w->space = p ? p->space : NULL;
	}
	n = cut(s, &stack.stack, &w->out->end);
	rc = reserve(s, n);
	if (!rc)
		rc = seam_cookie_spaces(&s->cookies, e, &s->world, kept);
	if (rc)
		return rc;
	add_stack(s, &stack.stack, n, space_of(w, p, kept, &stack.stack));
	seam_space_put(kept[0]);
	seam_space_put(kept[1]);
	w->out->stack = e->record;
	w->out->n_stack = n;
	w->out->half = e->record < s->at ? SEAM_HALF_LATE : SEAM_HALF_JOINED;
	w->out->stack_ns = e->time_ns;
	e->used = true;
	return 0;
}

static bool defers(const struct seam_pd_attr *event)
{
	return event->flags >> SEAM_ATTR_DEFER_CALLCHAIN & 1;
}

/* Of one of ours whose kernel half was not wanted, it is known where the kernel
 * was entered. */
static bool wants_no_kernel(const struct seam_stitch *s)
{
	const struct seam_pd_rec_sample *sample = &s->rec.sample;
	uint64_t ip;

	return (sample->end || defers(seam_stitch_event(s))) &&
	       seam_pd_entry_ip(sample, &ip);
}

/* Of a sample without a chain at least the address itself is known. What lies
 * there in a guest of a virtual machine is not. */
static int leaf_only(struct seam_stitch *s, struct walk *w)
{
	unsigned mode = s->rec.misc & SEAM_MISC_CPUMODE;
	bool user = mode == PERF_RECORD_MISC_USER;
	bool kernel = mode == PERF_RECORD_MISC_KERNEL;

	if (s->n || mode == PERF_RECORD_MISC_CPUMODE_UNKNOWN)
		return 0;
	if (kernel && wants_no_kernel(s))
		return 0;
	if (reserve(s, 1))
		return -ENOMEM;
	add_frame(s, s->rec.sample.ip, kernel, w->space);
	if (!user && !kernel)
		s->frames[0].map = NULL;
	w->out->n_kernel = kernel ? 1 : 0;
	w->user = user;
	return 0;
}

/* Of a stack that never came, where the kernel was entered: the only register
 * that the sample has. */
static int entry_only(struct seam_stitch *s, const struct walk *w)
{
	uint64_t ip;

	if (w->user || !seam_pd_entry_ip(&s->rec.sample, &ip))
		return 0;
	if (reserve(s, 1))
		return -ENOMEM;
	add_frame(s, ip, false, w->space);
	return 1;
}

/* The record that the sample, which was read last, is to be joined with. */
static int find(struct seam_stitch *s, uint64_t cookie,
		struct cookie_entry **ret)
{
	size_t record = s->at - 1;

	*ret = NULL;
	if (s->rule == SEAM_JOIN_COOKIE)
		return cookie ? seam_cookie_find(&s->cookies, cookie, &s->rec,
						 record, &s->stats, ret)
			      : 0;
	*ret = seam_cookie_next(&s->cookies, &s->rec, record);
	s->stats.by_order_differs += *ret && (*ret)->cookie != cookie;
	return 0;
}

/* What the sample itself tells of a user half that never came: the leaf, of one
 * that was taken there, or where the kernel was entered. */
static bool is_known_alone(const struct seam_stitch *s, size_t n_kernel)
{
	unsigned mode = s->rec.misc & SEAM_MISC_CPUMODE;
	uint64_t ip;

	if (s->n - n_kernel != 1)
		return s->n == n_kernel;
	return mode == PERF_RECORD_MISC_USER ||
	       (seam_pd_entry_ip(&s->rec.sample, &ip) &&
		s->frames[n_kernel].ip == ip);
}

/* A sample that was merged earlier, or to which nothing was to come, says the
 * end itself. Of such, and of one whose record never came, there is at most
 * that. */
static int merged_half(struct seam_stitch *s, struct walk *w)
{
	struct seam_stitched *out = w->out;
	bool none = is_known_alone(s, out->n_kernel);

	out->end = s->rec.sample.end;
	out->half = SEAM_HALF_WITH;
	if (none && (out->end == SEAM_LOST || out->end == SEAM_PENDING ||
		     out->end == SEAM_WINDOW))
		out->half = SEAM_HALF_MISSING;
	return none ? entry_only(s, w) : 0;
}

/* Its record is not there. */
static int missing_half(struct seam_stitch *s, struct walk *w, bool deferred)
{
	struct seam_stitched *out = w->out;
	int rc =
		deferred || defers(seam_stitch_event(s)) ? entry_only(s, w) : 0;

	if (deferred || rc > 0) {
		out->half = SEAM_HALF_MISSING;
		out->end = deferred ? seam_cookie_missing(&s->cookies,
							  out->cookie, &s->rec)
				    : SEAM_LOST;
	} else {
		out->half = SEAM_HALF_NONE;
		out->end = SEAM_NO_USER;
	}
	return rc;
}

/* A task of the kernel's that has a program's mappings. */
static bool is_worker(const char *comm)
{
	return comm &&
	       (!strncmp(comm, "iou-", 4) || !strncmp(comm, "vhost-", 6));
}

/*
 * Of a task that has a user half there are registers, unless the kernel was
 * about to save them when the event came.
 */
static int no_registers(const struct seam_stitch *s, const struct walk *w)
{
	const struct process *p = w->process;

	return s->rec.pid && (w->space || (p && p->before[0])) &&
			       !is_worker(w->comm)
		       ? SEAM_UNSURE
		       : SEAM_NO_USER;
}

/* The stack that was unwound from the sample's copy. */
static int copied_half(struct seam_stitch *s, struct walk *w)
{
	struct seam_stitched *out = w->out;
	const struct seam_offline_stack *copy;
	int rc = s->copies ? 0 : seam_copies_new(s->r, s->kallsyms, &s->copies);

	if (!rc)
		rc = seam_copies_get(s->copies, s->at - 1, &copy);
	if (!rc)
		rc = reserve(s, copy->n + 1);
	if (rc)
		return rc;
	out->end = copy->end;
	if (out->end == SEAM_NO_USER)
		out->end = no_registers(s, w);
	out->half = out->end == SEAM_NO_USER ? SEAM_HALF_NONE : SEAM_HALF_WITH;
	for (size_t i = 0; i < copy->n; i++) {
		add_frame(s, copy->ips[i], false, w->space);
		s->frames[s->n - 1].method = copy->methods[i];
		if (w->before && !s->frames[s->n - 1].map)
			s->frames[s->n - 1].map =
				find_shown(w->before, copy->ips[i]);
	}
	out->n_stack = copy->n;
	out->from_copy = out->half == SEAM_HALF_WITH;
	out->depth = copy->reach.read;
	if (!copy->n)
		rc = leaf_only(s, w);
	return rc ? rc
		  : seam_copies_count(s->copies, s->rec.tid, copy, &s->stats);
}

static bool has_calls(const struct seam_stitch *s, const struct walk *w)
{
	return s->rec.sample.branches.n && w->user &&
	       (seam_stitch_event(s)->attr.branch_sample_type &
		PERF_SAMPLE_BRANCH_CALL_STACK);
}

/*
 * What perf record --call-graph lbr has: the processor's own stack of calls in
 * place of the callers that the chain has by frame pointers. The leaf is the
 * chain's; perf 7.3.4 prints the calls alone, and nothing where there are none.
 */
static int called_half(struct seam_stitch *s, struct walk *w)
{
	const struct seam_pd_words calls = s->rec.sample.branches;

	s->n = w->out->n_kernel + 1;
	if (reserve(s, calls.n / 3))
		return -ENOMEM;
	for (size_t i = 0; i < calls.n; i += 3) {
		struct seam_frame *f = &s->frames[s->n];

		add_frame(s, seam_pd_word(calls, i), false, w->space);
		f->exact = true; /* of the call, not behind it */
		if (w->before && !f->map)
			f->map = find_shown(w->before, f->ip);
	}
	w->out->half = SEAM_HALF_WITH;
	return 0;
}

static int user_half(struct seam_stitch *s, struct walk *w)
{
	struct seam_stitched *out = w->out;
	bool deferred = seam_chain_deferred(s->rec.sample.chain);
	struct cookie_entry *e = NULL;
	int rc;

	out->cookie = seam_chain_cookie(s->rec.sample.chain);
	rc = deferred ? find(s, out->cookie, &e) : 0;
	if (rc || e)
		return rc ? rc : join(s, w, e);
	if (!deferred && !s->rec.sample.end && !w->user &&
	    seam_copies_has(seam_stitch_event(s)))
		return copied_half(s, w);
	if (!deferred && !s->rec.sample.end && has_calls(s, w))
		return called_half(s, w);
	rc = leaf_only(s, w);
	if (rc)
		return rc;
	if (!deferred && s->rec.sample.end)
		rc = merged_half(s, w);
	else if (!deferred && w->user &&
		 !seam_stitch_event(s)->attr.exclude_callchain_user)
		out->half = SEAM_HALF_WITH;
	else
		rc = missing_half(s, w, deferred);
	return rc < 0 ? rc : 0;
}

int seam_stitch_halves(struct seam_stitch *s, const struct process *p,
		       const char *comm, struct seam_stitched *out)
{
	struct walk w = {
		.out = out,
		.comm = comm,
		.process = p,
		.space = p ? p->space : NULL,
	};
	int rc;

	if (p && (s->rec.misc & SEAM_MISC_CPUMODE) == PERF_RECORD_MISC_KERNEL)
		w.before = p->before[0];
	s->n = 0;
	memset(s->near, 0, sizeof(s->near));
	rc = own_chain(s, &w);
	return rc ? rc : user_half(s, &w);
}
