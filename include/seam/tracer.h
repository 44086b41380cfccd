/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * seam/tracer.h: user stacks for tracers.
 *
 * A session holds what all share: the programs in the kernel, the tables,
 * the cookies. A client is a tracer in it: it names events and tasks, and
 * gets for each event a sample with the kernel's half of the stack and a
 * cookie, and later, once for each entry into the kernel, the user's half
 * with that cookie. `seam record` is a client like any other. A
 * session has one client; a process may have several sessions.
 *
 *	seam_session_open(&session_opts, &session, &err);
 *	seam_client_add(session, &client_opts, &err);
 *	seam_session_start(session, &err);
 *	seam_session_run(session, 10000 ms);
 *	seam_client_remove(session);
 *	seam_session_close(session);
 *
 * Callbacks come from seam_session_start, _read, _run, _stop and _close and
 * seam_client_remove, in the calling thread; what they are given is valid until
 * they return. A session is used by one thread at a time. libbpf's messages are
 * off in the process from seam_client_add on: who wants those of his own
 * programs calls libbpf_set_print after that.
 *
 * A structure that begins with sz may grow, at its end. What a caller gives has
 * sz set to sizeof: what an older caller's lacks is as 0, and what a later
 * one's has beyond ours must be 0, or the call says -E2BIG. What callbacks are
 * given says in sz how much of it is there. Others stay as they are.
 */
#ifndef SEAM_TRACER_H
#define SEAM_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "seam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SEAM_CLIENT_MAX_FRAMES 8184 /* of a user stack */
#define SEAM_CLIENT_MAX_EVENTS 16
#define SEAM_CLIENT_REGS                                                       \
	17 /* rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8-r15, rip */

struct seam_session;
struct perf_event_attr;
struct perf_event_header;

enum seam_tasks {
	SEAM_TASKS_ALL,
	SEAM_TASKS_PROCESSES, /* ids are pids; children are followed */
	SEAM_TASKS_THREADS, /* ids are tids; what they start is followed */
};

/* How user stacks are got; see seam-doctor(1). */
enum seam_engine {
	SEAM_ENGINE_AUTO, /* the best that works */
	SEAM_ENGINE_DEFERRED, /* at the return to user space, by BPF */
	SEAM_ENGINE_IMMEDIATE = 2, /* at the event, by BPF, what is resident */
	SEAM_ENGINE_NATIVE = 3, /* the same by the kernel: frame pointers */
	SEAM_ENGINE_DUMP = 4, /* from a copy of each sample's stack */
};

/* Where tables are, that stacks are unwound by in the kernel. */
enum seam_tables_from {
	/* In the kernel; where table_memory is spent, a file's own .sframe is
	 * read where its process has it mapped. */
	SEAM_TABLES_AUTO,
	SEAM_TABLES_KERNEL, /* there alone */
	SEAM_TABLES_MAPPED, /* in the process, of each file that has one */
};

#define SEAM_SESSION_MAX_PAGES (1U << 16)

struct seam_session_opts {
	size_t sz; /* sizeof(struct seam_session_opts) */
	uint64_t table_memory; /* bytes for tables in the kernel; 0: 512 MiB */
	/* Bytes, at most 65536 (dump: 65528 by the kernel); 0: the engine's
	 * usual. */
	uint32_t stack_copy;
	/* Of each buffer that the kernel fills, and the session empties: a
	 * power of two, at most SEAM_SESSION_MAX_PAGES; 0: seam's choice. */
	uint32_t buffer_pages;
	const char *cache_dir; /* NULL: the user's; see seam-record(1) */
	enum seam_engine engine;
	enum seam_tables_from tables_from;
};

/* Stays as it is: what is new goes into names. */
struct seam_client_event {
	/* As perf's -e has it, with modifiers and terms (see seam-record(1)),
	 * which go before what is said here; NULL: cycles or cpu-clock. */
	const char *name;
	uint64_t freq; /* samples a second; or, if 0: */
	uint64_t period; /* events a sample */
};

