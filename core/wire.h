/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What the BPF side and user space exchange: ring records, map keys and
 * values, counters. Native byte order, all fields naturally aligned.
 */
#ifndef SEAM_CORE_WIRE_H
#define SEAM_CORE_WIRE_H

#include <stdint.h>

#include "core/err.h"
#include "core/lookup.h"

/* Of a user stack: as many as a record of perf's has room for, which is 65,528
 * bytes and has 7 words beside them. */
#define SEAM_MAX_FRAMES 8184
#define SEAM_FRAMES_ROOM 8192 /* a power of two */
#define SEAM_BY_FP_WORDS (SEAM_FRAMES_ROOM / 64)
#define SEAM_MAX_KERNEL 127 /* frames of a kernel stack */
#define SEAM_MAX_COPY 65536 /* bytes of a stack copy */
#define SEAM_WIRE_REGS 17 /* by DWARF number; [16] is the ip */
#define SEAM_MAX_CLIENTS 16 /* that share what is known of tasks */
/* Its rings are so far apart: of stacks; of copies and what else is for the
 * worker; of what was lost on the way to these, if it wants to know; and of
 * requests for tables that it loads, which are read whether or not it reads. */
#define SEAM_RING_STACKS 0
#define SEAM_RING_COPIES SEAM_MAX_CLIENTS
#define SEAM_RING_LOSSES (2 * SEAM_MAX_CLIENTS)
#define SEAM_RING_REQUESTS (3 * SEAM_MAX_CLIENTS)
#define SEAM_CLIENT_RINGS (4 * SEAM_MAX_CLIENTS)
#define SEAM_CLIENT_NAME 32 /* bytes of a client's name, the last is 0 */

enum seam_wire_type {
	SEAM_WIRE_SAMPLE = 1,
	SEAM_WIRE_STACK = 2,
	SEAM_WIRE_COPY = 3,
	SEAM_WIRE_MISS = 4,
	SEAM_WIRE_JIT = 5,
};

/* Every record begins so. */
struct seam_wire {
	uint32_t type; /* enum seam_wire_type */
	uint32_t pid, tid, cpu;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t cookie;
};

enum seam_sample_flags {
	SEAM_SAMPLE_USER = 1, /* taken in user mode: .ip is the user's */
	SEAM_SAMPLE_OWN = 2, /* taken inside seam's own unwind */
	SEAM_SAMPLE_TAIL = 4, /* in an exec or exit, its stack taken before */
	SEAM_SAMPLE_BLOCKED = 8, /* of a blocked tick: what comes before .ip in
				  * the kernel's frames is the way to us */
	/* Of a tracepoint: the interrupts that it came in, where KNOWN. */
	SEAM_SAMPLE_SOFTIRQ = 16,
	SEAM_SAMPLE_HARDIRQ = 32,
	SEAM_SAMPLE_NMI = 64,
	SEAM_SAMPLE_KNOWN = 128,
};
#define SEAM_SAMPLE_CONTEXT                                                    \
	(SEAM_SAMPLE_SOFTIRQ | SEAM_SAMPLE_HARDIRQ | SEAM_SAMPLE_NMI |         \
	 SEAM_SAMPLE_KNOWN)

struct seam_wire_sample {
	struct seam_wire head; /* cookie 0: no user half, .end says why */
	uint64_t ip, period;
	uint64_t taken_ns; /* SEAM_SAMPLE_TAIL: when its stack was taken */
	uint64_t user_ip; /* where the kernel was entered, if a user stack is
			   * wanted and that is known; else 0 */
	uint16_t event;
	uint16_t flags; /* enum seam_sample_flags */
	uint32_t stack_tid; /* that the cookie's stack comes under */
	uint32_t end; /* 0, or the end code of a stack that never comes */
	uint32_t nr; /* kernel frames that follow, leaf first */
	uint64_t ips[];
};

