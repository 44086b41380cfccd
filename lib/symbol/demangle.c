/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * C++ and Rust names, by libiberty's demanglers. Only names that carry a
 * mangling's own prefix are given to them: a C function called "f" is no
 * mangled "float".
 */
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symtab.h"

/* A short mangled name can stand for an endless one. */
#define SHOWN_MAX 65536

struct output {
	char *text;
	size_t len, room;
	jmp_buf full;
};

static void append(const char *piece, size_t len, void *opaque)
{
	struct output *out = opaque;
	size_t room;
	char *text;

	if (len >= SHOWN_MAX - out->len)
		longjmp(out->full, 1);
	if (out->len + len >= out->room) {
		room = 2 * (out->len + len) + 64;
		text = realloc(out->text, room);
		if (!text)
			longjmp(out->full, 1);
		out->text = text;
		out->room = room;
	}
	memcpy(out->text + out->len, piece, len);
	out->len += len;
	out->text[out->len] = '\0';
}

static bool run_demanglers(const char *raw, struct output *out)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;

	/* Ended from inside when the output is too long; the demanglers hold
	 * at most one small buffer then, which is lost. */
	if (setjmp(out->full))
		return false;
	if (rust_demangle_callback(raw, options, append, out) && out->len)
		return true;
	out->len = 0;
	return cplus_demangle_v3_callback(raw, options, append, out) &&
	       out->len;
}

char *seam_demangle(const char *raw)
{
	struct output out = {0};

	if (strncmp(raw, "_Z", 2) && strncmp(raw, "_R", 2) &&
	    strncmp(raw, "_GLOBAL_", 8))
		return NULL;
	if (strnlen(raw, SEAM_SYMBOL_NAME_MAX) == SEAM_SYMBOL_NAME_MAX)
		return NULL;
	if (run_demanglers(raw, &out))
		return out.text;
	free(out.text);
	return NULL;
}
