// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "kernel/kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event/fail.h"
#include "kernel/arena.h"
#include "kernel/kernel-btf.h"
#include "kernel/kernel-priv.h"
#include "seam-at-once.skel.h"
#include "seam-impl.skel.h"

/* What depends on the running kernel. */
struct running {
	enum object object; /* OBJECT_AT_ONCE if wanted: any kernel will do */
	struct seam_kernel_facts facts;
};

static int look(struct running *ret, struct seam_errinfo *reterr)
{
	const char *name;

	if (seam_kernel_ask_btf(&ret->facts))
		return seam_fail(
			reterr, -ENOTSUP,
			"this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)");
	if (ret->object == OBJECT_AT_ONCE)
		return 0;
	name = ret->facts.task_work;
	if (!name)
		return seam_fail(
			reterr, -ENOTSUP,
			"this kernel has no BPF task work: boot Linux 6.18 or "
			"later");
	ret->object = strcmp(name, SEAM_TASK_WORK_IMPL) ? OBJECT : OBJECT_IMPL;
	return 0;
}

/*
 * There is an object for each spelling of the kfunc, and one without, equal in
 * all else, so that one skeleton serves them all. A single object with two weak
 * externs would not do: libbpf 1.1 looks for the absent one in every module,
 * which takes CAP_SYS_ADMIN, and refuses a present one of another type, used or
 * not.
 */
