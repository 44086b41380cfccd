/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * perf.data on disk: what the writer and the reader share. A file is
 *
 *	header | attributes and their ids | ... | data | feature table | ...
 *
 * with the feature table exactly where the data ends, one {offset, size}
 * for each bit set in the header's bitmap, in the order of the bits. In pipe
 * mode the header is 16 bytes and attributes and features are records.
 */
#ifndef SEAM_LIB_PERFDATA_FORMAT_H
#define SEAM_LIB_PERFDATA_FORMAT_H

#include <assert.h>
#include <stdint.h>

#define PD_MAGIC 0x32454c4946524550ULL /* "PERFILE2", little-endian */
#define PD_MAGIC_SWAPPED 0x50455246494c4532ULL

struct pd_section {
	uint64_t offset; /* bytes from the start of the file */
	uint64_t size;
};

struct pd_header {
	uint64_t magic;
	uint64_t size; /* of this header; 16 in pipe mode */
	uint64_t attr_size; /* of one attribute with its ids section */
	struct pd_section attrs;
	struct pd_section data;
	struct pd_section event_types;
	uint64_t features[4];
};
static_assert(sizeof(struct pd_header) == 104, "the header's size is fixed");

#define PD_PIPE_HEADER_SIZE 16
#define PD_ATTR_SIZE_MAX 4096 /* with the ids' section; a bound of ours */

/* Records that perf itself makes, beside the kernel's. */
enum pd_user_record {
	PD_HEADER_ATTR = 64,
	PD_HEADER_EVENT_TYPE = 65,
	PD_HEADER_TRACING_DATA = 66,
	PD_HEADER_BUILD_ID = 67,
	PD_FINISHED_ROUND = 68,
	PD_ID_INDEX = 69,
	PD_AUXTRACE_INFO = 70,
	PD_AUXTRACE = 71,
	PD_EVENT_UPDATE = 78,
	PD_HEADER_FEATURE = 80,
	PD_COMPRESSED = 81,
	PD_FINISHED_INIT = 82,
	PD_COMPRESSED2 = 83,
};
#define PD_USER_RECORD_FIRST 64

/* The tracepoint that the payload of a sample names which lost its own. The
 * kernel gives the lowest number that is free. */
#define SEAM_PD_PAYLOAD_LOST 65535

/* Bits of the header's feature bitmap. */
enum pd_feature {
	PD_FEAT_TRACING_DATA = 1,
	PD_FEAT_BUILD_ID = 2,
	PD_FEAT_HOSTNAME = 3,
	PD_FEAT_OSRELEASE = 4,
	PD_FEAT_VERSION = 5,
	PD_FEAT_ARCH = 6,
	PD_FEAT_NRCPUS = 7,
	PD_FEAT_CPUID = 9,
	PD_FEAT_CMDLINE = 11,
	PD_FEAT_EVENT_DESC = 12,
	PD_FEAT_AUXTRACE = 18,
	PD_FEAT_SAMPLE_TIME = 21,
	PD_FEAT_CLOCKID = 23,
	PD_FEAT_DIR_FORMAT = 24,
	PD_FEAT_COMPRESSED = 27,
	PD_FEAT_CLOCK_DATA = 29,
	PD_FEAT_MAX = 64, /* more are ignored */
};

/* How the frames of a CALLCHAIN_DEFERRED record were found: 4 bits each, the
 * leaf's lowest in the first word, behind the addresses and before the
 * sample_id. perf takes the addresses from the front and the sample_id from
 * the end, and looks at nothing between. */
#define PD_METHOD_BITS 4
#define PD_METHODS_PER_WORD (64 / PD_METHOD_BITS)
#define PD_METHOD_MASK ((1u << PD_METHOD_BITS) - 1)

/* Of a CALLCHAIN_DEFERRED record's header.misc the low three bits are the
 * CPU mode; perf looks at no other, so seam keeps the end code and flags of
 * the stack there. Zero, as the kernel writes, means "not said". A SAMPLE into
 * which a user stack was merged has its end code in the same place, and one
 * to which none will come says there why. */
/* The flag of a SAMPLE with an end code in whose user half PERF_CONTEXT_USER
 * comes again: from there on frames are guessed, and from the next one on they
 * are not. To other readers that says what they knew. */
#define PD_SAMPLE_GUESSES 0x2u
#define PD_MISC_CPUMODE 0x7
#define PD_MISC_LOST_SAMPLES_BPF (1 << 15) /* perf's own */
#define PD_MISC_FLAGS_SHIFT 3
#define PD_MISC_FLAGS_MASK 0x1f
#define PD_MISC_END_SHIFT 8
#define PD_MISC_END_MASK 0x1f

#endif
