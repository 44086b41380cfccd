/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A task's mappings, bound to the tables of their files. */
#ifndef SEAM_BPF_BINDING_H
#define SEAM_BPF_BINDING_H

#include "bpf/copies.h"
#include "bpf/last.h"
#include "bpf/made.h"
#include "bpf/memory.h"

#define EEXIST 17

/* Of the file or the code in s->miss. */
static __always_inline struct seam_table_ref *table_find(struct scratch *s)
{
	return SEAM_KEY_IS_OWN(s->miss.key.kind)
		       ? own_find(&client_made_tables, &s->miss.key)
		       : bpf_map_lookup_elem(&tables, &s->miss.key);
}

/* Of who loads the table of a file: us, where nobody owns them. Who dies before
 * he answers leaves a key that is asked for, which the next owner takes away.
 */
static __always_inline void *requests_ring(const struct scratch *s)
{
	const struct seam_common *all = common_state();
	uint32_t owner = 0, at;

	if (all && !SEAM_KEY_IS_OWN(s->miss.key.kind))
		owner = *(const volatile uint32_t *)&all->owner;
	if (!owner)
		return own_ring(SEAM_RING_REQUESTS);
	at = SEAM_RING_REQUESTS + owner - 1;
	return bpf_map_lookup_elem(&client_rings, &at);
}

/* Whether we load for ourselves what the owner has not. */
static __always_inline bool loads_own(const struct seam_table_ref *ref,
				      uint32_t kind)
{
	const struct seam_common *all = common_state();

	if (SEAM_KEY_IS_OWN(kind) || (ref && ref->state != SEAM_TABLE_ASKED))
		return false;
	return all && *(const volatile uint32_t *)&all->load_own & OWN_CLIENT;
}

/* Sends the request in s->miss, to who loads it and to our ring of copies too:
 * these are unwound with the file, which has to be kept. Not to that alone
 * where the other is full: each sample asks again then. Return: false: nobody
 * will answer. */
static __always_inline bool table_request(struct scratch *s,
					  struct task_struct *task)
{
	struct seam_wire_miss *miss = &s->miss;
	bool is_sent = false;
	void *to, *own;

	miss->head.type = SEAM_WIRE_MISS;
	miss->head.pid = task->tgid;
	miss->head.tid = task->pid;
	miss->head.time_ns = bpf_ktime_get_ns();
	miss->start = s->vma.start;
	miss->end = s->vma.end;
	miss->off = s->vma.off;
	miss->client = seam_client;
	miss->pad = 0;
	if (miss->key.kind != SEAM_KEY_MEMORY) {
		to = requests_ring(s);
		if (!to || bpf_ringbuf_output(to, miss, sizeof(*miss),
					      BPF_RB_FORCE_WAKEUP)) {
			count(SEAM_COUNT_LOST_MISS);
			return false;
		}
		is_sent = true;
	}
	own = own_ring(SEAM_RING_COPIES);
	if (own && copies_told(task) &&
	    !bpf_ringbuf_output(own, miss, sizeof(*miss), BPF_RB_FORCE_WAKEUP))
		return true;
	count(SEAM_COUNT_LOST_MISS);
	return is_sent;
}

/* Asks user space for a table, once. The key is in s->miss. */
static __always_inline void table_ask(struct scratch *s,
				      struct task_struct *task)
{
	struct seam_wire_miss *miss = &s->miss;
	bool is_own = SEAM_KEY_IS_OWN(miss->key.kind);
	long err;

	/* Not on the stack: this is called at its deepest. */
	__builtin_memset(&s->ref, 0, sizeof(s->ref));
	s->ref.state = SEAM_TABLE_ASKED;
	if (is_own)
		err = own_put(&client_made_tables, &miss->key, &s->ref,
			      BPF_NOEXIST);
	else
		err = bpf_map_update_elem(&tables, &miss->key, &s->ref,
					  BPF_NOEXIST);
	if (err) {
		if (err != -EEXIST)
			count(SEAM_COUNT_LOST_MISS);
		return;
	}
	if (table_request(s, task))
		return;
	if (is_own)
		own_drop(&client_made_tables, &miss->key);
	else
		bpf_map_delete_elem(&tables, &miss->key);
}

/* Binds a mapping to the table of its file, as far as there is one. */
static __always_inline void mapping_bind(struct task_struct *task,
					 struct scratch *s, struct mapping *ret)
{
	struct seam_table_ref *ref;
	bool is_file;

