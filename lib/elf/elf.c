/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "elf/elf.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/err.h"
#include "elf/entry.h"
#include "elf/fail.h"
#include "elf/private.h"

/* A sparse file costs its owner nothing; a copy of it would cost us. */
#define COPY_MAX (UINT64_C(4) << 30)
#define PARTS_MAX (UINT64_C(1) << 30)

bool seam_elf_has(const struct seam_elf *elf, uint64_t off, uint64_t size)
{
	return off <= elf->size && size <= elf->size - off &&
	       (elf->kind != SEAM_ELF_IN_PARTS ||
		seam_elf_parts_have(&elf->parts, off, size));
}

static int read_segment(struct seam_elf *elf, const GElf_Phdr *ph,
			struct seam_errinfo *reterr)
{
	if (ph->p_filesz > ph->p_memsz)
		return seam_elf_fail(reterr, SEAM_ELF_LAYOUT, ph->p_offset,
				     "program headers",
				     "a segment is larger in the file than in "
				     "memory");
	if (ph->p_vaddr > UINT64_MAX - ph->p_memsz ||
	    ph->p_offset > UINT64_MAX - ph->p_filesz)
		return seam_elf_fail(reterr, SEAM_ELF_LAYOUT, ph->p_offset,
				     "program headers",
				     "a segment's end overflows");
	/* A segment may lie outside the file: separate debug files keep the
	 * original's headers. Bytes are checked where they are used. */
	elf->segments[elf->num_segments++] = (struct seam_elf_segment){
		.svma = ph->p_vaddr,
		.off = ph->p_offset,
		.filesz = ph->p_filesz,
		.memsz = ph->p_memsz,
		.flags = ph->p_flags,
	};
	return 0;
}

static int read_segments(struct seam_elf *elf, struct seam_errinfo *reterr)
{
	GElf_Phdr ph;
	size_t n;
	int rc;

	/* libelf takes what fits, in silence. */
	if (elf_getphdrnum(elf->libelf, &n) ||
	    (elf->ehdr.e_phnum != PN_XNUM && n != elf->ehdr.e_phnum))
		return seam_elf_fail(
			reterr, SEAM_ELF_LAYOUT, 0, "program headers",
			"the program headers lie outside the file");
	if (!n)
		return 0;
	elf->segments = calloc(n, sizeof(*elf->segments));
	elf->notes = calloc(n, sizeof(*elf->notes));
	if (!elf->segments || !elf->notes)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf->libelf, (int)i, &ph))
			return seam_elf_fail(
				reterr, SEAM_ELF_LAYOUT, elf->ehdr.e_phoff,
				"program headers",
				"a program header lies outside the file");
		if (ph.p_type == PT_LOAD) {
			rc = read_segment(elf, &ph, reterr);
			if (rc)
				return rc;
		} else if (ph.p_type == PT_NOTE) {
			elf->notes[elf->num_notes++] = (struct seam_elf_note){
				.off = ph.p_offset,
				.size = ph.p_filesz,
				.align = ph.p_align == 8 ? 8 : 4,
			};
		} else if (ph.p_type == PT_GNU_EH_FRAME &&
			   seam_elf_has(elf, ph.p_offset, ph.p_filesz)) {
			elf->eh_frame_hdr = (struct seam_elf_section){
				.data = elf->bytes + ph.p_offset,
				.size = ph.p_filesz,
				.svma = ph.p_vaddr,
				.off = ph.p_offset,
			};
		}
	}
	return 0;
}

static int parse(struct seam_elf *elf, struct seam_errinfo *reterr)
{
	int rc;

	if (elf->size < EI_NIDENT || memcmp(elf->bytes, ELFMAG, SELFMAG))
		return seam_elf_fail(reterr, SEAM_ELF_NOT, 0, "ELF header",
				     "the file does not begin with the ELF "
				     "magic");
	elf_version(EV_CURRENT);
	/* libelf does not write to memory it is given; its prototype is older
	 * than const. */
	elf->libelf = elf_memory((char *)elf->bytes, elf->size);
	if (!elf->libelf || elf_kind(elf->libelf) != ELF_K_ELF ||
	    !gelf_getehdr(elf->libelf, &elf->ehdr))
		return seam_elf_fail(reterr, SEAM_ELF_NOT, 0, "ELF header",
				     "the ELF header is incomplete");
	if (elf->ehdr.e_ident[EI_CLASS] != ELFCLASS64)
		return seam_elf_fail(reterr, SEAM_ELF_CLASS, EI_CLASS,
				     "ELF header",
				     "only 64-bit ELF files are handled");
	rc = read_segments(elf, reterr);
	if (!rc)
		rc = seam_elf_read_sections(elf);
	return rc;
}

