// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * An image in memory as a file: a copy of what can be had of it, in which
 * the program headers' offsets are made the distances from the ELF header,
 * and the section headers, which no loader reads, are taken out.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/err.h"
#include "elf/fail.h"
#include "elf/private.h"

#define SPAN_MAX (UINT64_C(4) << 30)
#define READ_MAX (UINT64_C(1) << 30)
#define PHDRS_MAX 4096 /* loaders take a page of them */

struct loaded {
	seam_elf_read_fn *read;
	void *ctx;
	uint64_t header_avma, bias;
	uint64_t low, end; /* svma of the first byte, and behind the last */
	struct seam_elf from; /* what is made; its ehdr is e_ident alone */
	uint8_t *bytes;
	Elf64_Ehdr ehdr; /* in the image's byte order */
	uint8_t phdrs[PHDRS_MAX * sizeof(Elf64_Phdr)];
	size_t num_phdrs;
	uint64_t total;
};

#define FIELD(l, base, type, field)                                            \
	seam_elf_load(&(l)->from,                                              \
		      (const uint8_t *)(base) + offsetof(type, field),         \
		      sizeof(((type *)0)->field))
#define PH(l, i, field)                                                        \
	FIELD(l, (l)->phdrs + (i) * sizeof(Elf64_Phdr), Elf64_Phdr, field)

static int bad(struct seam_errinfo *reterr, const char *reason)
{
	return seam_elf_fail(reterr, SEAM_ELF_LAYOUT, 0, "program headers",
			     reason);
}

static int read_headers(struct loaded *l, struct seam_errinfo *reterr)
{
	uint64_t off;

	if (l->read(l->ctx, l->header_avma, &l->ehdr, sizeof(l->ehdr)))
		return -EFAULT;
	if (memcmp(l->ehdr.e_ident, ELFMAG, SELFMAG) ||
	    l->ehdr.e_ident[EI_CLASS] != ELFCLASS64)
		return seam_elf_fail(reterr, SEAM_ELF_NOT, 0, "ELF header",
				     "no 64-bit ELF header lies there");
	memcpy(l->from.ehdr.e_ident, l->ehdr.e_ident, EI_NIDENT);
	l->num_phdrs = FIELD(l, &l->ehdr, Elf64_Ehdr, e_phnum);
	if (!l->num_phdrs || l->num_phdrs > PHDRS_MAX ||
	    FIELD(l, &l->ehdr, Elf64_Ehdr, e_phentsize) != sizeof(Elf64_Phdr))
		return bad(reterr, "none, too many or of an unknown size");
	off = FIELD(l, &l->ehdr, Elf64_Ehdr, e_phoff);
	if (off > SPAN_MAX || l->read(l->ctx, l->header_avma + off, l->phdrs,
				      l->num_phdrs * sizeof(Elf64_Phdr)))
		return -EFAULT;
	return 0;
}

/* Where the image lies: its first segment begins with the ELF header. */
static int find_span(struct loaded *l, struct seam_errinfo *reterr)
{
	bool found = false;

	for (size_t i = 0; i < l->num_phdrs; i++) {
		uint64_t svma = PH(l, i, p_vaddr), size = PH(l, i, p_memsz);

		if (PH(l, i, p_type) != PT_LOAD)
			continue;
		if (size > UINT64_MAX - svma || PH(l, i, p_filesz) > size)
			return bad(reterr, "a segment's end overflows");
		if (!found && PH(l, i, p_offset))
			return bad(reterr, "the first segment does not begin "
					   "with the ELF header");
		if (!found)
			l->low = svma;
		found = true;
		if (svma < l->low)
			return bad(reterr, "segments are not in order");
		if (svma + size > l->end)
			l->end = svma + size;
	}
	if (!found || l->end - l->low < sizeof(Elf64_Ehdr))
		return bad(reterr, "nothing is loaded");
	l->bias = l->header_avma - l->low;
	return l->end - l->low > SPAN_MAX ? -EFBIG : 0;
}