struct seam_sample {
	size_t sz; /* of what is there */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t cookie; /* 0: no user half will come, .end says why */
	/* Of offcpu-time the period is the ns slept, and the time when the
	 * task ran again. */
	uint64_t ip, period;
	uint32_t pid, tid, cpu;
	/* That the cookie's stack has. An exec by a thread that is not its
	 * process's first makes these two swap tids. */
	uint32_t stack_tid;
	uint32_t event; /* its place in the client's events */
	uint32_t max_frames; /* that its event wants of the user stack */
	uint64_t tail_ns; /* in an exec or exit whose stack was taken before:
			   * when; else 0 */
	bool user; /* taken in user mode: ip is the user's, or 0: not sure */
	uint64_t user_ip; /* else where the kernel was entered: there, whatever
			   * becomes of the stack; 0: no user half is wanted,
			   * or it is not sure */
	int end; /* with cookie 0: an end code */
	const uint64_t *kernel_ips; /* leaf first; NULL if n_kernel is 0 */
	size_t n_kernel;
	/* Of a tracepoint: what it tells, laid out as its format file in
	 * tracefs says. NULL: lost, or nobody could have it. */
	const void *payload;
	size_t payload_size;
	uint64_t id; /* perf's, of its event on its CPU */
};

/* How a frame was found from the one below it. */
enum seam_method {
	SEAM_METHOD_NONE = 0, /* the first: from registers; or not said */
	SEAM_METHOD_SFRAME = 1, /* by a table's rule */
	SEAM_METHOD_CFI = 2, /* by its file's CFI */
	SEAM_METHOD_FP = 3, /* by frame pointer, or code read to its return */
	SEAM_METHOD_GUESS = 4, /* by scanning the stack: not sure */
};

struct seam_user_stack {
	size_t sz; /* of what is there */
	uint64_t time_ns, cookie;
	uint64_t took_ns; /* in the kernel */
	uint32_t pid, tid, cpu;
	int end; /* end code; SEAM_END_OUTERMOST: whole */
	bool before_exec; /* of the program that an exec replaced */
	bool by_library; /* unwound from a copy: may come late, after stacks
			  * of later entries; before its samples only if
			  * asleep, before_exec or at_exit */
	bool at_exit; /* the task's last */
	bool asleep; /* taken as the task went to sleep, or while it slept: its
		      * sample comes later, when the task runs again */
	const uint64_t *ips; /* leaf first, return addresses as they are */
	/* 0 with SEAM_END_LOST, if nothing told the leaf, and with
	 * SEAM_END_UNSURE. */
	size_t n_ips;
	/* n_ips of enum seam_method; NULL: all but the first by tables. */
	const uint8_t *methods;
	/* What it was unwound from: SEAM_CLIENT_REGS of them, in the order
	 * of DWARF's numbers; NULL: the client did not ask, or nobody knows, as
	 * of a sample's stack that was given up. */
	const uint64_t *regs;
};

struct seam_client_opts {
	size_t sz; /* sizeof(struct seam_client_opts) */
	/* What seam-doctor(1) and other sessions call it; NULL: nothing. */
	const char *name;
	const struct seam_client_event *events;
	/* At most SEAM_CLIENT_MAX_EVENTS; 0: its stacks are those that its own
	 * BPF programs ask for (<seam/lend.h>), and on_sample may be NULL. */
	size_t n_events;
	enum seam_tasks tasks;
	const uint32_t *ids;
	size_t n_ids;
	/* A child of the caller that is about to exec, 0: none. It is
	 * followed from the end of that exec on. path: what it will run, to
	 * have its tables ready; may be NULL. */
	uint32_t child;
	const char *path;
	/* At most SEAM_CLIENT_MAX_FRAMES; of an event whose name says nothing
	 * else. A stack comes as deep as one of its events wants it. 0: none,
	 * samples have the kernel's half alone. */
	uint32_t max_frames;
	/* How frames are found, as --unwind of seam-record(1) has it; NULL:
	 * its default. */
	const char *unwind;
	/* Samples are for the sake of their user stacks: without frames of the
	 * kernel and payloads, whatever the events' names say. */
	bool stacks_only;
	/* NULL only if no event makes one. */
	void (*on_sample)(void *ctx, const struct seam_sample *sample);
	/* NULL only if no event wants a user stack. For each cookie that
	 * on_sample or seam_request gave, in the end: if its stack is nowhere
	 * to be had with SEAM_END_LOST, once that is sure. More than once where
	 * the stack was taken again, or told SEAM_END_PENDING. Mostly behind
	 * its samples; some may come after it, as where it was taken at the
	 * event, or where the kernel was about to leave. */
	void (*on_stack)(void *ctx, const struct seam_user_stack *stack);
	/* What followed processes do, as perf records it (mmap, comm, fork,
	 * exit, lost), in order of time; may be NULL. */
	void (*on_record)(void *ctx, uint64_t time_ns,
			  const struct perf_event_header *record);
	void *ctx;
	/* Where events count; NULL: on every CPU. Not of what BPF takes itself:
	 * tracepoints, probes, sleeps. */
	const uint32_t *cpus;
	size_t n_cpus;
	/* Stacks come with the registers that they were unwound from; those
	 * that are lost, where they are known. */
	bool registers;
	/* Every stack that any client of the machine asked for comes, if that
	 * client shares unwinds with this one; it knows its own by the cookie.
	 * Samples are its own, records (on_record) of all tasks. */
	bool all;
	/* What ids and child start is not followed: of processes no children,
	 * of threads nothing; a child is taken as ids are. */
	bool alone;
};

