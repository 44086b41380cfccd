// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

#include "truth/private.h"

struct seam_confirm {
	Dwfl *dwfl;
};

struct frames {
	uint64_t *ips;
	size_t n, max;
};

struct seam_confirm *seam_confirm_free(struct seam_confirm *f)
{
	seam_confirm_stale(f);
	free(f);
	return NULL;
}

void seam_confirm_stale(struct seam_confirm *f)
{
	if (f && f->dwfl)
		dwfl_end(f->dwfl);
	if (f)
		f->dwfl = NULL;
}

static Dwfl *dwfl_of(struct seam_confirm **f, pid_t pid)
{
	static char *no_path;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &no_path,
	};

	if (!*f)
		*f = calloc(1, sizeof(**f));
	if (!*f || (*f)->dwfl)
		return *f ? (*f)->dwfl : NULL;
	(*f)->dwfl = dwfl_begin(&callbacks);
	if (!(*f)->dwfl)
		return NULL;
	if (dwfl_linux_proc_report((*f)->dwfl, pid) ||
	    dwfl_report_end((*f)->dwfl, NULL, NULL) ||
	    dwfl_linux_proc_attach((*f)->dwfl, pid, true))
		seam_confirm_stale(*f);
	return (*f)->dwfl;
}

static int on_frame(Dwfl_Frame *state, void *arg)
{
	struct frames *frames = arg;
	Dwarf_Addr pc;

	if (frames->n == frames->max || !dwfl_frame_pc(state, &pc, NULL))
		return DWARF_CB_ABORT;
	frames->ips[frames->n++] = pc;
	return DWARF_CB_OK;
}

size_t seam_confirm_stack(struct seam_confirm **f, pid_t pid, uint64_t *ret_ips,
			  size_t max)
{
	struct frames frames = {.ips = ret_ips, .max = max};
	Dwfl *dwfl = dwfl_of(f, pid);

	if (dwfl)
		dwfl_getthread_frames(dwfl, pid, on_frame, &frames);
	return frames.n;
}

bool seam_confirm_has_fde(struct seam_confirm **f, pid_t pid, uint64_t avma)
{
	Dwfl *dwfl = dwfl_of(f, pid);
	Dwfl_Module *mod = dwfl ? dwfl_addrmodule(dwfl, avma) : NULL;
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr bias;
	Dwarf_CFI *cfi;
	bool has = false;

	cfi = mod ? dwfl_module_eh_cfi(mod, &bias) : NULL;
	if (cfi && !dwarf_cfi_addrframe(cfi, avma - bias, &frame))
		has = true;
	cfi = mod && !has ? dwfl_module_dwarf_cfi(mod, &bias) : NULL;
	if (cfi && !dwarf_cfi_addrframe(cfi, avma - bias, &frame))
		has = true;
	free(frame);
	return has;
}

char *seam_confirm_symbol(struct seam_confirm **f, pid_t pid, uint64_t avma,
			  uint64_t *ret_off)
{
	Dwfl *dwfl = dwfl_of(f, pid);
	Dwfl_Module *mod = dwfl ? dwfl_addrmodule(dwfl, avma) : NULL;
	const char *name;
	GElf_Sym sym;

	name = mod ? dwfl_module_addrinfo(mod, avma, ret_off, &sym, NULL, NULL,
					  NULL)
		   : NULL;
	return name ? strdup(name) : NULL;
}