/* Page by page where not all can be read. */
static int copy(struct loaded *l, uint64_t off, uint64_t size)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end = off + size, n;
	int rc;

	if (!l->read(l->ctx, l->header_avma + off, l->bytes + off, size))
		return seam_elf_parts_add(&l->from.parts, off, size);
	for (; off < end; off += n) {
		n = page - ((l->header_avma + off) & (page - 1));
		if (n > end - off)
			n = end - off;
		if (l->read(l->ctx, l->header_avma + off, l->bytes + off, n))
			continue;
		rc = seam_elf_parts_add(&l->from.parts, off, n);
		if (rc)
			return rc;
	}
	return 0;
}

/* Of what is written to, only where CFI is. */
static bool is_wanted(const struct loaded *l, size_t i)
{
	uint64_t svma = PH(l, i, p_vaddr);

	if (PH(l, i, p_type) != PT_LOAD)
		return false;
	if (!(PH(l, i, p_flags) & PF_W))
		return true;
	for (size_t k = 0; k < l->num_phdrs; k++)
		if (PH(l, k, p_type) == PT_GNU_EH_FRAME &&
		    PH(l, k, p_vaddr) - svma < PH(l, i, p_filesz))
			return true;
	return false;
}

static int copy_segments(struct loaded *l)
{
	int rc = 0;

	for (size_t i = 0; i < l->num_phdrs && !rc; i++) {
		if (!is_wanted(l, i))
			continue;
		l->total += PH(l, i, p_filesz);
		rc = l->total > READ_MAX ? -EFBIG
					 : copy(l, PH(l, i, p_vaddr) - l->low,
						PH(l, i, p_filesz));
	}
	return rc;
}

/* The headers, as those of a file that has the layout of memory. */
static int put_headers(struct loaded *l, struct seam_errinfo *reterr)
{
	uint64_t size = l->num_phdrs * sizeof(Elf64_Phdr), off;
	int rc;

	off = FIELD(l, &l->ehdr, Elf64_Ehdr, e_phoff);
	if (off < sizeof(l->ehdr) || off > l->from.size ||
	    size > l->from.size - off)
		return bad(reterr, "the program headers are not loaded");
	for (size_t i = 0; i < l->num_phdrs; i++) {
		uint8_t *to = l->phdrs + i * sizeof(Elf64_Phdr) +
			      offsetof(Elf64_Phdr, p_offset);
		uint64_t at = PH(l, i, p_vaddr) - l->low;

		for (int b = 0; b < 8; b++)
			to[b] = (uint8_t)(at >> 8 * (seam_elf_is_le(&l->from)
							     ? b
							     : 7 - b));
	}
	l->ehdr.e_shoff = 0;
	l->ehdr.e_shnum = 0;
	l->ehdr.e_shstrndx = 0;
	memcpy(l->bytes, &l->ehdr, sizeof(l->ehdr));
	memcpy(l->bytes + off, l->phdrs, size);
	rc = seam_elf_parts_add(&l->from.parts, 0, sizeof(l->ehdr));
	return rc ? rc : seam_elf_parts_add(&l->from.parts, off, size);
}

static int make(struct loaded *l, struct seam_errinfo *reterr)
{
	int rc = read_headers(l, reterr);

	if (!rc)
		rc = find_span(l, reterr);
	if (rc)
		return rc;
	l->from.size = l->end - l->low;
	l->bytes = mmap(NULL, l->from.size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (l->bytes == MAP_FAILED)
		return -ENOMEM;
	l->from.bytes = l->bytes;
	rc = copy_segments(l);
	if (!rc)
		rc = put_headers(l, reterr);
	if (rc) {
		munmap(l->bytes, l->from.size);
		seam_elf_parts_fini(&l->from.parts);
		return rc;
	}
	seam_elf_parts_settle(&l->from.parts, l->from.size);
	return 0;
}

int seam_elf_open_loaded(seam_elf_read_fn *read, void *ctx,
			 uint64_t header_avma, struct seam_elf **ret_elf,
			 struct seam_errinfo *reterr)
{
	struct loaded *l = calloc(1, sizeof(*l));
	struct seam_elf from;
	int rc;

	if (!l)
		return -ENOMEM;
	l->read = read;
	l->ctx = ctx;
	l->header_avma = header_avma;
	l->from.kind = SEAM_ELF_IN_PARTS;
	rc = make(l, reterr);
	l->from.bias = l->bias;
	from = l->from;
	free(l);
	if (rc)
		return rc;
	memset(&from.ehdr, 0, sizeof(from.ehdr));
	return seam_elf_open_memory(&from, ret_elf, reterr);
}
