// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The maps that clients share, pinned in the folder where they meet. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "event/fail.h"
#include "kernel/kernel-priv.h"
#include "kernel/share-way.h"

#define N_SHARED 14

static void shared_maps(const struct seam_kernel *k, struct bpf_map **ret)
{
	ret[0] = k->skel->maps.elements;
	ret[1] = k->skel->maps.client_rings;
	ret[2] = k->skel->maps.client_states;
	ret[3] = k->skel->maps.client_untold;
	ret[4] = k->skel->maps.tables;
	ret[5] = k->skel->maps.common;
	ret[6] = k->skel->maps.arena;
	ret[7] = k->skel->maps.client_stacks;
	ret[8] = k->skel->maps.outsides;
	ret[9] = k->skel->maps.scratches;
	ret[10] = k->skel->maps.client_made_tables;
	ret[11] = k->skel->maps.client_made_spans;
	ret[12] = k->skel->maps.client_makers;
	ret[13] = k->skel->maps.client_sleeps;
}

uint64_t seam_kernel_group(const struct seam_kernel *k,
			   const struct seam_kernel_opts *opts)
{
	size_t size;
	const void *bytes = seam_kernel_object(k->object, &size);

	return seam_share_group_of(seam_share_build(bytes, size), opts->methods,
				   opts->stack_copy, opts->tables_from);
}

static bool is_as(int fd, const struct bpf_map *map)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);

	return !bpf_obj_get_info_by_fd(fd, &info, &size) &&
	       info.type == (uint32_t)bpf_map__type(map) &&
	       info.key_size == bpf_map__key_size(map) &&
	       info.value_size == bpf_map__value_size(map) &&
	       info.max_entries == bpf_map__max_entries(map) &&
	       info.map_flags == bpf_map__map_flags(map);
}

/* Return: a descriptor of what is pinned for that map, or -errno. */
static int open_pinned(struct seam_kernel *k, const struct bpf_map *map,
		       struct seam_errinfo *reterr)
{
	const char *name = bpf_map__name(map);
	int fd, err = seam_share_check_pin(k->share.group_fd, k->share.group,
					   name, reterr);
	char path[128];

	if (err)
		return err;
	seam_share_path(&k->share, name, path, sizeof(path));
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -errno;
	if (is_as(fd, map))
		return fd;
	close(fd);
	return -EINVAL;
}

/* All of them, or none. */
static int take_pinned(struct seam_kernel *k, struct seam_errinfo *reterr)
{
	struct bpf_map *maps[N_SHARED];
	int fds[N_SHARED], n = 0, err = 0;

	shared_maps(k, maps);
	for (; !err && n < N_SHARED; n++) {
		fds[n] = open_pinned(k, maps[n], reterr);
		if (fds[n] < 0)
			err = fds[n];
	}
	for (int i = 0; i < n; i++) {
		if (!err) {
			err = bpf_map__reuse_fd(maps[i], fds[i]);
			k->is_half = err;
		}
		if (fds[i] >= 0)
			close(fds[i]);
	}
	return err;
}

static int pin_all(struct seam_kernel *k)
{
	struct bpf_map *maps[N_SHARED];
	char path[128];

	shared_maps(k, maps);
	for (size_t i = 0; i < N_SHARED; i++) {
		seam_share_path(&k->share, bpf_map__name(maps[i]), path,
				sizeof(path));
		if (bpf_obj_pin(bpf_map__fd(maps[i]), path))
			return -errno;
	}
	return 0;
}

/* With the folder's lock: nobody comes meanwhile. */
static void drop_dead(struct seam_kernel *k)
{
	for (uint32_t i = 0; i < SEAM_MAX_CLIENTS; i++)
		if (i != k->share.number && !(k->share.others >> i & 1))
			seam_kernel_drop_maps(k, i);
}

int seam_kernel_cookies(struct seam_kernel *k, struct seam_errinfo *reterr)
{
	int fd, err;

	if (geteuid())
		return seam_fail(reterr, -EPERM, "that takes root");
	fd = seam_share_cookies(reterr);
	if (fd < 0)
		return fd;
	err = bpf_map__reuse_fd(k->skel->maps.cookies, fd);
	close(fd);
	k->has_cookies = !err;
	return err;
}

