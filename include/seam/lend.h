/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * seam/lend.h: a session's maps, for a tool's own BPF object in which
 * seam_request is linked (<seam/seam.bpf.h>). Include <bpf/libbpf.h> before:
 * this is compiled into the tool, so that it works with the libbpf that the
 * tool has, in whatever version.
 *
 *	obj = bpf_object__open_file("tool.bpf.o", NULL);
 *	client = seam_session_open_for(obj, &client_opts, &session, &err);
 *	...	tell the programs the number
 *	bpf_object__load(obj);
 *	...	seam_session_keep, if the programs look for stacks
 *	...	attach them
 *	seam_session_start(session, &err);
 *
 * Close the session after the object. Who has one with its client already, or
 * wants other options for it, has seam_session_lend in place of the second.
 */
#ifndef SEAM_LEND_H
#define SEAM_LEND_H

#ifndef __LIBBPF_LIBBPF_H
#error "include <bpf/libbpf.h> before"
#endif

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seam/tracer.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Makes obj, which is open and not loaded yet, share the session's maps.
 * Return: the client's number, which its programs pass to seam_request; or
 * -errno: -ENOENT: obj has no seam-request.bpf.o linked in; -EPROTO: it has
 * another build's; -ENOTSUP: the session's engine is not deferred; -EINVAL: the
 * session has no client; another of libbpf's. reterr may be NULL.
 */
static inline int seam_session_lend(struct seam_session *s,
				    struct bpf_object *obj,
				    struct seam_errinfo *reterr)
{
	struct bpf_map *map;
	int n = 0;

	if (reterr)
		*reterr = (struct seam_errinfo){0};
	bpf_object__for_each_map(map, obj)
	{
		size_t size = 0;
		const void *bytes = bpf_map__initial_value(map, &size);
		int fd = seam_session_map(s, bpf_map__name(map), bytes,
					  bpf_map__value_size(map), reterr);

		if (fd == -ENOENT)
			continue;
		if (fd < 0)
			return fd;
		fd = bpf_map__reuse_fd(map, fd);
		if (fd < 0 && reterr)
			snprintf(reterr->reason, sizeof(reterr->reason),
				 "map %s cannot be reused (%s)",
				 bpf_map__name(map), strerror(-fd));
		if (fd < 0)
			return fd;
		n++;
	}
	if (!n && reterr)
		snprintf(reterr->reason, sizeof(reterr->reason),
			 "the object has no seam-request.bpf.o linked in");
	return n ? (int)seam_session_client(s) : -ENOENT;
}

/*
 * Opens a session with the usual options for a tool whose programs ask for
 * stacks, adds its client, and has obj, as seam_session_lend takes it, or NULL
 * if it could not be opened, share it. Return: as that; *ret_session, which is
 * not set on failure.
 */
static inline int seam_session_open_for(struct bpf_object *obj,
					const struct seam_client_opts *client,
					struct seam_session **ret_session,
					struct seam_errinfo *reterr)
{
	const struct seam_session_opts opts = {.sz = sizeof(opts)};
	struct seam_session *s = NULL;
	int err = -EINVAL;

	if (obj)
		err = seam_session_open(&opts, &s, reterr);
	if (!err)
		err = seam_client_add(s, client, reterr);
	if (!err)
		err = seam_session_lend(s, obj, reterr);
	if (err < 0)
		seam_session_close(s);
	else
		*ret_session = s;
	return err;
}

/* A frame's address a line, and the end code, each behind a tab. */
static inline void seam_stack_print(FILE *to,
				    const struct seam_user_stack *stack)
{
	for (size_t i = 0; i < stack->n_ips; i++)
		fprintf(to, "\t%#llx\n", (unsigned long long)stack->ips[i]);
	fprintf(to, "\t%s\n", seam_err_name(stack->end));
}

/* What became of the programs' requests so far, in one line: how many there
 * were; which of them got no cookie; the stacks and copies that could not be
 * delivered; and the losses that on_stack was not told. */
static inline void seam_requests_print(FILE *to, struct seam_session *s)
{
	struct seam_counts c = {.sz = sizeof(c)};

	if (seam_session_counts(s, &c))
		return;
	fprintf(to,
		"%llu requests: %llu of others' tasks, %llu without a stack to "
		"come; %llu unwinds, %llu stacks by others; lost: %llu stacks, "
		"%llu copies, %llu untold\n",
		(unsigned long long)c.requests,
		(unsigned long long)c.requests_filtered,
		(unsigned long long)c.requests_none,
		(unsigned long long)c.unwinds, (unsigned long long)c.by_others,
		(unsigned long long)c.lost_stacks,
		(unsigned long long)c.lost_copies,
		(unsigned long long)c.lost_untold);
}