/* What a client's event became, for who writes perf.data. */
struct seam_event_info {
	size_t sz; /* sizeof(struct seam_event_info) */
	const struct perf_event_attr *attr; /* as files have it */
	const char *name; /* of output: "cpu-clock" */
	const char *base; /* without terms: SUBSYSTEM:NAME of a tracepoint */
	const uint64_t *ids; /* perf's, one for each CPU, or task and CPU */
	size_t n_ids;
	/* Of a tracepoint, if its samples are to have what it tells: its format
	 * file, and the bytes without strings. Else NULL and 0. */
	const char *format;
	size_t payload_size;
	bool payload_refused; /* it was wanted, but may not be had */
	/* Why it is a clock that nobody asked for; NULL: it was, or is none. */
	const char *why_clock;
};

#define SEAM_UNKNOWN UINT64_MAX /* a count that cannot be told */

/* A file, or some of its CFI, that is malformed and was not used. */
#define SEAM_REFUSED_NAMED 16
#define SEAM_REFUSED_PATH 256
struct seam_refused {
	char path[SEAM_REFUSED_PATH]; /* cut if longer */
	uint64_t n_bad; /* parts of its CFI; 0: the file as a whole */
	struct seam_errinfo why; /* what is wrong first, and where */
};

/* What a session has seen and lost, so far. */
struct seam_counts {
	size_t sz; /* sizeof(struct seam_counts) */
	uint64_t events; /* overflows that the event program saw */
	uint64_t expected; /* by a count of their own; or SEAM_UNKNOWN */
	/* The same of the client's tasks alone. */
	uint64_t watched, expected_watched;
	/* Of the expected: ticks of clocks that the kernel made no event of,
	 * all of them and those of the client's tasks. */
	uint64_t withheld, withheld_watched;
	/* Ticks that met another BPF program or a map call at work, so that
	 * the kernel left the event program out: sampled all the same. */
	uint64_t blocked;
	uint64_t samples; /* of the client's tasks */
	uint64_t wanted; /* of those, that want a user half */
	uint64_t own; /* events inside seam's own unwind: no samples */
	uint64_t excluded; /* in the mode that :u or :k leaves out, likewise */
	uint64_t unwinds; /* user stacks taken, for this client and others */
	uint64_t by_others; /* this client's, that another took */
	uint64_t clients; /* that it shared with when it began */
	uint64_t moved; /* registers changed between event and unwind */
	uint64_t copies, copy_bytes; /* stacks unwound by the library */
	/* Of what the kernel side unwound; of a direct engine (dump), of what
	 * the library did. */
	uint64_t frames, unwind_ns;
	uint64_t fp_frames; /* the kernel side's and the library's, without a
			     * table */
	/* By a file's own section, in its process; each frame of a stack that
	 * stands still once. */
	uint64_t mapped_frames;
	uint64_t guessed_frames; /* of the library's */
	uint64_t code_gone; /* code that could not be read to guess by */
	uint64_t lost_sleeps; /* no memory to keep them until they ended */
	uint64_t lost_samples, lost_stacks, lost_copies, lost_sideband;
	uint64_t lost_records; /* native: of stacks and sideband together */
	uint64_t lost_requests; /* for tables; asked again at the next need */
	uint64_t lost_payloads; /* of tracepoints' samples */
	uint64_t lost_made; /* what programs said of code they made */
	uint64_t no_element, no_scratch, watch_full;
	uint64_t refused; /* task work, by the kernel: taken at the event */
	uint64_t closed; /* samples that joined a stack just written */
	uint64_t stale; /* elements of dead tasks met in another's place */
	uint64_t again; /* unwinds of an entry that had one already */
	uint64_t skipped; /* callbacks whose stack was taken eagerly */
	/* By BPF programs of the client's own; of these, in tasks that are not
	 * the client's or have no user half, or by another's number; and others
	 * without a cookie. */
	uint64_t requests, requests_filtered, requests_none;
	uint64_t not_kept; /* no room in the map of seam_session_keep */
	uint64_t redo; /* unwinds repeated since a table changed */
	uint64_t windows, faulted; /* reads of stacks; that faulted pages in */
	uint64_t last_hits, map_walks, map_retries;
	uint64_t tables, table_bytes, table_bytes_max, tables_evicted;
	uint64_t tables_asked, tables_gone, tables_none, tables_too_big;
	uint64_t tables_left_out; /* rows without a place in their table */
	uint64_t tables_mapped; /* files whose own section is read instead */
	uint64_t tables_forgotten; /* answers without a table, to make room */
	/* SFrame sections for code that was made at run time (<seam/jit.h>),
	 * their size, and those refused, by the reason. */
	uint64_t made, made_bytes;
	uint64_t made_bad_range, made_overlap, made_malformed, made_unreadable;
	uint64_t made_too_much, made_unknown;
	/* Of made: ended since their code was unmapped; perhaps of other code,
	 * since that could not be seen yet, or not at all. */
	uint64_t made_unmapped, made_unseen;
	/* System calls, of any task and kind and at most, of which nobody saw
	 * whether they unmap made code. */
	uint64_t made_unlooked;
	uint64_t made_vain; /* unmappings looked at that ended none of made */
	uint64_t made_untold; /* ended since word of their end may be lost */
	/* Files open for the library's unwinding; taken out of memory, and of
	 * these, changed or gone when they were needed again. */
	uint64_t images, image_bytes, image_bytes_max;
	uint64_t images_evicted, images_gone;
	/* Files that a daemon or a server did not give in time. */
	uint64_t files_stuck;
	/* Of the kernel, taken out of payloads of events with :u. */
	uint64_t payload_addresses;
	/* Processes that this one's sessions left behind, since they wait for a
	 * daemon or a server, and that have not ended yet. */
	uint64_t processes_left;
	/* What tasks did (exec, end, children) that the kernel side did not
	 * see; and saw by its second programs alone. */
	uint64_t lost_tasks, followed_again;
	/* Stacks that were asked for by the client's own BPF programs and are
	 * lost, and that on_stack was not told of: no room or memory. */
	uint64_t lost_untold;
	/* Of tables, loaded by this client for itself alone while the one that
	 * has those of files did not answer. */
	uint64_t tables_own;
	/* Samples, stacks and other records that came malformed. */
	uint64_t lost_malformed;
};