	if (!(seam_methods & SEAM_UNWIND_TABLES))
		return;
	ref = table_find(s);
	if (loads_own(ref, s->miss.key.kind)) {
		s->miss.key.kind |= SEAM_KEY_OWN;
		ref = table_find(s);
	}
	is_file = !(s->miss.key.kind & ~SEAM_KEY_OWN);
	if (ref && ref->state == SEAM_TABLE_NONE && is_file &&
	    may_be_made(task, &s->vma)) {
		name_made(task, &s->vma, &s->miss);
		ref = table_find(s);
		is_file = false;
	}
	ret->is_made = s->miss.key.kind == SEAM_KEY_MEMORY;
	ret->is_own = SEAM_KEY_IS_OWN(s->miss.key.kind);
	/* The vDSO's table knows the image's own offsets; and those of made
	 * code count from its mapping. */
	if (!is_file)
		ret->delta = -s->vma.start;
	if (!ref) {
		ret->state = SEAM_TABLE_ASKED;
		table_ask(s, task);
		return;
	}
	ret->table = ref->id;
	ret->state = ref->state;
	ret->offset = ref->offset;
	ret->lookup = ref->lookup;
	if (ref->state == SEAM_TABLE_MAPPED) {
		ret->mapped.at -= ret->delta;
		ret->mapped.inode = s->vma.inode;
	}
	ret->adds = ref->adds;
	ref->used_ns = bpf_ktime_get_ns();
}

/* Fills a cache slot. Return: SEAM_OK, SEAM_NO_TABLE or SEAM_VMA_BUSY. */
static __noinline int mapping_fill(struct task_struct *task, uint64_t pc,
				   struct mapping *ret, struct scratch *s)
{
	uint64_t mm;
	bool named;
	int err = SEAM_EXITED;

	ret->start = 0;
	ret->end = 0;
	ret->table = 0;
	ret->state = 0;
	ret->is_made = 0;
	ret->is_own = 0;
	bpf_rcu_read_lock();
	mm = mm_of(task);
	if (mm) {
		err = seam_vma_find(mm, pc, &s->vma);
		if (!err) {
			ret->delta = s->vma.off - s->vma.start;
			ret->flags = s->vma.flags;
			named = name_file(mm, &s->vma, &s->miss);
			if (!named && is_probe_page(&s->vma)) {
				ret->state = SEAM_TABLE_PROBE_PAGE;
			} else if (!named && may_be_made(task, &s->vma)) {
				name_made(task, &s->vma, &s->miss);
				named = true;
			}
			if (named)
				mapping_bind(task, s, ret);
			ret->start = s->vma.start;
			ret->end = s->vma.end;
		} else {
			err = err == -1 ? SEAM_NO_TABLE : SEAM_VMA_BUSY;
		}
	}
	bpf_rcu_read_unlock();
	return err;
}

#define ASK_AGAIN_NS 20000000

/*
 * A mapping of made code has no rule for pc. Return: whether it may have one
 * as soon as user space has seen what was added since it looked.
 */
__noinline int seam_mapping_ask_again(struct scratch *s ARG_NONNULL,
				      struct mapping *map ARG_NONNULL,
				      struct task_struct *task ARG_TRUSTED,
				      uint64_t pc)
{
	uint64_t now_ns, mm;

	if (!map->is_made || made_adds(task) == map->adds)
		return false;
	now_ns = bpf_ktime_get_ns();
	if (now_ns - map->asked_ns < ASK_AGAIN_NS)
		return true;
	map->asked_ns = now_ns;
	bpf_rcu_read_lock();
	mm = mm_of(task);
	if (mm && !seam_vma_find(mm, pc, &s->vma)) {
		name_made(task, &s->vma, &s->miss);
		table_request(s, task);
	}
	bpf_rcu_read_unlock();
	return true;
}

/* Names what a mapping now says. 0: names have run out, see mappings_check. */
static __always_inline uint16_t epoch_next(struct task_state *state)
{
	return state->epoch < SEAM_LAST_EPOCH_MAX ? ++state->epoch : 0;
}

