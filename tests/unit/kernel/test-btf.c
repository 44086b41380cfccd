// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what a kernel's BTF says is found wherever it stands in it, as
 * libbpf would find it, and nothing behind the end of one that was cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel-btf.h"

/* A type of each kind, so that none of them hides what is behind it. */
static void add_others(struct btf *btf)
{
	int i = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);

	assert_true(i > 0);
	assert_true(btf__add_float(btf, "double", 8) > 0);
	assert_true(btf__add_ptr(btf, i) > 0);
	assert_true(btf__add_array(btf, i, i, 3) > 0);
	assert_true(btf__add_struct(btf, "pair", 8) > 0);
	assert_int_equal(btf__add_field(btf, "a", i, 0, 0), 0);
	assert_int_equal(btf__add_field(btf, "b", i, 32, 0), 0);
	assert_true(btf__add_union(btf, "either", 4) > 0);
	assert_int_equal(btf__add_field(btf, "a", i, 0, 0), 0);
	assert_true(btf__add_enum(btf, "small", 4) > 0);
	assert_int_equal(btf__add_enum_value(btf, "one", 1), 0);
	assert_true(btf__add_enum64(btf, "large", 8, false) > 0);
	assert_int_equal(btf__add_enum64_value(btf, "two", 2), 0);
	assert_true(btf__add_fwd(btf, "later", BTF_FWD_STRUCT) > 0);
	assert_true(btf__add_volatile(btf, i) > 0);
	assert_true(btf__add_const(btf, i) > 0);
	assert_true(btf__add_restrict(btf, i) > 0);
	assert_true(btf__add_type_tag(btf, "rcu", i) > 0);
	assert_true(btf__add_decl_tag(btf, "kfunc", 5, 0) > 0);
}

/* Three lie on each CPU at 64, 128 and 192, by their names. */
static void add_percpu(struct btf *btf, const char *const names[3])
{
	int ids[3];

	for (int i = 0; i < 3; i++) {
		ids[i] = btf__add_var(btf, names[i], BTF_VAR_GLOBAL_ALLOCATED,
				      1);
		assert_true(ids[i] > 0);
	}
	assert_true(btf__add_datasec(btf, ".data..percpu", 256) > 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			btf__add_datasec_var_info(btf, ids[i],
						  (uint32_t)(64 * (i + 1)), 8),
			0);
}

static void add_func(struct btf *btf, const char *name)
{
	int proto = btf__add_func_proto(btf, 1);

	assert_true(proto > 0);
	assert_int_equal(btf__add_func_param(btf, "task", 3), 0);
	assert_true(btf__add_func(btf, name, BTF_FUNC_GLOBAL, proto) > 0);
}

/* A tracepoint, as the kernel names the type of its handlers. */
static void add_tracepoint(struct btf *btf, const char *name, int n)
{
	int proto = btf__add_func_proto(btf, 0);
	int ptr;

	assert_true(proto > 0);
	for (int i = 0; i < n; i++)
		assert_int_equal(btf__add_func_param(btf, "x", 1), 0);
	ptr = btf__add_ptr(btf, proto);
	assert_true(btf__add_typedef(btf, name, ptr) > 0);
}

static struct seam_kernel_facts say(const struct btf *btf)
{
	struct seam_kernel_facts f;
	uint32_t size;
	const void *data = btf__raw_data(btf, &size);

	assert_non_null(data);
	assert_int_equal(seam_kernel_btf_says(data, size, &f), 0);
	return f;
}

static void of_6_18(void **state)
{
	struct btf *btf = btf__new_empty();
	struct seam_kernel_facts f;

	(void)state;
	add_others(btf);
	add_percpu(btf, (const char *const[]){"__irq_regs", "hrtimer_bases",
					      "pcpu_hot"});
	add_tracepoint(btf, "btf_trace_sched_process_exit", 3);
	add_tracepoint(btf, "btf_trace_sys_enter", 3);
	add_func(btf, SEAM_TASK_WORK_IMPL);
	f = say(btf);
	assert_string_equal(f.task_work, SEAM_TASK_WORK_IMPL);
	assert_int_equal(f.irq_regs, -64);
	assert_int_equal(f.preempt_count, 0);
	assert_true(f.sys_enter);
	assert_false(f.prctl);
	assert_true(f.exits_with_memory);
	assert_false(f.preempts_programs);
	btf__free(btf);
}

