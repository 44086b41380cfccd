/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Description: which record of a tracepoint is a sample's: its thread's last
 * before it, once; none where one may have been lost in between, on whatever
 * CPU, said by a record or only by the event's own count. The buffers are made
 * up here, so that each loss is where it hurts.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "core/wire.h"
#include "event/payload.h"
#include "event/sideband.h"

#define US 1000ULL
#define MS (1000 * US)
#define START (100000 * MS)
#define CPUS 2
#define OURS 0 /* of events */
#define OTHER 1

struct raw {
	uint16_t type;
	uint8_t flags, preempt_count;
	uint32_t tid, mark;
};

struct sample {
	struct perf_event_header header;
	uint64_t id;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, res;
	uint32_t raw_len;
	struct raw raw;
};

static struct {
	struct seam_side_record records[16];
	struct sample samples[16];
	long n;
	bool is_tight[CPUS];
	uint64_t now_ns;
	uint64_t unkept, drops; /* in the next reading */
} ring;

static struct {
	struct seam_event v[2];
	int fds[2][CPUS], feeds[2][CPUS], cpus[CPUS];
	uint64_t ids[2][CPUS];
} events;

int __wrap_seam_sideband_open(const struct seam_sideband_opts *opts,
			      struct seam_sideband **ret,
			      struct seam_errinfo *reterr);
struct seam_sideband *__wrap_seam_sideband_close(struct seam_sideband *sb);
int __wrap_seam_sideband_take(struct seam_sideband *sb,
			      const struct seam_event *ev);
bool __wrap_seam_sideband_tight(const struct seam_sideband *sb, size_t i);
long __wrap_seam_sideband_read(struct seam_sideband *sb, uint64_t lag_ns,
			       struct seam_side_record **ret,
			       uint64_t *ret_lost);
uint64_t __wrap_seam_sideband_unkept(const struct seam_sideband *sb);
int __wrap_seam_online_cpus(int **ret);
uint64_t __wrap_seam_now_ns(void);

int __wrap_seam_sideband_open(const struct seam_sideband_opts *opts,
			      struct seam_sideband **ret,
			      struct seam_errinfo *reterr)
{
	(void)reterr;
	assert_true(opts->samples && opts->quiet);
	*ret = NULL;
	return 0;
}

struct seam_sideband *__wrap_seam_sideband_close(struct seam_sideband *sb)
{
	return sb;
}

int __wrap_seam_sideband_take(struct seam_sideband *sb,
			      const struct seam_event *ev)
{
	(void)sb;
	(void)ev;
	return 0;
}

bool __wrap_seam_sideband_tight(const struct seam_sideband *sb, size_t i)
{
	(void)sb;
	return ring.is_tight[i];
}

long __wrap_seam_sideband_read(struct seam_sideband *sb, uint64_t lag_ns,
			       struct seam_side_record **ret,
			       uint64_t *ret_lost)
{
	long n = ring.n;

	(void)sb;
	(void)lag_ns;
	*ret = ring.records;
	ring.n = 0;
	/* And what the kernel says, of which there are records. */
	*ret_lost += ring.drops + 7;
	ring.unkept += ring.drops;
	ring.drops = 0;
	return n;
}

uint64_t __wrap_seam_sideband_unkept(const struct seam_sideband *sb)
{
	(void)sb;
	return ring.unkept;
}

int __wrap_seam_online_cpus(int **ret)
{
	*ret = calloc(CPUS, sizeof(**ret));
	assert_non_null(*ret);
	for (int i = 0; i < CPUS; i++)
		(*ret)[i] = i;
	return CPUS;
}

uint64_t __wrap_seam_now_ns(void)
{
	return ring.now_ns;
}

