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
#include "elf/inflate.h"

/* A sparse file costs its owner nothing; a copy of it would cost us. */
#define COPY_MAX (UINT64_C(4) << 30)
#define PARTS_MAX (UINT64_C(1) << 30)

enum memory_kind {
	BORROWED,
	MAPPED,
	COPIED,
	PARTS, /* anonymous, pages are there where they were written */
};

struct named_section {
	const char *name;
	uint32_t type;
	uint64_t flags;
	struct seam_elf_section bytes;
};

struct seam_elf {
	const uint8_t *bytes;
	size_t size;
	enum memory_kind kind;
	struct seam_elf_parts parts; /* at hand; none: all is */
	Elf *libelf;
	GElf_Ehdr ehdr;
	struct seam_elf_segment *segments;
	size_t num_segments;
	/* Parsed at open: look-ups then need no libelf, which no two threads
	 * may use at once. */
	struct named_section *sections;
	size_t num_sections;
	struct seam_elf_note {
		uint64_t off, size;
		uint32_t align;
	} * notes;
	size_t num_notes;
	struct seam_elf_section eh_frame_hdr;
	struct seam_entry_memo entry;
};

bool seam_elf_has(const struct seam_elf *elf, uint64_t off, uint64_t size)
{
	return off <= elf->size && size <= elf->size - off &&
	       (elf->kind != PARTS ||
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

/* Section headers are for tools, not for running: a file whose section
 * headers lie or are gone is opened without sections. */
static int read_sections(struct seam_elf *elf)
{
	struct named_section *s;
	size_t n, strndx;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	if (elf_getshdrnum(elf->libelf, &n) || !n ||
	    elf_getshdrstrndx(elf->libelf, &strndx))
		return 0;
	elf->sections = calloc(n, sizeof(*elf->sections));
	if (!elf->sections)
		return -ENOMEM;
	while ((scn = elf_nextscn(elf->libelf, scn))) {
		if (elf->num_sections == n || !gelf_getshdr(scn, &sh))
			break;
		if (sh.sh_type == SHT_NULL || sh.sh_type == SHT_NOBITS ||
		    !seam_elf_has(elf, sh.sh_offset, sh.sh_size))
			continue;
		s = &elf->sections[elf->num_sections];
		s->name = elf_strptr(elf->libelf, strndx, sh.sh_name);
		if (!s->name)
			continue;
		s->type = sh.sh_type;
		s->flags = sh.sh_flags;
		s->bytes = (struct seam_elf_section){
			.data = elf->bytes + sh.sh_offset,
			.size = sh.sh_size,
			.svma = sh.sh_addr,
			.off = sh.sh_offset,
		};
		elf->num_sections++;
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
		rc = read_sections(elf);
	return rc;
}

static void free_memory(struct seam_elf *elf)
{
	if (elf->kind == MAPPED || elf->kind == PARTS)
		munmap((void *)elf->bytes, elf->size);
	else if (elf->kind == COPIED)
		free((void *)elf->bytes);
	seam_elf_parts_fini(&elf->parts);
}

/* Takes the memory that from names, and its parts. */
static int open_memory(struct seam_elf *from, struct seam_elf **ret_elf,
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
	struct seam_elf from = {.kind = COPIED};
	uint8_t *bytes = NULL;
	int rc;

	if (size > COPY_MAX)
		return -EFBIG;
	rc = copy_file(fd, size, &bytes, &from.size);
	if (rc)
		return rc;
	from.bytes = bytes;
	return open_memory(&from, ret_elf, reterr);
}

static int open_parts(int fd, size_t size, struct seam_elf **ret_elf,
		      struct seam_errinfo *reterr)
{
	struct seam_elf from = {.kind = PARTS, .size = size};
	uint8_t *bytes;
	int rc;

	if (size > COPY_MAX)
		return -EFBIG;
	rc = seam_elf_parts_of_fd(fd, size, &from.parts);
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
	return open_memory(&from, ret_elf, reterr);
}

static int open_regular(int fd, int flags, size_t size,
			struct seam_elf **ret_elf, struct seam_errinfo *reterr)
{
	struct seam_elf from = {.kind = MAPPED, .size = size};
	void *map;

	if (flags & SEAM_ELF_COPY)
		return open_copy(fd, size, ret_elf, reterr);
	if (flags & SEAM_ELF_PARTS)
		return open_parts(fd, size, ret_elf, reterr);
	map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	from.bytes = map;
	return open_memory(&from, ret_elf, reterr);
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
		.kind = BORROWED,
		.bytes = data,
		.size = size,
	};

	return open_memory(&from, ret_elf, reterr);
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
	if (elf->kind != PARTS) {
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

static const struct named_section *find_named(const struct seam_elf *elf,
					      const char *name)
{
	for (size_t i = 0; i < elf->num_sections; i++)
		if (!strcmp(elf->sections[i].name, name))
			return &elf->sections[i];
	return NULL;
}

int seam_elf_section(const struct seam_elf *elf, const char *name,
		     struct seam_elf_section *ret)
{
	const struct named_section *s = find_named(elf, name);

	if (!s || s->flags & SHF_COMPRESSED)
		return -ENOENT;
	*ret = s->bytes;
	return 0;
}

int seam_elf_section_inflate(const struct seam_elf *elf, const char *name,
			     struct seam_elf_section *ret, void **ret_owned)
{
	const struct named_section *s = find_named(elf, name);

	if (!s)
		return -ENOENT;
	if (s->flags & SHF_COMPRESSED)
		return seam_elf_inflate(&s->bytes, ret, ret_owned);
	*ret = s->bytes;
	*ret_owned = NULL;
	return 0;
}

int seam_elf_eh_frame_hdr(const struct seam_elf *elf,
			  struct seam_elf_section *ret)
{
	if (!elf->eh_frame_hdr.data)
		return -ENOENT;
	*ret = elf->eh_frame_hdr;
	return 0;
}

static uint32_t note_word(const struct seam_elf *elf, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	if (seam_elf_is_le(elf) != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__))
		v = __builtin_bswap32(v);
	return v;
}

static size_t find_build_id(const struct seam_elf *elf, const uint8_t *p,
			    size_t size, uint32_t align,
			    uint8_t ret_id[SEAM_BUILD_ID_MAX])
{
	uint64_t name_len, desc_len, desc, next;

	while (size >= 12) {
		name_len = note_word(elf, p);
		desc_len = note_word(elf, p + 4);
		desc = (12 + name_len + align - 1) & -(uint64_t)align;
		next = (desc + desc_len + align - 1) & -(uint64_t)align;
		if (desc > size || desc_len > size - desc)
			return 0;
		/* Longer ids than the kernel's own limit do not match anything
		 * that the kernel reports. */
		if (note_word(elf, p + 8) == NT_GNU_BUILD_ID && name_len == 4 &&
		    !memcmp(p + 12, "GNU", 4) && desc_len > 0 &&
		    desc_len <= SEAM_BUILD_ID_MAX) {
			memcpy(ret_id, p + desc, desc_len);
			return desc_len;
		}
		if (next >= size)
			return 0;
		p += next;
		size -= next;
	}
	return 0;
}

size_t seam_elf_build_id(const struct seam_elf *elf,
			 uint8_t ret_id[SEAM_BUILD_ID_MAX])
{
	size_t len = 0;

	for (size_t i = 0; i < elf->num_notes && !len; i++) {
		const struct seam_elf_note *n = &elf->notes[i];

		if (seam_elf_has(elf, n->off, n->size))
			len = find_build_id(elf, elf->bytes + n->off, n->size,
					    n->align, ret_id);
	}
	/* Notes in sections are 4-aligned, except for the 8-aligned property
	 * note, which has a section of its own. */
	for (size_t i = 0; i < elf->num_sections && !len; i++) {
		const struct named_section *s = &elf->sections[i];

		if (s->type == SHT_NOTE && !(s->flags & SHF_COMPRESSED))
			len = find_build_id(elf, s->bytes.data, s->bytes.size,
					    4, ret_id);
	}
	return len;
}
