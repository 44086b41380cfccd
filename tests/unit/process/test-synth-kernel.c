// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what a recording says of the kernel has its build-id, by which
 * its symbols are found when another one runs. Skipped where the kernel's notes
 * have none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "process/synth.h"
#include "tests/unit/skip.h"

#define MISC_BUILD_ID (1 << 14)

struct map { /* of PERF_RECORD_MMAP2 */
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, len, pgoff;
	uint8_t id_len, reserved[3], id[20];
	uint32_t prot, flags;
	char path[64];
};

static struct map got;
static int n_got;

static int take(void *ctx, const struct perf_event_header *record)
{
	(void)ctx;
	n_got++;
	memcpy(&got, record,
	       record->size < sizeof(got) ? record->size : sizeof(got));
	return 0;
}

/* Where in the kernel's notes: a name of 4 bytes, the id, of type 3. */
static const uint8_t *find_id(const uint8_t *notes, size_t size, uint32_t *len)
{
	for (size_t at = 0; at + 16 <= size; at += 4) {
		uint32_t head[3];

		memcpy(head, notes + at, sizeof(head));
		if (head[0] != 4 || head[2] != 3 ||
		    memcmp(notes + at + 12, "GNU", 4) != 0)
			continue;
		*len = head[1];
		return notes + at + 16;
	}
	return NULL;
}

static void test_build_id(void **state)
{
	const struct seam_synth synth = {.time_ns = 1, .id = 2, .fn = take};
	static uint8_t notes[4096];
	FILE *f = fopen("/sys/kernel/notes", "re");
	size_t size = f ? fread(notes, 1, sizeof(notes), f) : 0;
	const uint8_t *id;
	uint32_t len = 0;

	(void)state;
	if (f)
		fclose(f);
	id = find_id(notes, size, &len);
	assert_int_equal(seam_synth_kernel(&synth, 0x1000, 0x9000), 0);
	if (!id)
		skip_since("the kernel does not say its build-id");
	assert_int_equal(n_got, 1);
	assert_int_equal(got.header.type, PERF_RECORD_MMAP2);
	assert_int_equal(got.header.misc,
			 PERF_RECORD_MISC_KERNEL | MISC_BUILD_ID);
	assert_int_equal(got.id_len, len);
	assert_memory_equal(got.id, id, len);
	assert_int_equal(got.start, 0x1000);
	assert_int_equal(got.len, 0x8000);
	assert_int_equal(got.pgoff, 0x1000);
	assert_string_equal(got.path, "[kernel.kallsyms]_text");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_build_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