static void open_event(size_t i)
{
	struct seam_event *ev = &events.v[i];

	*ev = (struct seam_event){
		.fds = events.fds[i],
		.ids = events.ids[i],
		.cpus = events.cpus,
		.n = CPUS,
		.tracepoint.tid_at = offsetof(struct raw, tid),
	};
	ev->attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			       PERF_SAMPLE_RAW;
	ev->opened = ev->attr;
	for (int cpu = 0; cpu < CPUS; cpu++) {
		int pipe[2];

		assert_int_equal(pipe2(pipe, O_CLOEXEC | O_NONBLOCK), 0);
		events.fds[i][cpu] = pipe[0];
		events.feeds[i][cpu] = pipe[1];
		events.ids[i][cpu] = 100 * (i + 1) + (uint64_t)cpu;
		events.cpus[cpu] = cpu;
	}
}

static int setup(void **state)
{
	struct seam_payloads *p;

	memset(&ring, 0, sizeof(ring));
	ring.now_ns = START;
	open_event(OURS);
	open_event(OTHER);
	assert_int_equal(seam_payloads_open(events.v, 2, 0, &p, NULL), 0);
	assert_non_null(p);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	seam_payloads_close(*state);
	for (size_t i = 0; i < 2; i++)
		for (int cpu = 0; cpu < CPUS; cpu++) {
			close(events.fds[i][cpu]);
			close(events.feeds[i][cpu]);
		}
	return 0;
}

static struct sample *add(uint32_t type, uint32_t cpu, uint64_t time_ns)
{
	struct sample *s = &ring.samples[ring.n];

	*s = (struct sample){
		.header = {.type = type, .size = sizeof(*s)},
		.time_ns = time_ns,
		.cpu = cpu,
		.raw_len = sizeof(s->raw),
	};
	ring.records[ring.n++] = (struct seam_side_record){
		.time_ns = time_ns, .cpu = cpu, .header = &s->header};
	return s;
}

static struct sample *hit(size_t event, uint32_t tid, uint32_t cpu,
			  uint64_t time_ns, uint32_t mark)
{
	struct sample *s = add(PERF_RECORD_SAMPLE, cpu, time_ns);

	s->id = events.ids[event][cpu];
	/* The record itself may name no thread: the payload does. */
	s->pid = s->tid = UINT32_MAX;
	s->raw = (struct raw){.tid = tid, .mark = mark};
	return s;
}

static void count_lost(size_t event, uint32_t cpu, uint64_t lost)
{
	const uint64_t value[3] = {1000, events.ids[event][cpu], lost};

	assert_int_equal(write(events.feeds[event][cpu], value, sizeof(value)),
			 sizeof(value));
}

static void read_at(struct seam_payloads *p, uint64_t time_ns)
{
	ring.now_ns = time_ns;
	assert_int_equal(seam_payloads_read(p), 0);
}

/* Return: its mark, 0: none. */
static uint32_t find_in(struct seam_payloads *p, uint32_t tid, uint32_t cpu,
			uint64_t time_ns, uint32_t flags)
{
	const struct seam_payload_of of = {&events.v[OURS], tid, cpu, flags,
					   time_ns};
	size_t size = 0;
	struct raw raw;
	const void *bytes = seam_payloads_find(p, &of, &size);

	if (!bytes)
		return 0;
	assert_int_equal(size, sizeof(raw));
	memcpy(&raw, bytes, sizeof(raw));
	assert_int_equal(raw.tid, tid);
	return raw.mark;
}

static uint32_t find(struct seam_payloads *p, uint32_t tid, uint32_t cpu,
		     uint64_t time_ns)
{
	return find_in(p, tid, cpu, time_ns, 0);
}