#define IS_AS_SEAM(name)                                                       \
	(sizeof(struct seam_bpf) == sizeof(struct name) &&                     \
	 sizeof(struct seam_bpf__rodata_seam) ==                               \
		 sizeof(struct name##__rodata_seam) &&                         \
	 sizeof(struct seam_bpf__data_seam) ==                                 \
		 sizeof(struct name##__data_seam))
_Static_assert(IS_AS_SEAM(seam_impl_bpf) && IS_AS_SEAM(seam_at_once_bpf),
	       "all objects have the same maps, programs and variables");

const void *seam_kernel_object(enum object which, size_t *ret_size)
{
	if (which == OBJECT_IMPL)
		return seam_impl_bpf__elf_bytes(ret_size);
	if (which == OBJECT_AT_ONCE)
		return seam_at_once_bpf__elf_bytes(ret_size);
	return seam_bpf__elf_bytes(ret_size);
}

int seam_kernel_open_object(struct seam_bpf **ret, enum object which)
{
	struct seam_bpf *skel = calloc(1, sizeof(*skel));
	struct bpf_object_skeleton *s;
	int err;

	if (!skel)
		return -ENOMEM;
	err = seam_bpf__create_skeleton(skel);
	if (err) {
		seam_bpf__destroy(skel);
		return err;
	}
	s = skel->skeleton;
	s->data = (void *)seam_kernel_object(which, &s->data_sz);
	err = bpf_object__open_skeleton(s, NULL);
	if (err)
		seam_bpf__destroy(skel);
	else
		*ret = skel;
	return err;
}

static int open_object(struct seam_kernel *k, enum object which)
{
	k->object = which;
	return seam_kernel_open_object(&k->skel, which);
}

/* The reader is woken when a quarter of a small ring is full. */
static int size_rings(struct seam_kernel *k, uint32_t pages)
{
	uint64_t size = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t *wake = (uint64_t *)&k->skel->rodata_seam->seam_ring_wake;
	int err;

	if (!pages)
		return 0;
	if (*wake > size / 4)
		*wake = size / 4;
	err = bpf_map__set_max_entries(k->skel->maps.ring, (uint32_t)size);
	return err ? err
		   : bpf_map__set_max_entries(k->skel->maps.copies,
					      (uint32_t)size);
}

/* What serving tables takes: to ask for a file's key, and to begin. */
static void load_only_keys(struct seam_kernel *k)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, k->skel->obj)
		bpf_program__set_autoload(prog, false);
	bpf_program__set_autoload(k->skel->progs.seam_key, true);
	bpf_program__set_autoload(k->skel->progs.seam_sweep, true);
	bpf_program__set_autoload(k->skel->progs.seam_arena_drop, true);
}

static int configure(struct seam_kernel *k, const struct seam_kernel_opts *opts)
{
	struct seam_bpf *skel = k->skel;
	int err = size_rings(k, opts->buffer_pages);

	if (err)
		return err;
	skel->rodata_seam->seam_reader = (uint32_t)getpid();
	skel->rodata_seam->seam_watch_mode = opts->watch;
	skel->rodata_seam->seam_watch_follows = !opts->watch_alone;
	skel->rodata_seam->seam_stack_copy = opts->stack_copy;
	skel->rodata_seam->seam_methods = opts->methods;
	skel->rodata_seam->seam_reads_mapped =
		opts->tables_from != SEAM_TABLES_KERNEL;
	if (opts->at_once)
		memcpy((void *)&skel->rodata_seam->seam_kernel_entry,
		       opts->at_once, sizeof(*opts->at_once));
	skel->rodata_seam->seam_max_stack = 0;
	for (size_t i = 0; i < SEAM_MAX_EVENTS; i++) {
		uint32_t depth = opts->asks[i].depth;

		skel->rodata_seam->seam_tracepoint_period[i] =
			opts->tracepoint_period[i];
		skel->rodata_seam->seam_syscalls[i] = opts->syscalls[i];
		skel->rodata_seam->seam_asks[i].depth = depth;
		skel->rodata_seam->seam_asks[i].flags = opts->asks[i].flags;
		if (depth > skel->rodata_seam->seam_max_stack)
			skel->rodata_seam->seam_max_stack = depth;
	}
	skel->rodata_seam->seam_take_tails =
		!!skel->rodata_seam->seam_max_stack;
	skel->rodata_seam->seam_request_depth = opts->request_depth;
	if (!skel->rodata_seam->seam_max_stack)
		skel->rodata_seam->seam_max_stack = opts->request_depth;
	/* Verifying takes time that a short recording would feel. */
	bpf_program__set_autoload(skel->progs.seam_tracepoint,
				  opts->tracepoints || opts->every_program);
	bpf_program__set_autoload(skel->progs.seam_uprobe,
				  opts->probes || opts->every_program);
	bpf_program__set_autoload(skel->progs.seam_switch,
				  opts->sleeps || opts->every_program);
	bpf_program__set_autoload(skel->progs.seam_slept, opts->every_program);
	bpf_program__set_autoload(skel->progs.seam_sleepers,
				  opts->every_program);
	skel->rodata_seam->seam_sleep_event = opts->sleep_event;
	skel->rodata_seam->seam_take_sleeps = opts->sleeps;
	/* 4 MiB, before there is any in it. */
	if (!opts->sleeps)
		bpf_map__set_max_entries(skel->maps.sleeps, 1);
	if (opts->only_tables)
		load_only_keys(k);
	if (getrandom(&k->event_tag, sizeof(k->event_tag), 0) !=
	    sizeof(k->event_tag))
		return -EIO;
	k->event_tag &= SEAM_EVENT_TAG_MASK;
	k->event_tag |= SEAM_EVENT_TAG_SET;
	skel->rodata_seam->seam_event_tag = k->event_tag;
	return 0;
}

/* Where a ring is ready it says so as long as it has anything in it, whatever
 * that was to wake: so by edges, which seam_kernel_rearm takes. */
int seam_kernel_hear(struct seam_kernel *k, int ring_fd)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET};

	return epoll_ctl(k->poll_fd, EPOLL_CTL_ADD, ring_fd, &ev) ? -errno : 0;
}

