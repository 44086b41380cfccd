// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: an event by a PMU's terms is what sysfs says of them, of a fake
 * one: numbers in the bits of their format, events with names, in the order
 * that they are given; what is wrong is told with what there is, and that some
 * PMUs only count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event/event-direct.h"
#include "event/event-name.h"
#include "event/pmu.h"

static char devices[32];

static const struct {
	const char *path, *text; /* NULL: a folder */
} files[] = {
	{"cpu", NULL},
	{"cpu/format", NULL},
	{"cpu/events", NULL},
	{"cpu/type", "4\n"},
	{"cpu/format/event", "config:0-7,32-35\n"},
	{"cpu/format/umask", "config:8-15\n"},
	{"cpu/format/edge", "config:18\n"},
	{"cpu/format/ldlat", "config1:0-15\n"},
	{"cpu/format/all", "config2:0-63\n"},
	{"cpu/format/wrong", "config:9-3\n"},
	{"cpu/format/later", "config3:0-7\n"},
	{"cpu/format/beyond", "config:60-64\n"},
	{"cpu/events/instructions", "event=0xc0\n"},
	{"cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n"},
	{"cpu/events/mem-loads.unit", "none\n"},
	{"cpu/events/loop", "loop\n"},
	{"cpu/events/open", "event=?\n"},
	{"software", NULL},
	{"software/type", "1\n"},
	{"tracepoint", NULL},
	{"tracepoint/type", "2\n"},
	{"untyped", NULL},
	{"untyped/type", "x\n"},
};

#define FILES (sizeof(files) / sizeof(*files))

static const char *path_of(size_t i)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", devices, files[i].path);
	return path;
}

static int set_up(void **state)
{
	(void)state;
	strcpy(devices, "seam-pmu-XXXXXX");
	assert_non_null(mkdtemp(devices));
	for (size_t i = 0; i < FILES; i++) {
		FILE *f;

		if (!files[i].text) {
			assert_int_equal(mkdir(path_of(i), 0700), 0);
			continue;
		}
		f = fopen(path_of(i), "w");
		assert_non_null(f);
		fputs(files[i].text, f);
		assert_int_equal(fclose(f), 0);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = FILES; i--;)
		files[i].text ? unlink(path_of(i)) : rmdir(path_of(i));
	return rmdir(devices);
}

static int read_text(const char *text, struct seam_event_name *name,
		     struct perf_event_attr *attr, struct seam_errinfo *err)
{
	char *base;
	int rc;

	assert_int_equal(seam_event_name_parse(text, name, err), 0);
	assert_true(name->pmu_len);
	base = strndup(text, name->base_len);
	assert_non_null(base);
	rc = seam_pmu_read(devices, base, name->pmu_len, attr, err);
	free(base);
	return rc;
}

