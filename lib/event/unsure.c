// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "event/unsure.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "event/fail.h"

#define ENTRY_BEGINS "__entry_text_start"
#define ENTRY_ENDS "__entry_text_end"

/* Beside all that lies between these two. sync_regs moves what an exception
 * saved; and where a new task begins, its registers are there. */
static const char *const doors[] = {"sync_regs", "ret_from_fork_asm",
				    "asm_fred_entrypoint_user"};

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
};

static const char *const probers[] = {
	"__x64_sys_uretprobe",
	"__x64_sys_uprobe",
	"uprobe_notify_resume",
};

/* Labels in the doors' code: behind the calls of what each entry is for. */
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
};

/* The processor's part of the registers is there; the rest is pushed. */
static const char *const savings[] = {
	"entry_SYSCALL_64_after_hwframe",
	"entry_SYSCALL_compat_after_hwframe",
	"entry_SYSENTER_compat_after_hwframe",
};

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* Where a kind of code lies, as far as it is known. */
struct list {
	struct seam_kernel_range *v;
	size_t max, n;
};

struct reader {
	struct seam_kernel_entry *entry;
	struct list doors, writers, probers, outs, savings;
	struct seam_kernel_range *open; /* its end is the next symbol */
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

/* A symbol of the kernel's own, in the order of their addresses. */
static int take(struct reader *r, uint64_t addr, const char *name)
{
	struct seam_kernel_range *entry_text = &r->entry->doors[0];
	const struct kind in_entry_text[] = {
		{outs, N(outs), &r->outs},
		{savings, N(savings), &r->savings},
	};
	const struct kind elsewhere[] = {
		{doors, N(doors), &r->doors},
		{writers, N(writers), &r->writers},
		{probers, N(probers), &r->probers},
	};

	if (r->open && addr != r->open->start) {
		r->open->end = addr;
		r->open = NULL;
	}
	if (!strcmp(name, ENTRY_BEGINS))
		entry_text->start = addr;
	if (!strcmp(name, ENTRY_ENDS))
		entry_text->end = addr;
	if (r->open)
		return 0; /* another name of the same */
	if (entry_text->start && !entry_text->end)
		return take_as(r, in_entry_text, N(in_entry_text), addr, name);
	return take_as(r, elsewhere, N(elsewhere), addr, name);
}

static int read_all(FILE *f, struct reader *r)
{
	char line[512], name[256], type;
	bool shown = false;
	uint64_t addr;
	int err = 0;

	while (!err && fgets(line, sizeof(line), f)) {
		if (strchr(line, '[')) /* modules: addresses begin anew */
			break;
		if (sscanf(line, "%" SCNx64 " %c %255s", &addr, &type, name) !=
		    3)
			continue;
		shown |= addr != 0;
		err = take(r, addr, name);
	}
	if (err)
		return err;
	if (!shown)
		return -EACCES;
	/* Signals are written somewhere in every kernel. */
	return r->entry->doors[0].start < r->entry->doors[0].end &&
			       r->writers.n && !r->open
		       ? 0
		       : -ENOENT;
}

#define LIST(of, first)                                                        \
	{                                                                      \
		.v = (of), .max = N(of), .n = (first)                          \
	}

int seam_unsure_read(const char *path, struct seam_kernel_entry *ret,
		     struct seam_kernel_saved *ret_saved)
{
	struct seam_kernel_entry entry = {0};
	struct seam_kernel_saved saved = {0};
	struct reader r = {
		.entry = &entry,
		.doors = LIST(entry.doors, 1),
		.writers = LIST(entry.writers, 0),
		.probers = LIST(entry.probers, 0),
		.outs = LIST(saved.out, 0),
		.savings = LIST(saved.saving, 0),
	};
	FILE *f = fopen(path ? path : "/proc/kallsyms", "re");
	int err;

	if (!f)
		return -errno;
	err = read_all(f, &r);
	fclose(f);
	if (err)
		return err;
	*ret = entry;
	if (ret_saved)
		*ret_saved = saved;
	return 0;
}

int seam_unsure_open(struct seam_kernel_entry *ret, struct seam_errinfo *reterr)
{
	int err = seam_unsure_read(NULL, ret, NULL);

	if (err == -EACCES)
		return seam_fail(reterr, err,
				 "/proc/kallsyms hides the addresses of the "
				 "code at which registers cannot be believed: "
				 "run as root, with kernel.kptr_restrict below "
				 "2");
	if (err)
		return seam_fail(
			reterr, -ENOTSUP,
			"/proc/kallsyms does not say where this kernel "
			"writes its tasks' registers (%s)",
			strerror(-err));
	return 0;
}
