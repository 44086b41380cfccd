// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * One record into its fields. The layout of a sample is that of
 * perf_event_open(2): the fields that sample_type asks for, in a fixed
 * order; other records end with a shorter selection of them.
 */
#include "core/uapi.h"
#include "perfdata/reader-priv.h"
#include "perfdata/writer.h"

#define MISC_MMAP_BUILD_ID (1 << 14) /* PERF_RECORD_MISC_MMAP_BUILD_ID */
#define BRANCH_HW_INDEX (1U << 17)
#define BRANCH_COUNTERS (1U << 19)

static bool take_words(struct span *s, uint64_t n, struct seam_pd_words *ret)
{
	if (n > s->left / 8)
		return false;
	ret->p = span_take(s, 8 * n);
	ret->n = n;
	ret->swap = s->swap;
	return true;
}

/* A single count has the times between itself and its id, a group has them
 * before its members. */
static bool take_read(struct span *s, uint64_t format,
		      struct seam_pd_reads *ret)
{
	const uint64_t times =
		PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	size_t n_times = (size_t)__builtin_popcountll(format & times);
	bool group = format & PERF_FORMAT_GROUP;
	size_t between = group ? 0 : n_times;
	uint64_t n = 1;

	if (group && (!span_u64(s, &n) || !span_take(s, 8 * n_times)))
		return false;
	ret->stride = 1 + between + !!(format & PERF_FORMAT_ID) +
		      !!(format & SEAM_READ_LOST);
	ret->id_word = format & PERF_FORMAT_ID ? 1 + between : 0;
	ret->n = n;
	return n <= s->left / 8 / ret->stride &&
	       take_words(s, n * ret->stride, &ret->words);
}

static bool take_chain(struct span *s, struct seam_pd_words *ret)
{
	uint64_t n;

	return span_u64(s, &n) && take_words(s, n, ret);
}

static bool take_branches(struct span *s, uint64_t type,
			  struct seam_pd_words *ret)
{
	uint64_t n;

	if (!span_u64(s, &n))
		return false;
	if ((type & BRANCH_HW_INDEX) && !span_take(s, 8))
		return false;
	if (n > s->left / 24 || !take_words(s, 3 * n, ret))
		return false;
	return !(type & BRANCH_COUNTERS) ||
	       (n <= s->left / 8 && span_take(s, 8 * n));
}

static bool take_regs(struct span *s, uint64_t mask, uint64_t *ret_abi,
		      struct seam_pd_words *ret)
{
	if (!span_u64(s, ret_abi))
		return false;
	return !*ret_abi ||
	       take_words(s, (uint64_t)__builtin_popcountll(mask), ret);
}

static bool take_user_stack(struct span *s, struct seam_pd_rec_sample *ret)
{
	uint64_t size, used;

	if (!span_u64(s, &size))
		return false;
	if (!size)
		return true;
	ret->user_stack = span_take(s, size);
	if (!ret->user_stack || !span_u64(s, &used))
		return false;
	ret->user_stack_len = used < size ? used : size;
	ret->user_stack_room = size;
	return true;
}

static bool take_pair(struct span *s, uint32_t *ret_a, uint32_t *ret_b)
{
	return span_u32(s, ret_a) && span_u32(s, ret_b);
}

/* The fields that every event may have, up to and without READ. */
static bool sample_head(struct span *s, uint64_t t, struct seam_pd_rec *rec)
{
	struct seam_pd_rec_sample *o = &rec->sample;
	uint32_t reserved;

	if ((t & PERF_SAMPLE_IDENTIFIER) && !span_u64(s, &rec->id))
		return false;
	if ((t & PERF_SAMPLE_IP) && !span_u64(s, &o->ip))
		return false;
	if ((t & PERF_SAMPLE_TID) && !take_pair(s, &rec->pid, &rec->tid))
		return false;
	if ((t & PERF_SAMPLE_TIME) && !span_u64(s, &rec->time_ns))
		return false;
	rec->has_time = t & PERF_SAMPLE_TIME;
	rec->has_tid = t & PERF_SAMPLE_TID;
	if ((t & PERF_SAMPLE_ADDR) && !span_u64(s, &o->addr))
		return false;
	if ((t & PERF_SAMPLE_ID) && !span_u64(s, &rec->id))
		return false;
	if ((t & PERF_SAMPLE_STREAM_ID) && !span_u64(s, &o->stream_id))
		return false;
	if ((t & PERF_SAMPLE_CPU) && !take_pair(s, &rec->cpu, &reserved))
		return false;
	return !(t & PERF_SAMPLE_PERIOD) || span_u64(s, &o->period);
}

