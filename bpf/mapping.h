/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * From an address to its mapping and the table of its file.
 *
 * The mm's maple tree is walked under RCU, as the kernel's own per-VMA
 * locking does. bpf_find_vma is a trylock on mmap_lock: it fails in most
 * calls while threads map and unmap, and works once per interrupt. The mm's
 * write sequence tells whether what was read, now or in an earlier unwind,
 * is still true.
 */
#ifndef SEAM_BPF_MAPPING_H
#define SEAM_BPF_MAPPING_H

#include "bpf/clients.h"
#include "bpf/words.h"
#include "core/disk.h"
#include "core/env.h"

#define MAPLE_LEAF 1
#define MAPLE_RANGE 2
#define MAPLE_ARANGE 3
#define MAPLE_DEPTH 8 /* 10^7 mappings */

#define PAGE_SHIFT 12
#define PAGE_BYTES (1ULL << PAGE_SHIFT)

/* 0: the task has none (any more). */
static __always_inline uint64_t mm_of(struct task_struct *task)
{
	return ADDRESS(struct task_struct, task, mm);
}

#define MEMBER(type, addr, field) ((addr) + bpf_core_field_offset(type, field))

/* The slot for index in an internal or leaf node of the tree. */
static __always_inline uint64_t maple_slot(uint64_t node, uint32_t type,
					   uint64_t index)
{
	const uint64_t *pivots, *slots;
	uint32_t end, i;

	if (type == MAPLE_ARANGE) {
		pivots = ROW_AT(MEMBER(struct maple_arange_64, node, pivot));
		slots = ROW_AT(MEMBER(struct maple_arange_64, node, slot));
		end = BYTE_AT(MEMBER(struct maple_arange_64, node, meta.end));
		if (end > 9)
			return 0;
	} else {
		pivots = ROW_AT(MEMBER(struct maple_range_64, node, pivot));
		slots = ROW_AT(MEMBER(struct maple_range_64, node, slot));
		end = 15;
		if (!ROW_WORD(pivots, 14))
			end = BYTE_AT(
				MEMBER(struct maple_range_64, node, meta.end));
		if (end > 15)
			return 0;
	}
	/* The last slot reaches to the node's maximum: it has no pivot. */
	for (i = seam_zero; i < end; i++) {
		SEAM_LOOP_GUARD;
		if (ROW_WORD(pivots, i) >= index)
			break;
	}
	return ROW_WORD(slots, i);
}

/*
 * The VMA that the tree under root holds for addr, or 0. Under RCU. Global,
 * with scalars for arguments, so that the verifier walks it only once.
 */
__noinline uint64_t seam_maple_find(uint64_t root, uint64_t addr)
{
	uint64_t entry = root;
	uint32_t depth;

	/* A root that is no node would be the only VMA there is. */
	if ((root & 3) != 2)
		return 0;

	for (depth = seam_zero; depth < MAPLE_DEPTH; depth++) {
		uint64_t node = entry & ~0xffULL;
		uint32_t type = (entry >> 3) & 0xf;

		SEAM_LOOP_GUARD;
		if (type < MAPLE_LEAF || type > MAPLE_ARANGE)
			return 0;
		entry = maple_slot(node, type, addr);
		if (type == MAPLE_LEAF)
			return entry;
		/* The parent of a dead node points to the node itself. */
		if (!entry || (ADDRESS(struct maple_range_64, node, parent) &
			       ~0xffULL) == node)
			return 0;
	}
	return 0;
}

#ifdef SEAM_AT_ONCE
#define RWSEM_WRITER_LOCKED 1

/*
 * On Linux 6.12 the sequence is a number that a writer counts up when it
 * lets go of the lock; whether one is at work the lock says. Where that is not
 * to be read (PREEMPT_RT), there always may be one.
 */
static __always_inline uint32_t mm_seq_older(uint64_t addr)
{
	struct mm_struct___older *mm = VIEW(struct mm_struct___older, addr);
	uint32_t writers = RWSEM_WRITER_LOCKED;

	if (bpf_core_field_exists(mm->mmap_lock.count.counter))
		writers = *(volatile int64_t *)&mm->mmap_lock.count.counter;
	return *(volatile uint32_t *)&mm->mm_lock_seq << 1 |
	       (writers & RWSEM_WRITER_LOCKED);
}
#endif

/* Odd: a writer is at work. */
static __always_inline uint32_t mm_seq(uint64_t mm)
{
#ifdef SEAM_AT_ONCE
	if (!bpf_core_field_exists(struct mm_struct, mm_lock_seq.sequence))
		return mm_seq_older(mm);
#endif
	return *(volatile uint32_t *)&VIEW(struct mm_struct, mm)
			->mm_lock_seq.sequence;
}

/* Return: 0; -1 nothing is mapped at addr; -2 it changes as we look. */
static __always_inline int vma_view(uint64_t mm, uint64_t addr,
				    struct vma_view *ret)
{
	uint32_t seq = mm_seq(mm);
	struct vm_area_struct *vma;
	uint64_t found = seam_maple_find(
		ADDRESS(struct mm_struct, mm, mm_mt.ma_root), addr);

