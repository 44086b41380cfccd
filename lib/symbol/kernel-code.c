// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "symbol/kernel-code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/index.h"

/* To be raised where the same names come to mean, or are kept as, something
 * else. */
#define RULES 1

#define ENTRY_BEGINS "__entry_text_start"
#define ENTRY_ENDS "__entry_text_end"

/* Beside all that lies between these two. sync_regs moves what an exception
 * saved; where a new task begins, its registers are there; and what FRED's door
 * calls returns to the next symbol. */
static const char *const doors[] = {
	"sync_regs",
	"ret_from_fork_asm",
	"asm_fred_entrypoint_user",
	"asm_fred_exit_user",
	"asm_fred_entrypoint_kernel",
};

/* By 64- and 32-bit programs alike. Names of several variants of one function
 * have one address. */
static const char *const writers[] = {
	"x64_setup_rt_frame",
	"x32_setup_rt_frame",
	"ia32_setup_frame",
	"ia32_setup_rt_frame",
	"restore_sigcontext",
	"ia32_restore_sigcontext",
	"__x64_sys_rt_sigreturn",
	"__x64_compat_sys_x32_rt_sigreturn",
	"__ia32_compat_sys_sigreturn",
	"__ia32_compat_sys_rt_sigreturn",
	"emulate_vsyscall",
	"__emulate_vsyscall",
	"emulate_vsyscall_gp",
	"emulate_vsyscall_pf",
};

/* What x64_setup_rt_frame was a part of, until Linux 6.1. */
static const char *const old_writers[] = {
	"__setup_rt_frame",
	"setup_rt_frame",
	"handle_signal",
	"arch_do_signal_or_restart",
};

static const char *const probers[] = {
	"__x64_sys_uretprobe",
	"__x64_sys_uprobe",
	"uprobe_notify_resume",
};

static const char *const outs[] = {
	"syscall_return_via_sysret",
	"entry_SYSRETQ_unsafe_stack",
	"common_interrupt_return",
	"swapgs_restore_regs_and_return_to_usermode",
	"restore_regs_and_return_to_kernel",
	"native_irq_return_iret",
	"native_irq_return_ldt",
	"error_return",
	"sysret32_from_system_call",
	"entry_SYSRETL_compat_unsafe_stack",
	"asm_fred_exit_user",
	"ret_from_fork_asm",
};

/* What the processor would push is there; the rest is pushed. */
static const char *const savings[] = {
	"entry_SYSCALL_64_after_hwframe",
	"entry_SYSCALL_compat_after_hwframe",
	"asm_fred_entrypoint_user",
};

/* What mitigates is called, or memcpy. */
static const char *const earlies[] = {
	"error_entry",
	"xen_error_entry",
	"paranoid_entry",
	"sync_regs",
};

static const char *const faults[] = {"asm_exc_page_fault", "exc_page_fault"};

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* Where a kind of code lies, as far as it is known. */
struct list {
	struct seam_kernel_range *v;
	size_t max, n;
};

struct reader {
	struct seam_kernel_range *entry_text;
	struct list doors, writers, probers;
	struct list old_writers, outs, savings, earlies, faults;
	/* Their end is the next symbol. */
	struct seam_kernel_range *open[4];
	size_t n_open;
	bool is_old; /* no newer writer has been met */
};

/* The compiler may have put the unlikely parts of a function elsewhere. */
static bool is_part(const char *name, const char *of)
{
	size_t len = strlen(of);

	return !strncmp(name, of, len) && (!name[len] || name[len] == '.');
}

static bool is_among(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_part(name, names[i]))
			return true;
	return false;
}

/* What has no place would be believed. Of no place at all none is wanted. */
static int add(struct reader *r, struct list *list, uint64_t addr)
{
	if (!list->max)
		return 0;
	if (list->n == list->max || r->n_open == N(r->open))
		return -E2BIG;
	list->v[list->n] = (struct seam_kernel_range){addr, addr};
	r->open[r->n_open++] = &list->v[list->n++];
	return 0;
}

struct kind {
	const char *const *names;
	size_t n_names;
	struct list *list;
};