static int try_share(struct seam_kernel *k, const struct seam_kernel_opts *opts,
		     struct seam_errinfo *reterr)
{
	int err = seam_kernel_cookies(k, reterr);

	if (err)
		return err;
	if (!opts->only_tables)
		seam_share_wake();
	/* Who serves tables does so for those that come first. */
	err = seam_share_enter(seam_kernel_group(k, opts),
			       opts->only_tables ? 1 : SEAM_SHARE_PARTS,
			       &k->share, reterr);
	if (err)
		return err;
	k->is_shared = true;
	err = k->share.others ? take_pinned(k, reterr) : 0;
	if (err && !reterr->reason[0])
		return seam_fail(reterr, err,
				 "what is pinned in " SEAM_SHARE_FOLDER
				 "/%s is not seam's (%s): remove it",
				 k->share.group, strerror(-err));
	if (err || !k->share.others)
		return err;
	drop_dead(k);
	/* Loading takes long; who comes next finds all there is already. */
	seam_share_ready(&k->share);
	return 0;
}

int seam_kernel_share(struct seam_kernel *k,
		      const struct seam_kernel_opts *opts)
{
	struct seam_errinfo why = {0};
	int err = try_share(k, opts, &why);

	if (!err) {
		k->skel->rodata_seam->seam_client = k->share.number;
		return 0;
	}
	seam_kernel_unshare(k);
	snprintf(k->alone, sizeof(k->alone), "%s",
		 why.reason[0] ? why.reason : strerror(-err));
	/* Some of the maps may be others' by now, and must not be used. */
	return k->is_half ? err : 0;
}

int seam_kernel_shared(struct seam_kernel *k)
{
	uint32_t number = seam_kernel_client(k);
	int err;
	int stacks = bpf_map__fd(k->skel->maps.client_stacks);
	int rings = bpf_map__fd(k->skel->maps.client_rings);
	const uint32_t losses = SEAM_RING_LOSSES + number;

	/* Of who had the number before. */
	bpf_map_delete_elem(stacks, &number);
	bpf_map_delete_elem(rings, &losses);
	err = seam_kernel_open_requests(k);
	if (!err)
		err = seam_kernel_put_own(k);
	/* Behind the rings: another's program that has read before who wants
	 * the stack sends it to us, or we would have it and never get it. */
	if (!err && k->is_shared)
		err = k->share.others ? seam_kernel_sweep_own(k) : pin_all(k);
	seam_share_ready(&k->share);
	return err;
}

/* The number alone may be that of an owner who had it before us. */
bool seam_kernel_owns(const struct seam_kernel *k)
{
	return __atomic_load_n(&k->owns, __ATOMIC_SEQ_CST);
}

static void stamp(struct seam_kernel *k)
{
	__atomic_store_n(&k->common->served_ns, seam_now_ns(),
			 __ATOMIC_SEQ_CST);
}

void seam_kernel_serves(struct seam_kernel *k)
{
	if (seam_kernel_owns(k))
		stamp(k);
}

static bool is_serving(const struct seam_kernel *k)
{
	return __atomic_load_n(&k->common->serving, __ATOMIC_SEQ_CST) >>
		       seam_kernel_client(k) &
	       1;
}

bool seam_kernel_owner_is_late(const struct seam_kernel *k, uint64_t ns)
{
	const struct seam_common *all = k->common;
	const uint32_t owner = __atomic_load_n(&all->owner, __ATOMIC_SEQ_CST);
	const uint64_t served_ns =
		__atomic_load_n(&all->served_ns, __ATOMIC_SEQ_CST);
	/* Behind the other: it may have served just now. */
	const uint64_t now_ns = seam_now_ns();

	/* Who serves has no stacks to take. */
	return owner && !seam_kernel_owns(k) && !is_serving(k) &&
	       now_ns > served_ns && now_ns - served_ns > ns;
}

