/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Reads perf.data of perf 3.x to 7.x and of seam: files, folders and pipes,
 * compressed or not, of machines of either byte order.
 *
 * Opening reads the whole recording and sorts its records by time; records
 * without a time keep their place. A damaged or cut-off recording is read up
 * to the last whole record, and seam_pd_damage says where it ends and why.
 * A record that contradicts itself is left out and counted.
 *
 *	struct seam_pd_reader *r;
 *	if (seam_pd_open("perf.data", &r, &err) == 0)
 *		for (size_t i = 0; i < seam_pd_n_records(r); i++) {
 *			seam_pd_record(r, i, &rec);
 *			...
 *		}
 *	seam_pd_close(r);
 *
 * Everything that a record or an event points to belongs to the reader.
 */
#ifndef SEAM_LIB_PERFDATA_READER_H
#define SEAM_LIB_PERFDATA_READER_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "seam/error.h"

struct seam_pd_reader;

struct seam_pd_attr {
	struct perf_event_attr attr; /* zero where the file has less */
	uint64_t flags; /* the whole flag word, new bits too */
	const char *name;
	const uint64_t *ids;
	size_t n_ids;
};

/* Words in a file: at no particular alignment. */
struct seam_pd_words {
	const uint8_t *p;
	size_t n;
	bool swap; /* of a machine with the other byte order */
};

static inline uint64_t seam_pd_word(struct seam_pd_words w, size_t i)
{
	uint64_t v;

	memcpy(&v, w.p + 8 * i, sizeof(v));
	return w.swap ? __builtin_bswap64(v) : v;
}

/* What PERF_SAMPLE_READ brought: n members of a group, of stride words each.
 * The first is the count; id_word is that of its id, 0: they have none. */
struct seam_pd_reads {
	struct seam_pd_words words;
	size_t n, stride, id_word;
};

struct seam_pd_rec_sample {
	uint64_t ip, addr, period, stream_id;
	struct seam_pd_reads reads;
	struct seam_pd_words chain; /* with its context markers */
	bool chain_in_raw; /* it is a part of the payload */
	struct seam_pd_words
		branches; /* from, to, flags of each, newest first */
	const uint8_t *raw;
	size_t raw_len;
	uint64_t user_regs_abi, user_regs_mask;
	struct seam_pd_words user_regs; /* one word for each bit of the mask */
	const uint8_t *user_stack;
	size_t user_stack_len; /* of it, what the kernel could copy */
	size_t user_stack_room; /* that the sample has for it */
	/* enum seam_err of a user half that was merged into the chain; 0: not
	 * said. */
	int end;
	bool has_guesses; /* PD_SAMPLE_GUESSES */
};

/* The number that the kernel has for ip among amd64's registers. */
#define SEAM_PD_REG_IP 8

/* Where the kernel was entered, which our recorder has as the one register of a
 * sample in the kernel. */
static inline bool seam_pd_entry_ip(const struct seam_pd_rec_sample *s,
				    uint64_t *ret)
{
	if (!s->user_regs_abi || s->user_regs.n != 1 ||
	    s->user_regs_mask != 1ULL << SEAM_PD_REG_IP)
		return false;
	*ret = seam_pd_word(s->user_regs, 0);
	return true;
}

struct seam_pd_rec_map {
	uint64_t start, len, pgoff;
	const char *path;
	bool has_inode, has_prot;
	uint8_t build_id_len; /* 0: the record has none */
	const uint8_t *build_id;
	uint32_t maj, min, prot, flags;
	uint64_t ino, ino_gen;
};

struct seam_pd_rec_ksymbol { /* a BPF program, or the like */
	uint64_t start;
	uint32_t len;
	bool gone;
	const char *name;
};

struct seam_pd_rec_task { /* FORK, EXIT */
	uint32_t ppid, ptid;
};

