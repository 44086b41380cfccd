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

#define N(array) (sizeof(array) / sizeof((array)[0]))

struct reader {
	struct seam_kernel_entry *entry;
	struct seam_kernel_range *open; /* its end is the next symbol */
	size_t n_doors, n_writers, n_probers;
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

/* What has no place would be believed. */
static int add(struct seam_kernel_range *ranges, size_t max, size_t *n,
	       uint64_t addr, struct seam_kernel_range **ret)
{
	if (*n == max)
		return -E2BIG;
	*ret = &ranges[(*n)++];
	(*ret)->start = (*ret)->end = addr;
	return 0;
}

/* A symbol of the kernel's own, in the order of their addresses. */
static int take(struct reader *r, uint64_t addr, const char *name)
{
	struct seam_kernel_entry *e = r->entry;

	if (r->open && addr != r->open->start) {
		r->open->end = addr;
		r->open = NULL;
	}
	if (!strcmp(name, ENTRY_BEGINS))
		e->doors[0].start = addr;
	if (!strcmp(name, ENTRY_ENDS))
		e->doors[0].end = addr;
	if (r->open)
		return 0; /* another name of the same */
	if (is_among(name, doors, N(doors)))
		return add(e->doors, SEAM_KERNEL_DOORS, &r->n_doors, addr,
			   &r->open);
	if (is_among(name, writers, N(writers)))
		return add(e->writers, SEAM_KERNEL_WRITERS, &r->n_writers, addr,
			   &r->open);
	if (is_among(name, probers, N(probers)))
		return add(e->probers, SEAM_KERNEL_PROBERS, &r->n_probers, addr,
			   &r->open);
	return 0;
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
			       r->n_writers && !r->open
		       ? 0
		       : -ENOENT;
}

int seam_unsure_read(const char *path, struct seam_kernel_entry *ret)
{
	struct seam_kernel_entry entry = {0};
	struct reader r = {.entry = &entry, .n_doors = 1};
	FILE *f = fopen(path ? path : "/proc/kallsyms", "re");
	int err;

	if (!f)
		return -errno;
	err = read_all(f, &r);
	fclose(f);
	if (!err)
		*ret = entry;
	return err;
}

int seam_unsure_open(struct seam_kernel_entry *ret, struct seam_errinfo *reterr)
{
	int err = seam_unsure_read(NULL, ret);

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
