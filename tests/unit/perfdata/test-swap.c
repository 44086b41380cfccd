// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a big-endian machine's recording, laid out byte by byte: every
 * field has the value that was meant, bit fields too, and what is cut off or
 * contradicts itself is told as in any other. */
#include <errno.h>

#include "perfdata/format.h"
#include "recording.h"

struct bytes {
	uint8_t b[2048];
	size_t n;
};

static void put(struct bytes *o, uint64_t value, int size)
{
	for (int i = size - 1; i >= 0; i--)
		o->b[o->n++] = (uint8_t)(value >> 8 * i);
}

static void u16(struct bytes *o, uint64_t v)
{
	put(o, v, 2);
}

static void u32(struct bytes *o, uint64_t v)
{
	put(o, v, 4);
}

static void u64(struct bytes *o, uint64_t v)
{
	put(o, v, 8);
}

static size_t begin_record(struct bytes *o, uint32_t type, uint16_t misc)
{
	u32(o, type);
	u16(o, misc);
	u16(o, 0);
	return o->n - 8;
}

static void end_record(struct bytes *o, size_t at)
{
	size_t size = o->n - at;

	o->b[at + 6] = (uint8_t)(size >> 8);
	o->b[at + 7] = (uint8_t)size;
}

#define TYPE                                                                   \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |                 \
	 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_ID | PERF_SAMPLE_CPU |            \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_RAW |             \
	 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

/* The first bit field is a byte's highest bit there. */
static void flag(uint8_t *flags, unsigned index)
{
	flags[index / 8] |= (uint8_t)(0x80 >> index % 8);
}

static void put_attr(struct bytes *o, uint64_t id)
{
	size_t at = begin_record(o, PD_HEADER_ATTR, 0);
	uint8_t *flags;

	u32(o, PERF_TYPE_SOFTWARE);
	u32(o, 128);
	u64(o, PERF_COUNT_SW_CPU_CLOCK);
	u64(o, 4000);
	u64(o, TYPE);
	u64(o, PERF_FORMAT_GROUP | PERF_FORMAT_ID);
	flags = &o->b[o->n];
	u64(o, 0);
	flag(flags, 0); /* disabled */
	flag(flags, 5); /* exclude_kernel */
	flag(flags, 15); /* precise_ip: 2, the higher bit first */
	flag(flags, 18); /* sample_id_all */
	flag(flags, 38); /* defer_callchain */
	u32(o, 1); /* wakeup */
	u32(o, 0);
	u64(o, 0);
	u64(o, 0);
	u64(o, 0);
	u64(o, 0x181); /* user registers */
	u32(o, 4096); /* of stack */
	u32(o, 1); /* clockid */
	u64(o, 0);
	u32(o, 0);
	u16(o, 77); /* max_stack */
	u16(o, 0);
	u64(o, 0);
	u64(o, 0);
	u64(o, id);
	end_record(o, at);
}

static void put_be_sample(struct bytes *o, uint64_t id)
{
	size_t at = begin_record(o, PERF_RECORD_SAMPLE, 2);

	u64(o, 0x1234);
	u32(o, 7);
	u32(o, 8);
	u64(o, 999);
	u64(o, id);
	u32(o, 3); /* cpu */
	u32(o, 0);
	u64(o, 55); /* period */
	u64(o, 1); /* of a group of one: value, id */
	u64(o, 42);
	u64(o, id);
	u64(o, 4); /* chain */
	u64(o, (uint64_t)PERF_CONTEXT_KERNEL);
	u64(o, 0xc000000000001000);
	u64(o, SEAM_CONTEXT_USER_DEFERRED);
	u64(o, 0x70001);
	u32(o, 4); /* raw: bytes as they are */
	u32(o, 0x01020304);
	u64(o, 2); /* registers */
	for (uint64_t i = 0; i < 3; i++)
		u64(o, 0x5000 + i);
	u64(o, 8); /* stack: bytes as they are */
	u64(o, 0x1122334455667788);
	u64(o, 8);
	end_record(o, at);
}

static void put_be_tail(struct bytes *o, uint64_t time_ns, uint64_t id)
{
	u32(o, 7);
	u32(o, 8);
	u64(o, time_ns);
	u64(o, id);
	u32(o, 3);
	u32(o, 0);
}

