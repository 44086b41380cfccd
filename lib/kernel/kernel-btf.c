// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * What the running kernel's own BTF says of it: a dozen names among its 100,000
 * types. They are looked for in one walk over the kernel's own pages: libbpf
 * would copy all 5 MB and index them before its first answer.
 */
#include "kernel/kernel-btf.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is looked for. */
enum want {
	WANT_TASK_WORK,
	WANT_TASK_WORK_IMPL,
	WANT_SYS_ENTER,
	WANT_PRCTL,
	WANT_EXIT,
	WANT_PERCPU,
	WANT_HRTIMER_BASES,
	WANT_IRQ_REGS,
	WANT_RUNQUEUES,
	WANT_PREEMPT_COUNT,
	WANT_PCPU_HOT,
	WANT_IRQ_DISABLED,
	WANT_TRACEPOINT_SRCU,
	WANTS
};

static const struct {
	const char *name;
	uint32_t kind;
} wanted[WANTS] = {
	[WANT_TASK_WORK] = {"bpf_task_work_schedule_resume", BTF_KIND_FUNC},
	/* Linux 6.18 to 7.1 */
	[WANT_TASK_WORK_IMPL] = {SEAM_TASK_WORK_IMPL, BTF_KIND_FUNC},
	[WANT_SYS_ENTER] = {"btf_trace_sys_enter", BTF_KIND_TYPEDEF},
	[WANT_PRCTL] = {"btf_trace_task_prctl_unknown", BTF_KIND_TYPEDEF},
	[WANT_EXIT] = {"btf_trace_sched_process_exit", BTF_KIND_TYPEDEF},
	[WANT_PERCPU] = {".data..percpu", BTF_KIND_DATASEC},
	[WANT_HRTIMER_BASES] = {"hrtimer_bases", BTF_KIND_VAR},
	[WANT_IRQ_REGS] = {"__irq_regs", BTF_KIND_VAR},
	[WANT_RUNQUEUES] = {"runqueues", BTF_KIND_VAR},
	[WANT_PREEMPT_COUNT] = {"__preempt_count", BTF_KIND_VAR},
	[WANT_PCPU_HOT] = {"pcpu_hot", BTF_KIND_VAR},
	[WANT_IRQ_DISABLED] = {"local_interrupt_disable_state", BTF_KIND_VAR},
	[WANT_TRACEPOINT_SRCU] = {"tracepoint_srcu_srcu_data", BTF_KIND_VAR},
};

/* The two sections, and what of the above is there. */
struct reading {
	const uint8_t *types, *types_end;
	const char *names, *names_end;
	struct {
		const struct btf_type *type;
		uint32_t id; /* 0: not there */
	} found[WANTS];
};

/* Bytes of a type with all that follows it; 0: of no kind that is known, so
 * that nothing behind it can be found. */
static size_t size_of(const struct btf_type *t)
{
	const size_t n = BTF_INFO_VLEN(t->info);

	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return sizeof(*t);
	case BTF_KIND_INT:
		return sizeof(*t) + sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(*t) + sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return sizeof(*t) + n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return sizeof(*t) + n * sizeof(struct btf_enum);
	case BTF_KIND_FUNC_PROTO:
		return sizeof(*t) + n * sizeof(struct btf_param);
	case BTF_KIND_VAR:
		return sizeof(*t) + sizeof(struct btf_var);
	case BTF_KIND_DATASEC:
		return sizeof(*t) + n * sizeof(struct btf_var_secinfo);
	case BTF_KIND_DECL_TAG:
		return sizeof(*t) + sizeof(struct btf_decl_tag);
	case BTF_KIND_ENUM64:
		return sizeof(*t) + n * sizeof(struct btf_enum64);
	default:
		return 0;
	}
}

/* The type behind this one, or NULL; at first, of NULL, the first. */
static const struct btf_type *next(const struct reading *r,
				   const struct btf_type *t)
{
	const uint8_t *at = t ? (const uint8_t *)t + size_of(t) : r->types;
	const struct btf_type *to = (const struct btf_type *)at;
	const size_t room = (size_t)(r->types_end - at);

	return room >= sizeof(*to) && size_of(to) && size_of(to) <= room ? to
									 : NULL;
}

/* The names' last byte is 0. */
static bool is_called(const struct reading *r, const struct btf_type *t,
		      const char *name)
{
	return t->name_off < (size_t)(r->names_end - r->names) &&
	       !strcmp(r->names + t->name_off, name);
}

static void find(struct reading *r)
{
	uint32_t id = 1;

	for (const struct btf_type *t = next(r, NULL); t; t = next(r, t), id++)
		for (size_t i = 0; i < WANTS; i++) {
			if (BTF_INFO_KIND(t->info) != wanted[i].kind ||
			    r->found[i].id || !is_called(r, t, wanted[i].name))
				continue;
			r->found[i].type = t;
			r->found[i].id = id;
		}
}

static const struct btf_type *by_id(const struct reading *r, uint32_t id)
{
	const struct btf_type *t = next(r, NULL);

	while (t && --id)
		t = next(r, t);
	return t;
}

/* A variable among those of each CPU, or NULL. */
static const struct btf_var_secinfo *find_variable(const struct reading *r,
						   enum want what)
{
	const struct btf_type *section = r->found[WANT_PERCPU].type;
	const struct btf_var_secinfo *var;

	if (!section || !r->found[what].id)
		return NULL;
	var = (const struct btf_var_secinfo *)(section + 1);
	for (unsigned i = 0; i < BTF_INFO_VLEN(section->info); i++, var++)
		if (var->type == r->found[what].id)
			return var;
	return NULL;
}

