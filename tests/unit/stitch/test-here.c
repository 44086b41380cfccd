// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a recording is one of the kernel that runs here if it says so;
 * if it does not, if the kernel's build-id shows it; an address at which any
 * kernel may lie shows nothing. Symbols of another kernel, or another build of
 * it, do not say where its registers are written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf/elf.h"
#include "perfdata/format.h"
#include "stitch/here.h"
#include "stitch/kernel-doubt.h"

#define UNMOVED 0xffffffff81000000ULL

/* A pipe's. */
struct recording {
	uint8_t p[4096];
	size_t size;
};

static void put(struct recording *r, const void *p, size_t size)
{
	assert_true(size <= sizeof(r->p) - r->size);
	memcpy(r->p + r->size, p, size);
	r->size += size;
}

static void put_record(struct recording *r, uint32_t type, uint16_t misc,
		       const void *body, size_t size)
{
	struct perf_event_header h = {type, misc, (uint16_t)(sizeof(h) + size)};

	put(r, &h, sizeof(h));
	put(r, body, size);
}

static struct recording begin(void)
{
	const uint64_t front[] = {PD_MAGIC, PD_PIPE_HEADER_SIZE};
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .sample_type = PERF_SAMPLE_IP};
	struct recording r = {.size = 0};

	put(&r, front, sizeof(front));
	put_record(&r, PD_HEADER_ATTR, 0, &attr, sizeof(attr));
	return r;
}

static void put_release(struct recording *r, const char *release)
{
	struct {
		uint64_t bit;
		uint32_t len;
		char text[68];
	} body = {.bit = PD_FEAT_OSRELEASE, .len = 68};

	strncpy(body.text, release, sizeof(body.text) - 1);
	put_record(r, PD_HEADER_FEATURE, 0, &body, sizeof(body));
}

/* id: NULL: none. */
static void put_kernel(struct recording *r, uint64_t text_avma,
		       const uint8_t *id, size_t len)
{
	struct {
		uint32_t pid, tid;
		uint64_t start, len, pgoff;
		uint8_t id_len, zeros[3], id[20];
		uint32_t prot, flags;
		char path[24];
	} body = {
		.pid = UINT32_MAX,
		.start = text_avma,
		.len = 0x1000000,
		.pgoff = text_avma,
		.id_len = (uint8_t)len,
		.path = "[kernel.kallsyms]_text",
	};

	if (id)
		memcpy(body.id, id, len);
	put_record(r, PERF_RECORD_MMAP2,
		   PERF_RECORD_MISC_KERNEL |
			   (id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0),
		   &body, sizeof(body));
}

static bool other_runs(const struct recording *r)
{
	struct seam_pd_reader *reader;
	bool other;

	assert_int_equal(seam_pd_open_mem(r->p, r->size, &reader, NULL), 0);
	assert_false(seam_pd_damage(reader)->damaged);
	other = seam_other_kernel_runs(reader);
	seam_pd_close(reader);
	return other;
}

static void test_release(void **state)
{
	struct recording own = begin(), other = begin();
	struct utsname u;

	(void)state;
	assert_int_equal(uname(&u), 0);
	put_release(&own, u.release);
	assert_false(other_runs(&own));
	put_release(&other, "1.2.3-none");
	assert_true(other_runs(&other));
}

/* Of the same release. */
static void test_rebuilt(void **state)
{
	struct recording own = begin(), rebuilt;
	uint8_t id[SEAM_BUILD_ID_MAX];
	size_t len = seam_own_build_id(id);
	struct utsname u;

	(void)state;
	if (!len || len > 20) {
		print_message("# the kernel does not say its build-id\n");
		skip();
	}
	assert_int_equal(uname(&u), 0);
	put_release(&own, u.release);
	rebuilt = own;
	put_kernel(&own, UNMOVED, id, len);
	assert_false(other_runs(&own));
	id[len - 1] ^= 1;
	put_kernel(&rebuilt, UNMOVED, id, len);
	assert_true(other_runs(&rebuilt));
}

static void test_nothing(void **state)
{
	struct recording r = begin();

	(void)state;
	assert_true(other_runs(&r));
}

static void test_build_id(void **state)
{
	struct recording own = begin(), other = begin();
	uint8_t id[SEAM_BUILD_ID_MAX];
	size_t len = seam_own_build_id(id);

	(void)state;
	if (!len || len > 20) {
		print_message("# the kernel does not say its build-id\n");
		skip();
	}
	put_kernel(&own, 0xffffffff91000000ULL, id, len);
	assert_false(other_runs(&own));
	id[0] ^= 1;
	put_kernel(&other, UNMOVED, id, len);
	assert_true(other_runs(&other));
}