static void put_be_stack(struct bytes *o)
{
	size_t at = begin_record(o, SEAM_RECORD_CALLCHAIN_DEFERRED, 2);

	u64(o, 0x70001);
	u64(o, 2);
	u64(o, 0x10000);
	u64(o, 0x10040);
	put_be_tail(o, 1001, 22);
	end_record(o, at);
}

static void put_be_map(struct bytes *o, uint16_t misc)
{
	size_t at = begin_record(o, PERF_RECORD_MMAP2, misc);

	u32(o, 7);
	u32(o, 8);
	u64(o, 0x10000);
	u64(o, 0x2000);
	u64(o, 0x3000);
	u32(o, 8);
	u32(o, 1);
	u64(o, 4711);
	u64(o, 2);
	u32(o, 5);
	u32(o, 2);
	memcpy(&o->b[o->n], "/bin/b\0", 8);
	o->n += 8;
	put_be_tail(o, 900, 22);
	end_record(o, at);
}

static void recording(struct bytes *o)
{
	o->n = 0;
	u64(o, PD_MAGIC);
	u64(o, 16);
	put_attr(o, 11);
	put_attr(o, 22);
	put_be_map(o, PERF_RECORD_MISC_USER);
	put_be_sample(o, 22);
	put_be_stack(o);
}

static struct seam_pd_reader *read_bytes(const struct bytes *o)
{
	struct seam_pd_reader *r = NULL;
	struct seam_errinfo err = {0};

	assert_int_equal(seam_pd_open_mem(o->b, o->n, &r, &err), 0);
	assert_true(seam_pd_info(r)->swapped);
	return r;
}