enum seam_stack_flags {
	SEAM_STACK_MOVED = 2, /* registers changed between event and unwind */
	SEAM_STACK_EXEC = 16, /* of the program that an exec replaces */
	SEAM_STACK_SYSCALL = 64, /* the ip is behind a system call */
	SEAM_STACK_EXIT = 32, /* the task's last */
	SEAM_STACK_32BIT = 128, /* of 32-bit code */
	/* Not of BPF's: the ip is a precise event's, and the rest is of behind
	 * its instruction. */
	SEAM_STACK_PRECISE = 256,
	SEAM_STACK_REGS = 512, /* the registers are behind it all */
	SEAM_STACK_ASLEEP = 1024, /* its sample comes when the task runs */
	SEAM_STACK_UNSURE =
		2048, /* not of BPF's: the registers may be others */
};

/* How frames are found, beside by tables; what a client chose. */
enum seam_unwind_how {
	SEAM_UNWIND_TABLES = 1,
	SEAM_UNWIND_FP = 2,
	SEAM_UNWIND_FP_FIRST = 4, /* before the tables */
	SEAM_UNWIND_GUESS = 8, /* the library scans a copy of the stack */
	SEAM_UNWIND_GUESS_ALL = 16, /* and believes all that it finds */
};

struct seam_wire_stack {
	struct seam_wire head;
	uint64_t took_ns;
	uint32_t flags; /* enum seam_stack_flags */
	uint32_t end; /* enum seam_err */
	uint32_t nr;
	/* Words behind the ips, 0 or enough for a bit a frame: bit i is set if
	 * frame i was found without a table, by its frame pointer. */
	uint32_t by_fp;
	/* Leaf first; behind all that, with SEAM_STACK_REGS, SEAM_WIRE_REGS. */
	uint64_t ips[];
};

/* A stack as a tool's own BPF programs find it, in a map by its cookie: struct
 * seam_bpf_stack of <seam/seam.bpf.h>. */
#define SEAM_KEPT_FRAMES 127
struct seam_wire_kept {
	uint64_t cookie, time_ns;
	uint32_t end; /* enum seam_err; of a copy, why it is none of BPF's */
	uint32_t nr;
	uint64_t ips[SEAM_KEPT_FRAMES]; /* leaf first */
};

/* A stack that the kernel side could not unwind, for the library. */
struct seam_wire_copy {
	struct seam_wire head;
	uint64_t took_ns;
	uint32_t flags;
	uint32_t why; /* end code of the attempt: SEAM_NO_TABLE ... */
	uint64_t regs[SEAM_WIRE_REGS];
	uint64_t stack; /* address of bytes[0] */
	uint32_t size;
	uint32_t cut; /* the stack goes on behind the copy */
	uint8_t bytes[];
};

/* A file as BPF sees it. User space never computes one. */
struct seam_file_key {
	uint64_t ino;
	uint64_t size;
	uint64_t ctime_sec;
	uint32_t ctime_nsec;
	uint32_t generation;
	uint32_t dev;
	uint32_t kind; /* 0 file; enum seam_key_kind */
};

enum seam_key_kind {
	SEAM_KEY_FILE = 0,
	SEAM_KEY_VDSO = 1, /* all else 0 */
	/* A mapping's addresses in one program of one process: ino and size are
	 * the mapping's, the rest says which program, and moves on when code
	 * that was made at run time is no more. */
	SEAM_KEY_MEMORY = 2,
	/* With one of the first two: the same file, by a client's own table,
	 * while who owns the tables of files does not answer. */
	SEAM_KEY_OWN = 4,
};
/* Each client has the tables of these kinds for itself. */
#define SEAM_KEY_IS_OWN(kind) ((kind) >= SEAM_KEY_MEMORY)

/* The device below it is a file elsewhere: a loop device, or nbd. */
#define SEAM_FS_ON_A_FILE (1ULL << 32)

/* Code without a table was met: load one, under this key. */
struct seam_wire_miss {
	struct seam_wire head; /* cookie 0 */
	struct seam_file_key key;
	uint64_t mtime_ns; /* of the file; no part of the key: can be set */
	uint64_t start, end, off; /* the mapping; off in bytes */
	uint64_t adds; /* how often code had been added; MEMORY alone */
	/* Of the file's file system; FILE alone. The flags are the kernel's,
	 * and ours in the upper half. */
	uint64_t fs_magic, fs_flags;
	uint32_t client, pad; /* whose program asks */
};