static bool take_raw(struct span *s, struct seam_pd_rec_sample *o)
{
	uint32_t size;

	if (!span_u32(s, &size))
		return false;
	o->raw = span_take(s, size);
	o->raw_len = size;
	return o->raw;
}

/* Of perf record --off-cpu, from perf 6.15 on. */
static bool is_off_cpu(const struct pd_event *ev)
{
	return ev->pub.attr.type == PERF_TYPE_SOFTWARE &&
	       ev->pub.attr.config == PERF_COUNT_SW_BPF_OUTPUT && ev->name &&
	       !strcmp(ev->name, "offcpu-time");
}

/*
 * Whose it is, how long, and the stack are in the payload; what the sample says
 * itself is of whoever ran when it was written. perf writes thread and process
 * in either order: mostly a process's first thread has the lowest number.
 */
static bool take_off_cpu(bool swap, struct seam_pd_rec *rec)
{
	struct seam_pd_rec_sample *o = &rec->sample;
	struct span s = {.p = o->raw, .left = o->raw_len, .swap = swap};
	uint32_t a, b;

	if (!take_pair(&s, &a, &b) || !span_u64(&s, &o->period) ||
	    !take_chain(&s, &o->chain) || seam_pd_chain_deferred(o->chain))
		return false;
	o->chain_in_raw = true;
	rec->pid = a < b ? a : b;
	rec->tid = a < b ? b : a;
	rec->has_tid = true;
	rec->misc = (rec->misc & ~PERF_RECORD_MISC_CPUMODE_MASK) |
		    PERF_RECORD_MISC_USER;
	o->ip = o->chain.n > 1 ? seam_pd_word(o->chain, 1) : 0;
	return true;
}

/* What lies behind STACK_USER is not looked at. */
static bool parse_sample(const struct pd_event *ev, struct span s,
			 struct seam_pd_rec *rec)
{
	struct seam_pd_rec_sample *o = &rec->sample;
	uint64_t t = ev->sample_type;

	o->period = ev->pub.attr.sample_period; /* unless the sample says */
	o->end = rec->misc >> PD_MISC_END_SHIFT & PD_MISC_END_MASK;
	o->has_guesses = o->end && rec->misc & PD_SAMPLE_GUESSES
						       << PD_MISC_FLAGS_SHIFT;
	if (!sample_head(&s, t, rec))
		return false;
	if ((t & PERF_SAMPLE_READ) &&
	    !take_read(&s, ev->read_format, &o->reads))
		return false;
	if ((t & PERF_SAMPLE_CALLCHAIN) && !take_chain(&s, &o->chain))
		return false;
	if ((t & PERF_SAMPLE_RAW) && !take_raw(&s, o))
		return false;
	if (o->raw && is_off_cpu(ev))
		return take_off_cpu(s.swap, rec);
	if ((t & PERF_SAMPLE_BRANCH_STACK) &&
	    !take_branches(&s, ev->branch_type, &o->branches))
		return false;
	o->user_regs_mask = ev->regs_user;
	if ((t & PERF_SAMPLE_REGS_USER) &&
	    !take_regs(&s, ev->regs_user, &o->user_regs_abi, &o->user_regs))
		return false;
	return !(t & PERF_SAMPLE_STACK_USER) || take_user_stack(&s, o);
}

static const uint8_t *drop_last(struct span *s)
{
	if (s->left < 8)
		return NULL;
	s->left -= 8;
	return s->p + s->left;
}

static bool drop_u64(struct span *s, uint64_t *ret)
{
	const uint8_t *p = drop_last(s);

	if (p)
		*ret = pd_u64(p, s->swap);
	return p;
}

