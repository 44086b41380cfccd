// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a recording, file or pipe, compressed or not, that is cut off at
 * any byte, or in which a record's size is wrong, is read up to the last whole
 * record, and exactly where and why it ends is said; lies in any place are met
 * without harm. */
#include "made.h"

static size_t record_at(const struct made *m, size_t at)
{
	size_t i = 0;

	while (i < m->n && m->marks[i + 1] <= at)
		i++;
	return i;
}

static void cut_anywhere(struct made *m)
{
	struct seam_pd_damage d;

	for (size_t len = 0; len <= m->size; len++) {
		size_t i = record_at(m, len);
		bool inside = len != m->marks[i];
		struct stop stop = {m->used[i], m->marks[i], NULL};
		char reason[160];

		if (len < m->attrs_end) {
			assert_int_equal(count(m->p, len, &d), -EBADMSG);
			continue;
		}
		if (len < m->begin) {
			stop = (struct stop){
				0, len, "the file ends before its data begins"};
		} else if (len < m->end && !m->is_pipe) {
			snprintf(reason, sizeof(reason),
				 "the file ends %zu bytes before its data%s",
				 m->end - len,
				 inside ? "; the last record is cut" : "");
			stop.reason = reason;
		} else if (len < m->end && inside) {
			stop.reason = "the data ends inside a record";
		} else if (len >= m->end && len < m->size) {
			/* Records have what is lost of the table. */
			stop.offset = len;
			stop.reason = "the file ends inside what it says of "
				      "itself";
		}
		expect(m, len, &stop);
	}
}

static void test_cut(void **state)
{
	(void)state;
	each_kind(cut_anywhere);
}

static void set_size(struct made *m, size_t at, uint16_t size)
{
	memcpy(m->p + at + 6, &size, sizeof(size));
}

/* A size that cannot be, or that leads beyond the end. */
static void size_anywhere(struct made *m)
{
	for (size_t i = 0; i < m->n; i++) {
		struct stop stop = {m->used[i], m->marks[i],
				    "a record is malformed"};
		uint16_t was;

		memcpy(&was, m->p + m->marks[i] + 6, sizeof(was));
		for (uint16_t size = 0; size < 8; size++) {
			set_size(m, m->marks[i], size);
			expect(m, m->size, &stop);
		}
		stop.reason = "the data ends inside a record";
		set_size(m, m->marks[i], (uint16_t)(m->end - m->marks[i] + 1));
		expect(m, m->size, &stop);
		set_size(m, m->marks[i], UINT16_MAX);
		expect(m, m->size, &stop);
		set_size(m, m->marks[i], was);
	}
}

static void test_size(void **state)
{
	(void)state;
	each_kind(size_anywhere);
}

/* The bytes behind an AUXTRACE record, which its size does not cover. */
static void test_behind(void **state)
{
	struct made m = make_pipe(0);
	struct perf_event_header h = {PD_AUXTRACE, 0, 16};
	const uint64_t behind = 1000;
	struct stop stop = {RECORDS, m.end, NULL};

	(void)state;
	m.p = realloc(m.p, m.end + h.size + behind);
	assert_non_null(m.p);
	put_bytes(m.p, m.end, &h, sizeof(h));
	put_bytes(m.p, m.end + 8, &behind, sizeof(behind));
	memset(m.p + m.end + 16, 0, behind);
	expect(&m, m.end, &stop);
	expect(&m, m.end + h.size + behind, &stop);
	stop.reason = "the data ends inside a record";
	for (size_t n = 1; n < h.size + behind; n++)
		expect(&m, m.end + n, &stop);
	free(m.p);
}

/* Each byte in turn says something else. What is read is bounded; under the
 * sanitizers a read out of bounds fails. */
static void damage_anywhere(struct made *m)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	struct seam_pd_damage damage;

	for (size_t i = 0; i < m->size; i++) {
		uint8_t was = m->p[i];

		for (size_t v = 0; v < sizeof(values); v++) {
			m->p[i] = values[v];
			count(m->p, m->size, &damage);
			if (m->is_pipe)
				count_stream(m->p, m->size, &damage);
		}
		m->p[i] = was;
	}
}

static void test_damaged(void **state)
{
	(void)state;
	each_kind(damage_anywhere);
}

/* A recorder of perf's kind that was killed never wrote the size. */
static void test_no_size(void **state)
{
	struct made m = make_file(0);
	struct pd_header h;

	(void)state;
	memcpy(&h, m.p, sizeof(h));
	h.data.size = 0;
	put_bytes(m.p, 0, &h, sizeof(h));
	for (size_t len = m.begin; len <= m.end; len++) {
		size_t i = record_at(&m, len);
		struct stop stop = {
			m.used[i], m.marks[i],
			len == m.marks[i]
				? "the recorder never wrote the data's size"
				: "the recorder never wrote the data's size; "
				  "the last record is cut"};

		expect(&m, len, &stop);
	}
	free(m.p);
}

static void test_not_ours(void **state)
{
	static const char text[] = "this is a text that is no recording";
	uint64_t swapped[13] = {PD_MAGIC_SWAPPED};
	struct seam_pd_damage damage;

	(void)state;
	assert_int_equal(count((const uint8_t *)text, sizeof(text), &damage),
			 -EBADMSG);
	assert_int_equal(count((uint8_t *)swapped, sizeof(swapped), &damage),
			 -EBADMSG);
	assert_int_equal(count((const uint8_t *)"", 0, &damage), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut),	cmocka_unit_test(test_size),
		cmocka_unit_test(test_behind),	cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_no_size), cmocka_unit_test(test_not_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
