/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Running the tools that the symbolizer is compared with, in a folder that
 * is gone afterwards. */
#ifndef SEAM_TESTS_SYMBOL_RUN_H
#define SEAM_TESTS_SYMBOL_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf.h"
#include "symbol/debugfile.h"
#include "symbol/symbol.h"

static char run_dir[64];

__attribute__((format(printf, 1, 2), unused)) static int run(const char *fmt,
							     ...)
{
	char command[4096], line[4200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	snprintf(line, sizeof(line), "cd '%s' && %s", run_dir, command);
	return system(line);
}

__attribute__((format(printf, 1, 2), unused)) static FILE *
run_reading(const char *fmt, ...)
{
	char command[4096];
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	f = popen(command, "r");
	assert_non_null(f);
	return f;
}

__attribute__((unused)) static int enter_run_dir(void **state)
{
	(void)state;
	snprintf(run_dir, sizeof(run_dir), "%s/seam-symbol-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(run_dir))
		return -1;
	/* What is kept for this user is none of the tests'. */
	unsetenv("DEBUGINFOD_CACHE_PATH");
	unsetenv("XDG_CACHE_HOME");
	return setenv("HOME", run_dir, 1);
}

__attribute__((unused)) static int leave_run_dir(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", run_dir);
	return system(command);
}

__attribute__((unused)) static bool have_tools(const char *tools)
{
	char command[256];

	snprintf(
		command, sizeof(command),
		"for t in %s; do command -v $t >/dev/null || { echo \"skipped: "
		"no $t\"; exit 1; }; done",
		tools);
	return !system(command);
}

/* The symbolizer takes file offsets, the tools print svmas. */
__attribute__((unused)) static uint64_t to_off(const struct seam_elf *elf,
					       uint64_t svma)
{
	uint64_t off;

	assert_true(seam_elf_svma_to_off(elf, svma, &off));
	return off;
}

__attribute__((unused)) static struct seam_symbolizer *
new_symbolizer(bool no_demangle)
{
	struct seam_symbol_opts opts = {.sz = sizeof(opts),
					.no_demangle = no_demangle,
					.debug_root = run_dir};
	struct seam_symbolizer *s;

	assert_int_equal(seam_symbolizer_new(&opts, &s), 0);
	return s;
}

#endif
