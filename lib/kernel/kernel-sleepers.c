// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Tasks that still sleep as a recording ends, or sleep already as one of sleeps
 * begins. The programs that take their stacks read other tasks' memory, and so
 * have each an unwinder of its own, which the kernel would verify at each
 * start. So one is loaded when there may be such tasks: an object with the maps
 * of the one that is at work, and that program.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

#include "kernel/kernel-priv.h"

/* To read runs the iterator; it has nothing to say itself. */
static int run_iterator(int fd)
{
	char buf[64];
	ssize_t n;

	/* EAGAIN: it has looked at very many tasks, and goes on from there. */
	do {
		n = read(fd, buf, sizeof(buf));
	} while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	return n < 0 ? -errno : 0;
}

static int run(struct bpf_program *prog)
{
	struct bpf_link *link = bpf_program__attach_iter(prog, NULL);
	int fd, err;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	err = fd < 0 ? -errno : run_iterator(fd);
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return err;
}

/* Constants, which are a map too, are what they were. */
static int share_maps(const struct seam_bpf *from, struct seam_bpf *to)
{
	struct bpf_map *map, *known;
	int err;

	bpf_object__for_each_map(map, to->obj)
	{
		known = bpf_object__find_map_by_name(from->obj,
						     bpf_map__name(map));
		if (!known)
			return -ENOENT;
		err = bpf_map__reuse_fd(map, bpf_map__fd(known));
		if (err)
			return err;
	}
	return 0;
}

static int load(struct seam_kernel *k, const char *name, struct seam_bpf **ret)
{
	struct bpf_program *prog, *it;
	struct seam_bpf *skel;
	int err = seam_kernel_open_object(&skel, k->object);

	if (err)
		return err;
	it = bpf_object__find_program_by_name(skel->obj, name);
	bpf_object__for_each_program(prog, skel->obj)
		bpf_program__set_autoload(prog, prog == it);
	err = it ? share_maps(k->skel, skel) : -ENOENT;
	if (!err)
		err = bpf_object__load(skel->obj);
	if (err)
		seam_bpf__destroy(skel);
	else
		*ret = skel;
	return err;
}

int seam_kernel_load_slept(struct seam_kernel *k)
{
	return load(k, "seam_slept", &k->slept);
}

int seam_kernel_take_slept(struct seam_kernel *k)
{
	int err = k->slept ? run(k->slept->progs.seam_slept) : 0;

	seam_bpf__destroy(k->slept);
	k->slept = NULL;
	return err;
}

static int take_sleepers(struct seam_kernel *k)
{
	struct seam_bpf *skel;
	int err = load(k, "seam_sleepers", &skel);

	if (err)
		return err;
	err = run(skel->progs.seam_sleepers);
	seam_bpf__destroy(skel);
	return err;
}

int seam_kernel_take_sleepers(struct seam_kernel *k)
{
	struct seam_asleep_args args = {0};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &args,
		    .ctx_size_in = sizeof(args));
	int err = bpf_prog_test_run_opts(
		bpf_program__fd(k->skel->progs.seam_asleep), &opts);

	return err || !args.found ? err : take_sleepers(k);
}