/* Takes the sample_id off the record's end, last field first. */
static bool parse_tail(const struct pd_event *ev, struct span *s,
		       struct seam_pd_rec *rec)
{
	uint64_t t = ev->sample_id_all ? ev->sample_type : 0;
	uint64_t stream_id;
	const uint8_t *pair;

	if ((t & PERF_SAMPLE_IDENTIFIER) && !drop_u64(s, &rec->id))
		return false;
	if (t & PERF_SAMPLE_CPU) {
		pair = drop_last(s);
		if (!pair)
			return false;
		rec->cpu = pd_u32(pair, s->swap);
	}
	if ((t & PERF_SAMPLE_STREAM_ID) && !drop_u64(s, &stream_id))
		return false;
	if ((t & PERF_SAMPLE_ID) && !drop_u64(s, &rec->id))
		return false;
	if ((t & PERF_SAMPLE_TIME) && !drop_u64(s, &rec->time_ns))
		return false;
	rec->has_time = t & PERF_SAMPLE_TIME;
	rec->has_tid = t & PERF_SAMPLE_TID;
	if (t & PERF_SAMPLE_TID) {
		pair = drop_last(s);
		if (!pair)
			return false;
		rec->pid = pd_u32(pair, s->swap);
		rec->tid = pd_u32(pair + 4, s->swap);
	}
	return true;
}

static bool take_path(struct span *s, const char **ret)
{
	*ret = (const char *)s->p;
	return s->left && memchr(s->p, 0, s->left);
}

static bool parse_mmap2(struct span *s, struct seam_pd_rec *rec)
{
	struct seam_pd_rec_map *m = &rec->map;
	const uint8_t *file = span_take(s, 24);

	if (!file || !take_pair(s, &m->prot, &m->flags))
		return false;
	m->has_prot = true;
	if (rec->misc & MISC_MMAP_BUILD_ID) {
		m->build_id_len = file[0] <= 20 ? file[0] : 20;
		m->build_id = file + 4;
		return true;
	}
	m->has_inode = true;
	m->maj = pd_u32(file, s->swap);
	m->min = pd_u32(file + 4, s->swap);
	m->ino = pd_u64(file + 8, s->swap);
	m->ino_gen = pd_u64(file + 16, s->swap);
	return true;
}

static bool parse_map(struct span *s, struct seam_pd_rec *rec)
{
	struct seam_pd_rec_map *m = &rec->map;

	if (!take_pair(s, &rec->pid, &rec->tid) || !span_u64(s, &m->start) ||
	    !span_u64(s, &m->len) || !span_u64(s, &m->pgoff))
		return false;
	if (rec->type == PERF_RECORD_MMAP2 && !parse_mmap2(s, rec))
		return false;
	return take_path(s, &m->path);
}

static bool parse_ksymbol(struct span *s, struct seam_pd_rec *rec)
{
	struct seam_pd_rec_ksymbol *k = &rec->ksymbol;
	const uint8_t *type_flags; /* two numbers of 16 bits */

	if (!span_u64(s, &k->start) || !span_u32(s, &k->len))
		return false;
	type_flags = span_take(s, 4);
	if (!type_flags)
		return false;
	k->gone = pd_u16(type_flags + 2, s->swap) & 1;
	return take_path(s, &k->name);
}

/* The record's own time is that of its tail, where it has one. */
static bool parse_task(struct span *s, struct seam_pd_rec *rec)
{
	uint64_t time_ns;

	if (!span_u32(s, &rec->pid) || !span_u32(s, &rec->task.ppid) ||
	    !span_u32(s, &rec->tid) || !span_u32(s, &rec->task.ptid) ||
	    !span_u64(s, &time_ns))
		return false;
	if (!rec->has_time) {
		rec->has_time = true;
		rec->time_ns = time_ns;
	}
	return true;
}

