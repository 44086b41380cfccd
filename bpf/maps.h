/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Maps, configuration and counters of the BPF side. */
#ifndef SEAM_BPF_MAPS_H
#define SEAM_BPF_MAPS_H

#include "bpf/kernel.h"
#include "bpf/made-as.h" /* tools/made-as.sh */
#include "core/wire.h"

/* What step.h asks of its includer; defined in memory.h. */
struct seam_env;
static __always_inline bool seam_env_word(struct seam_env *env, uint64_t addr,
					  uint64_t *ret);
static __always_inline bool seam_env_reg(struct seam_env *env, uint32_t regnum,
					 uint64_t *ret);
static __always_inline bool seam_env_lose_fp(struct seam_env *env);

/* Arguments of global functions, as the verifier is to take them. */
#define ARG_NONNULL __attribute__((btf_decl_tag("arg:nonnull")))
#define ARG_TRUSTED __attribute__((btf_decl_tag("arg:trusted")))
#define SEAM_ENTRY_STEP __attribute__((noinline))
#define SEAM_ENTRY_ARG ARG_NONNULL

#include "core/entry-env.h"
#include "core/fallback.h"
#include "core/kernel-entry.h"
#include "core/last-stack.h"
#include "core/lookup.h"
#include "core/step.h"

#include <bpf/bpf_helpers.h>

#define SEAM_ARENA_TYPE 33 /* BPF_MAP_TYPE_ARENA; Debian 12 lacks the name */
#define SEAM_CACHED_MAPPINGS 8
#define SEAM_SCRATCHES 64
#define SEAM_FOLLOWED 8192 /* tasks that fork, exec or end at once */
#define SEAM_WINDOW 2048
#define SEAM_FAR_WINDOWS 4 /* a step reads three words; a power of two */

/* Whether stacks are taken at the event, and never deferred. */
#ifdef SEAM_AT_ONCE
#define IS_AT_ONCE true
#else
#define IS_AT_ONCE false
#endif

/* Everything global is in sections of its own, which become maps of those
 * names: another tool's object that has our functions linked in shares them
 * with a session's (seam-request.bpf.c). There they are static: neither the
 * tool's names nor its skeleton have to do with them. Each has its first value
 * written, or clang would order static ones otherwise. */
#ifdef SEAM_LENT
#define SEAM_GLOBAL static
#else
#define SEAM_GLOBAL
#endif
#define SEAM_CONST SEAM_GLOBAL const volatile SEC(".rodata.seam")
#define SEAM_SHARED SEAM_GLOBAL SEC(".data.seam")

/* First of its section. */
SEAM_CONST struct seam_made_as seam_made_as = {
	.build = SEAM_MADE_AS,
};

/* Set before loading. */
SEAM_CONST uint32_t seam_watch_mode = SEAM_WATCH_TGID;
/* Whether what watched tasks start is watched too. */
SEAM_CONST uint32_t seam_watch_follows = 1;
SEAM_CONST uint32_t seam_max_stack = 0; /* the deepest of the events' */
SEAM_CONST uint32_t seam_request_depth = 0; /* of stacks that tools ask for */
/* Whether each exec and exit has its stack taken, since events may come when
 * it cannot be had any more. */
SEAM_CONST uint32_t seam_take_tails = 1;
SEAM_CONST struct seam_event_ask seam_asks[SEAM_MAX_EVENTS] = {{0}};
SEAM_CONST uint32_t seam_stack_copy = 65536;
SEAM_CONST uint32_t seam_methods = SEAM_UNWIND_TABLES; /* _unwind_how */
/* Whether files' own sections may be read in targets' memory. */
SEAM_CONST uint32_t seam_reads_mapped = 0;
/* The high part of our events' BPF cookies; the low is the event's number. */
SEAM_CONST uint64_t seam_event_tag = SEAM_EVENT_TAG_MASK;
SEAM_CONST uint64_t seam_tracepoint_period[SEAM_MAX_EVENTS] = {0};
SEAM_CONST uint32_t seam_syscalls[SEAM_MAX_EVENTS] = {0}; /* number and one */
/* Enough unread data in a ring to wake the reader early; else it comes by
 * itself. */
SEAM_CONST uint64_t seam_ring_wake = 1 << 20;
/* The reader's process: what it does itself wakes it not, or small rings would
 * wake it for ever. */
SEAM_CONST uint32_t seam_reader = 0;
/* The event that is where tasks slept, if that is recorded. */
SEAM_CONST uint32_t seam_sleep_event = 0;
SEAM_CONST bool seam_take_sleeps = false;
/* Whether each program that follows tasks has a second (again.h). */
SEAM_CONST bool seam_follow_again = false;
/* From a CPU's timers to its pointer to the interrupted registers; 0: not
 * known. Both are per CPU, of which BPF gets addresses only where the kernel
 * lists its data in kallsyms. */
