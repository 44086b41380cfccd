// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Made code that is unmapped: seen by a program at system calls, which costs
 * all of the machine's, so that it is attached when there is such code. */
#include <bpf/bpf.h>
#include <errno.h>

#include "kernel/kernel-priv.h"

int seam_kernel_see_unmaps(struct seam_kernel *k)
{
	int err;

	if (k->unmaps)
		return 0;
	if (!bpf_program__autoload(k->skel->progs.seam_unmap_enter))
		return -ENOTSUP;
	k->unmaps = bpf_program__attach(k->skel->progs.seam_unmap_enter);
	if (!k->unmaps)
		return -errno;
	if (!bpf_program__autoload(k->skel->progs.seam_unmap_again))
		return 0;
	/* Behind it. */
	k->unmaps_again = bpf_program__attach(k->skel->progs.seam_unmap_again);
	if (k->unmaps_again)
		return 0;
	err = -errno;
	bpf_link__destroy(k->unmaps);
	k->unmaps = NULL;
	return err;
}

int seam_kernel_span(struct seam_kernel *k, uint32_t tgid, uint64_t start,
		     uint64_t size)
{
	struct seam_span_args args = {
		.start = start, .size = size, .tgid = tgid};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &args,
		    .ctx_size_in = sizeof(args));
	int err = bpf_prog_test_run_opts(
		bpf_program__fd(k->skel->progs.seam_span), &opts);

	return err ? err : args.err;
}