static void good(void **state)
{
	static const struct {
		const char *text;
		uint64_t config, config1, config2;
	} cases[] = {
		{"cpu/event=0x3c/", 0x3c, 0, 0},
		{"cpu/event=0x3c,umask=0/", 0x3c, 0, 0},
		{"cpu/event=0x1c2,umask=1,edge/u", 0x1000401c2, 0, 0},
		{"cpu/edge=0,event=60/", 60, 0, 0},
		{"cpu/config=0x1ff/", 0x1ff, 0, 0},
		{"cpu/config=0xffff,event=1/", 0xff01, 0, 0},
		{"cpu/config1=7,config2=8,config=9/", 9, 7, 8},
		{"cpu/instructions/", 0xc0, 0, 0},
		{"cpu/instructions/upp", 0xc0, 0, 0},
		{"cpu/mem-loads,ldlat=30/", 0x1cd, 30, 0},
		{"cpu/ldlat=30,mem-loads/", 0x1cd, 3, 0},
		{"cpu/all=0xffffffffffffffff/", 0, 0, UINT64_MAX},
		{"cpu/event=1,period=1000,name=x,max-stack=3/", 1, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct perf_event_attr attr = {.type = 77};
		struct seam_errinfo err = {0};
		struct seam_event_name name;
		int rc = read_text(cases[i].text, &name, &attr, &err);

		if (rc)
			print_error("%s: %s\n", cases[i].text, err.reason);
		assert_int_equal(rc, 0);
		assert_int_equal(attr.type, 4);
		assert_int_equal(attr.config, cases[i].config);
		assert_int_equal(attr.config1, cases[i].config1);
		assert_int_equal(attr.config2, cases[i].config2);
	}
}

static void named(void **state)
{
	struct seam_event_name name;
	struct perf_event_attr attr = {0};
	struct seam_errinfo err = {0};

	(void)state;
	assert_int_equal(read_text("cpu/event=1,period=1000,name=x/ukp", &name,
				   &attr, &err),
			 0);
	assert_int_equal(name.period, 1000);
	assert_int_equal(name.label_len, 1);
	assert_true(name.user && name.kernel);
	assert_int_equal(name.precise, 1);
	assert_int_equal(name.base_len, strlen("cpu/event=1,period=1000,"
					       "name=x/"));
	assert_int_equal(seam_event_name_end("cpu/event=1,umask=2/u,cs"),
			 strlen("cpu/event=1,umask=2/u"));
}

static void bad(void **state)
{
	static const struct {
		const char *text, *reason;
	} cases[] = {
		{"gpu/event=1/", "'gpu' is no PMU of this machine; there are "
				 "cpu, software, tracepoint, untyped"},
		{"../event=1/", "'..' is no PMU"},
		{"cpu/event=0x1000/", "want a number up to 0xfff"},
		{"cpu/edge=2/", "'edge=2': want a number up to 0x1"},
		{"cpu/event=-1/", "'event=-1': want a number"},
		{"cpu/event=/", "'event=': want a number"},
		{"cpu/config=x/", "'config=x': want a number up to "
				  "0xffffffffffffffff"},
		{"cpu/cmask=1/", "'cmask' is no event or term of cpu; there "
				 "are instructions, loop, mem-loads, open, "
				 "all, beyond, edge, event"},
		{"cpu/instructions=1/", "'instructions' is no event or term"},
		{"cpu//", "'' is no event or term of cpu; there are instr"},
		{"cpu/period=3/", "'' is no event or term"},
		{"cpu/wrong=1/", "'wrong' is a term that seam cannot set: "
				 "config:9-3"},
		{"cpu/later=1/", "cannot set: config3:0-7"},
		{"cpu/beyond=1/", "cannot set: config:60-64"},
		{"cpu/loop/", "'loop' is no event or term"},
		{"cpu/open/", "'event=?': want a number"},
		{"software/config=0/", "write the event's name"},
		{"tracepoint/config=9/", "write SUBSYSTEM:NAME"},
		{"untyped/config=9/", "no type"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct perf_event_attr attr = {.type = 77, .config = 78};
		struct seam_errinfo err = {0};
		struct seam_event_name name;

		assert_int_equal(read_text(cases[i].text, &name, &attr, &err),
				 -EINVAL);
		if (!strstr(err.reason, cases[i].reason))
			print_error("%s: %s\n", cases[i].text, err.reason);
		assert_non_null(strstr(err.reason, cases[i].reason));
		assert_int_equal(attr.type, 77);
		assert_int_equal(attr.config, 78);
	}
}

/* As most do of a whole package. */
static void only_counts(void **state)
{
	struct seam_event ev = {.name = (char *)"msr/tsc/", .attr.type = 10};
	struct seam_errinfo err = {0};

	(void)state;
	assert_int_equal(seam_event_fail(&ev, -1, 0, -EINVAL, &err), -EINVAL);
	assert_non_null(strstr(err.reason, "the kernel does not sample "
					   "msr/tsc/: its PMU counts alone"));
	ev.attr.type = PERF_TYPE_SOFTWARE;
	seam_event_fail(&ev, -1, 0, -EINVAL, &err);
	assert_non_null(strstr(err.reason, "Invalid argument"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),
		cmocka_unit_test(named),
		cmocka_unit_test(bad),
		cmocka_unit_test(only_counts),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
