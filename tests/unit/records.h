/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Records of processes as the kernel writes them, and tasks that ended. */
#ifndef SEAM_TESTS_CAPTURE_RECORDS_H
#define SEAM_TESTS_CAPTURE_RECORDS_H

#include <linux/perf_event.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

union record {
	struct perf_event_header header;
	uint32_t words[64];
};

/* FORK and EXIT: pid, ppid, tid, ptid, time; id tail. */
static inline const struct perf_event_header *
task_record(union record *r, uint32_t type, uint32_t pid, uint32_t tid,
	    uint32_t ppid)
{
	memset(r, 0, sizeof(*r));
	r->header.type = type;
	r->header.size = 8 + 16 + 8 + 32;
	r->words[2] = pid;
	r->words[3] = ppid;
	r->words[4] = tid;
	r->words[5] = ppid;
	return &r->header;
}

static inline const struct perf_event_header *exec_record(union record *r,
							  uint32_t pid)
{
	memset(r, 0, sizeof(*r));
	r->header.type = PERF_RECORD_COMM;
	r->header.misc = PERF_RECORD_MISC_COMM_EXEC;
	r->header.size = 8 + 8 + 16 + 32;
	r->words[2] = r->words[3] = pid;
	return &r->header;
}

/* Without a build-id, of a page of the file that has the path now. */
static inline const struct perf_event_header *
map_record(union record *r, uint32_t pid, uint64_t start, const char *path)
{
	const uint64_t len = 4096;
	struct stat st = {0};

	memset(r, 0, sizeof(*r));
	r->header.type = PERF_RECORD_MMAP2;
	r->words[2] = r->words[3] = pid;
	memcpy(&r->words[4], &start, sizeof(start));
	memcpy(&r->words[6], &len, sizeof(len));
	if (!stat(path, &st))
		memcpy(&r->words[12], &st.st_ino, sizeof(st.st_ino));
	r->words[16] = PROT_READ | PROT_EXEC;
	r->words[17] = MAP_PRIVATE;
	strcpy((char *)&r->words[18], path);
	r->header.size =
		(uint16_t)(72 + ((strlen(path) + 8) & ~(size_t)7) + 32);
	return &r->header;
}

/* The number of a process that has ended and been waited for. */
static inline uint32_t ended_pid(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return (uint32_t)pid;
}

/* One that has ended, and that nobody has waited for yet. */
static inline uint32_t zombie_pid(void)
{
	pid_t pid = fork();
	siginfo_t info;

	if (!pid)
		_exit(0);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	return (uint32_t)pid;
}

static inline void *sleep_on(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* One whose first thread has ended and another has not. */
static inline uint32_t leaderless_pid(void)
{
	pid_t pid = fork();
	char path[64], state = 0;
	pthread_t thread;
	FILE *f;

	if (!pid) {
		pthread_create(&thread, NULL, sleep_on, NULL);
		pthread_exit(NULL);
	}
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	while (state != 'Z') {
		f = fopen(path, "re");
		if (!f || fscanf(f, "%*d %*s %c", &state) != 1)
			state = 'Z';
		if (f)
			fclose(f);
		usleep(1000);
	}
	return (uint32_t)pid;
}

#endif