static void test_last_once(void **state)
{
	struct seam_payloads *p = *state;

	hit(OURS, 7, 0, START, 1);
	hit(OURS, 8, 1, START + 1 * US, 2);
	hit(OURS, 7, 1, START + 5 * US, 3);
	hit(OTHER, 7, 1, START + 6 * US, 4);
	read_at(p, START + MS);
	assert_int_equal(find(p, 7, 1, START + 7 * US), 3);
	assert_int_equal(find(p, 7, 0, START + 2 * US), 1);
	assert_int_equal(find(p, 8, 1, START + 2 * US), 2);
	assert_int_equal(seam_payloads_lost(p), 0);
	/* Served; of nobody; before there was any. */
	assert_int_equal(find(p, 7, 1, START + 8 * US), 0);
	assert_int_equal(find(p, 9, 1, START + 8 * US), 0);
	assert_int_equal(find(p, 8, 1, START), 0);
	assert_int_equal(seam_payloads_lost(p), 3);
}

/* Each of these may interrupt those before it, between what perf and what the
 * program makes of the hit. As tracepoints say it, and as the program does. */
static void test_interrupts(void **state)
{
	static const struct {
		uint8_t common;
		uint32_t flags;
	} in[] = {
		{0x01, 0}, /* interrupts off */
		{0x10, SEAM_SAMPLE_SOFTIRQ},
		{0x18 | 0x04, SEAM_SAMPLE_SOFTIRQ | SEAM_SAMPLE_HARDIRQ},
		{0x08, SEAM_SAMPLE_HARDIRQ},
		{0x48, SEAM_SAMPLE_HARDIRQ | SEAM_SAMPLE_NMI},
		{0x40, SEAM_SAMPLE_NMI},
	};
	const uint32_t n = sizeof(in) / sizeof(*in);
	struct seam_payloads *p = *state;

	for (uint32_t i = 0; i < n; i++)
		hit(OURS, 7, 0, START + i * US, i + 1)->raw.flags =
			in[i].common;
	read_at(p, START + MS);
	/* None of the last but one: it is no sample. */
	for (uint32_t i = n; i-- > 0;)
		if (i != n - 2)
			assert_int_equal(
				find_in(p, 7, 0, START + 9 * US,
					in[i].flags | SEAM_SAMPLE_KNOWN),
				i + 1);
	/* Of a kernel that does not say where it came. */
	assert_int_equal(find(p, 7, 0, START + 9 * US), 0);
	assert_int_equal(find_in(p, 7, 0, START + 4 * US,
				 in[n - 2].flags | SEAM_SAMPLE_KNOWN),
			 n - 1);
	assert_int_equal(seam_payloads_lost(p), 1);
}

/* What is older than perf and a program can be apart is of another hit. */
static void test_too_old(void **state)
{
	struct seam_payloads *p = *state;

	hit(OURS, 7, 0, START, 1);
	hit(OURS, 8, 0, START, 2);
	read_at(p, START + 100 * MS);
	assert_int_equal(find(p, 7, 0, START + 9 * MS), 1);
	assert_int_equal(find(p, 8, 0, START + 11 * MS), 0);
	assert_int_equal(seam_payloads_lost(p), 1);
}

static void test_idle(void **state)
{
	struct seam_payloads *p = *state;

	hit(OURS, 0, 0, START, 1);
	hit(OURS, 0, 1, START + US, 2);
	read_at(p, START + MS);
	assert_int_equal(find(p, 0, 0, START + 2 * US), 1);
	assert_int_equal(find(p, 0, 1, START + 2 * US), 2);
}

/* Hit 2 was lost: hit 1 is not its sample's. */
static void lost_between(struct seam_payloads *p, uint32_t cpu)
{
	hit(OURS, 7, 0, START, 1);
	hit(OURS, 8, 1, START, 3);
	hit(OURS, 9, cpu, START + 10 * US, 4);
	add(PERF_RECORD_LOST, cpu, START + 30 * US);
	hit(OURS, 7, cpu, START + 31 * US, 5);
	read_at(p, START + MS);
	assert_int_equal(find(p, 7, 0, START + 20 * US), 0);
	assert_int_equal(seam_payloads_lost(p), 1);
	/* Before and behind the loss all is well. */
	assert_int_equal(find(p, 8, 1, START + 1 * US), 3);
	assert_int_equal(find(p, 7, cpu, START + 32 * US), 5);
	assert_int_equal(seam_payloads_lost(p), 1);
}