SEAM_CONST int64_t seam_irq_regs = 0;
/* From a CPU's queue of tasks to its count of what may not be preempted,
 * likewise. */
SEAM_CONST int64_t seam_preempt_count = 0;
SEAM_CONST uint32_t seam_in_hardirq = 0, seam_in_nmi = 0; /* bits of that */

/* Where stacks are taken at the event. */
SEAM_CONST struct seam_kernel_entry seam_kernel_entry = {0};

/* Which client we are, of those that share what is known of tasks. */
SEAM_CONST uint32_t seam_client = 0;
/* Names this client among all that ever had its number. */
SEAM_CONST uint64_t seam_client_life = 0;
#define OWN_CLIENT (1U << (seam_client & (SEAM_MAX_CLIENTS - 1)))

/* Is 0, which the verifier cannot know: a loop that counts from here is a
 * few states to it, and not one or more for each round. */
SEAM_SHARED uint32_t seam_zero = 0;

/* Watched from the end of its exec on: the command to record, whose
 * samples begin with the command and not with seam's own fork. */
SEAM_SHARED uint32_t seam_arm_tgid = 0;

/* A mapping, bound to the table of its file. */
struct mapping {
	uint64_t start, end;
	uint64_t delta; /* ip + delta: offset in the file */
	uint32_t table; /* id; 0: none (yet) */
	uint32_t state; /* enum seam_table_state, 0: not a file */
	uint32_t offset; /* of the table, in the arena */
	uint32_t flags; /* VM_, the low ones */
	union {
		struct seam_lookup lookup;
		struct seam_mapped mapped;
	};
	/* Of code that was made at run time; adds as its table was asked for,
	 * and when it was asked for again. is_own: SEAM_KEY_IS_OWN. */
	uint32_t is_made, is_own;
	uint64_t adds, asked_ns;
};

struct bpf_task_work {
	uint64_t __opaque;
} __attribute__((aligned(8)));

/* What the registers alone do not say. */
enum regs_flags {
	REGS_FLUX = 1, /* they were being replaced */
	REGS_CLONED = 2, /* of a new thread that has not run yet */
	REGS_SYSCALL = 4, /* the ip is behind the instruction that it is of */
	REGS_SIGRETURN = 8, /* of rt_sigreturn: sp goes back up */
	REGS_32BIT = 16, /* of 32-bit code */
	REGS_NO_CALL = 32, /* of an event in the kernel, and no call's number */
	REGS_TRACED = 64, /* of that, in a task with a tracer */
	REGS_MOVED = 128, /* they are not the task's any more */
	REGS_LACKED = 256, /* of the entry before: not saved at the event */
};

/* What tells, as far as anything does, whether a task has been in user space
 * since: a system call's ax is its result only when it is over. */
struct left {
	uint64_t ip, sp, ax, orig_ax;
};

/* The mapping that a stack was last read in. */
struct stack_map {
	uint64_t start, end; /* both 0: not known */
	uint64_t reading; /* enum reading, in memory.h */
};

#define TRIES_LOST 4 /* pages that cannot be had, and the stack ends; 2^n */
#define TRIES_VAIN 8 /* times that one page may have gone again */
#define TRIES_FRAMES (1U << 20) /* walked in all tries of one stack */

/*
 * What lacks a page that may be brought in is tried again from its start. So
 * nothing that unwinds sleeps, or holds what others wait for while a page
 * comes.
 */
struct tries {
	uint64_t missing; /* the page that the last one lacked; 0: none */
	uint64_t brought; /* that was brought in last */
	uint64_t began_ns; /* the first */
	uint32_t left; /* that may end so */
	uint32_t frames; /* walked in them */
	uint32_t failed; /* whether the missing page could not be brought in */
	uint32_t
		armable; /* whether it is to be without waiting for a handler */
	uint32_t nr_lost;
	uint32_t vain; /* times that it was brought in, and could not be read */
	uint64_t lost[TRIES_LOST]; /* pages that cannot be had */
};

/* The per-task state. Only the task itself writes it, in its own context,
 * interrupted at worst by an event on its own CPU. */