static void check_attr(const struct seam_pd_attr *ev, uint64_t id)
{
	assert_int_equal(ev->attr.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(ev->attr.config, PERF_COUNT_SW_CPU_CLOCK);
	assert_int_equal(ev->attr.sample_period, 4000);
	assert_int_equal(ev->attr.sample_type, TYPE);
	assert_int_equal(ev->attr.sample_stack_user, 4096);
	assert_int_equal(ev->attr.sample_max_stack, 77);
	assert_int_equal(ev->attr.clockid, 1);
	assert_true(ev->attr.disabled && ev->attr.exclude_kernel);
	assert_false(ev->attr.exclude_user || ev->attr.inherit);
	assert_int_equal(ev->attr.precise_ip, 2);
	assert_true(ev->flags >> SEAM_ATTR_DEFER_CALLCHAIN & 1);
	assert_false(ev->flags >> SEAM_ATTR_DEFER_OUTPUT & 1);
	assert_int_equal(ev->n_ids, 1);
	assert_int_equal(ev->ids[0], id);
}

static void check_sample(const struct seam_pd_rec *rec)
{
	static const uint8_t raw[] = {1, 2, 3, 4};
	const struct seam_pd_rec_sample *s = &rec->sample;

	assert_int_equal(rec->type, PERF_RECORD_SAMPLE);
	assert_int_equal(rec->event, 1);
	assert_int_equal(s->ip, 0x1234);
	assert_int_equal(rec->pid, 7);
	assert_int_equal(rec->tid, 8);
	assert_int_equal(rec->time_ns, 999);
	assert_int_equal(rec->cpu, 3);
	assert_int_equal(s->period, 55);
	assert_int_equal(s->chain.n, 4);
	assert_int_equal(seam_pd_word(s->chain, 3), 0x70001);
	assert_int_equal(s->raw_len, 4);
	assert_memory_equal(s->raw, raw, sizeof(raw));
	assert_int_equal(s->user_regs_abi, 2);
	assert_int_equal(seam_pd_word(s->user_regs, 2), 0x5002);
	assert_int_equal(s->user_stack_len, 8);
	assert_int_equal(s->user_stack[0], 0x11);
}

static void test_fields(void **state)
{
	struct seam_pd_reader *r;
	struct seam_pd_rec rec;
	struct bytes o;

	(void)state;
	recording(&o);
	r = read_bytes(&o);
	assert_false(seam_pd_damage(r)->damaged);
	assert_int_equal(seam_pd_damage(r)->n_malformed, 0);
	assert_int_equal(seam_pd_n_events(r), 2);
	check_attr(seam_pd_event(r, 0), 11);
	check_attr(seam_pd_event(r, 1), 22);
	assert_int_equal(seam_pd_n_records(r), 3);
	seam_pd_record(r, 0, &rec);
	assert_int_equal(rec.map.start, 0x10000);
	assert_int_equal(rec.map.pgoff, 0x3000);
	assert_int_equal(rec.map.ino, 4711);
	assert_int_equal(rec.map.prot, 5);
	assert_string_equal(rec.map.path, "/bin/b");
	assert_int_equal(rec.time_ns, 900);
	seam_pd_record(r, 1, &rec);
	check_sample(&rec);
	seam_pd_record(r, 2, &rec);
	assert_int_equal(rec.stack.cookie, 0x70001);
	assert_int_equal(rec.cpu, 3);
	assert_int_equal(rec.tid, 8);
	assert_int_equal(rec.stack.ips.n, 2);
	assert_int_equal(seam_pd_word(rec.stack.ips, 1), 0x10040);
	seam_pd_close(r);
}

/* Up to the last whole record, wherever it ends. */
static void test_cut(void **state)
{
	struct bytes o;
	size_t size, whole;

	(void)state;
	recording(&o);
	size = o.n;
	whole = 16 + 2 * (8 + 128 + 8);
	for (o.n = whole; o.n < size; o.n++) {
		struct seam_pd_reader *r = read_bytes(&o);
		const struct seam_pd_damage *d = seam_pd_damage(r);

		assert_int_equal(d->damaged, o.n > whole && d->err.offset);
		assert_true(seam_pd_n_records(r) < 3);
		if (d->damaged)
			assert_true(d->err.offset <= o.n);
		seam_pd_close(r);
	}
}

static void put_be_ksymbol(struct bytes *o, unsigned int type, bool gone)
{
	size_t at = begin_record(o, PERF_RECORD_KSYMBOL, 0);

	u64(o, 0xffffffffc0001000);
	u32(o, 0x80);
	u16(o, type);
	u16(o, gone ? PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER : 0);
	memcpy(&o->b[o->n], "bpf_p\0\0", 8);
	o->n += 8;
	put_be_tail(o, 900, 22);
	end_record(o, at);
}

/* Two halves of a word are not turned round with it. */
static void test_ksymbol(void **state)
{
	struct bytes o = {.n = 0};
	struct seam_pd_reader *r;
	struct seam_pd_rec rec;

	(void)state;
	u64(&o, PD_MAGIC);
	u64(&o, 16);
	put_attr(&o, 22);
	for (unsigned int i = 0; i < 6; i++)
		put_be_ksymbol(&o, i / 2, i % 2);
	r = read_bytes(&o);
	assert_int_equal(seam_pd_n_records(r), 6);
	for (unsigned int i = 0; i < 6; i++) {
		seam_pd_record(r, i, &rec);
		assert_int_equal(rec.ksymbol.start, 0xffffffffc0001000);
		assert_int_equal(rec.ksymbol.len, 0x80);
		assert_string_equal(rec.ksymbol.name, "bpf_p");
		assert_int_equal(rec.ksymbol.gone, i % 2);
	}
	seam_pd_close(r);
}

/* Which of two mappings is of data, and what is said of it without parsing. */
static void test_data_map(void **state)
{
	struct bytes o = {.n = 0};
	struct seam_pd_reader *r;
	struct seam_pd_rec rec = {0};

	(void)state;
	u64(&o, PD_MAGIC);
	u64(&o, 16);
	put_attr(&o, 22);
	put_be_map(&o, PERF_RECORD_MISC_USER);
	put_be_map(&o, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA);
	r = read_bytes(&o);
	assert_int_equal(seam_pd_n_records(r), 2);
	assert_false(seam_pd_data_map(r, 0, &rec));
	assert_true(seam_pd_data_map(r, 1, &rec));
	assert_int_equal(rec.type, PERF_RECORD_MMAP2);
	assert_true(rec.misc & PERF_RECORD_MISC_MMAP_DATA);
	assert_int_equal(rec.pid, 7);
	assert_int_equal(rec.map.start, 0x10000);
	assert_int_equal(rec.map.len, 0x2000);
	seam_pd_record(r, 1, &rec);
	assert_string_equal(rec.map.path, "/bin/b");
	assert_int_equal(rec.time_ns, 900);
	seam_pd_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_ksymbol),
		cmocka_unit_test(test_data_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