static void test_address(void **state)
{
	uint64_t text = seam_kallsyms_find("/proc/kallsyms", "_text");
	struct recording here = begin(), there = begin(), unmoved = begin();

	(void)state;
	put_kernel(&unmoved, UNMOVED, NULL, 0);
	assert_true(other_runs(&unmoved));
	put_kernel(&there, text + (1 << 21), NULL, 0);
	assert_true(other_runs(&there));
	if (!text || text == UNMOVED) {
		print_message("# the kernel %s\n",
			      text ? "is where any is that was not moved"
				   : "hides its addresses");
		skip();
	}
	put_kernel(&here, text, NULL, 0);
	assert_false(other_runs(&here));
}

#define TEXT "ffffffff81000000 T _text\n"
#define DOORS                                                                  \
	"ffffffff81000010 T __entry_text_start\n"                              \
	"ffffffff81000080 T entry_SYSCALL_64\n"                                \
	"ffffffff81001a87 T __entry_text_end\n"                                \
	"ffffffff812fd750 T x64_setup_rt_frame\n"                              \
	"ffffffff812fda70 T __pfx_next\n"

/* Where in the kernel samples are doubted, if its symbols are of the recorded
 * one. kallsyms: NULL: this machine's. */
static struct seam_kernel_doubt doubt(const struct recording *r,
				      const char *kallsyms)
{
	struct seam_kernel_doubt ret;
	struct seam_pd_reader *reader;

	assert_int_equal(seam_pd_open_mem(r->p, r->size, &reader, NULL), 0);
	assert_int_equal(seam_kernel_doubt_read(reader, kallsyms, &ret), 0);
	seam_pd_close(reader);
	return ret;
}

static void test_doubt(void **state)
{
	struct recording own = begin(), other = begin(), rebuilt, same;
	uint8_t id[SEAM_BUILD_ID_MAX];
	size_t len = seam_own_build_id(id);
	struct seam_kernel_entry here;
	struct seam_kernel_doubt d;
	struct utsname u;

	(void)state;
	put_release(&other, "1.2.3-none");
	assert_false(doubt(&other, NULL).is_known);
	if (seam_kernel_code_read(NULL, &here, NULL) || !len || len > 20) {
		print_message("# the kernel hides addresses or build-id\n");
		skip();
	}
	assert_int_equal(uname(&u), 0);
	put_release(&own, u.release);
	rebuilt = same = own;
	put_kernel(&same, UNMOVED, id, len);
	id[0] ^= 1;
	put_kernel(&rebuilt, UNMOVED, id, len);
	d = doubt(&own, NULL);
	assert_true(d.is_known);
	assert_memory_equal(&d.entry, &here, sizeof(here));
	assert_true(doubt(&same, NULL).is_known);
	assert_false(doubt(&rebuilt, NULL).is_known);
	/* Symbols that are given are believed. */
	assert_false(doubt(&own, "/dev/null").is_known);
}

static struct seam_kernel_place at(uint64_t ip)
{
	return (struct seam_kernel_place){.ip = ip};
}

static struct seam_kernel_doubt doubt_by(const struct recording *r,
					 const char *symbols)
{
	char path[] = "/tmp/seam-symbols-XXXXXX";
	struct seam_kernel_doubt ret;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, symbols, strlen(symbols)), strlen(symbols));
	close(fd);
	ret = doubt(r, path);
	unlink(path);
	return ret;
}

/* The recorded kernel lay elsewhere than the symbols say, or it is not known
 * where. */
static void test_doubt_moved(void **state)
{
	const uint64_t text = 0xffffffff9a000000ULL;
	struct seam_kernel_place place;
	struct recording r = begin();
	struct seam_kernel_doubt d;

	(void)state;
	put_release(&r, "1.2.3-none");
	put_kernel(&r, text, NULL, 0);
	d = doubt_by(&r, TEXT DOORS);
	assert_true(d.is_known);
	place = at(text + 0x80);
	assert_true(seam_kernel_doubts(&d, &place));
	place = at(UNMOVED + 0x80);
	assert_false(seam_kernel_doubts(&d, &place));
	assert_false(doubt_by(&r, DOORS).is_known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_release),
		cmocka_unit_test(test_rebuilt),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_address),
		cmocka_unit_test(test_doubt),
		cmocka_unit_test(test_doubt_moved),
	};

	setenv("XDG_CACHE_HOME", "/proc", 1); /* where nothing is kept */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