static int open_rings(struct seam_kernel *k)
{
	int err;

	k->samples = ring_buffer__new(bpf_map__fd(k->skel->maps.ring),
				      seam_kernel_on_record, k, NULL);
	if (!k->samples)
		return -errno;
	k->copies = ring_buffer__new(bpf_map__fd(k->skel->maps.copies),
				     seam_kernel_on_record, k, NULL);
	if (!k->copies)
		return -errno;
	err = seam_ring_view_open(&k->samples_view,
				  bpf_map__fd(k->skel->maps.ring));
	if (!err)
		err = seam_ring_view_open(&k->copies_view,
					  bpf_map__fd(k->skel->maps.copies));
	if (err)
		return err;
	k->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (k->poll_fd < 0)
		return -errno;
	err = seam_kernel_hear(k, bpf_map__fd(k->skel->maps.ring));
	return err ? err
		   : seam_kernel_hear(k, bpf_map__fd(k->skel->maps.copies));
}

static int map_arena(struct seam_kernel *k)
{
	struct seam_common *common =
		mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED,
		     bpf_map__fd(k->skel->maps.common), 0);
	uint32_t number = seam_kernel_client(k);
	void *at;
	int err;

	if (common == MAP_FAILED)
		return -errno;
	k->common = common;
	/* From here on whoever had our number finds no made code, and what it
	 * has bound already it binds anew. */
	__atomic_store_n(&common->lives[number], k->life, __ATOMIC_SEQ_CST);
	seam_kernel_tables_changed(k);
	k->arena_size = (size_t)bpf_map__max_entries(k->skel->maps.arena) *
			(size_t)sysconf(_SC_PAGESIZE);
	err = seam_arena_map(bpf_map__fd(k->skel->maps.arena), k->arena_size,
			     k->arena_kept, &at);
	if (err)
		return err;
	k->arena_kept = 0;
	k->arena = at;
	/* Pages come when user space touches them; until then BPF reads 0,
	 * loses what it writes, and pays a fault for each. */
	if (k->is_shared && k->share.others)
		return 0;
	return madvise(k->arena, SEAM_TABLES_OFFSET, MADV_POPULATE_WRITE)
		       ? -errno
		       : 0;
}

static void unmap(struct seam_kernel *k)
{
	if (k->arena)
		seam_arena_unmap(k->arena);
	if (k->arena_kept)
		seam_arena_give_back(k->arena_kept);
	k->arena_kept = 0;
	if (k->common)
		munmap(k->common, sizeof(*k->common));
	k->arena = NULL;
	k->common = NULL;
}

/* What the kernel gives the first pid namespace: PROC_PID_INIT_INO. */
#define FIRST_PID_NAMESPACE 0xeffffffcU

/* BPF knows tasks by the numbers of the first pid namespace. */
static bool is_pid_namespace_first(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ||
	       st.st_ino == FIRST_PID_NAMESPACE;
}

/* The second programs, where the first may be left out. */
static int fit_followers(struct seam_kernel *k, bool preempts)
{
	struct bpf_program *progs[2][FOLLOWERS];

	seam_kernel_followers(k, false, progs[0]);
	seam_kernel_followers(k, true, progs[1]);
	for (size_t i = 0; i < FOLLOWERS; i++)
		bpf_program__set_autoload(
			progs[1][i],
			preempts && bpf_program__autoload(progs[0][i]));
	k->skel->rodata_seam->seam_follow_again = preempts;
	return preempts ? 0
			: bpf_map__set_max_entries(k->skel->maps.followed, 1);
}

static int fit_to(struct seam_kernel *k,
		  const struct seam_kernel_facts *running)
{
	const bool early = running->exits_with_memory;

	k->skel->rodata_seam->seam_irq_regs = running->irq_regs;
	k->skel->rodata_seam->seam_preempt_count = running->preempt_count;
	k->skel->rodata_seam->seam_in_hardirq = running->in_hardirq;
	k->skel->rodata_seam->seam_in_nmi = running->in_nmi;
	bpf_program__set_autoload(k->skel->progs.seam_unmap_enter,
				  running->sys_enter);
	bpf_program__set_autoload(k->skel->progs.seam_unmap_again,
				  running->sys_enter &&
					  running->preempts_programs);
	/* Without, programs cannot say what code they make. */
	bpf_program__set_autoload(k->skel->progs.seam_prctl, running->prctl);
	bpf_program__set_autoload(k->skel->progs.seam_exit, early);
	bpf_program__set_autoload(k->skel->progs.seam_exit_signals, !early);
	return fit_followers(k, running->preempts_programs);
}

