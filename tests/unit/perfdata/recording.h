/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A small recording in a folder of its own, for the tests of the writer,
 * the reader and the stitcher. */
#ifndef SEAM_TESTS_RECORDING_H
#define SEAM_TESTS_RECORDING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/err.h"
#include "core/uapi.h"
#include "perfdata/reader.h"
#include "perfdata/writer.h"

#define EVENT_ID 11
#define DUMMY_ID 21

struct folder {
	char path[64];
	char file[80], old[88];
};

static inline void folder_make(struct folder *f)
{
	snprintf(f->path, sizeof(f->path), "seam-test-XXXXXX");
	assert_non_null(mkdtemp(f->path));
	snprintf(f->file, sizeof(f->file), "%s/perf.data", f->path);
	snprintf(f->old, sizeof(f->old), "%s.old", f->file);
}

static inline void folder_remove(struct folder *f)
{
	unlink(f->file);
	unlink(f->old);
	rmdir(f->path);
}

/* max_stack: frames of a user stack that the event shows; 0: all. */
static inline struct seam_pd_writer *
open_writer_limited(const char *path, int zstd, uint16_t max_stack)
{
	static const uint64_t ids[] = {EVENT_ID, EVENT_ID + 1};
	static const uint64_t dummy[] = {DUMMY_ID, DUMMY_ID + 1};
	static char *argv[] = {(char *)"record", (char *)"--", (char *)"true"};
	struct seam_pd_event events[] = {
		{.name = "cpu-clock:test", .ids = ids, .n_ids = 2},
		{.name = "dummy:u", .ids = dummy, .n_ids = 2},
	};
	struct seam_pd_opts opts = {
		.sz = sizeof(opts),
		.events = events,
		.n_events = 2,
		.argv = argv,
		.argc = 3,
		.zstd_level = zstd,
	};
	struct seam_pd_writer *w = NULL;
	struct seam_errinfo err = {0};

	events[0].attr.type = PERF_TYPE_SOFTWARE;
	events[0].attr.config = PERF_COUNT_SW_CPU_CLOCK;
	events[0].attr.sample_period = 1000;
	events[0].attr.sample_max_stack = max_stack;
	events[1].attr.type = PERF_TYPE_SOFTWARE;
	events[1].attr.config = PERF_COUNT_SW_DUMMY;
	assert_int_equal(seam_pd_writer_open(path, &opts, &w, &err), 0);
	return w;
}

static inline struct seam_pd_writer *open_writer(const char *path, int zstd)
{
	return open_writer_limited(path, zstd, 0);
}

static inline struct seam_pd_id id_of(uint32_t tid, uint64_t time_ns)
{
	return (struct seam_pd_id){
		.pid = tid, .tid = tid, .time_ns = time_ns, .id = EVENT_ID};
}

static const uint64_t kernel_ips[] = {0xffffffff81000010, 0xffffffff81000020};

static inline int put_sample(struct seam_pd_writer *w, uint32_t tid,
			     uint64_t time_ns, uint64_t cookie)
{
	struct seam_pd_sample s = {
		.id = id_of(tid, time_ns),
		.misc = PERF_RECORD_MISC_KERNEL,
		.ip = kernel_ips[0],
		.period = 7,
		.cookie = cookie,
		.kernel_ips = kernel_ips,
		.n_kernel = 2,
	};

	return seam_pd_write_sample(w, &s);
}

static inline int put_stack(struct seam_pd_writer *w, uint32_t tid,
			    uint64_t time_ns, uint64_t cookie, uint64_t ip,
			    int end, unsigned flags)
{
	const uint64_t ips[] = {ip, ip + 0x100, ip + 0x200};
	struct seam_pd_stack s = {
		.id = id_of(tid, time_ns),
		.cookie = cookie,
		.ips = ips,
		.n_ips = 3,
		.end = end,
		.flags = flags,
	};

	return seam_pd_write_stack(w, &s);
}

