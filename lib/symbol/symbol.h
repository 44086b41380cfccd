/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Names for addresses. Sources for user code, best first: .symtab, the
 * build-id's debug file (/usr/lib/debug/.build-id, then what a debuginfod
 * client has fetched), .gnu_debuglink's, .gnu_debugdata (MiniDebugInfo)
 * together with .dynsym; PLT stubs are named after their target
 * ("write@plt"). Lines and inlined functions come from the file itself, then
 * from the same debug files. For the kernel /proc/kallsyms; for the vDSO its
 * own image. For code in no file, what its JIT compiler wrote in
 * /tmp/perf-PID.map. Files are opened once and kept; one symbolizer is used by
 * one thread. An address without a name is no error: the caller shows it with
 * its file.
 */
#ifndef SEAM_LIB_SYMBOL_H
#define SEAM_LIB_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "seam/error.h"
#include "symbol/perf-owner.h"
#include "symbol/source.h"

struct seam_symbolizer;

struct seam_symbol {
	const char *name; /* demangled unless asked not to; never NULL */
	const char *raw_name; /* as in the file */
	const char *module; /* kernel: "[name]" of its module, or NULL */
	uint64_t start, size; /* svma (kernel: address) */
	uint64_t off; /* address - start */
};

struct seam_symbol_opts {
	size_t sz; /* sizeof(struct seam_symbol_opts) */
	bool no_demangle;
	const char *debug_root; /* NULL: /usr/lib/debug */
	const char *kallsyms; /* NULL: /proc/kallsyms */
};

int seam_symbolizer_new(const struct seam_symbol_opts *opts,
			struct seam_symbolizer **ret);
struct seam_symbolizer *seam_symbolizer_free(struct seam_symbolizer *s);

/*
 * A file as a recording names it. build_id may be NULL; if it is given, a
 * file at path with another build-id is not believed (debug files by
 * build-id still are). path "[vdso]" is this kernel's vDSO.
 * Return: a handle >= 0, the same for the same (path, build-id); a file
 * that cannot be read gets one too, whose look-ups find nothing.
 */
int seam_symbolizer_file(struct seam_symbolizer *s, const char *path,
			 const uint8_t *build_id, size_t build_id_len);

/*
 * The names that a process wrote down of its code that is in no file (see
 * perf-map.h); off of seam_symbolize_user is an address then.
 * Return: a handle, the same for the same pid and began_ns; -ENOENT: there are
 * none; -ENOMEM.
 */
int seam_symbolizer_map(struct seam_symbolizer *s,
			const struct seam_perf_owner *of);
/* Reads what processes have written since. Return: true: names from such files
 * that were given before are gone, or may be others. */
bool seam_symbolizer_renew(struct seam_symbolizer *s);
/* Where a handle's names are written; NULL: it is an ordinary file. */
const char *seam_symbolizer_map_path(const struct seam_symbolizer *s, int file);

/* Why a file has no symbols, for the one who asks; NULL if it has some. */
const char *seam_symbolizer_file_problem(struct seam_symbolizer *s, int file);

/* The same for the kernel: kallsyms hidden or not to be had. */
const char *seam_symbolizer_kernel_problem(struct seam_symbolizer *s);

/* off: the address as a file offset (ip - map start + pgoff).
 * Return: true if found; strings are the symbolizer's, until it is freed. */
bool seam_symbolize_user(struct seam_symbolizer *s, int file, uint64_t off,
			 struct seam_symbol *ret);
bool seam_symbolize_kernel(struct seam_symbolizer *s, uint64_t addr,
			   struct seam_symbol *ret);

/* The functions at that place, innermost first, as seam_source_find says.
 * Return: how many; 0: there is no debugging information; -ENOMEM. The frames
 * are valid until the next call, strings until it is freed. */
int seam_symbolize_source(struct seam_symbolizer *s, int file, uint64_t off,
			  const struct seam_source_frame **ret);

/* Debugging information that is there, but of no use or not of full use. The
 * next such file from *at on, which begins as 0.
 * Return: why; NULL: no more. */
const char *seam_symbolizer_source_problem(const struct seam_symbolizer *s,
					   size_t *at, const char **ret_path);
/* Likewise: debug files that are there, but were not taken: in doubt
 * (elf/doubt.h), or another build's under this one's name; and what for.
 * Return: where; NULL: no more. */
const char *seam_symbolizer_doubted(const struct seam_symbolizer *s, size_t *at,
				    const char **ret_path);
/* Likewise: stripped files without a debug file, whose dynamic symbols, if
 * there are any, did not name all that was asked for. *ret_go: it has names
 * that Go's run time reads, and nobody else. Return: which; NULL: no more. */
const char *seam_symbolizer_stripped(const struct seam_symbolizer *s,
				     size_t *at, bool *ret_go);

#endif