enum seam_wire_jit_what {
	SEAM_WIRE_JIT_LISTED = 1, /* its list of sections has changed */
	SEAM_WIRE_JIT_ADD = 2, /* a section, its size, the code and its size */
	SEAM_WIRE_JIT_REMOVE = 3, /* a section */
	SEAM_WIRE_JIT_UNMAPPED = 4, /* what lay there, and its size: any code */
	/* Likewise: what went there, or before the time behind it, could not be
	 * told. */
	SEAM_WIRE_JIT_UNTOLD = 5,
};

/* A program that makes code at run time says so. */
struct seam_wire_jit {
	struct seam_wire head; /* cookie 0 */
	uint32_t what; /* enum seam_wire_jit_what */
	uint32_t size; /* of the section, or 0: it was not read */
	uint64_t args[4];
	uint8_t bytes[];
};

/* Sections up to this size are read where they are told of. */
#define SEAM_MAX_TOLD 32768

enum seam_table_state {
	SEAM_TABLE_ASKED = 1, /* a miss was sent, no answer yet */
	SEAM_TABLE_LOADED = 2,
	SEAM_TABLE_NONE = 3, /* the file has no CFI, or cannot be had */
	SEAM_TABLE_MAPPED = 4, /* its own .sframe, where the target has it */
	/* Of a mapping alone, of no file: seam_amd64_probe_page_ra. */
	SEAM_TABLE_PROBE_PAGE = 5,
};

/*
 * The .sframe of a file, V3, sorted, of amd64 and in its byte order, functions'
 * places relative to themselves: what its
 * header said when user space checked it. Offsets are from the section's first
 * byte. What lies there in a target's memory may be anything else by then.
 */
struct seam_mapped {
	/* In the ref: its svma less that of offset 0 of the file, as the code
	 * is mapped. In a binding: where it lies. */
	uint64_t at;
	uint64_t inode; /* of a binding, as a number */
	uint32_t fdes, num_fdes, fres;
	uint32_t end; /* of what may be read */
	uint32_t page; /* of the file, that its first byte is in */
	uint32_t reading; /* of a binding; 0: not looked at yet */
};

/* Value of the tables map. */
struct seam_table_ref {
	uint32_t state; /* enum seam_table_state */
	uint32_t id; /* never reused: names the content */
	uint32_t offset; /* in the arena */
	uint32_t pad;
	union {
		struct seam_lookup lookup;
		struct seam_mapped mapped;
	};
	uint64_t used_ns; /* last time a mapping was bound to it */
	uint64_t adds; /* of the request that it answers; MEMORY alone */
};

