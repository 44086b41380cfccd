// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What the running kernel's own BTF says of it. */
#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>

#include "kernel/kernel-priv.h"

const char *seam_kernel_task_work(const struct btf *btf)
{
	/* From 7.2 on both are there, but _impl then only describes the
	 * other's implicit argument and cannot be called. */
	static const char *const names[] = {
		"bpf_task_work_schedule_resume",
		TASK_WORK_IMPL, /* Linux 6.18 to 7.1 */
	};

	for (size_t i = 0; i < 2; i++)
		if (btf__find_by_name_kind(btf, names[i], BTF_KIND_FUNC) >= 0)
			return names[i];
	return NULL;
}

/* Where a variable lies in a section, or -1. */
static int64_t variable_offset(const struct btf *btf,
			       const struct btf_type *section, const char *name)
{
	const struct btf_var_secinfo *var = btf_var_secinfos(section);

	for (unsigned i = 0; i < btf_vlen(section); i++, var++) {
		const struct btf_type *t = btf__type_by_id(btf, var->type);

		if (t && !strcmp(btf__name_by_offset(btf, t->name_off), name))
			return var->offset;
	}
	return -1;
}

static const struct btf_type *percpu_section(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);

	return id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);
}

static int64_t between(const struct btf *btf, const char *from, const char *to)
{
	const struct btf_type *section = percpu_section(btf);
	int64_t first, second;

	if (!section)
		return 0;
	first = variable_offset(btf, section, from);
	second = variable_offset(btf, section, to);
	return first < 0 || second < 0 ? 0 : second - first;
}

int64_t seam_kernel_irq_regs(const struct btf *btf)
{
	return between(btf, "hrtimer_bases", "__irq_regs");
}

int64_t seam_kernel_preempt_count(const struct btf *btf)
{
	int64_t off = between(btf, "runqueues", "__preempt_count");

	if (off)
		return off;
	/* Linux 6.2 to 6.13: behind the pointer to the current task. */
	off = between(btf, "runqueues", "pcpu_hot");
	return off ? off + 8 : 0;
}

bool seam_kernel_has_tracepoint(const struct btf *btf, const char *name)
{
	char type[64];

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	return btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) >= 0;
}

bool seam_kernel_preempts_programs(const struct btf *btf)
{
	const struct btf_type *section = percpu_section(btf);

	/* SRCU, in the place of preemption that is off: Linux 7. Up to 6.12
	 * idle tasks' tracepoints had one of that name. */
	return section && seam_kernel_task_work(btf) &&
	       variable_offset(btf, section, "tracepoint_srcu_srcu_data") >= 0;
}

bool seam_kernel_exits_with_memory(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "btf_trace_sched_process_exit",
					BTF_KIND_TYPEDEF);
	const struct btf_type *t;

	if (id < 0)
		return false;
	t = btf__type_by_id(btf, btf__type_by_id(btf, (uint32_t)id)->type);
	if (t && btf_is_ptr(t))
		t = btf__type_by_id(btf, t->type);
	/* Moved, and given a third argument, by one change. */
	return t && btf_is_func_proto(t) && btf_vlen(t) == 3;
}