/* There was no memory for some: whose they were nobody knows. */
static void test_unkept(void **state)
{
	struct seam_payloads *p = *state;

	hit(OURS, 7, 0, START, 1);
	hit(OURS, 8, 1, START, 3);
	ring.drops = 1;
	read_at(p, START + MS);
	assert_int_equal(find(p, 7, 0, START + MS + US), 0);
	assert_int_equal(find(p, 8, 1, START + MS + US), 0);
	assert_int_equal(seam_payloads_lost(p), 2);
	hit(OURS, 7, 0, START + 2 * MS, 5);
	read_at(p, START + 3 * MS);
	assert_int_equal(find(p, 7, 0, START + 2 * MS + US), 5);
}

static void test_lost_record(void **state)
{
	lost_between(*state, 0);
}

/* The thread was on the other CPU meanwhile. */
static void test_lost_elsewhere(void **state)
{
	lost_between(*state, 1);
}

/* The buffer is full: no record says so yet, the count does. */
static void test_lost_counted(void **state)
{
	struct seam_payloads *p = *state;

	ring.is_tight[1] = true;
	count_lost(OURS, 1, 0);
	count_lost(OTHER, 1, 3);
	hit(OURS, 8, 1, START, 3);
	hit(OURS, 7, 1, START + 5 * US, 1);
	read_at(p, START + MS);
	/* The last one may be that of the hit before. */
	assert_int_equal(find(p, 7, 1, START + 8 * US), 0);
	assert_int_equal(find(p, 8, 1, START + 1 * US), 3);
	/* What was counted once is not lost again. */
	count_lost(OURS, 1, 0);
	count_lost(OTHER, 1, 3);
	hit(OURS, 7, 1, START + 2 * MS, 6);
	read_at(p, START + 3 * MS);
	assert_int_equal(find(p, 7, 1, START + 2 * MS + US), 6);
	assert_int_equal(seam_payloads_lost(p), 1);
}

/* A sample may come with the next reading; after that nobody waits. */
static void test_kept(void **state)
{
	struct seam_payloads *p = *state;

	hit(OURS, 7, 0, START, 1);
	hit(OURS, 8, 0, START, 2);
	read_at(p, START + MS);
	read_at(p, START + 150 * MS);
	assert_int_equal(find(p, 7, 0, START + US), 1);
	read_at(p, START + 300 * MS);
	read_at(p, START + 600 * MS);
	assert_int_equal(find(p, 8, 0, START + US), 0);
}

/* Shorter than where its thread should be, or of an event that is not ours. */
static void test_malformed(void **state)
{
	struct seam_payloads *p = *state;

	hit(OURS, 7, 0, START, 1);
	ring.samples[0].raw_len = 4;
	hit(OURS, 7, 0, START + US, 2);
	ring.samples[1].raw_len = 4096;
	hit(OURS, 7, 0, START + 2 * US, 3);
	ring.samples[2].id = 999;
	read_at(p, START + MS);
	assert_int_equal(find(p, 7, 0, START + 3 * US), 0);
}

static void test_none_wanted(void **state)
{
	struct seam_payloads *p = (void *)1;

	(void)state;
	events.v[OURS].attr.sample_type = events.v[OTHER].attr.sample_type =
		PERF_SAMPLE_IDENTIFIER;
	assert_int_equal(seam_payloads_open(events.v, 2, 0, &p, NULL), 0);
	assert_null(p);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_last_once),	 CASE(test_interrupts),
		CASE(test_too_old),	 CASE(test_idle),
		CASE(test_lost_record),	 CASE(test_lost_elsewhere),
		CASE(test_lost_counted), CASE(test_unkept),
		CASE(test_kept),	 CASE(test_malformed),
		CASE(test_none_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