/* Sideband as the kernel writes it, with the sample_id of our events. */
struct tail {
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, reserved;
	uint64_t id;
};

static inline struct tail tail_of(uint32_t tid, uint64_t time_ns)
{
	return (struct tail){
		.pid = tid, .tid = tid, .time_ns = time_ns, .id = DUMMY_ID};
}

static inline int put_comm(struct seam_pd_writer *w, uint32_t tid,
			   uint64_t time_ns, const char *comm, bool is_exec)
{
	struct {
		struct perf_event_header h;
		uint32_t pid, tid;
		char comm[16];
		struct tail tail;
	} r = {{PERF_RECORD_COMM, is_exec ? 1 << 13 : 0, sizeof(r)},
	       tid,
	       tid,
	       "",
	       tail_of(tid, time_ns)};

	memcpy(r.comm, comm, strlen(comm));
	return seam_pd_write_raw(w, &r.h);
}

static inline int put_map(struct seam_pd_writer *w, uint32_t pid,
			  uint64_t time_ns, uint64_t start, uint64_t len,
			  const char *path)
{
	struct {
		struct perf_event_header h;
		uint32_t pid, tid;
		uint64_t start, len, pgoff;
		uint32_t maj, min;
		uint64_t ino, ino_gen;
		uint32_t prot, flags;
		char path[32];
		struct tail tail;
	} r = {{PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, sizeof(r)},
	       pid,
	       pid,
	       start,
	       len,
	       0x1000,
	       8,
	       1,
	       42,
	       0,
	       5,
	       2,
	       "",
	       tail_of(pid, time_ns)};

	memcpy(r.path, path, strlen(path));
	return seam_pd_write_raw(w, &r.h);
}

static inline int put_task(struct seam_pd_writer *w, uint32_t parent,
			   uint32_t child, uint64_t time_ns, uint32_t type,
			   uint16_t misc)
{
	struct {
		struct perf_event_header h;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time_ns;
		struct tail tail;
	} r = {{type, misc, sizeof(r)}, child, parent, child, parent, time_ns,
	       tail_of(parent, time_ns)};

	return seam_pd_write_raw(w, &r.h);
}

static inline int put_fork(struct seam_pd_writer *w, uint32_t parent,
			   uint32_t child, uint64_t time_ns, bool is_exit)
{
	return put_task(w, parent, child, time_ns,
			is_exit ? PERF_RECORD_EXIT : PERF_RECORD_FORK, 0);
}

static inline struct seam_pd_reader *open_reader(const char *path)
{
	struct seam_pd_reader *r = NULL;
	struct seam_errinfo err = {0};
	int rc = seam_pd_open(path, &r, &err);

	if (rc)
		print_error("%s: offset %llu: %s\n", err.where,
			    (unsigned long long)err.offset, err.reason);
	assert_int_equal(rc, 0);
	return r;
}

/* n samples of seven tasks; of every third the stack never comes. */
static inline struct seam_pd_reader *record_mostly_whole(uint32_t n,
							 struct folder *folder)
{
	struct seam_pd_writer *w;

	folder_make(folder);
	w = open_writer(folder->file, 0);
	for (uint32_t i = 0; i < n; i++) {
		put_sample(w, 5 + i % 7, 100 + 20 * i, 0x1001 + i);
		if (i % 3)
			put_stack(w, 5 + i % 7, 110 + 20 * i, 0x1001 + i,
				  0xa000 + 0x1000 * i, SEAM_OUTERMOST, 0);
	}
	assert_int_equal(seam_pd_writer_close(w), 0);
	return open_reader(folder->file);
}

static inline size_t slurp_file(const char *path, uint8_t **ret)
{
	FILE *f = fopen(path, "rb");
	struct stat st;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	*ret = malloc((size_t)st.st_size + 1);
	assert_non_null(*ret);
	assert_int_equal(fread(*ret, 1, (size_t)st.st_size, f), st.st_size);
	fclose(f);
	return (size_t)st.st_size;
}

#endif