/* What raw tracepoints' programs go on in. */
static int join_raw(struct seam_kernel *k)
{
	const uint32_t slot = SEAM_RAW_SHARED;
	const int fd = bpf_program__fd(k->skel->progs.seam_raw);

	if (!bpf_program__autoload(k->skel->progs.seam_raw))
		return 0;
	return bpf_map__update_elem(k->skel->maps.raw_programs, &slot,
				    sizeof(slot), &fd, sizeof(fd), BPF_ANY);
}

/* Of one that is shared and there already, it is known. */
static int place_arena(struct seam_kernel *k,
		       const struct seam_kernel_opts *opts)
{
	if (k->is_shared && k->share.others)
		return 0;
	k->arena_kept = seam_arena_address(seam_kernel_group(k, opts));
	return k->arena_kept ? bpf_map__set_map_extra(k->skel->maps.arena,
						      k->arena_kept)
			     : -EBUSY;
}

/* Loads the object, with maps of its own or shared ones. */
static int make(struct seam_kernel *k, const struct seam_kernel_opts *opts,
		const struct running *running)
{
	int err;

	err = fit_to(k, &running->facts);
	if (!err)
		err = configure(k, opts);
	if (err)
		return err;
	if (getrandom(&k->life, sizeof(k->life), 0) != sizeof(k->life))
		return -EIO;
	k->skel->rodata_seam->seam_client_life = k->life;
	k->has_cookies = false;
	if (!opts->at_once && !opts->alone && !k->alone[0])
		err = seam_kernel_share(k, opts);
	else if (!opts->alone)
		seam_kernel_cookies(k, NULL); /* or has its own */
	if (!err)
		err = place_arena(k, opts);
	if (!err)
		err = seam_bpf__load(k->skel);
	if (!err && !k->has_cookies)
		err = seam_share_cookies_begin(
			bpf_map__fd(k->skel->maps.cookies));
	if (!err)
		err = join_raw(k);
	if (!err)
		err = map_arena(k);
	if (err)
		return err;
	seam_kernel_set_serving(k, opts->only_tables);
	return seam_kernel_shared(k);
}

static int load(struct seam_kernel *k, const struct seam_kernel_opts *opts,
		struct seam_errinfo *reterr)
{
	struct running running = {.object = opts->at_once ? OBJECT_AT_ONCE
							  : OBJECT};
	int err;

	if (!is_pid_namespace_first())
		return seam_fail(reterr, -ENOTSUP,
				 "this is a pid namespace (a container?), "
				 "whose numbers of tasks the kernel side does "
				 "not know: run seam outside, or with the "
				 "host's (docker run --pid=host)");
	err = look(&running, reterr);
	if (err)
		return err;
	err = open_object(k, running.object);
	if (err)
		return seam_fail(reterr, err,
				 "the BPF object cannot be opened (%s)",
				 strerror(-err));
	err = make(k, opts, &running);
	if (err && (k->is_shared || k->is_half)) {
		/* What others have pinned, or that nothing can be pinned, may
		 * be what it cannot be made with. */
		unmap(k);
		seam_kernel_close_requests(k);
		seam_bpf__destroy(k->skel);
		k->skel = NULL;
		k->is_half = false;
		seam_kernel_unshare(k);
		snprintf(k->alone, sizeof(k->alone),
			 "with what is pinned in " SEAM_SHARE_FOLDER
			 " it cannot be made (%s)",
			 strerror(-err));
		err = open_object(k, running.object);
		if (!err)
			err = make(k, opts, &running);
	}
	if (err == -EPERM)
		return seam_fail(
			reterr, err,
			"loading BPF is not permitted: " SEAM_TAKES_RIGHTS);
	if (err)
		return seam_fail(reterr, err,
				 "the kernel refuses seam's BPF programs (%s)",
				 strerror(-err));
	err = open_rings(k);
	if (!err)
		err = opts->only_tables ? seam_kernel_hear(k, k->requests_fd)
					: seam_kernel_attach_tasks(k);
	if (err)
		return seam_fail(reterr, err, "setting up BPF failed (%s)",
				 strerror(-err));
	return 0;
}