/* Where something can be lost, or is worth counting, on the kernel side. */
enum seam_count {
	SEAM_COUNT_EVENTS, /* every run of an event program */
	SEAM_COUNT_EXPIRIES, /* of our clocks' timers */
	SEAM_COUNT_WATCHED, /* runs in watched tasks */
	SEAM_COUNT_WATCHED_EXPIRIES, /* likewise */
	SEAM_COUNT_WITHHELD, /* expiries the kernel made no event of */
	SEAM_COUNT_WATCHED_WITHHELD, /* likewise */
	SEAM_COUNT_BLOCKED, /* events whose program was kept from running */
	SEAM_COUNT_FILTERED, /* not a watched task */
	SEAM_COUNT_EXCLUDED, /* of watched ones, what :u and :k leave out */
	SEAM_COUNT_SAMPLES, /* of watched tasks */
	SEAM_COUNT_WANTED, /* of those, that want a user half */
	SEAM_COUNT_OWN, /* inside seam's own unwind */
	SEAM_COUNT_LOST_SLEEP, /* no memory to keep one, or its end unseen */
	SEAM_COUNT_LOST_SAMPLE, /* ring full: sample */
	SEAM_COUNT_LOST_STACK, /* ring full: user stack */
	SEAM_COUNT_LOST_COPY, /* ring full but for requests: stack copy */
	SEAM_COUNT_LOST_MISS, /* ring full: table request */
	SEAM_COUNT_LOST_MADE, /* likewise: what a program says of its code */
	SEAM_COUNT_LOST_UNTOLD, /* of lost stacks and copies, no room to tell */
	SEAM_COUNT_NO_ELEMENT, /* no task element to be had */
	SEAM_COUNT_NO_SCRATCH, /* every scratch buffer in use */
	SEAM_COUNT_REFUSED, /* the kernel refused the task work */
	SEAM_COUNT_CLOSED, /* joined a stack that was just written */
	SEAM_COUNT_STALE, /* element of a dead task met in another's place */
	SEAM_COUNT_AGAIN, /* a second unwind before user space was reached */
	SEAM_COUNT_SKIPPED, /* callback found its stack taken eagerly */
	SEAM_COUNT_MOVED, /* registers changed before the unwind */
	SEAM_COUNT_WATCH_FULL, /* a child could not be watched */
	SEAM_COUNT_SEEN_AGAIN, /* of tasks' ways, what a second program saw */
	SEAM_COUNT_UNWINDS,
	SEAM_COUNT_BY_OTHERS, /* stacks and copies that another client took */
	SEAM_COUNT_FRAMES,
	SEAM_COUNT_UNWIND_NS,
	SEAM_COUNT_COPIES,
	SEAM_COUNT_COPY_BYTES,
	SEAM_COUNT_WINDOWS, /* reads of stack memory */
	SEAM_COUNT_FAULTED, /* pages that were brought in for a stack */
	SEAM_COUNT_LAST_HITS, /* rules found in the task's last stack */
	SEAM_COUNT_MAP_WALKS, /* mappings looked up in the mm */
	SEAM_COUNT_MAP_RETRIES, /* look-ups repeated since the mm changed */
	SEAM_COUNT_FP_FRAMES, /* found by frame pointers */
	SEAM_COUNT_MAPPED_FRAMES, /* by a file's own section, in its memory */
	SEAM_COUNT_REDO, /* unwinds repeated since a table went */
	SEAM_COUNT_REQUESTS, /* by other tools' programs */
	SEAM_COUNT_REQUESTS_FILTERED, /* in tasks that are not watched */
	SEAM_COUNT_REQUESTS_NONE, /* for which no stack will come */
	SEAM_COUNT_NOT_KEPT, /* no room in the map of a tool's programs */
	SEAM_COUNT_MAX
};

#define SEAM_MAX_EVENTS 16

/* What an event asks for, beside the depth of its user stacks. */
enum seam_ask {
	SEAM_ASK_NO_KERNEL = 1, /* :u: no address of the kernel; what happens
				 * there is the user's at the ip of entry */
	SEAM_ASK_KERNEL_MODE = 2, /* :k: only what happens in the kernel */
	SEAM_ASK_NO_KERNEL_STACK = 4, /* of the kernel the ip at most */
	SEAM_ASK_IN_NMI = 8, /* where registers may not be saved yet */
};

struct seam_event_ask {
	uint32_t depth; /* frames of a user stack; 0: none is wanted */
	uint32_t flags; /* of enum seam_ask */
};
/* What a BPF object says of itself: only what was made of the same sources can
 * be at work together. */
struct seam_made_as {
	char build[48]; /* the version, and a hash of these */
};

#define SEAM_EVENT_TAG_MASK (~(uint64_t)(SEAM_MAX_EVENTS - 1))
#define SEAM_EVENT_TAG_SET (1ULL << 63) /* in each tag */

/* What a raw tracepoint's program is at, if at no event: its BPF cookie. */
enum seam_raw_what {
	SEAM_RAW_EXEC = 1,
	SEAM_RAW_EXIT,
	SEAM_RAW_TICK,
	SEAM_RAW_SLEEP,
};

/* The program that they go on in, and where there is none. */
enum seam_raw_slot { SEAM_RAW_SHARED, SEAM_RAW_NOBODY, SEAM_RAW_SLOTS };