/* It may be of several kinds. */
static int take_as_all(struct reader *r, uint64_t addr, const char *name)
{
	const struct kind kinds[] = {
		{doors, N(doors), &r->doors},
		{writers, N(writers), &r->writers},
		{probers, N(probers), &r->probers},
		{old_writers, N(old_writers), &r->old_writers},
		{outs, N(outs), &r->outs},
		{savings, N(savings), &r->savings},
		{earlies, N(earlies), &r->earlies},
		{faults, N(faults), &r->faults},
	};
	int err = 0;

	for (size_t i = 0; !err && i < N(kinds); i++)
		if (is_among(name, kinds[i].names, kinds[i].n_names))
			err = add(r, kinds[i].list, addr);
	return err;
}

/* A symbol of the kernel's own, in the order of their addresses. */
static int take(struct reader *r, uint64_t addr, const char *name)
{
	/* All else is hidden as well. */
	if (!addr && !strcmp(name, "_text"))
		return -EACCES;
	if (r->n_open && addr != r->open[0]->start)
		while (r->n_open)
			r->open[--r->n_open]->end = addr;
	if (!strcmp(name, ENTRY_BEGINS))
		r->entry_text->start = addr;
	if (!strcmp(name, ENTRY_ENDS))
		r->entry_text->end = addr;
	r->is_old &= !is_part(name, writers[0]);
	/* Else it is another name of the same. */
	return r->n_open ? 0 : take_as_all(r, addr, name);
}

/* Those that are part of nothing else. */
static int take_old_writers(struct reader *r)
{
	for (size_t i = 0; r->is_old && i < r->old_writers.n; i++) {
		if (r->writers.n == r->writers.max)
			return -E2BIG;
		r->writers.v[r->writers.n++] = r->old_writers.v[i];
	}
	return 0;
}

static int read_all(FILE *f, struct reader *r)
{
	char line[512], name[256], type;
	bool shown = false, any = false;
	uint64_t addr;
	int err = 0;

	while (!err && fgets(line, sizeof(line), f)) {
		if (strchr(line, '[')) /* modules: addresses begin anew */
			break;
		if (sscanf(line, "%" SCNx64 " %c %255s", &addr, &type, name) !=
		    3)
			continue;
		any = true;
		shown |= addr != 0;
		err = take(r, addr, name);
	}
	if (!err)
		err = take_old_writers(r);
	if (err)
		return err;
	if (any && !shown)
		return -EACCES;
	/* Signals are written somewhere in every kernel. */
	return r->entry_text->start < r->entry_text->end && r->writers.n &&
			       !r->n_open
		       ? 0
		       : -ENOENT;
}

static uint64_t hash_names(uint64_t hash, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = seam_hash(hash, names[i], strlen(names[i]) + 1);
	return seam_hash(hash, &n, sizeof(n));
}

uint64_t seam_kernel_code_sought(void)
{
	uint64_t hash = hash_names(SEAM_HASH_START ^ RULES, doors, N(doors));

	hash = hash_names(hash, writers, N(writers));
	hash = hash_names(hash, old_writers, N(old_writers));
	hash = hash_names(hash, probers, N(probers));
	hash = hash_names(hash, outs, N(outs));
	hash = hash_names(hash, savings, N(savings));
	hash = hash_names(hash, earlies, N(earlies));
	return hash_names(hash, faults, N(faults));
}

#define LIST(of)                                                               \
	{                                                                      \
		.v = (of), .max = N(of)                                        \
	}

int seam_kernel_code_read(const char *path, struct seam_kernel_entry *ret,
			  struct seam_kernel_doors *ret_doors)
{
	struct seam_kernel_range old[16] = {{0}};
	struct seam_kernel_entry entry = {0};
	struct seam_kernel_doors parts = {0};
	struct reader r = {
		.entry_text = &entry.doors[0],
		.doors = {.v = entry.doors, .max = N(entry.doors), .n = 1},
		.writers = LIST(entry.writers),
		.probers = LIST(entry.probers),
		.old_writers = LIST(old),
		.is_old = true,
	};
	FILE *f = fopen(path ? path : "/proc/kallsyms", "re");
	int err;

	if (!f)
		return -errno;
	if (ret_doors) {
		r.outs = (struct list)LIST(parts.out);
		r.savings = (struct list)LIST(parts.saving);
		r.earlies = (struct list)LIST(parts.early);
		r.faults = (struct list)LIST(parts.fault);
	}
	err = read_all(f, &r);
	fclose(f);
	if (err)
		return err;
	*ret = entry;
	if (ret_doors)
		*ret_doors = parts;
	return 0;
}
