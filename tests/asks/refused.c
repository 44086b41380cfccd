// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* refused load|attach: a tool whose BPF programs cannot be loaded, or attached.
 */
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "refused.skel.h"
#include "seam/lend.h"

static void on_stack(void *ctx, const struct seam_user_stack *stack)
{
	(void)ctx;
	seam_stack_print(stdout, stack);
}

int main(int argc, char **argv)
{
	uint32_t pid = (uint32_t)getpid();
	const struct seam_client_opts opts = {.sz = sizeof(opts),
					      .name = "refused",
					      .max_frames = 127,
					      .tasks = SEAM_TASKS_PROCESSES,
					      .ids = &pid,
					      .n_ids = 1,
					      .on_stack = on_stack};
	struct refused *skel = refused__open();
	bool at_load = argc == 2 && !strcmp(argv[1], "load");

	if (!skel)
		return 2;
	bpf_program__set_autoload(skel->progs.not_checked, at_load);
	bpf_program__set_autoload(skel->progs.nowhere, !at_load);
	return seam_tool_run(skel->skeleton, &opts, &skel->rodata->client);
}