	if (!found)
		return seq & 1 || seq != mm_seq(mm) ? -2 : -1;
	vma = VIEW(struct vm_area_struct, found);
	ret->start = vma->vm_start;
	ret->end = vma->vm_end;
	ret->off = vma->vm_pgoff << PAGE_SHIFT;
	ret->flags = vma->vm_flags;
	ret->file = ADDRESS(struct vm_area_struct, found, vm_file);
	ret->inode = ret->own = 0;
	if (ret->file)
		ret->inode = ADDRESS(struct file, ret->file, f_inode);
	else
		ret->own =
			ADDRESS(struct vm_area_struct, found, vm_private_data);
	if (addr < ret->start || addr >= ret->end)
		return -2;
	if (!(seq & 1) && seq == mm_seq(mm))
		return 0;
	/* A writer is at work, perhaps elsewhere: believe what two walks say.
	 */
	if (seam_maple_find(ADDRESS(struct mm_struct, mm, mm_mt.ma_root),
			    addr) != found ||
	    ADDRESS(struct vm_area_struct, found, vm_mm) != mm ||
	    vma->vm_start != ret->start || vma->vm_end != ret->end ||
	    ADDRESS(struct vm_area_struct, found, vm_file) != ret->file)
		return -2;
	return 0;
}

#define VMA_TRIES 4

/* Return: as vma_view. Global, for the verifier. */
__noinline int seam_vma_find(uint64_t mm, uint64_t addr,
			     struct vma_view *ret ARG_NONNULL)
{
	int err = -2;
	uint32_t i;

	count(SEAM_COUNT_MAP_WALKS);
	for (i = 0; i < VMA_TRIES; i++) {
		err = vma_view(mm, addr, ret);
		if (err != -2)
			return err;
		count(SEAM_COUNT_MAP_RETRIES);
	}
	return err;
}

/* What kind of disk the file system lies on. */
static __always_inline enum seam_disk disk_of(uint64_t sb)
{
	uint64_t bdev = ADDRESS(struct super_block, sb, s_bdev);
	uint64_t disk;

	/* Of several, as with btrfs: who knows of which kind. */
	if (!bdev)
		return SEAM_DISK_BETWEEN;
	/* A partition's own name is another. */
	disk = ADDRESS(struct block_device, bdev, bd_disk);
	return seam_disk_kind(ADDRESS(struct gendisk, disk, disk_name));
}

static __always_inline void name_inode(uint64_t addr,
				       struct seam_wire_miss *ret)
{
	struct inode *inode = VIEW(struct inode, addr);
	struct seam_file_key *key = &ret->key;
	uint64_t sb = ADDRESS(struct inode, addr, i_sb);
	uint64_t type = ADDRESS(struct super_block, sb, s_type);

	key->ino = inode->i_ino;
	key->size = inode->i_size;
	key->ctime_sec = inode->i_ctime_sec;
	key->ctime_nsec = inode->i_ctime_nsec & ~I_CTIME_QUERIED;
	key->generation = inode->i_generation;
	key->dev = VIEW(struct super_block, sb)->s_dev;
	key->kind = SEAM_KEY_FILE;
	ret->mtime_ns = inode->i_mtime_sec * 1000000000 + inode->i_mtime_nsec;
	ret->fs_magic = VIEW(struct super_block, sb)->s_magic;
	ret->fs_flags = (uint32_t)VIEW(struct file_system_type, type)->fs_flags;
	/* Many a machine's files are all on what lies between. */
	if (disk_of(sb) == SEAM_DISK_SERVED)
		ret->fs_flags |= SEAM_FS_ON_A_FILE;
}

/* Names the mapped file, as a request for its table does. Return: false if
 * the mapping can have no table by its nature. */
static __always_inline bool name_file(uint64_t mm, const struct vma_view *vma,
				      struct seam_wire_miss *ret)
{
	__builtin_memset(&ret->key, 0, sizeof(ret->key));
	ret->mtime_ns = 0;
	ret->fs_magic = ret->fs_flags = 0;
	if (vma->inode) {
		name_inode(vma->inode, ret);
		return true;
	}
	ret->key.kind = SEAM_KEY_VDSO;
	return vma->start == ADDRESS(struct mm_struct, mm, context.vdso);
}

/* Whether it is the page that functions call which a probe was put in. A copy
 * of its name would be too much for the programs' stack. */
static __always_inline bool is_probe_page(const struct vma_view *vma)
{
	uint64_t name;

	if (vma->file || !vma->own || !(vma->flags & VM_EXEC))
		return false;
	name = ADDRESS(struct vm_special_mapping, vma->own, name);
	return WORD_AT(name) == SEAM_AMD64_PROBE_PAGE_WORD &&
	       WORD_AT(name + 7) == SEAM_AMD64_PROBE_PAGE_LAST;
}

#endif