int seam_kernel_own(struct seam_kernel *k)
{
	int err = k->is_shared ? seam_share_own(&k->share) : 0;

	if (err)
		return err;
	stamp(k); /* what another has left there is old */
	__atomic_store_n(&k->common->owner, seam_kernel_client(k) + 1,
			 __ATOMIC_SEQ_CST);
	__atomic_store_n(&k->owns, true, __ATOMIC_SEQ_CST);
	return 0;
}

void seam_kernel_disown(struct seam_kernel *k)
{
	uint32_t mine;

	if (!seam_kernel_owns(k)) /* nor may there be any program */
		return;
	mine = seam_kernel_client(k) + 1;
	__atomic_store_n(&k->owns, false, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(&k->common->owner, &mine, 0, false,
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	if (k->is_shared)
		seam_share_disown(&k->share);
}

static void set_own(struct seam_kernel *k, uint32_t *bits, bool on)
{
	const uint32_t bit = 1U << seam_kernel_client(k);

	if (on)
		__atomic_or_fetch(bits, bit, __ATOMIC_SEQ_CST);
	else
		__atomic_and_fetch(bits, ~bit, __ATOMIC_SEQ_CST);
}

/* With our number: whoever had it before may have been another kind. */
void seam_kernel_set_serving(struct seam_kernel *k, bool serves)
{
	set_own(k, &k->common->serving, serves);
	seam_kernel_want_regs(k, false);
	seam_kernel_want_all(k, false);
	seam_kernel_load_own(k, false);
	seam_kernel_call(k, serves ? "serve" : NULL);
	seam_kernel_arrive(k);
}

void seam_kernel_want_regs(struct seam_kernel *k, bool wants)
{
	set_own(k, &k->common->want_regs, wants);
}

void seam_kernel_want_all(struct seam_kernel *k, bool wants)
{
	set_own(k, &k->common->want_all, wants);
}

void seam_kernel_load_own(struct seam_kernel *k, bool does)
{
	set_own(k, &k->common->load_own, does);
}

/* Whoever reads it meanwhile finds a 0 at the end. */
void seam_kernel_name(struct seam_kernel *k, uint32_t number, const char *name)
{
	char *to = k->common->names[number];

	for (size_t i = 0; i + 1 < SEAM_CLIENT_NAME; i++) {
		const char c = name && *name ? *name++ : 0;

		/* Neither a terminal nor JSON takes all that it may be. */
		to[i] = c && (c < ' ' || c > '~') ? '?' : c;
	}
}

void seam_kernel_call(struct seam_kernel *k, const char *name)
{
	seam_kernel_name(k, seam_kernel_client(k), name);
}

void seam_kernel_count_far(struct seam_kernel *k)
{
	__atomic_add_fetch(&k->common->far, 1, __ATOMIC_RELAXED);
}

bool seam_kernel_has_others(const struct seam_kernel *k)
{
	return k->is_shared &&
	       !seam_share_is_last(
		       &k->share,
		       __atomic_load_n(&k->common->serving, __ATOMIC_SEQ_CST));
}

void seam_kernel_unshare(struct seam_kernel *k)
{
	if (k->is_shared)
		seam_share_leave(&k->share);
	k->is_shared = false;
}

void seam_kernel_names(const struct seam_kernel *k, char *ret, size_t size)
{
	const char *comma = "";
	size_t at = 0;

	ret[0] = 0;
	for (uint32_t i = 0; k->is_shared && i < SEAM_MAX_CLIENTS; i++) {
		const char *name = k->common->names[i];
		int n;

		if (!(k->share.others >> i & 1) || !name[0])
			continue;
		n = snprintf(ret + at, size - at, "%s%.*s", comma,
			     SEAM_CLIENT_NAME - 1, name);
		if (n < 0 || (size_t)n >= size - at)
			break;
		at += (size_t)n;
		comma = ", ";
	}
}

uint32_t seam_kernel_others(const struct seam_kernel *k, const char **ret_why)
{
	*ret_why = k->alone[0] ? k->alone : NULL;
	return k->is_shared ? (uint32_t)__builtin_popcount(k->share.others) : 0;
}
