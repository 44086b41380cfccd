// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#define VDSO_MAX (64 * 1024)

struct seam_image *seam_image_by_id(const struct seam_images *images,
				    const uint8_t *build_id, size_t len)
{
	for (struct seam_image *im = images->first; im; im = im->next)
		if (len && im->build_id_len == len &&
		    !memcmp(im->build_id, build_id, len))
			return im;
	return NULL;
}

uint64_t seam_image_ctime_ns(const struct stat *st)
{
	return (uint64_t)st->st_ctim.tv_sec * 1000000000 +
	       (uint64_t)st->st_ctim.tv_nsec;
}

static struct seam_image *by_stat(const struct seam_images *images,
				  const struct stat *st)
{
	for (struct seam_image *im = images->first; im; im = im->next)
		if (!im->build_id_len && im->ino == st->st_ino &&
		    im->dev == st->st_dev &&
		    im->ctime_ns == seam_image_ctime_ns(st) &&
		    im->size == (uint64_t)st->st_size)
			return im;
	return NULL;
}

static struct seam_image *add(struct seam_images *images, struct seam_elf *elf)
{
	struct seam_image *im = calloc(1, sizeof(*im));

	if (!im) {
		seam_elf_close(elf);
		return NULL;
	}
	im->elf = elf;
	if (elf)
		im->build_id_len = seam_elf_build_id(elf, im->build_id);
	im->next = images->first;
	images->first = im;
	return im;
}

struct seam_image *seam_image_of_fd(struct seam_images *images, int fd)
{
	struct seam_elf *elf = NULL;
	struct seam_image *im;
	uint8_t id[SEAM_BUILD_ID_MAX];
	struct stat st;
	size_t len;

	if (fstat(fd, &st))
		return NULL;
	im = by_stat(images, &st);
	if (im)
		return im;
	/* Copied: a library may be written over while we have it mapped. */
	if (!seam_elf_open_fd(fd, SEAM_ELF_COPY, &elf, NULL)) {
		len = seam_elf_build_id(elf, id);
		im = seam_image_by_id(images, id, len);
		if (im) {
			seam_elf_close(elf);
			return im;
		}
	}
	im = add(images, elf);
	if (im) {
		im->dev = st.st_dev;
		im->ino = st.st_ino;
		im->size = (uint64_t)st.st_size;
		im->ctime_ns = seam_image_ctime_ns(&st);
	}
	return im;
}

/* The end of the last section header, where images end as they lie. */
static size_t vdso_size(const Elf64_Ehdr *ehdr)
{
	size_t size =
		ehdr->e_shoff + (size_t)ehdr->e_shnum * sizeof(Elf64_Shdr);

	return size < VDSO_MAX ? size : 0;
}

struct seam_image *seam_image_vdso(struct seam_images *images)
{
	const Elf64_Ehdr *ehdr =
		(const Elf64_Ehdr *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	struct seam_elf *elf = NULL;
	struct seam_image *im;
	uint8_t id[SEAM_BUILD_ID_MAX];

	if (!ehdr || !vdso_size(ehdr) ||
	    seam_elf_open_mem(ehdr, vdso_size(ehdr), &elf, NULL))
		return NULL;
	im = seam_image_by_id(images, id, seam_elf_build_id(elf, id));
	if (!im)
		return add(images, elf);
	seam_elf_close(elf);
	return im;
}

struct seam_cfi *seam_image_cfi(struct seam_image *image)
{
	if (!image->cfi_tried) {
		image->cfi_tried = 1;
		if (image->elf && seam_cfi_open(image->elf, &image->cfi, NULL))
			image->cfi = NULL;
	}
	return image->cfi;
}

const struct seam_derived *seam_image_derived(struct seam_image *image)
{
	if (!image->derived_tried) {
		image->derived_tried = 1;
		if (image->elf &&
		    seam_derived_build(image->elf, seam_image_cfi(image),
				       &image->derived))
			image->derived = NULL;
	}
	return image->derived;
}

void seam_images_fini(struct seam_images *images)
{
	while (images->first) {
		struct seam_image *im = images->first;

		images->first = im->next;
		seam_derived_free(im->derived);
		seam_cfi_close(im->cfi);
		seam_elf_close(im->elf);
		free(im);
	}
}
