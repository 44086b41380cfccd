/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Files that are mapped, for the unwinding of stack copies: opened once for
 * each build-id (or inode, where a file has none) and kept as long as a
 * mapping names them, so that a stack can be unwound though its file was
 * replaced since.
 *
 * What is kept is a copy, since a file may be written over or cut short by
 * others, which a mapping would follow, to wrong rules or SIGBUS. But only of
 * CFI, its index and derived rules, some tenth of a file; and all together
 * within a budget, the least recently used out first. An image that was taken
 * out is opened again when it is needed, if its file is still the same.
 */
#ifndef SEAM_LIB_UNWIND_IMAGE_H
#define SEAM_LIB_UNWIND_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "cfi/cfi.h"
#include "cfi/derive.h"
#include "core/wire.h"
#include "elf/elf.h"
#include "seam/error.h"

struct seam_refusals;

/* 20 times cc1plus. One image may be larger; it is then the only one. */
#define SEAM_IMAGES_BUDGET (128u << 20)

#define SEAM_IMAGE_IDLE_NS 5000000000

struct seam_image {
	struct seam_image *newer, *older; /* by use */
	uint8_t build_id[SEAM_BUILD_ID_MAX];
	size_t build_id_len;
	uint64_t dev, ino, size, ctime_ns; /* of the file it was read from */
	/* What BPF calls the one that was asked for last, unchanged when it had
	 * been read; zeros: nobody asked. */
	struct seam_file_key key;
	uint32_t refs; /* mappings that name it */
	uint64_t idle_ns; /* since when none has been seen to; 0: some do */
	bool is_open; /* else taken out: nothing below is there */
	size_t bytes; /* of memory that it has */
	struct seam_elf *elf; /* NULL: cannot be read as ELF. Trimmed. */
	struct seam_cfi *cfi; /* NULL: none */
	struct seam_derived *derived; /* NULL: none */
	bool was_derived; /* it was tried */
	uint64_t n_bad; /* entries of its CFI that are malformed */
	struct seam_errinfo why; /* the first of them */
};

struct seam_images_stats {
	uint64_t n, bytes, bytes_max; /* open now; the most at a time */
	uint64_t evicted; /* for the budget */
	uint64_t gone; /* of these, not to be had again */
};

struct seam_images {
	struct seam_image *newest, *oldest;
	struct seam_cfi_work *work; /* which all of them share */
	size_t budget; /* bytes; 0: SEAM_IMAGES_BUDGET */
	/* Rules are derived when they are asked for: whoever has few stacks to
	 * unwind seldom needs them. Files must be there again by then. */
	bool derive_late;
	struct seam_refusals *refused; /* NULL: nobody wants to know */
	struct seam_images_stats stats;
};

/*
 * All of these give an open image, and take others out for it if need be.
 * Return: 0 or -errno; no ELF file is no error, its image has no elf.
 */
int seam_image_of_fd(struct seam_images *images, int fd,
		     struct seam_image **ret);
/* Takes an elf opened with SEAM_ELF_PARTS (NULL: the file is none) and trims
 * it. st: of the file it was read from. */
int seam_image_of_elf(struct seam_images *images, const struct stat *st,
		      struct seam_elf *elf, struct seam_image **ret);
int seam_image_vdso(struct seam_images *images, struct seam_image **ret);

/* Of an image of that file, opened with derive_late; fd -1: of the vDSO. It is
 * tried once. Return: 0; -errno: they are not known, -ESTALE: the file was
 * written meanwhile. */
int seam_image_derive(struct seam_images *images, struct seam_image *image,
		      int fd);

/* When a file last changed. Not the mtime: whoever installs a file may set
 * that, and some set the same one for all files, while inode numbers are used
 * again at once. */
uint64_t seam_image_ctime_ns(const struct stat *st);

/* The image that was read from that file, if it is open. */
struct seam_image *seam_image_by_stat(const struct seam_images *images,
				      const struct stat *st);
/* The same of the file that has, or had, that key. */
struct seam_image *seam_image_by_key(const struct seam_images *images,
				     const struct seam_file_key *key);
/* Whether it may be of the file with that key, which was found by number and
 * times: not one without a build-id of a file that had the number before. */
bool seam_image_may_have_key(const struct seam_image *image,
			     const struct seam_file_key *key);
/* If it has been opened before; perhaps taken out since. */
struct seam_image *seam_image_by_id(const struct seam_images *images,
				    const uint8_t *build_id, size_t len);
void seam_image_used(struct seam_images *images, struct seam_image *image);

/* Forgets images that no mapping has named for a while: the next process may
 * run the same program. */
void seam_images_release(struct seam_images *images, uint64_t now_ns);
void seam_images_fini(struct seam_images *images);

/* Says what of the file behind fd was refused, if anything was. im: NULL where
 * rc, of seam_elf_open_fd, is no success; why: of that. */
void seam_image_refuse(struct seam_images *images, int fd,
		       const struct seam_image *im, int rc,
		       const struct seam_errinfo *why);

/* This kernel's vDSO. Return: 0, -ENOENT or -ENOMEM. */
int seam_vdso_open(struct seam_elf **ret);

#endif