/* The end of what libbpf complains of while a tool's programs are loaded and
 * attached: of a program that the verifier refuses its last words say why. */
#define SEAM_LENT_SAID 2048

static inline char *seam_lent_said(void)
{
	static char said[SEAM_LENT_SAID];

	return said;
}

static inline int seam_lent_hear(enum libbpf_print_level level,
				 const char *format, va_list args)
{
	char *said = seam_lent_said(), *more;
	size_t had = strlen(said), n, cut;
	va_list again;

	if (level != LIBBPF_WARN)
		return 0;
	va_copy(again, args);
	n = (size_t)vsnprintf(NULL, 0, format, again);
	va_end(again);
	more = (char *)malloc(had + n + 1);
	if (!more)
		return 0;
	memcpy(more, said, had);
	vsnprintf(more + had, n + 1, format, args);
	cut = had + n < SEAM_LENT_SAID ? 0 : had + n + 1 - SEAM_LENT_SAID;
	while (cut && cut < had + n && more[cut - 1] != '\n')
		cut++;
	memcpy(said, more + cut, had + n + 1 - cut);
	free(more);
	return (int)n;
}

/* Says what a tool failed at, why, and what to do. */
static inline void seam_lent_fail(const char *name, const char *what, int err,
				  const struct seam_errinfo *info)
{
	if (info->reason[0])
		fprintf(stderr, "%s: %s\n", name, info->reason);
	else if (err == -EPERM)
		fprintf(stderr,
			"%s: %s is not permitted: run it as root, or with "
			"CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN\n",
			name, what);
	else
		fprintf(stderr,
			"%s: %s failed (%s); 'seam doctor' says what this "
			"machine can run\n%s",
			name, what, strerror(-err), seam_lent_said());
}

/* Loads and attaches a tool's programs. Return: 0 or -errno, and what failed.
 */
static inline int seam_lent_attach(struct bpf_object_skeleton *skel,
				   const char **ret_what)
{
	libbpf_print_fn_t before = libbpf_set_print(seam_lent_hear);
	int err;

	seam_lent_said()[0] = '\0';
	*ret_what = "loading its BPF programs";
	err = bpf_object__load_skeleton(skel);
	if (!err) {
		*ret_what = "attaching its BPF programs";
		err = bpf_object__attach_skeleton(skel);
	}
	libbpf_set_print(before);
	return err;
}

/*
 * All that a tool does whose programs ask for stacks, with its skeleton, which
 * is open, and where its programs have the client's number: opens a session for
 * the client, loads and attaches the programs, gives on_stack what they ask for
 * until the client's tasks have ended or the tool has handled a signal, and
 * detaches them. On stderr it says that it is ready, why it shares no stacks
 * with others where it does not, what is wrong and what to do, with the end of
 * what libbpf says of programs that it does not take, and in the end what
 * became of the requests. Return: the tool's exit status.
 */
static inline int seam_tool_run(struct bpf_object_skeleton *skel,
				const struct seam_client_opts *client,
				unsigned int *number)
{
	const char *name = client->name ? client->name : skel->name;
	const char *what = "opening a session";
	struct seam_errinfo info = {0};
	struct seam_session *session = NULL;
	int ret = seam_session_open_for(*skel->obj, client, &session, &info);

	if (ret >= 0) {
		*number = (unsigned int)ret;
		ret = seam_lent_attach(skel, &what);
	}
	if (!ret) {
		what = "beginning";
		ret = seam_session_start(session, &info);
	}
	if (!ret) {
		const char *alone = seam_session_alone(session);

		if (alone)
			fprintf(stderr,
				"%s: shares no stacks with other tools: %s\n",
				name, alone);
		fprintf(stderr, "%s: ready\n", name);
		what = "reading stacks";
		ret = seam_session_run(session, -1);
		bpf_object__detach_skeleton(skel);
		if (ret >= 0 || ret == -EINTR)
			ret = seam_session_stop(session);
		seam_requests_print(stderr, session);
	}
	if (ret < 0)
		seam_lent_fail(name, what, ret, &info);
	bpf_object__detach_skeleton(skel);
	seam_session_close(session);
	return ret < 0;
}

/*
 * Has the client's stacks put into a map of the tool's as well, where its BPF
 * programs find them by cookie: see struct seam_bpf_stack of <seam/seam.bpf.h>.
 * Once the object is loaded, and before the session is started. Return: 0, or
 * -errno; -EINVAL: it is no such map, or the client has all stacks; -EBUSY: the
 * session is started, or was not lent.
 */
static inline int seam_session_keep(struct seam_session *s,
				    const struct bpf_map *map,
				    struct seam_errinfo *reterr)
{
	return seam_session_keep_in(s, bpf_map__fd(map), reterr);
}

#ifdef __cplusplus
}
#endif

#endif
