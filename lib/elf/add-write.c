// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/add-private.h"

static int put(int fd, const void *data, size_t size, uint64_t off)
{
	const uint8_t *p = data;

	while (size) {
		ssize_t n = pwrite(fd, p, size, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		p += n;
		off += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

static int put_zeros(int fd, uint64_t size, uint64_t off)
{
	static const uint8_t zeros[4096];
	int rc = 0;

	while (!rc && size) {
		size_t n = size < sizeof(zeros) ? size : sizeof(zeros);

		rc = put(fd, zeros, n, off);
		off += n;
		size -= n;
	}
	return rc;
}

/* Headers in the file's byte order. type: what libelf calls them. */
static int put_headers(const struct seam_elf_add *add, int fd, const void *from,
		       size_t size, Elf_Type type, uint64_t off)
{
	void *to = malloc(size);
	Elf_Data in = {.d_buf = (void *)from,
		       .d_type = type,
		       .d_version = EV_CURRENT,
		       .d_size = size};
	Elf_Data out = {.d_buf = to, .d_version = EV_CURRENT, .d_size = size};
	int rc = -ENOMEM;

	if (to && elf64_xlatetof(&out, &in, add->eh.e_ident[EI_DATA]))
		rc = put(fd, to, size, off);
	free(to);
	return rc;
}

static int put_names(const struct seam_elf_add *add, int fd)
{
	Elf64_Shdr *sh = &add->shdrs[add->eh.e_shstrndx];
	size_t len = strlen(add->spec.name) + 1, size;
	const uint8_t *old = seam_elf_bytes(add->elf, &size);
	uint64_t from = sh->sh_offset;
	int rc;

	/* elf_strptr has read names from there. */
	sh->sh_offset = add->names_off;
	rc = put(fd, old + from, sh->sh_size - len, add->names_off);
	return rc ? rc
		  : put(fd, add->spec.name, len,
			add->names_off + sh->sh_size - len);
}

/* What the old section's bytes were is nothing any more. */
static int clear_old(const struct seam_elf_add *add, const Elf64_Shdr *old,
		     int fd)
{
	const uint64_t end = old->sh_offset + old->sh_size;

	if (add->in_place)
		return put_zeros(fd, end - (add->off + add->size),
				 add->off + add->size);
	if (!seam_elf_add_is_in_file(old))
		return 0;
	return put_zeros(fd, old->sh_size, old->sh_offset);
}

static int put_sections(struct seam_elf_add *add, int fd)
{
	GElf_Shdr old;
	int rc = 0;

	if (!add->shdrs)
		return 0;
	if (add->old &&
	    gelf_getshdr(elf_getscn(seam_elf_libelf(add->elf), add->old), &old))
		rc = clear_old(add, &old, fd);
	if (!rc && add->names_off)
		rc = put_names(add, fd);
	return rc ? rc
		  : put_headers(add, fd, add->shdrs,
				add->num_shdrs * sizeof(*add->shdrs),
				ELF_T_SHDR, add->eh.e_shoff);
}

int seam_elf_add_write(struct seam_elf_add *add, const void *bytes, int fd)
{
	const int saved_errno = errno;
	size_t size;
	const uint8_t *old = seam_elf_bytes(add->elf, &size);
	int rc = put(fd, old, size, 0);

	if (!rc)
		rc = put_sections(add, fd);
	if (!rc)
		rc = put(fd, bytes, add->size, add->off);
	if (!rc)
		rc = put_headers(add, fd, add->phdrs,
				 add->num_phdrs * sizeof(*add->phdrs),
				 ELF_T_PHDR, add->eh.e_phoff);
	if (!rc)
		rc = put_headers(add, fd, &add->eh, sizeof(add->eh), ELF_T_EHDR,
				 0);
	errno = saved_errno;
	return rc;
}
