/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Code that programs make while they run. Its tables are of one process, so
 * their key is the mapping in that process, of that program. Code that is no
 * more takes all of the process's keys with it; code that is added only lets
 * those be asked again that have no rule for it.
 */
#ifndef SEAM_BPF_MADE_H
#define SEAM_BPF_MADE_H

#include "bpf/mapping.h"
#include "core/jit-registry.h"

/* What a process has said of its code. By tgid, which may be another's by
 * now. */
struct made {
	uint64_t start; /* of its first thread */
	uint32_t exec; /* which of its programs */
	uint32_t generation; /* of all that was made; 0: as it was found */
	uint64_t adds;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 16);
	__type(key, uint32_t);
	__type(value, struct made);
} makers SEC(".maps");

CLIENT_HASHES(makers, uint32_t, struct made);

/* The last generation given out, of all processes: none comes twice. */
SEAM_SHARED uint32_t seam_made_generation = 0;

static __always_inline uint64_t made_start(struct task_struct *task)
{
	return process_start(task);
}

/* NULL: the process has said nothing, as long as we have watched. */
static __always_inline struct made *made_of(struct task_struct *task)
{
	uint32_t tgid = task->tgid;
	struct made *made = own_find(&client_makers, &tgid);

	return made && made->start == made_start(task) &&
			       made->exec == task->self_exec_id
		       ? made
		       : NULL;
}

static __always_inline uint64_t made_adds(struct task_struct *task)
{
	const struct made *made = made_of(task);

	return made ? made->adds : 0;
}

/* Whether code of no file, or of a file that describes none, may be described
 * in the process's memory. A memfd is such a file. */
static __always_inline bool may_be_made(struct task_struct *task,
					const struct vma_view *vma)
{
	uint64_t sb;

	if (!(vma->flags & VM_EXEC))
		return false;
	if (!vma->inode || made_of(task))
		return true;
	sb = ADDRESS(struct inode, vma->inode, i_sb);
	return VIEW(struct super_block, sb)->s_magic == TMPFS_MAGIC;
}

static __always_inline void name_made(struct task_struct *task,
				      const struct vma_view *vma,
				      struct seam_wire_miss *ret)
{
	const struct made *made = made_of(task);
	struct seam_file_key *key = &ret->key;

	__builtin_memset(key, 0, sizeof(*key));
	key->ino = vma->start;
	key->size = vma->end - vma->start;
	key->ctime_sec = made_start(task);
	key->ctime_nsec = task->tgid;
	key->dev = task->self_exec_id;
	key->kind = SEAM_KEY_MEMORY;
	ret->mtime_ns = 0;
	ret->adds = 0;
	if (made) {
		key->generation = made->generation;
		ret->adds = made->adds;
	}
}

/* --- what programs say --- */

/* Cached mappings are bound anew: the next look-up has another key. */
static __always_inline void made_changed(void)
{
	struct seam_common *all = common_state();

	if (all)
		__sync_fetch_and_add(&all->generation, 1);
}

static __always_inline void made_note(struct task_struct *task, bool is_more)
{
	struct made *made = made_of(task), new = {0};
	uint32_t tgid = task->tgid, generation;

	if (made && is_more) {
		__sync_fetch_and_add(&made->adds, 1);
		return;
	}
	generation = __sync_fetch_and_add(&seam_made_generation, 1) + 1;
	if (made) {
		__sync_fetch_and_add(&made->adds, 1);
		made->generation = generation;
	} else {
		new.start = made_start(task);
		new.exec = task->self_exec_id;
		new.generation = generation;
		new.adds = 1;
		if (own_put(&client_makers, &tgid, &new, BPF_ANY))
			count(SEAM_COUNT_LOST_MADE);
	}
	made_changed();
}

static __always_inline uint32_t made_what(int32_t option, uint64_t arg2,
					  uint64_t arg3, uint64_t arg4,
					  uint64_t arg5)
{
	if (option == SEAM_PRCTL_JIT)
		return SEAM_WIRE_JIT_LISTED;
	/* No address: the number has another meaning elsewhere. */
	if (arg2 < 4096)
		return 0;
	if (option == SEAM_PRCTL_ADD_SFRAME)
		return SEAM_WIRE_JIT_ADD;
	if (option == SEAM_PRCTL_REMOVE_SFRAME && !arg3 && !arg4 && !arg5)
		return SEAM_WIRE_JIT_REMOVE;
	return 0;
}

#endif