/* Line by line, as all that goes there: the verifier's log is many at once. */
static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *text, *next;

	if (!getenv("SEAM_DEBUG_BPF") || level == LIBBPF_DEBUG ||
	    vasprintf(&text, fmt, ap) < 0)
		return 0;
	for (char *line = text; *line; line = next) {
		next = line + strcspn(line, "\n");
		next += *next == '\n';
		fprintf(stderr, "%.*s", (int)(next - line), line);
	}
	free(text);
	return 0;
}

int seam_kernel_open(const struct seam_kernel_opts *opts,
		     struct seam_kernel **ret, struct seam_errinfo *reterr)
{
	struct seam_kernel *k = calloc(1, sizeof(*k));
	int err;

	if (!k)
		return -ENOMEM;
	k->poll_fd = -1;
	k->share = (struct seam_share)SEAM_SHARE_NONE;
	libbpf_set_print(quiet);
	err = load(k, opts, reterr);
	if (err) {
		seam_kernel_close(k);
		return err;
	}
	*ret = k;
	return 0;
}

struct seam_kernel *seam_kernel_close(struct seam_kernel *k)
{
	if (!k)
		return NULL;
	for (size_t i = 0; i < k->n_links; i++)
		bpf_link__destroy(k->links[i]);
	while (k->n_raw)
		close(k->raw[--k->n_raw]);
	bpf_link__destroy(k->unmaps);
	bpf_link__destroy(k->unmaps_again);
	seam_kernel_detach(k);
	ring_buffer__free(k->samples);
	ring_buffer__free(k->copies);
	seam_ring_view_close(&k->samples_view);
	seam_ring_view_close(&k->copies_view);
	seam_kernel_close_losses(k);
	seam_kernel_close_requests(k);
	if (k->poll_fd >= 0)
		close(k->poll_fd);
	seam_kernel_disown(k);
	seam_kernel_depart(k);
	unmap(k);
	seam_bpf__destroy(k->slept);
	seam_bpf__destroy(k->skel);
	seam_kernel_unshare(k);
	free(k->attached);
	free(k);
	return NULL;
}

int seam_kernel_watch(struct seam_kernel *k, uint32_t id)
{
	struct seam_watch_args args = {.id = id};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &args,
		    .ctx_size_in = sizeof(args));
	int err = bpf_prog_test_run_opts(
		bpf_program__fd(k->skel->progs.seam_watch), &opts);

	return err ? err : args.err;
}

bool seam_kernel_text(struct seam_kernel *k, uint64_t *ret_start,
		      uint64_t *ret_end)
{
	struct seam_text_args args = {0};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &args,
		    .ctx_size_in = sizeof(args));

	if (bpf_prog_test_run_opts(bpf_program__fd(k->skel->progs.seam_text),
				   &opts))
		return false;
	*ret_start = args.start;
	*ret_end = args.end;
	return true;
}

int seam_kernel_unwatch(struct seam_kernel *k, uint32_t id)
{
	int err =
		bpf_map__delete_elem(k->skel->maps.watched, &id, sizeof(id), 0);

	return err == -ENOENT ? 0 : err;
}

bool seam_kernel_is_watched(struct seam_kernel *k, uint32_t id)
{
	uint64_t start;

	return !bpf_map__lookup_elem(k->skel->maps.watched, &id, sizeof(id),
				     &start, sizeof(start), 0);
}

int seam_kernel_watch_at_exec(struct seam_kernel *k, uint32_t tgid)
{
	k->skel->data_seam->seam_arm_tgid = tgid;
	return 0;
}
