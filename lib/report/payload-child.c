// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The process that asks libtraceevent. It has no files but its socket, and can
 * do nothing to others: a recording may be anybody's, and the library believes
 * what a format says.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>
#include <unistd.h>

#include "base/sanitized.h"
#include "report/payload-private.h"

/* Fields are read without asking for the payload's end: behind it are zeros. */
#define ZEROS 64
#define MEMORY (1UL << 30) /* for the library */

#if defined(__x86_64__) && !SEAM_IS_SANITIZED
/* The recording itself may be mapped, however large. */
static void limit_memory(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;
	struct rlimit limit;

	if (f && fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	limit.rlim_cur = limit.rlim_max =
		pages * (unsigned long)sysconf(_SC_PAGESIZE) + MEMORY;
	if (pages)
		setrlimit(RLIMIT_AS, &limit);
}

/* What malloc and the socket need, no more. A sanitizer needs more. */
static bool confine(void)
{
#define ALLOW(name)                                                            \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                 \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		ALLOW(recvfrom),
		ALLOW(sendto),
		ALLOW(brk),
		ALLOW(mmap),
		ALLOW(munmap),
		ALLOW(mremap),
		ALLOW(madvise),
		ALLOW(futex),
		ALLOW(exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_fprog prog = {sizeof(code) / sizeof(code[0]), code};
	const struct rlimit none = {0, 0};

	limit_memory();
	setrlimit(RLIMIT_CORE, &none);
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}
#else
static bool confine(void)
{
	return true;
}
#endif

static bool receive(int fd, void *to, size_t size)
{
	size_t n = 0;

	while (n < size) {
		ssize_t got = recv(fd, (char *)to + n, size - n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		n += (size_t)got;
	}
	return true;
}

static bool answer(int fd, enum payload_end end, const char *text, size_t size)
{
	const struct payload_answer a = {end, (uint32_t)size};

	return send(fd, &a, sizeof(a), MSG_NOSIGNAL) == sizeof(a) &&
	       (!size || send(fd, text, size, MSG_NOSIGNAL) == (ssize_t)size);
}

static void on_page(void *ctx, const char *text, size_t size)
{
	char *copy = strndup(text, size);

	if (copy && *copy)
		tep_parse_header_page(ctx, copy, strlen(copy), 8);
	free(copy);
}

static void on_format(void *ctx, const char *system, const char *text,
		      size_t size)
{
	/* It wants text that ends, and does not say so. */
	char *copy = strndup(text, size);

	if (copy)
		tep_parse_event(ctx, copy, strlen(copy), system);
	free(copy);
}

static struct tep_handle *read_formats(const struct seam_pd_reader *r)
{
	struct seam_pd_format_ops ops = {on_page, on_format, NULL};
	struct tep_handle *tep = tep_alloc();

	if (!tep)
		return NULL;
	/* What it cannot parse is said by us. */
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(tep, 8);
	tep_set_page_size(tep, 4096);
	ops.ctx = tep;
	seam_pd_formats(r, &ops);
	return tep;
}

/* And where a field whose length varies says that it is. */
static bool is_inside(const struct tep_format_field *f, const uint8_t *bytes,
		      size_t size)
{
	uint64_t end = (uint64_t)(unsigned)f->offset + (unsigned)f->size;
	uint32_t where;

	if (f->offset < 0 || f->size < 0 || end > size)
		return false;
	if (!(f->flags & TEP_FIELD_IS_DYNAMIC))
		return true;
	if (f->size != 4)
		return false;
	memcpy(&where, bytes + f->offset, sizeof(where));
	return (where & 0xffff) + (where >> 16) +
		       (f->flags & TEP_FIELD_IS_RELATIVE ? end : 0) <=
	       size;
}

static bool are_inside(struct tep_format_field **fields, const uint8_t *bytes,
		       size_t size)
{
	bool ok = fields != NULL;

	for (size_t i = 0; ok && fields[i]; i++)
		ok = is_inside(fields[i], bytes, size);
	free(fields);
	return ok;
}

static bool print(struct tep_handle *tep, int fd, const struct payload_ask *ask,
		  uint8_t *bytes)
{
	struct tep_record record = {.ts = ask->time_ns,
				    .size = (int)ask->size,
				    .data = bytes,
				    .cpu = (int)ask->cpu};
	struct trace_seq s;
	bool ok;

	trace_seq_init(&s);
	tep_print_event(tep, &s, &record, "%s", TEP_PRINT_INFO);
	if (s.state == TRACE_SEQ__GOOD && s.len <= PAYLOAD_TEXT_MAX)
		ok = answer(fd, PAYLOAD_TEXT, s.buffer, s.len);
	else
		ok = answer(fd, PAYLOAD_MALFORMED, NULL, 0);
	trace_seq_destroy(&s);
	return ok;
}

static bool serve_one(struct tep_handle *tep, int fd,
		      const struct payload_ask *ask, uint8_t *bytes)
{
	struct tep_event *event = tep_find_event(tep, (int)ask->id);
	uint16_t id = 0;

	if (!event)
		return answer(fd, PAYLOAD_UNKNOWN, NULL, 0);
	if (ask->size >= sizeof(id))
		memcpy(&id, bytes, sizeof(id));
	if (id != ask->id ||
	    !are_inside(tep_event_common_fields(event), bytes, ask->size) ||
	    !are_inside(tep_event_fields(event), bytes, ask->size))
		return answer(fd, PAYLOAD_MALFORMED, NULL, 0);
	return print(tep, fd, ask, bytes);
}

void seam_payload_serve(const struct seam_pd_reader *r, int fd)
{
	uint8_t *bytes = malloc(PAYLOAD_MAX + ZEROS);
	struct tep_handle *tep = NULL;
	struct payload_ask ask;

	if (bytes && confine())
		tep = read_formats(r);
	while (tep && receive(fd, &ask, sizeof(ask)) &&
	       ask.size <= PAYLOAD_MAX && receive(fd, bytes, ask.size)) {
		memset(bytes + ask.size, 0, ZEROS);
		if (!serve_one(tep, fd, &ask, bytes))
			break;
	}
	_exit(0);
}