static void free_memory(struct seam_elf *elf)
{
	if (elf->kind == SEAM_ELF_MAPPED || elf->kind == SEAM_ELF_IN_PARTS)
		munmap((void *)elf->bytes, elf->size);
	else if (elf->kind == SEAM_ELF_COPIED)
		free((void *)elf->bytes);
	seam_elf_parts_fini(&elf->parts);
}

int seam_elf_open_memory(struct seam_elf *from, struct seam_elf **ret_elf,
			 struct seam_errinfo *reterr)
{
	struct seam_elf *elf = malloc(sizeof(*elf));
	int rc;

	if (!elf) {
		free_memory(from);
		return -ENOMEM;
	}
	*elf = *from;
	rc = parse(elf, reterr);
	if (rc)
		seam_elf_close(elf);
	else
		*ret_elf = elf;
	return rc;
}

static int copy_file(int fd, size_t size, uint8_t **ret_bytes, size_t *ret_size)
{
	uint8_t *bytes = malloc(size);
	size_t have = 0;
	ssize_t n;
	int rc;

	if (!bytes)
		return -ENOMEM;
	while (have < size) {
		n = pread(fd, bytes + have, size - have, (off_t)have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			rc = -errno;
			free(bytes);
			return rc;
		}
		if (!n)
			break;
		have += (size_t)n;
	}
	*ret_bytes = bytes;
	*ret_size = have;
	return 0;
}

static int open_copy(int fd, size_t size, struct seam_elf **ret_elf,
		     struct seam_errinfo *reterr)
{
	struct seam_elf from = {.kind = SEAM_ELF_COPIED};
	uint8_t *bytes = NULL;
	int rc;

	if (size > COPY_MAX)
		return -EFBIG;
	rc = copy_file(fd, size, &bytes, &from.size);
	if (rc)
		return rc;
	from.bytes = bytes;
	return seam_elf_open_memory(&from, ret_elf, reterr);
}

static int open_parts(int fd, size_t size, enum seam_elf_parts_for what,
		      struct seam_elf **ret_elf, struct seam_errinfo *reterr)
{
	struct seam_elf from = {.kind = SEAM_ELF_IN_PARTS, .size = size};
	uint8_t *bytes;
	int rc;

	if (size > COPY_MAX)
		return -EFBIG;
	rc = seam_elf_parts_of_fd(fd, size, what, &from.parts);
	if (rc == -EINVAL)
		seam_elf_fail(reterr, SEAM_ELF_NOT, 0, "ELF header",
			      "not an ELF file");
	if (rc)
		return rc;
	bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (bytes == MAP_FAILED) {
		seam_elf_parts_fini(&from.parts);
		return -ENOMEM;
	}
	from.bytes = bytes;
	rc = seam_elf_parts_settle(&from.parts, size) > PARTS_MAX
		     ? -EFBIG
		     : seam_elf_parts_read(&from.parts, fd, bytes);
	if (rc) {
		free_memory(&from);
		return rc;
	}
	return seam_elf_open_memory(&from, ret_elf, reterr);
}

static int open_regular(int fd, int flags, size_t size,
			struct seam_elf **ret_elf, struct seam_errinfo *reterr)
{
	struct seam_elf from = {.kind = SEAM_ELF_MAPPED, .size = size};
	void *map;

	if (flags & SEAM_ELF_COPY)
		return open_copy(fd, size, ret_elf, reterr);
	if (flags & SEAM_ELF_PARTS)
		return open_parts(fd, size, SEAM_ELF_FOR_ALL, ret_elf, reterr);
	if (flags & SEAM_ELF_RULES)
		return open_parts(fd, size, SEAM_ELF_FOR_RULES, ret_elf,
				  reterr);
	if (flags & SEAM_ELF_NAMES)
		return open_parts(fd, size, SEAM_ELF_FOR_NAMES, ret_elf,
				  reterr);
	if (flags & SEAM_ELF_SOURCE)
		return open_parts(fd, size, SEAM_ELF_FOR_SOURCE, ret_elf,
				  reterr);
	map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	from.bytes = map;
	return seam_elf_open_memory(&from, ret_elf, reterr);
}

int seam_elf_open_fd(int fd, int flags, struct seam_elf **ret_elf,
		     struct seam_errinfo *reterr)
{
	const int saved_errno = errno;
	struct stat st;
	int rc;

	if (fstat(fd, &st))
		rc = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_size < EI_NIDENT)
		rc = seam_elf_fail(reterr, SEAM_ELF_NOT, 0, "",
				   "not a regular file that could hold an ELF "
				   "header");
	else if ((uint64_t)st.st_size > SIZE_MAX / 2)
		rc = -EFBIG;
	else
		rc = open_regular(fd, flags, (size_t)st.st_size, ret_elf,
				  reterr);
	errno = saved_errno;
	return rc;
}

