/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Files that are mapped: opened once for each build-id (or path, where a
 * file has none), with their CFI, and kept.
 */
#ifndef SEAM_LIB_CAPTURE_IMAGE_H
#define SEAM_LIB_CAPTURE_IMAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "cfi/cfi.h"
#include "cfi/derive.h"
#include "elf/elf.h"

struct seam_image {
	struct seam_image *next;
	uint8_t build_id[SEAM_BUILD_ID_MAX];
	size_t build_id_len;
	uint64_t dev, ino, size, ctime_ns; /* where there is no build-id */
	struct seam_elf *elf; /* NULL: cannot be read as ELF */
	struct seam_cfi *cfi; /* NULL: none; see seam_image_cfi */
	int cfi_tried;
	struct seam_derived *derived; /* NULL: none; see seam_image_derived */
	int derived_tried;
};

struct seam_images {
	struct seam_image *first;
};

/* The image of an open file, which may be closed then. NULL: no memory. */
struct seam_image *seam_image_of_fd(struct seam_images *images, int fd);
/* By build-id, if it has been opened before. */
struct seam_image *seam_image_by_id(const struct seam_images *images,
				    const uint8_t *build_id, size_t len);
/* This kernel's vDSO. */
struct seam_image *seam_image_vdso(struct seam_images *images);
/* Its CFI, opened when first asked for; NULL if it has none. */
struct seam_cfi *seam_image_cfi(struct seam_image *image);
/* Its rules for code without CFI, made when first asked for. */
const struct seam_derived *seam_image_derived(struct seam_image *image);
/* When a file last changed. Not the mtime: whoever installs a file may set
 * that, and some set the same one for all files, while inode numbers are used
 * again at once. */
uint64_t seam_image_ctime_ns(const struct stat *st);
void seam_images_fini(struct seam_images *images);

#endif