struct task_state {
	struct seam_entry entry;
	uint32_t regs_flags; /* enum regs_flags */
	uint32_t next_map;
	struct tries tries; /* of the stack that is being taken */
	uint64_t regs[SEAM_WIRE_REGS]; /* the user's, at the first request */
	uint64_t taken_ns; /* when a stack was last taken at once */
	/* An exec gives a task another address space, which may lie where one
	 * lay before and have had as many changes: so of which exec it is. */
	uint64_t mm, exec;
	uint64_t tables; /* that maps[] is bound to: their generation */
	uint64_t bound_by; /* whose tables of made code */
	uint32_t mm_seq;
	uint32_t unchecked; /* bits of maps[] that mm_seq does not vouch for */
	uint32_t epoch; /* the last one given out */
	uint32_t round; /* how often they began anew */
	/* Clients that ever asked, and how deep; told at exec and exit. */
	uint32_t asked, asked_depth;
	/* Clients whose own programs asked, so that they watch it. */
	uint32_t known;
	/* Not 0: others ask nothing of it. They set it to 0. */
	uint32_t no_outside;
	struct left left;
	/* Of what maps[i] says, so that what was derived from it is known to
	 * be of now; 0: maps[i] says nothing. */
	uint16_t epochs[SEAM_CACHED_MAPPINGS];
	struct mapping maps[SEAM_CACHED_MAPPINGS];
	struct stack_map stack; /* as of mm_seq */
};

/* Apart, since the verifier keeps functions away from the task work. */
struct seam_element {
	struct bpf_task_work work;
	struct task_state state;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 18);
	__type(key, uint64_t); /* its task_struct's address */
	__type(value, struct seam_element);
} elements SEC(".maps");

/* All zero: an element is too large for a program's own stack. */
struct no_element {
	uint8_t bytes[sizeof(struct seam_element)];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct no_element);
} fresh_elements SEC(".maps");

/* For tasks that are looked at from outside, one after the other. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct task_state);
} outside_state SEC(".maps");

/* Watched tasks: tgid or tid -> start_boottime, by seam_watch_mode. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 16);
	__type(key, uint32_t);
	__type(value, uint64_t);
} watched SEC(".maps");

/* Of files: all clients', loaded by the one that owns them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16);
	__type(key, struct seam_file_key);
	__type(value, struct seam_table_ref);
} tables SEC(".maps");

/* Of code that was made at run time: the client's own, since what programs say
 * of it is told to each client by its own programs. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 16);
	__type(key, struct seam_file_key);
	__type(value, struct seam_table_ref);
} made_tables SEC(".maps");

/* What clients share of the arena. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct seam_common);
} common SEC(".maps");

/* What a VMA says, copied out of it. */
struct vma_view {
	uint64_t start, end, off, flags;
	uint64_t file, inode;
	uint64_t own; /* where there is no file: what the kernel has for it */
};

#define SEAM_CODE_WINDOW 256 /* bytes; a power of two */

/* What an address that could not be read is of. */
enum fault_of { FAULT_STACK, FAULT_CODE, FAULT_SECTION };

#define SECTION_WINDOW 64 /* bytes; a line, mostly */

/* A section in the target's memory, as it is read. */
struct mapped_window {
	uint64_t at; /* where it lies */
	uint64_t end; /* bytes of it */
	uint64_t from, len; /* of it, in the window */
	uint64_t inode; /* whose it is to be */
	uint32_t left; /* windows that this stack may yet move */
	uint32_t lost; /* 1 + the frame that does without */
	uint32_t slot; /* of its mapping's code */
	uint32_t failed; /* something could not be read */
	uint32_t frames; /* found by it */
	uint32_t pad;
	uint8_t window[SECTION_WINDOW + 8];
};

/* Room to build one stack or copy in. Who uses it may be preempted, and the
 * iterator sleeps, so this is neither per CPU nor on the stack: it is taken,
 * and given back. */
