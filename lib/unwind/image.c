// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "unwind/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "elf/entry.h"
#include "unwind/refused.h"

#define VDSO_MAX (64 * 1024)

struct seam_image *seam_image_by_id(const struct seam_images *images,
				    const uint8_t *build_id, size_t len)
{
	for (struct seam_image *im = images->newest; im; im = im->older)
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

static bool is_of(const struct seam_image *im, const struct stat *st)
{
	return im->ino == st->st_ino && im->dev == st->st_dev &&
	       im->ctime_ns == seam_image_ctime_ns(st) &&
	       im->size == (uint64_t)st->st_size;
}

static struct seam_image *without_id(const struct seam_images *images,
				     const struct stat *st)
{
	for (struct seam_image *im = images->newest; im; im = im->older)
		if (!im->build_id_len && is_of(im, st))
			return im;
	return NULL;
}

struct seam_image *seam_image_by_stat(const struct seam_images *images,
				      const struct stat *st)
{
	for (struct seam_image *im = images->newest; im; im = im->older)
		if (im->is_open && is_of(im, st))
			return im;
	return NULL;
}

struct seam_image *seam_image_by_key(const struct seam_images *images,
				     const struct seam_file_key *key)
{
	for (struct seam_image *im = images->newest; im; im = im->older)
		if (im->is_open && !memcmp(&im->key, key, sizeof(*key)))
			return im;
	return NULL;
}

bool seam_image_may_have_key(const struct seam_image *im,
			     const struct seam_file_key *key)
{
	const struct seam_file_key none = {0};
	struct seam_file_key then = *key;

	/* It has another time when its last name has gone. */
	then.ctime_sec = im->key.ctime_sec;
	then.ctime_nsec = im->key.ctime_nsec;
	return im->build_id_len || !memcmp(&im->key, &none, sizeof(none)) ||
	       !memcmp(&im->key, &then, sizeof(then));
}

/* --- the order of use --- */

static void take_out_of_order(struct seam_images *images, struct seam_image *im)
{
	if (im->newer)
		im->newer->older = im->older;
	else
		images->newest = im->older;
	if (im->older)
		im->older->newer = im->newer;
	else
		images->oldest = im->newer;
}

static void put_newest(struct seam_images *images, struct seam_image *im)
{
	im->newer = NULL;
	im->older = images->newest;
	if (images->newest)
		images->newest->newer = im;
	else
		images->oldest = im;
	images->newest = im;
}

void seam_image_used(struct seam_images *images, struct seam_image *im)
{
	if (im == images->newest)
		return;
	take_out_of_order(images, im);
	put_newest(images, im);
}

/* --- what an image holds --- */

static void empty(struct seam_images *images, struct seam_image *im)
{
	im->derived = seam_derived_free(im->derived);
	im->cfi = seam_cfi_close(im->cfi);
	im->elf = seam_elf_close(im->elf);
	images->stats.n -= im->is_open;
	images->stats.bytes -= im->bytes;
	im->is_open = im->was_derived = false;
	im->bytes = 0;
}

static size_t part_bytes(const struct seam_elf_parts *parts)
{
	size_t bytes = 0;

	for (size_t i = 0; i < parts->n; i++)
		bytes += parts->v[i].end - parts->v[i].off;
	return bytes;
}

/* Return: 0, or -ENOMEM. */
static int derive(struct seam_image *im, const struct seam_elf *elf)
{
	size_t rows = 0;
	int err = seam_derived_build(elf, im->cfi, &im->derived);

	if (err == -ENOMEM)
		return err;
	im->was_derived = true;
	if (err)
		im->derived = NULL;
	else
		seam_derived_rows(im->derived, &rows);
	im->bytes += rows * sizeof(struct seam_derived_row);
	return 0;
}

/* Reads all that is ever asked of the file, and lets go of the rest. */
static int read_rules(struct seam_images *images, struct seam_image *im)
{
	struct seam_elf_parts keep = {0};
	size_t own = 0;
	int err;

	if (!images->work)
		images->work = seam_cfi_work_new();
	err = images->work ? seam_cfi_open(im->elf, &im->cfi, &im->why)
			   : -ENOMEM;
	im->n_bad = err == -EINVAL;
	if (err == -ENOMEM)
		return err;
	if (err)
		im->cfi = NULL;
	else
		seam_cfi_share(im->cfi, images->work);
	if (!images->derive_late && derive(im, im->elf))
		return -ENOMEM;
	if (im->cfi && seam_cfi_keeps(im->cfi, &keep, &own))
		return -ENOMEM;
	if (im->cfi)
		im->n_bad = seam_cfi_n_bad(im->cfi, &im->why);
	/* Kept with the file: asked for at the entry point. */
	seam_entry_is_real(im->elf);
	seam_entry_next_symbol(im->elf);
	im->bytes += part_bytes(&keep) + own;
	seam_elf_trim(im->elf, &keep);
	return 0;
}

static void make_room(struct seam_images *images, const struct seam_image *keep)
{
	size_t budget = images->budget ? images->budget : SEAM_IMAGES_BUDGET;
	struct seam_image *im = images->oldest;

	for (; images->stats.bytes > budget && im; im = im->newer) {
		if (im == keep || !im->bytes)
			continue;
		empty(images, im);
		images->stats.evicted++;
	}
}

/* Takes elf. */
static int fill(struct seam_images *images, struct seam_image *im,
		struct seam_elf *elf)
{
	int err;

	im->elf = elf;
	err = elf ? read_rules(images, im) : 0;
	if (err) {
		im->bytes = 0;
		empty(images, im);
		return err;
	}
	im->is_open = true;
	images->stats.n++;
	images->stats.bytes += im->bytes;
	seam_image_used(images, im);
	make_room(images, im);
	if (images->stats.bytes > images->stats.bytes_max)
		images->stats.bytes_max = images->stats.bytes;
	return 0;
}

static struct seam_image *add(struct seam_images *images, const struct stat *st,
			      const uint8_t *id, size_t id_len)
{
	struct seam_image *im = calloc(1, sizeof(*im));

	if (!im)
		return NULL;
	memcpy(im->build_id, id, id_len);
	im->build_id_len = id_len;
	im->dev = st->st_dev;
	im->ino = st->st_ino;
	im->size = (uint64_t)st->st_size;
	im->ctime_ns = seam_image_ctime_ns(st);
	put_newest(images, im);
	return im;
}

/* --- opening --- */

int seam_image_of_elf(struct seam_images *images, const struct stat *st,
		      struct seam_elf *elf, struct seam_image **ret)
{
	uint8_t id[SEAM_BUILD_ID_MAX];
	size_t len = elf ? seam_elf_build_id(elf, id) : 0;
	struct seam_image *im = len ? seam_image_by_id(images, id, len)
				    : without_id(images, st);
	int err = 0;

	if (!im)
		im = add(images, st, id, len);
	if (!im || im->is_open)
		seam_elf_close(elf);
	else
		err = fill(images, im, elf);
	if (!im || err)
		return -ENOMEM;
	*ret = im;
	return 0;
}

/* What was read while it was written is neither of two files. */
static bool is_same(int fd, const struct stat *st)
{
	struct stat now;

	return !fstat(fd, &now) &&
	       seam_image_ctime_ns(&now) == seam_image_ctime_ns(st) &&
	       now.st_size == st->st_size;
}

int seam_image_of_fd(struct seam_images *images, int fd,
		     struct seam_image **ret)
{
	struct seam_errinfo why = {0};
	struct seam_elf *elf = NULL;
	struct seam_image *known;
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	known = seam_image_by_stat(images, &st);
	if (known) {
		*ret = known;
		return 0;
	}
	err = seam_elf_open_fd(
		fd, images->derive_late ? SEAM_ELF_RULES : SEAM_ELF_PARTS, &elf,
		&why);
	seam_image_refuse(images, fd, NULL, err, &why);
	if (err && err != -EINVAL)
		return err;
	if (!is_same(fd, &st)) {
		seam_elf_close(elf);
		return -ESTALE;
	}
	err = seam_image_of_elf(images, &st, elf, ret);
	if (!err)
		seam_image_refuse(images, fd, *ret, 0, NULL);
	return err;
}

void seam_image_refuse(struct seam_images *images, int fd,
		       const struct seam_image *im, int rc,
		       const struct seam_errinfo *why)
{
	if (!images->refused)
		return;
	if (im)
		seam_refuse_cfi(images->refused, fd, im->n_bad, &im->why);
	else
		seam_refuse_file(images->refused, fd, rc, why);
}

/* The end of the last section header, where images end as they lie. */
static size_t vdso_size(const Elf64_Ehdr *ehdr)
{
	size_t size =
		ehdr->e_shoff + (size_t)ehdr->e_shnum * sizeof(Elf64_Shdr);

	return size < VDSO_MAX ? size : 0;
}

int seam_vdso_open(struct seam_elf **ret)
{
	const Elf64_Ehdr *ehdr =
		(const Elf64_Ehdr *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	int err;

	if (!ehdr || !vdso_size(ehdr))
		return -ENOENT;
	err = seam_elf_open_mem(ehdr, vdso_size(ehdr), ret, NULL);
	return err && err != -ENOMEM ? -ENOENT : err;
}

int seam_image_derive(struct seam_images *images, struct seam_image *im, int fd)
{
	size_t bytes = im->bytes;
	struct seam_elf *elf;
	struct stat st;
	int err;

	if (im->was_derived || !im->elf)
		return 0;
	im->was_derived = true;
	if (fd >= 0 && fstat(fd, &st))
		return -errno;
	err = fd < 0 ? seam_vdso_open(&elf)
		     : seam_elf_open_fd(fd, SEAM_ELF_PARTS, &elf, NULL);
	if (err)
		return err;
	err = fd < 0 || is_same(fd, &st) ? derive(im, elf) : -ESTALE;
	seam_elf_close(elf);
	images->stats.bytes += im->bytes - bytes;
	make_room(images, im);
	return err;
}

int seam_image_vdso(struct seam_images *images, struct seam_image **ret)
{
	const struct stat none = {0};
	struct seam_elf *elf = NULL;
	int err = seam_vdso_open(&elf);

	return err ? err : seam_image_of_elf(images, &none, elf, ret);
}

static void image_free(struct seam_images *images, struct seam_image *im)
{
	empty(images, im);
	take_out_of_order(images, im);
	free(im);
}

void seam_images_release(struct seam_images *images, uint64_t now_ns)
{
	struct seam_image *im = images->oldest, *newer;

	for (; im; im = newer) {
		newer = im->newer;
		if (im->refs)
			im->idle_ns = 0;
		else if (!im->idle_ns)
			im->idle_ns = now_ns;
		else if (now_ns - im->idle_ns > SEAM_IMAGE_IDLE_NS)
			image_free(images, im);
	}
}

void seam_images_fini(struct seam_images *images)
{
	while (images->newest)
		image_free(images, images->newest);
	images->work = seam_cfi_work_free(images->work);
}
