// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "table/fingerprint.h"

#include <gelf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "table/folder.h"

uint32_t seam_crc32(uint32_t crc, const uint8_t *bytes, size_t size)
{
	return (uint32_t)crc32_z(crc, bytes, size);
}

#define POPULATE_MIN 65536
/* Faults, one for a few pages each, would take longer than the rest. Where
 * the kernel does not know this, they do. */
static void populate(const uint8_t *p, size_t size)
{
#ifdef MADV_POPULATE_READ
	uintptr_t in_page = (uintptr_t)p % (uintptr_t)sysconf(_SC_PAGESIZE);

	if (size >= POPULATE_MIN)
		madvise((void *)(p - in_page), size + in_page,
			MADV_POPULATE_READ);
#else
	(void)p;
	(void)size;
#endif
}

/* As much of [off, off + n) as the file has. */
static uint64_t hash_file(uint64_t h, const struct seam_elf *elf, uint64_t off,
			  uint64_t n)
{
	size_t size;
	const uint8_t *bytes = seam_elf_bytes(elf, &size);

	if (off >= size)
		return seam_cache_hash(h, NULL, 0);
	n = n < size - off ? n : size - off;
	populate(bytes + off, n);
	return seam_cache_hash(h, bytes + off, n);
}

/* The headers in the file's own form, names of sections included. */
static uint64_t hash_headers(const struct seam_elf *elf)
{
	Elf *libelf = seam_elf_libelf(elf);
	size_t num = 0, names = 0;
	GElf_Ehdr ehdr;
	GElf_Shdr shdr;
	uint64_t h;

	if (!libelf || !gelf_getehdr(libelf, &ehdr))
		return 0;
	h = hash_file(0, elf, 0, ehdr.e_ehsize);
	if (!elf_getphdrnum(libelf, &num))
		h = hash_file(h, elf, ehdr.e_phoff, num * ehdr.e_phentsize);
	if (!elf_getshdrnum(libelf, &num))
		h = hash_file(h, elf, ehdr.e_shoff, num * ehdr.e_shentsize);
	if (!elf_getshdrstrndx(libelf, &names) &&
	    gelf_getshdr(elf_getscn(libelf, names), &shdr))
		h = hash_file(h, elf, shdr.sh_offset, shdr.sh_size);
	return h;
}

static uint64_t hash_segments(const struct seam_elf *elf)
{
	const struct seam_elf_segment *segments;
	size_t count, size;
	uint64_t h = 0, done = 0;

	seam_elf_bytes(elf, &size);
	segments = seam_elf_segments(elf, &count);
	for (size_t i = 0; i < count; i++) {
		/* Hostile ones lie over each other, thousands of times. */
		if (done > 2 * (uint64_t)size)
			return hash_file(h, elf, 0, size);
		h = hash_file(h, elf, segments[i].off, segments[i].filesz);
		done += segments[i].filesz;
	}
	return h;
}

/* The segments have it already. */
static bool is_loaded(const struct seam_elf *elf, const GElf_Shdr *shdr)
{
	size_t count;
	const struct seam_elf_segment *s = seam_elf_segments(elf, &count);

	for (size_t i = 0; i < count && i < 16; i++)
		if (shdr->sh_offset >= s[i].off &&
		    shdr->sh_offset - s[i].off <= s[i].filesz &&
		    shdr->sh_size <= s[i].filesz - (shdr->sh_offset - s[i].off))
			return true;
	return false;
}

/* Symbols and CFI, where no segment holds them. Without section headers the
 * CFI is found in another way, so that it may be anywhere. */
static uint64_t hash_sections(const struct seam_elf *elf)
{
	Elf *libelf = seam_elf_libelf(elf);
	Elf_Scn *scn = NULL;
	size_t names = 0, size;
	uint64_t h = 0, done = 0;
	bool has_cfi = false;
	GElf_Shdr shdr;

	seam_elf_bytes(elf, &size);
	if (!libelf || elf_getshdrstrndx(libelf, &names))
		return hash_file(0, elf, 0, size);
	while ((scn = elf_nextscn(libelf, scn)) && done <= 2 * (uint64_t)size) {
		const char *name;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(libelf, names, shdr.sh_name);
		has_cfi |= name && !strcmp(name, ".eh_frame");
		if (shdr.sh_type != SHT_SYMTAB && shdr.sh_type != SHT_DYNSYM &&
		    shdr.sh_type != SHT_DYNAMIC &&
		    !(name && (!strcmp(name, ".debug_frame") ||
			       !strcmp(name, ".eh_frame"))))
			continue;
		if (is_loaded(elf, &shdr))
			continue;
		h = hash_file(h, elf, shdr.sh_offset, shdr.sh_size);
		done += shdr.sh_size;
	}
	return has_cfi && !scn ? h : hash_file(h, elf, 0, size);
}

/* A dynamic section that no segment holds is believed all the same. */
static uint64_t hash_dynamic(const struct seam_elf *elf, uint64_t h)
{
	Elf *libelf = seam_elf_libelf(elf);
	size_t count = 0;
	GElf_Phdr ph;

	if (!libelf || elf_getphdrnum(libelf, &count))
		return h;
	for (size_t i = 0; i < count; i++) {
		if (gelf_getphdr(libelf, (int)i, &ph) &&
		    ph.p_type == PT_DYNAMIC)
			return hash_file(h, elf, ph.p_offset, ph.p_filesz);
	}
	return h;
}

void seam_fingerprint(const struct seam_elf *elf, struct seam_fingerprint *ret)
{
	size_t size;

	seam_elf_bytes(elf, &size);
	*ret = (struct seam_fingerprint){
		.file_size = size,
		.headers = hash_headers(elf),
		.segments = hash_dynamic(elf, hash_segments(elf)),
		.sections = hash_sections(elf),
	};
}