/* Reads slot i anew, for pc. Return: SEAM_OK or as mapping_fill. */
__noinline int seam_mapping_refresh(struct task_state *state ARG_NONNULL,
				    uint32_t i,
				    struct task_struct *task ARG_TRUSTED,
				    uint64_t pc, struct scratch *s ARG_NONNULL)
{
	struct mapping *map;
	int err;

	i &= SEAM_CACHED_MAPPINGS - 1;
	map = &state->maps[i];
	/* Not on the stack: this is called at its deepest. */
	s->was.start = map->start;
	s->was.end = map->end;
	s->was.delta = map->delta;
	s->was.table = map->table;
	err = mapping_fill(task, pc, map, s);
	state->unchecked &= ~(1U << i);
	if (err)
		state->epochs[i] = 0;
	else if (map->start != s->was.start || map->end != s->was.end ||
		 map->delta != s->was.delta || map->table != s->was.table)
		state->epochs[i] = epoch_next(state);
	return err;
}

/* The slot of pc's mapping, filled where it is not there; -1: *ret_err says
 * why there is none. */
static __always_inline int mapping_find(struct seam_env *env, uint64_t pc,
					int *ret_err)
{
	struct task_state *state = env->state;
	uint32_t i;

#pragma unroll
	for (i = 0; i < SEAM_CACHED_MAPPINGS; i++) {
		const struct mapping *map = &state->maps[i];

		if (pc - map->start < map->end - map->start)
			break;
	}
	if (i == SEAM_CACHED_MAPPINGS)
		i = state->next_map++ & (SEAM_CACHED_MAPPINGS - 1);
	else if (!(state->unchecked & 1U << i))
		return i;
	*ret_err = seam_mapping_refresh(state, i, env->task, pc, env->scratch);
	return *ret_err ? -1 : (int)i;
}

/* Whether slot i still says what it did when it got this epoch. */
static __always_inline bool mapping_holds(struct seam_env *env, uint32_t i,
					  uint32_t epoch, uint64_t pc)
{
	struct task_state *state = env->state;

	i &= SEAM_CACHED_MAPPINGS - 1;
	if (!epoch || state->epochs[i] != epoch)
		return false;
	if (IS_AT_ONCE) /* as seam_frame says */
		return !(state->unchecked & 1U << i);
	return !(state->unchecked & 1U << i) ||
	       (!seam_mapping_refresh(state, i, env->task, pc, env->scratch) &&
		state->epochs[i] == epoch);
}

/* Some tables are each client's own, and what has no table may have one to one
 * and not to another. */
static __always_inline void forget_own(struct task_state *state)
{
	uint32_t i;

	state->bound_by = seam_client_life;
#pragma unroll
	for (i = 0; i < SEAM_CACHED_MAPPINGS; i++) {
		if (state->maps[i].table && !state->maps[i].is_own)
			continue;
		state->maps[i].start = state->maps[i].end = 0;
		state->epochs[i] = 0;
	}
}

/* Whether cached mappings are of this program. */
static __always_inline bool is_same_image(const struct task_state *state,
					  const struct task_struct *task,
					  uint64_t mm)
{
	return state->mm == mm && state->exec == task->self_exec_id;
}

/* Forgets cached mappings, or has them checked before they are used. */
__noinline int seam_mappings_check(struct task_state *state ARG_NONNULL,
				   struct task_struct *task ARG_TRUSTED,
				   struct scratch *s ARG_NONNULL)
{
	uint64_t mm, generation = tables_generation();
	uint32_t seq = 0, i;

	bpf_rcu_read_lock();
	mm = mm_of(task);
	if (mm)
		seq = mm_seq(mm);
	bpf_rcu_read_unlock();
	if (state->mm_seq != seq || seq & 1 ||
	    !is_same_image(state, task, mm)) {
		state->unchecked = (1U << SEAM_CACHED_MAPPINGS) - 1;
		state->stack.start = state->stack.end = 0;
	}
	state->mm_seq = seq;
	if (state->bound_by != seam_client_life)
		forget_own(state);
	if (is_same_image(state, task, mm) && state->tables == generation &&
	    state->epoch < SEAM_LAST_EPOCH_MAX)
		return 0;
	state->mm = mm;
	state->exec = task->self_exec_id;
	state->tables = generation;
	if (state->epoch == SEAM_LAST_EPOCH_MAX) {
		/* The last stack still names epochs of the round before. */
		state->epoch = 0;
		state->round++;
		last_round(s, state);
	}
#pragma unroll
	for (i = 0; i < SEAM_CACHED_MAPPINGS; i++) {
		state->maps[i].start = state->maps[i].end = 0;
		state->epochs[i] = 0;
	}
	return 0;
}

#endif