/* A clock's timer at work. */
struct seam_tick {
	uint64_t timer; /* 0: none */
	uint64_t runs; /* of its event's program, before */
	uint64_t seq, interrupts; /* what the event says of itself, before */
	uint64_t live; /* the event was not stopped */
};

/* One for each CPU, only it writes. */
struct seam_cpu_state {
	struct seam_tick tick;
	uint64_t counts[SEAM_COUNT_MAX];
	uint64_t ends[SEAM_END_MAX]; /* user stacks written, by end code */
	uint64_t event_runs[SEAM_MAX_EVENTS];
	uint64_t since_sample[SEAM_MAX_EVENTS]; /* of tracepoints */
};

/* Which tasks are sampled: the watched map holds tgids or tids. */
enum seam_watch { SEAM_WATCH_ALL, SEAM_WATCH_TGID, SEAM_WATCH_TID };

/* The arena: an empty page, tasks' last stacks, tables of files, and for each
 * client those of made code. */
#define SEAM_ARENA_PAGES (1 << 19) /* 2 GiB of addresses */
#define SEAM_LAST_SLOTS 256
#define SEAM_LAST_SIZE 4096
#define SEAM_LASTS_OFFSET 4096
#define SEAM_TABLES_OFFSET                                                     \
	(SEAM_LASTS_OFFSET + SEAM_LAST_SLOTS * SEAM_LAST_SIZE)
#define SEAM_MADE_OFFSET (1ULL << 30)
#define SEAM_MADE_SIZE (SEAM_MADE_OFFSET / SEAM_MAX_CLIENTS)

/* What clients share of the arena beside what lies in it. */
struct seam_common {
	/* Moves when a table is added or taken away: cached mappings are
	 * stale. */
	uint64_t generation;
	uint32_t owner; /* number + 1 of who loads tables of files; 0: nobody */
	uint32_t next_id; /* of a table */
	uint64_t lives[SEAM_MAX_CLIENTS]; /* who has the number now */
	uint32_t last_busy[SEAM_LAST_SLOTS]; /* last stacks in use */
	uint32_t serving; /* bits of clients that record nothing */
	uint64_t far; /* requests refused: see process/far.h */
	/* How far the arena was ever written: of files' tables, whose memory
	 * stays, and each client of its made code's, which goes with it. */
	uint64_t used_files, used_made[SEAM_MAX_CLIENTS];
	uint32_t want_regs; /* bits of clients that have stacks' registers */
	uint32_t want_all; /* that have every stack which any asked for */
	char names[SEAM_MAX_CLIENTS][SEAM_CLIENT_NAME]; /* their own choice */
	uint32_t there; /* that have come, and whose end nobody has noticed */
	uint32_t load_own; /* bits of clients with tables of SEAM_KEY_OWN */
	uint64_t served_ns; /* when the owner was last seen to answer */
};

/* Argument of the program that sweeps bits of clients from all elements. */
struct seam_sweep_args {
	uint32_t clients, pad;
};

/* Argument of the program that gives pages of the arena back. */
struct seam_arena_drop_args {
	uint64_t at; /* offset */
	uint32_t pages, pad;
};

/* Argument and answer of the program that watches a task. */
struct seam_watch_args {
	uint32_t id; /* tgid or tid, by seam_watch_mode */
	int32_t err;
};

/* Answer of the program that looks for tasks which sleep in an entry. */
struct seam_asleep_args {
	uint32_t found;
};

/* Answer of the program that says where the kernel's code is; 0: hidden. */
struct seam_text_args {
	uint64_t start, end;
};

/* Argument and answer of the program that is told of code that was there
 * already, in the process that has this number now. */
struct seam_span_args {
	uint64_t start, size;
	uint32_t tgid;
	int32_t err;
};

/* Argument and answer of the program that tells a mapping's file key. */
struct seam_key_args {
	uint64_t addr;
	struct seam_file_key key;
	uint64_t mtime_ns;
	uint64_t is_near; /* no daemon or server brings its pages */
	int64_t err;
};

#endif