/* "deferred"; NULL: no engine has that number. */
const char *seam_engine_name(enum seam_engine engine);
/* A file of tracefs's folder of events, as "header_page", which readers of
 * payloads want. NULL: it cannot be had. The caller frees it. */
char *seam_tracepoint_text(const char *file);

/* Below, what returns an int and says nothing else returns 0 or -errno; reterr
 * may be NULL. At most 16 clients of one machine share, in each way to unwind;
 * those behind them share with each other. */
int seam_session_open(const struct seam_session_opts *opts,
		      struct seam_session **ret, struct seam_errinfo *reterr);
int seam_client_add(struct seam_session *s, const struct seam_client_opts *opts,
		    struct seam_errinfo *reterr);
/* Ends the session's client: its events are closed, nothing is asked for it any
 * more, and what waits is handed out. Another may be added. -ENOENT: there is
 * none. */
int seam_client_remove(struct seam_session *s);
/* Which engine a client made it: never SEAM_ENGINE_AUTO after that. why, which
 * may be NULL: why auto took no better one, borrowed; empty: it is the best, or
 * was asked for. */
enum seam_engine seam_session_engine(const struct seam_session *s,
				     const char **why);
/* Why the session shares with no other process's; NULL: it does, or will, or
 * its engine cannot. Borrowed. */
