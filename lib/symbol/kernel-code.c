// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "symbol/kernel-code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/index.h"

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

/* The rest lies between the two. */
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
};

/* What the processor would push is there; the rest is pushed. */
static const char *const savings[] = {
	"entry_SYSCALL_64_after_hwframe",
	"entry_SYSCALL_compat_after_hwframe",
};

static const char *const earlies[] = {
	"error_entry",
	"xen_error_entry",
	"paranoid_entry",
};

static const char *const faults[] = {"asm_exc_page_fault"};

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
	struct seam_kernel_range *open; /* its end is the next symbol */
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

struct kind {
	const char *const *names;
	size_t n_names;
	struct list *list;
};

/* What has no place would be believed. */
static int add(struct reader *r, struct list *list, uint64_t addr)
{
	if (list->n == list->max)
		return -E2BIG;
	r->open = &list->v[list->n++];
	r->open->start = r->open->end = addr;
	return 0;
}

static int take_as(struct reader *r, const struct kind *kinds, size_t n,
		   uint64_t addr, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (is_among(name, kinds[i].names, kinds[i].n_names))
			return add(r, kinds[i].list, addr);
	return 0;
}

static int take_in_entry_text(struct reader *r, uint64_t addr, const char *name)
{
	const struct kind kinds[] = {
		{outs, N(outs), &r->outs},
		{savings, N(savings), &r->savings},
		{earlies, N(earlies), &r->earlies},
		{faults, N(faults), &r->faults},
	};

	return r->outs.v ? take_as(r, kinds, N(kinds), addr, name) : 0;
}

static int take_elsewhere(struct reader *r, uint64_t addr, const char *name)
{
	const struct kind kinds[] = {
		{doors, N(doors), &r->doors},
		{writers, N(writers), &r->writers},
		{probers, N(probers), &r->probers},
		{old_writers, N(old_writers), &r->old_writers},
	};

	r->is_old &= !is_part(name, writers[0]);
	return take_as(r, kinds, N(kinds), addr, name);
}

/* A symbol of the kernel's own, in the order of their addresses. */
static int take(struct reader *r, uint64_t addr, const char *name)
{
	/* All else is hidden as well. */
	if (!addr && !strcmp(name, "_text"))
		return -EACCES;
	if (r->open && addr != r->open->start) {
		r->open->end = addr;
		r->open = NULL;
	}
	if (!strcmp(name, ENTRY_BEGINS))
		r->entry_text->start = addr;
	if (!strcmp(name, ENTRY_ENDS))
		r->entry_text->end = addr;
	if (r->open)
		return 0; /* another name of the same */
	if (r->entry_text->start && !r->entry_text->end)
		return take_in_entry_text(r, addr, name);
	return take_elsewhere(r, addr, name);
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
			       !r->open
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
	uint64_t hash = hash_names(SEAM_HASH_START, doors, N(doors));

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
	struct seam_kernel_range old[N(old_writers) * 2] = {{0}};
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
