/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * An ELF image, opened for reading: what the CFI converter, the tables and
 * the symbolizer need of it. The bytes are mapped read-only (or borrowed)
 * and checked once, at open; libelf does section parsing. Addresses: svma is
 * the file's own (p_vaddr) space, off is a file offset.
 *
 * A file may shrink while it is mapped; callers that read files which others
 * may write use SEAM_ELF_COPY, which reads the file into memory instead, or
 * SEAM_ELF_PARTS, which so reads what tables and unwinding need, and leaves
 * out debugging information, most of a large file that has it. Less of it is
 * read with SEAM_ELF_RULES, which is for CFI without deriving rules from code,
 * and SEAM_ELF_NAMES, which is for symbols.
 */
#ifndef SEAM_LIB_ELF_H
#define SEAM_LIB_ELF_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/parts.h"
#include "seam/error.h"

#define SEAM_BUILD_ID_MAX 20

struct seam_elf;

struct seam_elf_segment { /* one PT_LOAD */
	uint64_t svma, off, filesz, memsz;
	uint32_t flags; /* PF_X ... */
};

enum seam_elf_open_flags {
	SEAM_ELF_COPY = 1,
	SEAM_ELF_PARTS = 2,
	SEAM_ELF_RULES = 4,
	SEAM_ELF_NAMES = 8,
	SEAM_ELF_SOURCE = 16,
};

/* fd stays the caller's and may be closed at once. -EFBIG: of a copy, the file
 * has over 4 GiB; of parts, they have over 1 GiB. -EIO: the file shrank. */
int seam_elf_open_fd(int fd, int flags, struct seam_elf **ret_elf,
		     struct seam_errinfo *reterr);
/* data is borrowed until close (the vDSO, a test's array). */
int seam_elf_open_mem(const void *data, size_t size, struct seam_elf **ret_elf,
		      struct seam_errinfo *reterr);
/*
 * An image as a loader laid it out in memory, where there is no file to be
 * had: header_avma is where its ELF header lies. Read and copied are its
 * headers and the segments that are not written to, which hold code and CFI;
 * a page that cannot be read is missing. It has no sections, and its offsets
 * are the distances from the header.
 * Return: as the others; -EFAULT: the headers cannot be read; -EFBIG: it
 * spans over 4 GiB, or 1 GiB would be read.
 */
typedef int seam_elf_read_fn(void *ctx, uint64_t avma, void *to, size_t size);
int seam_elf_open_loaded(seam_elf_read_fn *read, void *ctx,
			 uint64_t header_avma, struct seam_elf **ret_elf,
			 struct seam_errinfo *reterr);
/* What the loader added to absolute addresses in it; 0 of files. */
uint64_t seam_elf_bias(const struct seam_elf *elf);
struct seam_elf *seam_elf_close(struct seam_elf *elf); /* NULL is fine */

/*
 * Lets go of all bytes but some parts, for an elf that was opened with
 * SEAM_ELF_PARTS or SEAM_ELF_RULES; of others it keeps the bytes. What stays
 * known is said by segments, entry and header; sections, notes and libelf are
 * gone, so entry.h and the build-id are to be asked before. keep is settled,
 * and taken.
 */
void seam_elf_trim(struct seam_elf *elf, struct seam_elf_parts *keep);

Elf *seam_elf_libelf(const struct seam_elf *elf); /* NULL: trimmed */
/* All of the file's size; what is not at hand reads as 0. */
const uint8_t *seam_elf_bytes(const struct seam_elf *elf, size_t *ret_size);
/* Whether these bytes of the file are at hand. */
bool seam_elf_has(const struct seam_elf *elf, uint64_t off, uint64_t size);
uint16_t seam_elf_machine(const struct seam_elf *elf);
uint16_t seam_elf_type(const struct seam_elf *elf); /* ET_EXEC ... */
bool seam_elf_is_le(const struct seam_elf *elf);
uint64_t seam_elf_entry(const struct seam_elf *elf); /* svma, 0: none */

/* Return: length of the GNU build-id, 0 if the file has none. Looks at
 * PT_NOTE first and falls back to section notes. */
size_t seam_elf_build_id(const struct seam_elf *elf,
			 uint8_t ret_id[SEAM_BUILD_ID_MAX]);
/* The same of this machine's notes alone, as in /sys/kernel/notes. */
size_t seam_notes_build_id(const uint8_t *notes, size_t size,
			   uint8_t ret_id[SEAM_BUILD_ID_MAX]);
/* The running kernel's. */
size_t seam_own_build_id(uint8_t ret_id[SEAM_BUILD_ID_MAX]);

/*
 * A relocatable file has no segments. Its allocated sections are laid out one
 * behind the other from address 0 on, in file order and by their alignment;
 * each is a segment then, and has its address as svma.
 */
const struct seam_elf_segment *seam_elf_segments(const struct seam_elf *elf,
						 size_t *ret_count);

/* Address translation by PT_LOAD. Return: false if no segment holds it. */
bool seam_elf_off_to_svma(const struct seam_elf *elf, uint64_t off,
			  uint64_t *ret_svma);
bool seam_elf_svma_to_off(const struct seam_elf *elf, uint64_t svma,
			  uint64_t *ret_off);

/* Bytes of a named section, checked to lie in the file. -ENOENT if absent
 * or compressed. */
struct seam_elf_section {
	const uint8_t *data;
	size_t size;
	uint64_t svma, off;
};
int seam_elf_section(const struct seam_elf *elf, const char *name,
		     struct seam_elf_section *ret);
/*
 * The same for a section that may be compressed (zlib, zstd, .zdebug_...), and
 * with the relocations of a relocatable file applied. Release with
 * seam_elf_content_fini. -EINVAL: it does not inflate to what it says, or to
 * over 256 MiB, or its relocations lie outside it.
 */
struct seam_elf_content {
	struct seam_elf_section bytes;
	void *owned; /* the bytes, or NULL: they are the image's */
	/* Offsets of fields whose relocation is of an unknown type, or
	 * against what the file does not define. */
	uint64_t *unresolved;
	size_t num_unresolved;
};
int seam_elf_content(const struct seam_elf *elf, const char *name,
		     struct seam_elf_content *ret);
/*
 * The same of a relocatable file's sections of that name, of which each group
 * of sections (COMDAT) may have one: one behind the other, as a linker would
 * put them. The address is the first one's. Also -EINVAL: one of several is
 * compressed, or they overlap.
 */
int seam_elf_content_joined(const struct seam_elf *elf, const char *name,
			    struct seam_elf_content *ret);
void seam_elf_content_fini(struct seam_elf_content *content);
/* What PT_GNU_EH_FRAME says, for files without section headers. */
int seam_elf_eh_frame_hdr(const struct seam_elf *elf,
			  struct seam_elf_section *ret);

#endif