const char *seam_session_alone(const struct seam_session *s);
/* The names of the clients of other sessions that shared with this one when its
 * client came, with commas between; cut to size. */
void seam_session_others(const struct seam_session *s, char *ret, size_t size);
/* Once for each client: -EINVAL: it was started, or there is none. */
int seam_session_start(struct seam_session *s, struct seam_errinfo *reterr);
/*
 * For BPF programs that ask for stacks; <seam/lend.h> calls it, for whatever
 * libbpf the caller has. name: of a map in the caller's object. bytes: what the
 * map begins with, NULL if nothing; size: of its value.
 * Return: the descriptor of the session's own to use instead, borrowed until
 * the session is closed; -ENOENT: it is none of seam's; another -errno.
 */
int seam_session_map(struct seam_session *s, const char *name,
		     const void *bytes, size_t size,
		     struct seam_errinfo *reterr);
/* Likewise, of the map in which such programs find stacks. Its descriptor stays
 * the caller's. -EINVAL: it is no such map, or the client has all stacks, which
 * would fill it with others'. */
int seam_session_keep_in(struct seam_session *s, int map_fd,
			 struct seam_errinfo *reterr);
/* The client's number among those that share, by which its programs ask. */
uint32_t seam_session_client(const struct seam_session *s);
/* The client's i-th event; behind the last, the one that on_record's records
 * have the id of; behind that -ENOENT. ret->sz is set; what it points to is
 * borrowed until the client is removed. */
int seam_session_event(const struct seam_session *s, size_t i,
		       struct seam_event_info *ret);
/* Whether the client named tasks by ids, and the last of these has ended, as
 * far as seam_session_read() has come to it; child and what they started do not
 * count. */
bool seam_session_targets_gone(const struct seam_session *s);
/*
 * For poll(2), select(2) and epoll(7) of the caller's own loop; another one
 * once the session is started, borrowed until the client is removed. -EINVAL:
 * there is no client. Readable when a quarter of a buffer waits, or what is
 * urgent, until seam_session_read has taken it; what is less waits unseen, so
 * read every 100 ms at least. What its reader's own process does, in any
 * thread, makes it readable by what is urgent alone. It says nothing of cookies
 * that are given up and of stacks that the library unwinds: those come by
 * readings alone.
 */
int seam_session_fd(const struct seam_session *s);
/* Hands out what there is, and waits for nothing. */
int seam_session_read(struct seam_session *s);
/*
 * The same for so long, or with -1 for ever, for who has no loop of his own.
 * Return: 0: the time is over, which may be asked for again; 1: as
 * seam_session_targets_gone has it; -EINVAL: the session is not started, or
 * was stopped; -EINTR: a signal was handled; another -errno.
 */
int seam_session_run(struct seam_session *s, int timeout_ms);
/* Stops the events, takes the stacks of sleepers, hands out the rest. */
int seam_session_stop(struct seam_session *s);
/* ret->sz is set. */
int seam_session_counts(struct seam_session *s, struct seam_counts *ret);
/*
 * Files that were refused; when the session is stopped, and its client not
 * removed yet. ret: of the first of
 * them, at most SEAM_REFUSED_NAMED. Return: how many there were at all.
 */
uint64_t seam_session_refused(struct seam_session *s,
			      struct seam_refused ret[SEAM_REFUSED_NAMED]);
/* Removes the client if need be; NULL is fine. Return: NULL. */
struct seam_session *seam_session_close(struct seam_session *s);

#ifdef __cplusplus
}
#endif

#endif
