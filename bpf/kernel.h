/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The few kernel structures that seam reads, with only the members it
 * reads: libbpf relocates every access to the running kernel (CO-RE).
 * Types that UAPI headers have come from there.
 */
#ifndef SEAM_BPF_KERNEL_H
#define SEAM_BPF_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang attribute push(__attribute__((preserve_access_index)),           \
			     apply_to = record)

struct file_system_type {
	int fs_flags;
};

struct gendisk {
	char disk_name[32];
};

struct block_device {
	struct gendisk *bd_disk;
};

struct super_block {
	uint32_t s_dev;
	struct block_device *s_bdev;
	unsigned long s_magic;
	struct file_system_type *s_type;
};

struct inode {
	struct super_block *i_sb;
	uint16_t i_mode;
	unsigned long i_ino;
	long long i_size;
	long long i_ctime_sec;
	long long i_mtime_sec;
	uint32_t i_ctime_nsec;
	uint32_t i_mtime_nsec;
	uint32_t i_generation;
};

struct file {
	struct inode *f_inode;
};

struct mm_struct;

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
	void *vm_private_data; /* struct vm_special_mapping, of the kernel's own
				*/
};

struct vm_special_mapping {
	const char *name;
};

struct maple_tree {
	void *ma_root;
};

struct seqcount {
	unsigned int sequence;
};
typedef struct seqcount seqcount_t;

struct mm_context {
	void *vdso;
};
typedef struct mm_context mm_context_t;

struct xol_area {
	unsigned long vaddr;
};

struct hlist_head {
	void *first;
};

struct uprobe_syscall_args {
	unsigned long retaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
	struct hlist_head head_tramps;
};

struct mm_struct {
	struct maple_tree mm_mt;
	seqcount_t mm_lock_seq;
	mm_context_t context;
	struct uprobes_state uprobes_state;
};

struct atomic_long___older {
	int64_t counter;
};

struct rw_semaphore___older {
	struct atomic_long___older count;
};

struct mm_struct___older {
	int mm_lock_seq;
	struct rw_semaphore___older mmap_lock;
};

struct maple_metadata {
	unsigned char end;
};

struct maple_pnode;

struct maple_range_64 {
	struct maple_pnode *parent;
	unsigned long pivot[15];
	union {
		void *slot[16];
		struct {
			void *pad[15];
			struct maple_metadata meta;
		};
	};
};

struct maple_arange_64 {
	struct maple_pnode *parent;
	unsigned long pivot[9];
	void *slot[10];
	struct maple_metadata meta;
};

struct pt_regs___kernel {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

struct uprobe;

/* A return that a probe waits for: its address's place, and the true one. */
struct return_instance {
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
	unsigned long vaddr; /* of the probed instruction */
	struct uprobe *active_uprobe;
	unsigned long xol_vaddr; /* of its copy, which runs */
};

struct task_struct;

struct rq {
	struct task_struct *curr;
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
	unsigned char sched_delayed; /* asleep, and on its queue still */
};

struct thread_info {
	uint32_t status; /* TS_ */
};

struct thread_struct {
	unsigned long trap_nr; /* of the last trap */
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	/* 4 bytes, and 1 since Linux 7.3: of what has no sign libbpf fits how
	 * many are read. */
	unsigned int on_cpu;
	struct sched_entity se;
	unsigned int on_rq; /* likewise: 4 bytes, or 1 */
	unsigned long nvcsw, nivcsw; /* times that it left a CPU */
	unsigned int flags;
	unsigned int ptrace;
	int exit_state;
	int pid, tgid;
	uint64_t start_boottime;
	uint32_t self_exec_id;
	struct task_struct *group_leader;
	struct mm_struct *mm;
	struct uprobe_task *utask;
	int softirq_disable_cnt; /* with PREEMPT_RT */
	struct thread_struct thread;
};

/* Defined, not declared: libbpf compares prototypes by kind of type. */
struct bpf_map {
	uint32_t id;
};

struct linux_binprm;

struct hrtimer_cpu_base;

struct hrtimer_clock_base {
	struct hrtimer_cpu_base *cpu_base;
};

struct hrtimer {
	struct hrtimer_clock_base *base;
};

struct hw_perf_event {
	struct hrtimer hrtimer;
	int state;
	uint64_t last_period;
	uint64_t interrupts_seq, interrupts;
};

enum perf_event_state { PERF_EVENT_STATE_ACTIVE = 1 };

struct perf_event {
	enum perf_event_state state;
	struct hw_perf_event hw;
	uint64_t bpf_cookie;
};

#pragma clang attribute pop

#define PERF_HES_STOPPED 1

#define USER32_CS 0x23

#define PF_EXITING 0x00000004
#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000
#define PF_KTHREAD 0x00200000

/* Set in i_ctime_nsec from 6.13 on once somebody has asked for the time, so
 * that the next change gets a finer one: of the same file. */
#define I_CTIME_QUERIED (1U << 31)

#define VM_WRITE 0x00000002UL
#define VM_EXEC 0x00000004UL
#define VM_IO 0x00004000UL
#define VM_PFNMAP 0x00000400UL
#define VM_UFFD_MISSING 0x00000200UL
#define VM_UFFD_WP 0x00001000UL
#define VM_UFFD_MINOR (1UL << 38)

#define FS_REQUIRES_DEV 1
#define S_IFMT 0170000
#define S_IFREG 0100000

/* <linux/magic.h>, and FUSE's own. */
#define FUSE_MAGIC 0x65735546
#define TMPFS_MAGIC 0x01021994
#define RAMFS_MAGIC 0x858458f6
#define HUGETLBFS_MAGIC 0x958458f6

#endif
