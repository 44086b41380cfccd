/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Putting a record together, in the byte order of its recording. */
#ifndef SEAM_LIB_INJECT_RECORD_H
#define SEAM_LIB_INJECT_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "perfdata/format.h"
#include "perfdata/writer.h"

_Static_assert(PD_SAMPLE_GUESSES == SEAM_PD_STACK_METHODS,
	       "one place in the header for both");

#define SEAM_RECORD_MAX 65528 /* the size has 16 bits, in steps of 8 */

/* Both return what is behind. */
static inline uint8_t *seam_put(uint8_t *to, const void *p, size_t len)
{
	if (len)
		memcpy(to, p, len);
	return to + len;
}

static inline uint8_t *seam_put_word(uint8_t *to, uint64_t v, bool swap)
{
	if (swap)
		v = __builtin_bswap64(v);
	return seam_put(to, &v, sizeof(v));
}

/* Of a record that has a header: how long it is, its end code, and whether it
 * tells of guesses (as a SAMPLE, or by the methods of a stack). */
static inline void seam_set_header(uint8_t *record, size_t size, int end,
				   bool has_guesses, bool swap)
{
	struct perf_event_header h;

	memcpy(&h, record, sizeof(h));
	if (swap)
		h.misc = __builtin_bswap16(h.misc);
	h.misc &= (uint16_t) ~(PD_MISC_END_MASK << PD_MISC_END_SHIFT);
	h.misc |= (uint16_t)((end & PD_MISC_END_MASK) << PD_MISC_END_SHIFT);
	h.misc &= (uint16_t) ~(PD_SAMPLE_GUESSES << PD_MISC_FLAGS_SHIFT);
	if (has_guesses)
		h.misc |= PD_SAMPLE_GUESSES << PD_MISC_FLAGS_SHIFT;
	h.size = (uint16_t)size;
	if (swap) {
		h.misc = __builtin_bswap16(h.misc);
		h.size = __builtin_bswap16(h.size);
	}
	memcpy(record, &h, sizeof(h));
}

#endif