/* How often interrupts were disabled is in the count. */
static void of_7_3(void **state)
{
	struct btf *btf = btf__new_empty();
	struct seam_kernel_facts f;

	(void)state;
	add_others(btf);
	add_percpu(btf, (const char *const[]){"runqueues", "__preempt_count",
					      "local_interrupt_disable_state"});
	f = say(btf);
	assert_int_equal(f.preempt_count, 64);
	assert_int_equal(f.in_hardirq, 0xf000000);
	assert_int_equal(f.in_nmi, 0xf0000000);
	btf__free(btf);
}

static void of_7(void **state)
{
	struct btf *btf = btf__new_empty();
	struct seam_kernel_facts f;

	(void)state;
	add_tracepoint(btf, "btf_trace_task_prctl_unknown", 6);
	add_others(btf);
	add_func(btf, SEAM_TASK_WORK_IMPL);
	add_func(btf, "bpf_task_work_schedule_resume");
	add_percpu(btf, (const char *const[]){"runqueues", "__preempt_count",
					      "tracepoint_srcu_srcu_data"});
	f = say(btf);
	assert_string_equal(f.task_work, "bpf_task_work_schedule_resume");
	assert_int_equal(f.irq_regs, 0);
	assert_int_equal(f.preempt_count, 64);
	assert_int_equal(f.in_hardirq, 0xf0000);
	assert_int_equal(f.in_nmi, 0xf00000);
	assert_false(f.sys_enter);
	assert_true(f.prctl);
	assert_false(f.exits_with_memory);
	assert_true(f.preempts_programs);
	btf__free(btf);
}

/* As of Linux 6.12: no task work, the exit told late. */
static void of_6_12(void **state)
{
	struct btf *btf = btf__new_empty();
	struct seam_kernel_facts f;

	(void)state;
	add_others(btf);
	add_tracepoint(btf, "btf_trace_sched_process_exit", 2);
	add_percpu(btf, (const char *const[]){"pcpu_hot", "runqueues",
					      "tracepoint_srcu_srcu_data"});
	/* Of that name, and of another kind. */
	add_tracepoint(btf, "bpf_task_work_schedule_resume", 2);
	f = say(btf);
	assert_null(f.task_work);
	assert_int_equal(f.preempt_count, -64 + 8);
	assert_false(f.exits_with_memory);
	assert_false(f.preempts_programs);
	btf__free(btf);
}

static void cut(void **state)
{
	struct btf *btf = btf__new_empty();
	struct seam_kernel_facts f;
	uint32_t size;
	const void *data;

	(void)state;
	add_others(btf);
	add_percpu(btf, (const char *const[]){"__irq_regs", "hrtimer_bases",
					      "runqueues"});
	data = btf__raw_data(btf, &size);
	for (uint32_t n = 0; n < size; n++) {
		/* Of its own size, for who looks at what is read. */
		void *copy = malloc(n ? n : 1);

		memcpy(copy, data, n);
		assert_int_equal(seam_kernel_btf_says(copy, n, &f), -EINVAL);
		free(copy);
	}
	btf__free(btf);
}

/* The types' section ends anywhere in one of them. */
static void types_cut(void **state)
{
	struct btf *btf = btf__new_empty();
	struct seam_kernel_facts f;
	uint32_t size, all;
	const void *data;

	(void)state;
	add_others(btf);
	add_percpu(btf, (const char *const[]){"__irq_regs", "hrtimer_bases",
					      "runqueues"});
	data = btf__raw_data(btf, &size);
	all = ((const struct btf_header *)data)->type_len;
	for (uint32_t n = 0; n < all; n++) {
		struct btf_header *copy = malloc(size);

		memcpy(copy, data, size);
		copy->type_len = n;
		assert_int_equal(seam_kernel_btf_says(copy, size, &f), 0);
		assert_int_equal(f.irq_regs, 0);
		free(copy);
	}
	btf__free(btf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_6_18), cmocka_unit_test(of_7),
		cmocka_unit_test(of_7_3),  cmocka_unit_test(of_6_12),
		cmocka_unit_test(cut),	   cmocka_unit_test(types_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
