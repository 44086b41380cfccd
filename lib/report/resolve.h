/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Names for the frames of stitched stacks. A return address is looked up
 * one byte earlier, since a call may be the last instruction of its
 * function; the leaf, and what a signal interrupted, are looked up exactly.
 * Where there is debugging information, a frame is also the functions that
 * are inlined at its address, and each has its file and line.
 */
#ifndef SEAM_LIB_REPORT_RESOLVE_H
#define SEAM_LIB_REPORT_RESOLVE_H

#include "report/clock.h"
#include "stitch/kernel.h"
#include "stitch/stitch.h"
#include "symbol/symbol.h"

struct seam_resolver;

struct seam_name {
	const char *sym; /* NULL: no symbol known */
	uint64_t off; /* of ip in it */
	const char *dso; /* the file, "[kernel.kallsyms]", "[module]"; NULL */
	uint64_t dso_off; /* of ip in the file; kernel, no file: ip */
	bool kernel;
	bool guessed; /* not sure to be in the stack: shown with "? " */
	/* Not 0: names of the same are of the same frame, and have the same all
	 * but guessed. Of a resolver; never given again. */
	uint64_t number;
	/* Functions at the address, innermost first, this one the last, whose
	 * name is sym; none: nothing is known but sym. See seam_name_level. */
	const struct seam_source_frame *source;
	size_t n_source;
	/* Of one level. */
	bool inlined;
	const char *file; /* NULL: not known */
	uint32_t line; /* 0: not known */
};

/* Which of what debugging information tells is looked up. */
struct seam_resolve_opts {
	bool inlined; /* frames of inlined functions, and all lines */
	bool lines; /* without those: where in the code the address is */
};

int seam_resolver_new(const struct seam_symbol_opts *opts,
		      struct seam_resolver **ret);
struct seam_resolver *seam_resolver_free(struct seam_resolver *r);
/* ret[i] belongs to frames[i]; its strings to the resolver and the
 * stitcher. Return: 0 or -ENOMEM. */
int seam_resolve(struct seam_resolver *r, const struct seam_frame *frames,
		 size_t n, struct seam_name *ret);
/* The same of one frame. exact: its address was running, see
 * seam_frame_exact(). *ret_running: what the next frame was doing. */
int seam_resolve_frame(struct seam_resolver *r, const struct seam_frame *f,
		       bool exact, struct seam_name *ret, bool *ret_running);
/* The symbolizer's handle for a mapping's file. With it, a place in the file
 * and what was running a user frame's name is known, but for the vDSO's: by
 * its mapping. Return: < 0: -ENOMEM. */
int seam_resolver_file(struct seam_resolver *r,
		       const struct seam_stitch_map *map);
/* Whether names in a user's mapping are its process's, by address, and so not
 * known by a place in a file either. */
bool seam_resolver_is_jit(const struct seam_stitch_map *map);
/* To be called before names are asked for; nothing is looked up else. */
void seam_resolver_source(struct seam_resolver *r,
			  const struct seam_resolve_opts *opts);
/* No names for the kernel and the vDSO (other), or at shifted addresses. */
void seam_resolver_kernel(struct seam_resolver *r,
			  const struct seam_kernel_fit *fit);
/* Without it no file is known to be of before a process or after the recording.
 */
void seam_resolver_clock(struct seam_resolver *r,
			 const struct seam_clock_fit *fit);
/* Names of what JIT compilers have made since (symbol/perf-map.h). Those that
 * were given before may be gone, but for where they are from. */
void seam_resolver_renew(struct seam_resolver *r);
struct seam_symbolizer *seam_resolver_symbolizer(struct seam_resolver *r);

/*
 * Whether frame i was running, rather than returning to its address; running:
 * what is known of it by the frame before. The user half's first address is
 * where the task was when it entered the kernel.
 */
static inline bool seam_frame_exact(const struct seam_frame *frames, size_t i,
				    bool running)
{
	bool leaf = i && frames[i - 1].kernel && !frames[i].kernel;

	return frames[i].exact || leaf || running;
}

/* How many functions a frame is shown as: 1, and those inlined there. */
size_t seam_name_levels(const struct seam_name *name);
/* One of them, from 0, the innermost. Its strings are name's. */
struct seam_name seam_name_level(const struct seam_name *name, size_t level);

/* A name for people and for folded stacks, which is never empty: the
 * symbol, else [file+0xoff], else [0xip]. snprintf's return. */
int seam_name_format(const struct seam_name *name, char *buf, size_t size);

#endif
