/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * SFrame sections in the memory of processes: for code that compilers made
 * there (core/jit-registry.h), and those that prctl told of. A section is
 * copied once, and the copy verified: it may be hostile, and changed while we
 * look.
 */
#ifndef SEAM_LIB_PROCESS_JIT_H
#define SEAM_LIB_PROCESS_JIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/sframe-read.h"
#include "process/peek.h"

#define SEAM_JIT_MAX_SECTION (16u << 20) /* bytes */
/* Of all of a process's; and so much is read of it in a second. */
#define SEAM_JIT_MAX_PROCESS (64u << 20)
#define SEAM_JIT_MAX_ALL (256u << 20)

enum seam_jit_refusal {
	SEAM_JIT_BAD_RANGE, /* no such addresses */
	SEAM_JIT_OVERLAP, /* some of the code has a section */
	SEAM_JIT_MALFORMED, /* what is there is no section of that code */
	SEAM_JIT_UNREADABLE, /* it could not be read, or not in time */
	SEAM_JIT_TOO_MUCH, /* beyond the limits above */
	SEAM_JIT_UNKNOWN, /* to be removed, but was not added */
	SEAM_JIT_REFUSALS
};

struct seam_jit_stats {
	uint64_t added, removed;
	uint64_t unmapped; /* with their code, and nothing was said of it */
	uint64_t vain; /* unmappings that ended none */
	uint64_t untold; /* ended since word of their end may be lost */
	uint64_t unseen; /* something was mapped there, and they may be other
			  * code's: unmapping was not seen then */
	uint64_t bytes; /* of sections that are kept */
	uint64_t refused[SEAM_JIT_REFUSALS];
};

/* What reads for all processes. */
struct seam_jit_reader {
	struct seam_peek peek;
	struct seam_jit_stats stats;
};

struct seam_jit_table {
	uint32_t refs; /* processes of a fork share it */
	bool is_listed; /* in the process's own list; else by prctl */
	bool is_sure; /* the list still named it when it had been read */
	uint64_t id; /* in that list */
	uint64_t code, end, sframe, sframe_size;
	uint64_t since_ns; /* what was there before is not known */
	size_t size; /* of bytes; 0: refused or ended, and not read again */
	bool is_doubtful; /* counted as unseen */
	struct seam_sframe sf;
	uint8_t bytes[];
};

/* Of one process. All zero but the reader: none. */
struct seam_jit {
	struct seam_jit_reader *reader; /* the caller's */
	struct seam_jit_table **v; /* by code; they do not overlap */
	size_t n, room;
	/* Those that the list has no more, though their end is not told yet:
	 * what is still to be unwound may be of before then. Oldest first.
	 * None where no end is ever told: what came there in their place would
	 * be taken for them. */
	struct seam_jit_table **past;
	size_t n_past, room_past;
	size_t bytes;
	uint64_t edits; /* moves when a table comes or goes */
	bool is_heard; /* changes of its list are told, each in turn */
	bool was_scanned; /* and nothing of its list is yet to be read */
	uint64_t list; /* its address; 0: none was found */
	uint64_t changes; /* that its list was last read at */
	uint64_t seen_ns; /* until then it has named what is known of it */
	bool is_slow; /* a read took too long: none any more */
	bool is_told; /* the kernel side knows what was there before */
	uint64_t untaken; /* ended by unmapping, and not yet taken away */
	/* What is yet to be read of the list, of before then and in there, may
	 * be of code that is unmapped. All 0: nothing was. */
	uint64_t unmapped_start, unmapped_end, unmapped_ns;
	uint64_t spent, since_ns; /* bytes read since then */
};

/* All give 0 or -ENOMEM; what cannot be had is counted. */

/* Reads the list anew, if it has changed. */
int seam_jit_scan(struct seam_jit *j, uint32_t pid);
/* Likewise, unless there was none before. *ret: whether anything changed. */
int seam_jit_rescan(struct seam_jit *j, uint32_t pid, bool *ret);

/* What its list had for that code before a time is there no more. */
void seam_jit_end(struct seam_jit *j, uint64_t code, uint64_t size,
		  uint64_t time_ns);

/* What lies there is unmapped: whatever was said of it is over. */
void seam_jit_unmap(struct seam_jit *j, uint64_t start, uint64_t size,
		    uint64_t time_ns);
/* Something there may have gone by then, of which the record was lost. */
void seam_jit_untold(struct seam_jit *j, uint64_t start, uint64_t size,
		     uint64_t time_ns);
/* Code was mapped there, at a time when unmapping was not seen. */
void seam_jit_doubt(struct seam_jit *j, uint64_t start, uint64_t end,
		    uint64_t time_ns);

/* A section that a program named itself. */
struct seam_jit_section {
	uint64_t sframe, sframe_size, code, code_size;
	uint64_t since_ns;
	const uint8_t *bytes; /* as they were then; NULL: to be read now */
};
int seam_jit_put(struct seam_jit *j, uint32_t pid,
		 const struct seam_jit_section *section);
/* Takes what prctl gave at that address away. */
void seam_jit_take(struct seam_jit *j, uint64_t sframe);

int seam_jit_copy(struct seam_jit *to, const struct seam_jit *from);
void seam_jit_fini(struct seam_jit *j);

/* As seam_peek_read; a process whose memory did not come in time is not read
 * again. */
int seam_jit_peek(struct seam_jit *j, uint32_t pid, uint64_t addr, void *to,
		  size_t size);

/* NULL: none. Whether it has a rule there its .sf tells, of addr - .sframe. */
const struct seam_jit_table *seam_jit_find(const struct seam_jit *j,
					   uint64_t addr);

/* The one that was there at a time, as far as is known. */
const struct seam_jit_table *seam_jit_find_at(const struct seam_jit *j,
					      uint64_t addr, uint64_t time_ns);
/* The same where nobody tells of ends: of its list only what that names later
 * than then, which is looked at if need be. Of a process that is gone, none. */
const struct seam_jit_table *seam_jit_find_seen(struct seam_jit *j,
						uint32_t pid, uint64_t addr,
						uint64_t time_ns);

/*
 * One section of all that lies in [start, end), its addresses counted from
 * start. The caller frees *ret_bytes. Return: 0; -ENOENT: there is none;
 * -ENOMEM; -EINVAL, -EFBIG: more than a section holds.
 */
int seam_jit_join(const struct seam_jit *j, uint64_t start, uint64_t end,
		  uint8_t **ret_bytes, size_t *ret_size);

#endif