static bool parse_stack(struct span *s, struct seam_pd_rec *rec)
{
	rec->stack.end = rec->misc >> PD_MISC_END_SHIFT & PD_MISC_END_MASK;
	rec->stack.flags =
		rec->misc >> PD_MISC_FLAGS_SHIFT & PD_MISC_FLAGS_MASK;
	if (!span_u64(s, &rec->stack.cookie) || !take_chain(s, &rec->stack.ips))
		return false;
	return !(rec->stack.flags & SEAM_PD_STACK_METHODS) ||
	       take_words(s,
			  rec->stack.ips.n / PD_METHODS_PER_WORD +
				  !!(rec->stack.ips.n % PD_METHODS_PER_WORD),
			  &rec->stack.methods);
}

unsigned seam_pd_method(const struct seam_pd_rec_stack *stack, size_t i)
{
	size_t word = i / PD_METHODS_PER_WORD;
	unsigned shift = i % PD_METHODS_PER_WORD * PD_METHOD_BITS;

	if (word >= stack->methods.n)
		return 0;
	return seam_pd_word(stack->methods, word) >> shift & PD_METHOD_MASK;
}

static bool parse_body(struct span *s, struct seam_pd_rec *rec)
{
	switch (rec->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return parse_map(s, rec);
	case PERF_RECORD_KSYMBOL:
		return parse_ksymbol(s, rec);
	case PERF_RECORD_COMM:
		return take_pair(s, &rec->pid, &rec->tid) &&
		       take_path(s, &rec->comm);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return parse_task(s, rec);
	case PERF_RECORD_LOST:
		return span_take(s, 8) && span_u64(s, &rec->lost);
	case PERF_RECORD_LOST_SAMPLES:
		return span_u64(s, &rec->lost);
	case SEAM_RECORD_CALLCHAIN_DEFERRED:
		return parse_stack(s, rec);
	}
	return true;
}

bool seam_pd_chain_deferred(struct seam_pd_words chain)
{
	return chain.n >= 2 &&
	       seam_pd_word(chain, chain.n - 2) == SEAM_CONTEXT_USER_DEFERRED;
}

/* Which event a record is of. Perf itself writes records with id 0 or with
 * none at all: they are laid out as the first event says. */
static int find_event(struct seam_pd_reader *r, uint32_t type, struct span s)
{
	bool sample = type == PERF_RECORD_SAMPLE;
	int word = sample ? r->id_word : r->id_tail_word;
	uint64_t id;

	if (!r->n_events)
		return -1;
	if (r->n_events == 1 || word < 0 ||
	    s.left / 8 < (size_t)word + (sample ? 1 : 0))
		return 0;
	id = pd_u64(sample ? s.p + 8 * word : s.p + s.left - 8 * (size_t)word,
		    s.swap);
	word = id ? seam_pd_event_by_id(r, id) : 0;
	return word < 0 && !sample ? 0 : word;
}

static bool parse_as(const struct pd_event *ev, struct span s,
		     struct seam_pd_rec *ret)
{
	if (ret->type == PERF_RECORD_SAMPLE)
		return parse_sample(ev, s, ret);
	return parse_tail(ev, &s, ret) && parse_body(&s, ret);
}

bool seam_pd_parse_kernel(const struct perf_event_attr *attr,
			  const struct perf_event_header *record,
			  struct seam_pd_rec *ret)
{
	const struct pd_event ev = {
		.pub.attr = *attr,
		.sample_type = attr->sample_type,
		.read_format = attr->read_format,
		.branch_type = attr->branch_sample_type,
		.regs_user = attr->sample_regs_user,
		.regs_intr = attr->sample_regs_intr,
		.sample_id_all = attr->sample_id_all,
	};
	const struct span s = {(const uint8_t *)(record + 1),
			       record->size - sizeof(*record), false};

	*ret = (struct seam_pd_rec){.type = record->type, .misc = record->misc};
	return parse_as(&ev, s, ret);
}

bool seam_pd_parse(struct seam_pd_reader *r, const uint8_t *record,
		   struct seam_pd_rec *ret)
{
	struct perf_event_header h;
	struct span s;

	h = pd_record_header(record, r->swap);
	s = pd_span(r, record + sizeof(h), h.size - sizeof(h));
	*ret = (struct seam_pd_rec){.type = h.type, .misc = h.misc};
	ret->event = find_event(r, h.type, s);
	if (ret->event < 0)
		return false;
	return parse_as(&r->events[ret->event], s, ret);
}