/* Where it lies, or -1. */
static int64_t variable_offset(const struct reading *r, enum want what)
{
	const struct btf_var_secinfo *var = find_variable(r, what);

	return var ? (int64_t)var->offset : -1;
}

static int64_t between(const struct reading *r, enum want from, enum want to)
{
	const int64_t first = variable_offset(r, from),
		      second = variable_offset(r, to);

	return first < 0 || second < 0 ? 0 : second - first;
}

static int64_t preempt_count(const struct reading *r)
{
	int64_t off = between(r, WANT_RUNQUEUES, WANT_PREEMPT_COUNT);

	if (off)
		return off;
	/* Linux 6.2 to 6.13: behind the pointer to the current task. */
	off = between(r, WANT_RUNQUEUES, WANT_PCPU_HOT);
	return off ? off + 8 : 0;
}

/* What of that count is of hard interrupts and of NMIs. Linux 7.3 has between
 * soft interrupts and these how often interrupts were disabled, and where it is
 * of 8 bytes, more bits for NMIs. */
static void find_interrupts(const struct reading *r,
			    struct seam_kernel_facts *ret)
{
	const struct btf_var_secinfo *count =
		find_variable(r, WANT_PREEMPT_COUNT);

	ret->in_hardirq = 0xf0000;
	ret->in_nmi = 0xf00000;
	if (!r->found[WANT_IRQ_DISABLED].id)
		return;
	ret->in_hardirq = 0xf000000;
	ret->in_nmi = count && count->size == 8 ? 0xf0000000 : 0x10000000;
}

static bool exits_with_memory(const struct reading *r)
{
	const struct btf_type *t = r->found[WANT_EXIT].type;

	t = t && t->type ? by_id(r, t->type) : NULL;
	if (t && BTF_INFO_KIND(t->info) == BTF_KIND_PTR)
		t = t->type ? by_id(r, t->type) : NULL;
	/* Moved, and given a third argument, by one change. */
	return t && BTF_INFO_KIND(t->info) == BTF_KIND_FUNC_PROTO &&
	       BTF_INFO_VLEN(t->info) == 3;
}

/* Up to its last member that is read: later kernels' may have more. */
#define HEAD_SIZE                                                              \
	(offsetof(struct btf_header, str_len) +                                \
	 sizeof(((struct btf_header *)NULL)->str_len))

static int open_sections(struct reading *r, const uint8_t *data, size_t size)
{
	const struct btf_header *head = (const struct btf_header *)data;
	size_t room;

	if (size < HEAD_SIZE || head->magic != BTF_MAGIC ||
	    head->hdr_len < HEAD_SIZE || head->hdr_len > size)
		return -EINVAL;
	room = size - head->hdr_len;
	if (head->type_off > room || head->type_len > room - head->type_off ||
	    head->str_off > room || head->str_len > room - head->str_off ||
	    head->type_off % sizeof(uint32_t) ||
	    head->hdr_len % sizeof(uint32_t))
		return -EINVAL;
	r->types = data + head->hdr_len + head->type_off;
	r->types_end = r->types + head->type_len;
	r->names = (const char *)data + head->hdr_len + head->str_off;
	r->names_end = r->names + head->str_len;
	return head->str_len && !r->names_end[-1] ? 0 : -EINVAL;
}

int seam_kernel_btf_says(const void *data, size_t size,
			 struct seam_kernel_facts *ret)
{
	struct reading r = {0};
	int err = open_sections(&r, data, size);

	if (err)
		return err;
	find(&r);
	*ret = (struct seam_kernel_facts){
		.irq_regs = between(&r, WANT_HRTIMER_BASES, WANT_IRQ_REGS),
		.preempt_count = preempt_count(&r),
		.sys_enter = r.found[WANT_SYS_ENTER].id,
		.prctl = r.found[WANT_PRCTL].id,
		.exits_with_memory = exits_with_memory(&r),
	};
	find_interrupts(&r, ret);
	/* From 7.2 on both are there, but _impl then only describes the
	 * other's implicit argument and cannot be called. */
	if (r.found[WANT_TASK_WORK].id)
		ret->task_work = wanted[WANT_TASK_WORK].name;
	else if (r.found[WANT_TASK_WORK_IMPL].id)
		ret->task_work = SEAM_TASK_WORK_IMPL;
	/* SRCU, in the place of preemption that is off: Linux 7. Up to 6.12
	 * idle tasks' tracepoints had one of that name. */
	ret->preempts_programs = ret->task_work &&
				 variable_offset(&r, WANT_TRACEPOINT_SRCU) >= 0;
	return 0;
}

/* Linux 6.16 maps it. */
static int read_mapped(struct seam_kernel_facts *ret)
{
	int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *data;
	int err;

	if (fd < 0)
		return -errno;
	data = fstat(fd, &st) ? MAP_FAILED
			      : mmap(NULL, (size_t)st.st_size, PROT_READ,
				     MAP_PRIVATE, fd, 0);
	err = data == MAP_FAILED ? -errno : 0;
	close(fd);
	if (err)
		return err;
	err = seam_kernel_btf_says(data, (size_t)st.st_size, ret);
	munmap(data, (size_t)st.st_size);
	return err;
}

int seam_kernel_ask_btf(struct seam_kernel_facts *ret)
{
	struct btf *btf;
	const void *data;
	uint32_t size;
	int err;

	if (!read_mapped(ret))
		return 0;
	btf = btf__load_vmlinux_btf(); /* wherever it is */
	if (!btf)
		return -errno;
	data = btf__raw_data(btf, &size);
	err = data ? seam_kernel_btf_says(data, size, ret) : -ENOMEM;
	btf__free(btf);
	return err;
}
