// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a stream whose attributes come one by one, with names between
 * them, is read by an effort that grows little faster than it, and each id is
 * that of the same event as if all ids were sorted for each question. */
#include "perfdata/format.h"
#include "recording.h"

#define EVENTS_MAX 8192
#define IDS_MAX 8 /* of an event */

static bool counts; /* while a recording is read: */
static size_t n_sorted; /* items */
static size_t n_allocated; /* bytes; also what merging takes */
static bool no_memory; /* for merging */

void __real_qsort(void *p, size_t n, size_t size,
		  int (*compare)(const void *, const void *));
void __wrap_qsort(void *p, size_t n, size_t size,
		  int (*compare)(const void *, const void *));
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void __wrap_qsort(void *p, size_t n, size_t size,
		  int (*compare)(const void *, const void *))
{
	n_sorted += counts ? n : 0;
	__real_qsort(p, n, size, compare);
}

void *__wrap_malloc(size_t size)
{
	n_allocated += counts ? size : 0;
	return no_memory ? NULL : __real_malloc(size);
}

struct stream {
	uint8_t *p;
	size_t n;
};

static struct stream *stream_new(void)
{
	static const uint64_t head[] = {PD_MAGIC, PD_PIPE_HEADER_SIZE};
	static struct stream s;

	s.p = calloc(EVENTS_MAX, 512);
	assert_non_null(s.p);
	memcpy(s.p, head, sizeof(head));
	s.n = sizeof(head);
	return &s;
}

static void put(struct stream *s, const void *p, size_t len)
{
	memcpy(s->p + s->n, p, len);
	s->n += len;
}

static void put_attr(struct stream *s, const uint64_t *ids, size_t n)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.sample_type = PERF_SAMPLE_IDENTIFIER,
	};
	struct perf_event_header h = {
		.type = PD_HEADER_ATTR,
		.size = (uint16_t)(sizeof(h) + sizeof(attr) + 8 * n),
	};

	put(s, &h, sizeof(h));
	put(s, &attr, sizeof(attr));
	put(s, ids, 8 * n);
}

static void put_name(struct stream *s, uint64_t id, unsigned number)
{
	const uint64_t words[] = {2, id};
	char name[16] = "";
	struct perf_event_header h = {
		.type = PD_EVENT_UPDATE,
		.size = sizeof(h) + sizeof(words) + sizeof(name),
	};

	snprintf(name, sizeof(name), "e%u", number);
	put(s, &h, sizeof(h));
	put(s, words, sizeof(words));
	put(s, name, sizeof(name));
}

static struct seam_pd_reader *read_stream(const struct stream *s)
{
	struct seam_pd_reader *r = NULL;
	struct seam_errinfo err = {0};
	int rc;

	n_sorted = n_allocated = 0;
	counts = true;
	rc = seam_pd_open_mem(s->p, s->n, &r, &err);
	counts = false;
	assert_int_equal(rc, 0);
	assert_false(seam_pd_damage(r)->damaged);
	return r;
}

/* Each id is sorted once, and what was sorted is merged with as much or more.
 */
static void test_effort(void **state)
{
	struct stream *s = stream_new();
	struct seam_pd_reader *r;
	const size_t n = EVENTS_MAX * IDS_MAX, record = 16;
	const size_t others = 1024 * EVENTS_MAX;

	(void)state;
	for (uint64_t i = 0; i < EVENTS_MAX; i++) {
		uint64_t ids[IDS_MAX];

		for (uint64_t j = 0; j < IDS_MAX; j++)
			ids[j] = (i * 2654435761u & 0xffff) * IDS_MAX + j;
		put_attr(s, ids, IDS_MAX);
		put_name(s, ids[0], (unsigned)i);
	}
	r = read_stream(s);
	assert_int_equal(seam_pd_n_events(r), EVENTS_MAX);
	assert_int_equal(n_sorted, n);
	assert_true(n_allocated < 17 * n * record + others);
	seam_pd_close(r);
	free(s->p);
}

/* All ids, in order, each sorted in where it comes. */
struct known {
	uint64_t id;
	int event;
};

static struct known known[64 * IDS_MAX];
static size_t n_known;

static void know(uint64_t id, int event)
{
	size_t at = n_known++;

	for (; at && known[at - 1].id > id; at--)
		known[at] = known[at - 1];
	known[at] = (struct known){id, event};
}

static int by_id(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int event_of(uint64_t id)
{
	const struct known key = {.id = id}, *hit;

	hit = bsearch(&key, known, n_known, sizeof(key), by_id);
	return hit ? hit->event : -1;
}

static uint32_t next_random(void)
{
	static uint32_t x = 1;

	x = x * 1664525 + 1013904223;
	return x >> 8;
}

static uint64_t random_id(uint32_t range)
{
	uint32_t id = next_random() % range;

	return id ? id : UINT64_MAX;
}

/* Events with ids of a small range, so that many have the same, and names
 * between. */
static void check_random(uint32_t range)
{
	struct stream *s = stream_new();
	unsigned names[64] = {0}, number = 0;
	const int n_events = 1 + (int)(next_random() % 64);
	struct seam_pd_reader *r;
	char name[16];

	n_known = 0;
	for (int i = 0; i < n_events; i++) {
		size_t n = next_random() % (IDS_MAX + 1);
		uint64_t ids[IDS_MAX];

		for (size_t j = 0; j < n; j++) {
			ids[j] = random_id(range);
			know(ids[j], i);
		}
		put_attr(s, ids, n);
		for (uint32_t j = next_random() % 4; j; j--) {
			uint64_t id = random_id(range);
			int event = event_of(id);

			put_name(s, id, ++number);
			if (event >= 0)
				names[event] = number;
		}
	}
	r = read_stream(s);
	for (int i = 0; i < n_events; i++) {
		snprintf(name, sizeof(name), "e%u", names[i]);
		assert_string_equal(seam_pd_event(r, (size_t)i)->name,
				    names[i] ? name : "cpu-clock");
	}
	/* Often enough that the runs become one. */
	for (int times = 0; times < 100; times++)
		for (uint64_t id = 0; id <= range; id++) {
			uint64_t asked = id ? id : UINT64_MAX;

			assert_int_equal(seam_pd_event_by_id(r, asked),
					 event_of(asked));
		}
	seam_pd_close(r);
	free(s->p);
}

static void test_same_event(void **state)
{
	(void)state;
	for (int i = 0; i < 200; i++)
		check_random(1 + next_random() % (i % 2 ? 8 : 400));
}

/* Merging takes memory, but can be done without: the runs of 8, 4, 2 and 1 ids
 * that are left become one. */
static void test_no_memory(void **state)
{
	const uint64_t ids[] = {5, 3, 4, 3, 9, 3, 1, 5};
	struct stream *s = stream_new();
	struct seam_pd_reader *r;

	(void)state;
	n_known = 0;
	for (size_t i = 0; i < 8; i++) {
		put_attr(s, ids + i, i < 7 ? 2 : 1);
		put_name(s, ids[i], (unsigned)i);
		know(ids[i], (int)i);
		if (i < 7)
			know(ids[i + 1], (int)i);
	}
	r = read_stream(s);
	no_memory = true;
	n_sorted = 0;
	counts = true;
	for (int times = 0; times < 20; times++)
		for (uint64_t id = 0; id < 10; id++)
			assert_int_equal(seam_pd_event_by_id(r, id),
					 event_of(id));
	counts = no_memory = false;
	assert_int_equal(n_sorted, (1 + 2) + (3 + 4) + (7 + 8));
	seam_pd_close(r);
	free(s->p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_effort),
		cmocka_unit_test(test_same_event),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