struct seam_pd_rec_stack { /* CALLCHAIN_DEFERRED */
	uint64_t cookie;
	struct seam_pd_words ips; /* leaf first, without marker */
	int end; /* enum seam_err; 0: not said */
	unsigned flags; /* SEAM_PD_STACK_* of writer.h */
	/* As written; see seam_pd_method. None unless flags says so. */
	struct seam_pd_words methods;
};

/* enum seam_method of a stack's frame i; 0: not said. */
unsigned seam_pd_method(const struct seam_pd_rec_stack *stack, size_t i);

/* One record. type says which member of the union counts; pid, tid, time,
 * cpu and id are of the sample or its like in other records. */
struct seam_pd_rec {
	uint32_t type;
	uint16_t misc;
	bool has_time, has_tid;
	int event; /* index for seam_pd_event, -1: not known */
	uint32_t pid, tid, cpu;
	uint64_t time_ns, id;
	union {
		struct seam_pd_rec_sample sample;
		struct seam_pd_rec_map map; /* MMAP and MMAP2 */
		struct seam_pd_rec_ksymbol ksymbol;
		struct seam_pd_rec_task task;
		struct seam_pd_rec_stack stack;
		const char *comm;
		uint64_t lost; /* LOST, LOST_SAMPLES */
	};
};

/* What the recording says of itself; NULL or 0 where it does not. */
struct seam_pd_info {
	const char *hostname, *osrelease, *version, *arch, *cmdline;
	const char *cpuid; /* "GenuineIntel,6,85,4": the vendor and more */
	uint32_t n_cpus_online;
	uint32_t clockid;
	uint64_t wall_clock_ns, clockid_ns; /* the same moment on two clocks */
	bool compressed, pipe;
	/* Files' build-ids were written, and are not in what is left, or not
	 * all, but the first ones. */
	bool lost_build_ids;
	size_t n_build_ids; /* by path: those of mappings are beside them */
	/* By records (COMPRESSED2) that perf 6.1 does not know. */
	bool newly_compressed;
	/* The recording is of a machine with the other byte order. Numbers are
	 * this machine's all the same; raw data, tracing and copies of stacks
	 * are bytes and stay as they are. */
	bool swapped;
	/* How tracepoints' payloads are laid out, as trace.dat has it. */
	const uint8_t *tracing;
	size_t tracing_len;
};

struct seam_pd_damage {
	bool damaged;
	/* .offset: where reading stopped, behind the last whole record, or at
	 * the compressed one that is damaged, or where the file ends, if that
	 * is behind the data; .where: in which file of a folder. */
	struct seam_errinfo err;
	/* Of the records some are not there; else only what the recording says
	 * of itself is damaged. */
	bool lacks_records;
	uint64_t n_files; /* that are damaged; err is of the first */
	uint64_t n_malformed; /* records left out */
	uint64_t malformed_offset; /* of the first one, or of the compressed
				    * one that it is in; */
	char malformed_where[24]; /* in that file */
};

/* path "-" is standard input; a folder is one of perf record --threads.
 * Return: 0; -EBADMSG: this is no recording; other -errno. */
int seam_pd_open(const char *path, struct seam_pd_reader **ret,
		 struct seam_errinfo *reterr);
/* The same of bytes that stay the caller's and must outlive the reader. */
int seam_pd_open_mem(const void *data, size_t size, struct seam_pd_reader **ret,
		     struct seam_errinfo *reterr);
struct seam_pd_reader *seam_pd_close(struct seam_pd_reader *r);

size_t seam_pd_n_events(const struct seam_pd_reader *r);
const struct seam_pd_attr *seam_pd_event(const struct seam_pd_reader *r,
					 size_t i);
/* Which event has an id, of which there may be several.
 * Return: its index; -1: none. */
int seam_pd_event_by_id(struct seam_pd_reader *r, uint64_t id);
const struct seam_pd_info *seam_pd_info(const struct seam_pd_reader *r);
const struct seam_pd_damage *seam_pd_damage(const struct seam_pd_reader *r);
/* Records of this type in the file, left out ones not among them. */
uint64_t seam_pd_count(const struct seam_pd_reader *r, uint32_t type);