int seam_elf_open_mem(const void *data, size_t size, struct seam_elf **ret_elf,
		      struct seam_errinfo *reterr)
{
	struct seam_elf from = {
		.kind = SEAM_ELF_BORROWED,
		.bytes = data,
		.size = size,
	};

	return seam_elf_open_memory(&from, ret_elf, reterr);
}

struct seam_entry_memo *seam_elf_entry_memo(const struct seam_elf *elf)
{
	/* It says nothing that the file does not. */
	return &((struct seam_elf *)elf)->entry;
}

struct seam_elf *seam_elf_close(struct seam_elf *elf)
{
	if (!elf)
		return NULL;
	if (elf->libelf)
		elf_end(elf->libelf);
	free_memory(elf);
	free(elf->segments);
	free(elf->sections);
	free(elf->notes);
	free(elf);
	return NULL;
}

/* Gives the whole pages of [off, end) back; they read as 0 then. */
static void drop_pages(const struct seam_elf *elf, uint64_t off, uint64_t end)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	off = (off + page - 1) & -page;
	end &= -page;
	if (off < end)
		madvise((uint8_t *)elf->bytes + off, end - off, MADV_DONTNEED);
}

void seam_elf_trim(struct seam_elf *elf, struct seam_elf_parts *keep)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), at = 0;

	elf_end(elf->libelf);
	elf->libelf = NULL;
	elf->num_sections = 0;
	elf->num_notes = 0;
	elf->eh_frame_hdr = (struct seam_elf_section){0};
	if (elf->kind != SEAM_ELF_IN_PARTS) {
		seam_elf_parts_fini(keep);
		return;
	}
	for (size_t i = 0; i < keep->n; i++) {
		drop_pages(elf, at, keep->v[i].off);
		at = keep->v[i].end;
	}
	drop_pages(elf, at, (elf->size + page - 1) & -page);
	seam_elf_parts_fini(&elf->parts);
	elf->parts = *keep;
	*keep = (struct seam_elf_parts){0};
}

Elf *seam_elf_libelf(const struct seam_elf *elf)
{
	return elf->libelf;
}

const uint8_t *seam_elf_bytes(const struct seam_elf *elf, size_t *ret_size)
{
	*ret_size = elf->size;
	return elf->bytes;
}

uint16_t seam_elf_machine(const struct seam_elf *elf)
{
	return elf->ehdr.e_machine;
}

uint16_t seam_elf_type(const struct seam_elf *elf)
{
	return elf->ehdr.e_type;
}

bool seam_elf_is_le(const struct seam_elf *elf)
{
	return elf->ehdr.e_ident[EI_DATA] == ELFDATA2LSB;
}

uint64_t seam_elf_bias(const struct seam_elf *elf)
{
	return elf->bias;
}

uint64_t seam_elf_entry(const struct seam_elf *elf)
{
	return elf->ehdr.e_entry;
}

const struct seam_elf_segment *seam_elf_segments(const struct seam_elf *elf,
						 size_t *ret_count)
{
	*ret_count = elf->num_segments;
	return elf->segments;
}

/* Executable segments first: the addresses asked for are code, and a lying
 * or old-layout file may map the same bytes twice. */
bool seam_elf_off_to_svma(const struct seam_elf *elf, uint64_t off,
			  uint64_t *ret_svma)
{
	for (int want_exec = 1; want_exec >= 0; want_exec--) {
		for (size_t i = 0; i < elf->num_segments; i++) {
			const struct seam_elf_segment *s = &elf->segments[i];

			if (want_exec && !(s->flags & PF_X))
				continue;
			if (off < s->off || off - s->off >= s->filesz)
				continue;
			*ret_svma = s->svma + (off - s->off);
			return true;
		}
	}
	return false;
}

bool seam_elf_svma_to_off(const struct seam_elf *elf, uint64_t svma,
			  uint64_t *ret_off)
{
	for (size_t i = 0; i < elf->num_segments; i++) {
		const struct seam_elf_segment *s = &elf->segments[i];

		if (svma < s->svma || svma - s->svma >= s->filesz)
			continue;
		*ret_off = s->off + (svma - s->svma);
		return true;
	}
	return false;
}

int seam_elf_eh_frame_hdr(const struct seam_elf *elf,
			  struct seam_elf_section *ret)
{
	if (!elf->eh_frame_hdr.data)
		return -ENOENT;
	*ret = elf->eh_frame_hdr;
	return 0;
}
