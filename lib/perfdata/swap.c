// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Headers and attributes of machines with the other byte order. Records are
 * swapped word by word where they are read. */
#include "core/uapi.h"
#include "perfdata/reader-priv.h"

static void swap_u64(uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] = __builtin_bswap64(v[i]);
}

/* The bitmap is of longs. One of 32 bits has its halves the other way round,
 * which shows in the name of the host: every recording has one. */
static void swap_bitmap(uint64_t *v, size_t n)
{
	swap_u64(v, n);
	if (v[0] & 1ULL << PD_FEAT_HOSTNAME)
		return;
	for (size_t i = 0; i < n; i++)
		v[i] = v[i] << 32 | v[i] >> 32;
}

void seam_pd_swap_header(struct pd_header *h)
{
	h->magic = __builtin_bswap64(h->magic);
	h->size = __builtin_bswap64(h->size);
	h->attr_size = __builtin_bswap64(h->attr_size);
	swap_u64(&h->attrs.offset, 2);
	swap_u64(&h->data.offset, 2);
	swap_u64(&h->event_types.offset, 2);
	swap_bitmap(h->features, 4);
}

/* Bit fields begin at the other end of each byte; the bytes stay. */
static uint64_t mirror_bits(uint64_t v)
{
	const uint64_t one = 0x5555555555555555, two = 0x3333333333333333,
		       four = 0x0f0f0f0f0f0f0f0f;
	uint64_t low, high;

	v = (v & one) << 1 | (v >> 1 & one);
	v = (v & two) << 2 | (v >> 2 & two);
	v = (v & four) << 4 | (v >> 4 & four);
	/* precise_ip has two bits, 15 and 16, and is a number. */
	low = v >> 15 & 1;
	high = v >> 16 & 1;
	v &= ~(3ULL << 15);
	return v | high << 15 | low << 16;
}

#define SWAP32(x) ((x) = __builtin_bswap32((uint32_t)(x)))
#define SWAP64(x) ((x) = __builtin_bswap64(x))

void seam_pd_swap_attr(struct perf_event_attr *a, uint64_t *flags)
{
	uint8_t *bits = (uint8_t *)a + SEAM_ATTR_FLAGS_OFFSET;

	*flags = mirror_bits(*flags);
	memcpy(bits, flags, sizeof(*flags));
	SWAP32(a->type);
	SWAP32(a->size);
	SWAP64(a->config);
	SWAP64(a->sample_period);
	SWAP64(a->sample_type);
	SWAP64(a->read_format);
	SWAP32(a->wakeup_events);
	SWAP32(a->bp_type);
	SWAP64(a->config1);
	SWAP64(a->config2);
	SWAP64(a->branch_sample_type);
	SWAP64(a->sample_regs_user);
	SWAP32(a->sample_stack_user);
	a->clockid = (int32_t)__builtin_bswap32((uint32_t)a->clockid);
	SWAP64(a->sample_regs_intr);
	SWAP32(a->aux_watermark);
	a->sample_max_stack = __builtin_bswap16(a->sample_max_stack);
	SWAP32(a->aux_sample_size);
	SWAP64(a->sig_data);
}