/* Records that were read over: how many of the i-th kind that has a name, the
 * last of them "unknown" for types that perf 7.3 does not write. perf's own
 * book-keeping is left out. Return: the name; NULL: there are no more. */
const char *seam_pd_passed_over(const struct seam_pd_reader *r, size_t i,
				uint64_t *ret_n);

/* Records that seam uses: SAMPLE, MMAP, MMAP2, COMM, FORK, EXIT, KSYMBOL,
 * LOST, LOST_SAMPLES and CALLCHAIN_DEFERRED, in the order of time. */
size_t seam_pd_n_records(const struct seam_pd_reader *r);
void seam_pd_record(const struct seam_pd_reader *r, size_t i,
		    struct seam_pd_rec *ret);
/* Without reading it: its time, as seam_pd_record has it. */
uint64_t seam_pd_time(const struct seam_pd_reader *r, size_t i);
/* Without reading it: whether record i is a sample that asks for no record of
 * a user stack. */
bool seam_pd_asks_nothing(const struct seam_pd_reader *r, size_t i);
/* Likewise: whether it is a sample that tells nothing of which stacks are
 * there, and why others are not: asking none, or in a recording that says which
 * are pending. */
bool seam_pd_tells_no_join(const struct seam_pd_reader *r, size_t i);
/* Whether the i-th is a mapping of data, by the recording's own word, of which
 * *ret has type, misc, pid and where it lies then, and no more: there may be
 * many for each sample. */
bool seam_pd_data_map(const struct seam_pd_reader *r, size_t i,
		      struct seam_pd_rec *ret);
/* As LOST and LOST_SAMPLES say. */
uint64_t seam_pd_lost_records(const struct seam_pd_reader *r);
uint64_t seam_pd_lost_samples(const struct seam_pd_reader *r);
/* Left out by a filter of perf record's, in BPF: nobody wanted them. */
uint64_t seam_pd_filtered_samples(const struct seam_pd_reader *r);
/* Whether any sample asks for one, or there is any. */
bool seam_pd_has_cookies(const struct seam_pd_reader *r);
/* Record i, if there is one, is going to be read in a moment. */
void seam_pd_prefetch(const struct seam_pd_reader *r, size_t i);

/* Whether a sample's chain ends in the mark and a cookie. */
bool seam_pd_chain_deferred(struct seam_pd_words chain);

/*
 * One record as the kernel wrote it for an event that was opened with attr.
 * Its size must have been compared with what is there. Return: false: it
 * contradicts itself. .event is 0.
 */
bool seam_pd_parse_kernel(const struct perf_event_attr *attr,
			  const struct perf_event_header *record,
			  struct seam_pd_rec *ret);

/* What the recording says of tracepoints' payloads, in the words of tracefs.
 * Texts are not strings: they have a size and no end. */
struct seam_pd_format_ops {
	void (*page)(void *ctx, const char *text, size_t size);
	void (*format)(void *ctx, const char *system, const char *text,
		       size_t size);
	void *ctx;
};
/* Return: false: it says nothing, or not all of it is well-formed. */
bool seam_pd_formats(const struct seam_pd_reader *r,
		     const struct seam_pd_format_ops *ops);

/* Record i as the recording has it. */
const uint8_t *seam_pd_raw(const struct seam_pd_reader *r, size_t i);
/* Where record i is in the file; inside COMPRESSED, where that is. */
uint64_t seam_pd_offset(const struct seam_pd_reader *r, size_t i);

/* The build-id that the recording's table of build-ids has for a path.
 * Return: its length, 0 if there is none. */
size_t seam_pd_path_build_id(const struct seam_pd_reader *r, const char *path,
			     const uint8_t **ret);

#endif