struct scratch {
	/* Apart from what every frame uses, which is to share cache lines. */
	struct seam_way way; /* out of code that has no table */
	struct seam_x86_bytes code; /* of an instruction on it */
	struct seam_x86 insn;
	struct seam_cursor caller; /* that a step without a table led to */
	uint32_t by_fp_rule; /* which was by rbp */
	uint64_t word; /* of code */
	uint64_t code_start, code_end; /* the mapping whose code is read */
	uint64_t code_base; /* address of code_window[0] */
	uint8_t code_window[SEAM_CODE_WINDOW];
	uint64_t by_fp[SEAM_BY_FP_WORDS]; /* as on the wire, if fp_frames */
	struct vma_view vma;
	struct {
		uint64_t start, end, delta;
		uint32_t table;
	} was; /* a mapping that is read anew */
	struct seam_wire_miss miss;
	struct seam_table_ref ref;
	struct seam_cursor cursor;
	uint32_t nr; /* frames found */
	uint32_t clients; /* that it is sent to */
	uint32_t want; /* bytes of a copy */
	uint32_t asked; /* a table was missing that may come */
	uint32_t other; /* the task is not current: its memory is read by the
			 * sleepable caller only */
	uint64_t fault; /* the address whose read failed, */
	uint64_t fault_code; /* of enum fault_of */
	uint64_t faults; /* of the frame at hand */
	uint32_t lose_fp; /* its FP cannot be had: go on without */
	struct seam_last_walk last_walk;
	uint32_t last_hits, windows; /* to be counted at the end */
	uint32_t way_begun; /* for the frame at hand */
	uint32_t section_begun; /* for the stack at hand */
	uint32_t fp_frames; /* found by frame pointers */
	uint32_t fp_nr; /* the last of them, by rbp */
	uint64_t code_len; /* of code_window that was read */
	struct mapped_window own; /* section of the file at hand */
	struct seam_rule rule; /* one that does not fit into a word, or */
	uint32_t rule_err; /* why there is none */
	uint64_t last; /* struct seam_last_stack, in the arena; 0: none */
	uint64_t busy;
	uint64_t base; /* address of window[0] */
	uint64_t len; /* of it that was read */
	uint8_t window[SEAM_WINDOW];
	/* Of a task that is not current, what was read last. */
	struct far_window {
		uint64_t base, len;
		uint8_t bytes[SEAM_WINDOW];
	} far[SEAM_FAR_WINDOWS];
	uint32_t far_next;
	uint32_t lost; /* clients that it did not come to */
	struct seam_wire_kept kept;
	union {
		struct {
			struct seam_wire_stack stack;
			uint64_t ips[SEAM_FRAMES_ROOM + SEAM_BY_FP_WORDS +
				     SEAM_WIRE_REGS];
		};
		struct {
			struct seam_wire_copy copy;
			uint8_t bytes[SEAM_MAX_COPY];
		};
		struct {
			struct seam_wire_jit jit;
			uint8_t section[SEAM_MAX_TOLD];
		};
	};
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SEAM_SCRATCHES);
	__type(key, uint32_t);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct sample_buffer {
	/* The event's stack pointer, 0: it is of C code; and where its task's
	 * registers are, as a number: the verifier tracks pointers. */
	volatile uint64_t sp, regs;
	uint64_t sent; /* a sleep whose end was seen */
	struct seam_wire_sample sample;
	uint64_t ips[SEAM_MAX_KERNEL];
};

/* A clock may tick while a tracepoint's sample is built, or be blocked by
 * another event's. */
enum buffer_slot {
	BUFFER_EVENT,
	BUFFER_TRACEPOINT,
	BUFFER_TICK,
	BUFFER_SLEEP,
	BUFFER_SLEPT,
	BUFFER_SLOTS
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BUFFER_SLOTS);
	__type(key, uint32_t);
	__type(value, struct sample_buffer);
} sample_buffers SEC(".maps");

/* Samples of tasks that sleep, by task_struct, until they run again. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 18);
	__type(key, uint64_t);
	__type(value, struct sample_buffer);
} sleeps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct seam_cpu_state);
} cpu_states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} ring SEC(".maps");

/* Stack copies and table requests: a burst of them must not cost samples. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 32 << 20);
} copies SEC(".maps");

/* Counters of the cookies' high parts, of all clients. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint64_t);
} cookies SEC(".maps");

/* Tasks' last stacks, and tables. Pages come on touch. */
struct {
	__uint(type, SEAM_ARENA_TYPE);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SEAM_ARENA_PAGES);
} arena SEC(".maps");

static __always_inline struct seam_cpu_state *cpu_state(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&cpu_states, &zero);
}

static __always_inline struct seam_common *common_state(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&common, &zero);
}

static __always_inline uint64_t tables_generation(void)
{
	const struct seam_common *all = common_state();

	return all ? *(const volatile uint64_t *)&all->generation : 0;
}

/* Called from so many places that to look the counts up in each, which the
 * kernel writes out there, was a tenth of what a start takes to verify. */
__noinline int seam_count_add(uint32_t which, uint64_t n)
{
	struct seam_cpu_state *cpu = cpu_state();

	if (cpu && which < SEAM_COUNT_MAX)
		__sync_fetch_and_add(&cpu->counts[which], n);
	return 0;
}

static __always_inline void count_add(enum seam_count which, uint64_t n)
{
	seam_count_add(which, n);
}

static __always_inline void count(enum seam_count which)
{
	count_add(which, 1);
}

static __always_inline void head_fill(struct seam_wire *head, uint32_t type,
				      struct task_struct *task, uint64_t cookie)
{
	head->type = type;
	head->pid = task->tgid;
	head->tid = task->pid;
	head->cpu = bpf_get_smp_processor_id();
	head->time_ns = bpf_ktime_get_ns();
	head->cookie = cookie;
}

#endif
