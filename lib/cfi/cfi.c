/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfi/cfi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cfi/private.h"
#include "core/err.h"
#include "core/sframe-format.h"
#include "elf/fail.h"

/* Many times what the largest programs have. A sparse file can claim any
 * size, and a walk takes time by it. */
#define SECTION_MAX (UINT64_C(1) << 30)

void seam_cfi_errinfo(struct seam_errinfo *reterr,
		      const struct seam_cfi_section *sec,
		      const struct seam_cfi_fault *fault)
{
	seam_elf_fail(reterr, fault->code, (uint64_t)(fault->at - sec->data),
		      sec->name, fault->reason);
}

static const struct seam_cfi_arch archs[] = {
	{SEAM_SFRAME_ABI_AMD64, EM_X86_64, false, 7, 6, 16, 17, 0},
	{SEAM_SFRAME_ABI_AARCH64_LE, EM_AARCH64, false, 31, 29, 30, 32, 0},
	{SEAM_SFRAME_ABI_AARCH64_BE, EM_AARCH64, true, 31, 29, 30, 32, 0},
	{SEAM_SFRAME_ABI_S390X, EM_S390, true, 15, 11, 14, 32, -160},
};

const struct seam_cfi_arch *seam_cfi_arch_of(uint16_t machine, bool be)
{
	for (size_t i = 0; i < sizeof(archs) / sizeof(*archs); i++)
		if (archs[i].machine == machine && archs[i].be == be)
			return &archs[i];
	return NULL;
}

const struct seam_cfi_arch *seam_cfi_arch_by_abi(uint8_t abi)
{
	switch (abi) {
	case SEAM_SFRAME_ABI_AARCH64_LE:
		return &archs[1];
	case SEAM_SFRAME_ABI_AARCH64_BE:
		return &archs[2];
	case SEAM_SFRAME_ABI_S390X:
		return &archs[3];
	default:
		return &archs[0];
	}
}

const struct seam_cfi_arch *seam_cfi_arch(const struct seam_cfi *cfi)
{
	return cfi->arch;
}

/* What is mapped from svma to the end of its segment. */
static bool rest_of_segment(const struct seam_elf *elf, uint64_t svma,
			    struct seam_cfi_section *ret)
{
	const struct seam_elf_segment *segs;
	const uint8_t *bytes;
	uint64_t off, end;
	size_t size, n;

	bytes = seam_elf_bytes(elf, &size);
	segs = seam_elf_segments(elf, &n);
	for (size_t i = 0; i < n; i++) {
		uint64_t in = svma - segs[i].svma;

		if (svma < segs[i].svma || in >= segs[i].filesz)
			continue;
		off = segs[i].off + in;
		end = segs[i].off + segs[i].filesz;
		if (end > size)
			end = size;
		if (off >= end)
			return false;
		if (end - off > SECTION_MAX)
			end = off + SECTION_MAX;
		*ret = (struct seam_cfi_section){
			.data = bytes + off,
			.size = end - off,
			.svma = svma,
			.stop_at_zero = true,
		};
		return true;
	}
	return false;
}

/* A pointer in .eh_frame_hdr. */
static bool hdr_pointer(const struct seam_elf_section *hdr,
			struct seam_bytes *b, uint8_t enc, uint64_t *ret)
{
	uint64_t at = hdr->svma + (uint64_t)(b->p - hdr->data), base = 0;

	if (enc & 0x80 || (enc & 7) > 4)
		return false;
	switch (enc & 0x70) {
	case 0x00:
		break;
	case 0x10:
		base = at;
		break;
	case 0x30:
		base = hdr->svma;
		break;
	default:
		return false;
	}
	if (!seam_cfi_sized(b, enc & 0xf, 8, ret))
		return false;
	*ret += base;
	return true;
}

/*
 * Not every linker writes a terminator, and other sections may follow. The
 * entry that the table names last, by address, is the last one.
 */
static void end_by_table(const struct seam_elf_section *hdr,
			 struct seam_bytes b, struct seam_cfi_section *sec)
{
	uint64_t count, pair = 0, fde, last = 0;
	struct seam_cfi_entry entry;
	struct seam_cfi_fault fault;

	if (hdr->data[2] == 0xff || hdr->data[3] == 0xff ||
	    !hdr_pointer(hdr, &b, hdr->data[2], &count))
		return;
	for (uint64_t i = 0; i < count && b.p < b.end; i++) {
		if (!hdr_pointer(hdr, &b, hdr->data[3], &pair) ||
		    !hdr_pointer(hdr, &b, hdr->data[3], &fde))
			break;
		fde -= sec->svma;
		if (fde < sec->size && fde > last)
			last = fde;
	}
	if (last && seam_cfi_entry_read(sec, last, &entry, &fault) &&
	    !entry.terminator)
		sec->size = entry.next_off;
}

/* Without section headers: .eh_frame_hdr leads to .eh_frame. */
static bool eh_frame_by_hdr(const struct seam_elf *elf, bool be,
			    struct seam_cfi_section *ret)
{
	struct seam_elf_section hdr;
	struct seam_bytes b;
	uint64_t svma;

	if (seam_elf_eh_frame_hdr(elf, &hdr) || hdr.size < 8 ||
	    hdr.data[0] != 1)
		return false;
	b = (struct seam_bytes){hdr.data + 4, hdr.data + hdr.size, be};
	if (!hdr_pointer(&hdr, &b, hdr.data[1], &svma) ||
	    !rest_of_segment(elf, svma, ret))
		return false;
	ret->be = be;
	ret->eh = true;
	end_by_table(&hdr, b, ret);
	return true;
}

/* Return: 1: it is section number i now; 0: the file has none; -EINVAL,
 * -ENOMEM. */
static int named_section(struct seam_cfi *cfi, unsigned int i, const char *name)
{
	struct seam_cfi_section *sec = &cfi->sections[i];
	struct seam_elf_content c;
	int rc = seam_elf_content_joined(cfi->elf, name, &c);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	if (!c.bytes.size || c.bytes.size > SECTION_MAX) {
		seam_elf_content_fini(&c);
		return 0;
	}
	cfi->contents[i] = c;
	*sec = (struct seam_cfi_section){
		.data = c.bytes.data,
		.size = c.bytes.size,
		.svma = c.bytes.svma,
		.name = name,
		.be = cfi->arch->be,
		.unresolved = c.unresolved,
		.num_unresolved = c.num_unresolved,
	};
	return 1;
}

static int add_eh_frame(struct seam_cfi *cfi)
{
	struct seam_cfi_section *s = cfi->sections;
	struct seam_elf_section got;
	int rc = named_section(cfi, 0, ".eh_frame");

	if (rc < 0)
		return rc;
	if (!rc && !eh_frame_by_hdr(cfi->elf, cfi->arch->be, s))
		return 0;
	s->name = ".eh_frame";
	s->eh = true;
	if (!seam_elf_section(cfi->elf, ".got", &got))
		s->datarel = got.svma;
	cfi->num_sections = 1;
	return 0;
}

static int find_sections(struct seam_cfi *cfi, struct seam_errinfo *reterr)
{
	int eh = add_eh_frame(cfi), debug;

	/* Go compresses it and writes no .eh_frame. */
	debug = named_section(cfi, cfi->num_sections, ".debug_frame");
	if (debug > 0)
		cfi->num_sections++;
	if (eh == -ENOMEM || debug == -ENOMEM)
		return -ENOMEM;
	if (cfi->num_sections)
		return 0;
	if (eh < 0 || debug < 0)
		return seam_elf_fail(reterr, SEAM_ELF_LAYOUT, 0,
				     eh < 0 ? ".eh_frame" : ".debug_frame",
				     "its content cannot be inflated or "
				     "relocated");
	seam_elf_fail(reterr, SEAM_ELF_NO_CFI, 0, "",
		      "the file has no usable .eh_frame or .debug_frame");
	return -ENOENT;
}

struct seam_cfi_work *seam_cfi_work_new(void)
{
	struct seam_cfi_large *large = calloc(1, sizeof(*large));

	if (!large)
		return NULL;
	large->work = (struct seam_cfi_work){
		.machine.saved = large->saved,
		.machine.max_depth = SEAM_CFI_MAX_REMEMBER,
		.cies = large->cies,
		.num_cies = SEAM_CFI_CIE_SLOTS,
	};
	return &large->work;
}

struct seam_cfi_work *seam_cfi_work_free(struct seam_cfi_work *work)
{
	free(work); /* a large one's first member */
	return NULL;
}

/* Others use it on, who may have sections in the same place later. */
static void leave_work(struct seam_cfi *cfi)
{
	struct seam_cfi_work *work = cfi->work;

	if (!work || work == cfi->own_work)
		return;
	for (unsigned int i = 0; i < work->num_cies; i++)
		if (work->cies[i].sec == &cfi->sections[0] ||
		    work->cies[i].sec == &cfi->sections[1])
			work->cies[i].used = false;
}

void seam_cfi_share(struct seam_cfi *cfi, struct seam_cfi_work *work)
{
	leave_work(cfi);
	cfi->own_work = seam_cfi_work_free(cfi->own_work);
	cfi->work = work;
}

int seam_cfi_open(const struct seam_elf *elf, struct seam_cfi **ret_cfi,
		  struct seam_errinfo *reterr)
{
	const struct seam_cfi_arch *arch =
		seam_cfi_arch_of(seam_elf_machine(elf), !seam_elf_is_le(elf));
	uint16_t type = seam_elf_type(elf);
	struct seam_cfi *cfi;
	int rc;

	if (!arch)
		return seam_elf_fail(reterr, SEAM_ELF_CLASS, 18, "ELF header",
				     "CFI is read for x86-64, aarch64 and "
				     "s390x only");
	if (type != ET_EXEC && type != ET_DYN && type != ET_REL)
		return seam_elf_fail(reterr, SEAM_ELF_CLASS, 16, "ELF header",
				     "neither an executable, nor a shared or "
				     "relocatable object");
	cfi = calloc(1, sizeof(*cfi));
	if (!cfi)
		return -ENOMEM;
	cfi->elf = elf;
	cfi->elf_bias = seam_elf_bias(elf);
	cfi->arch = arch;
	cfi->own_work = cfi->work = seam_cfi_work_new();
	rc = cfi->work ? find_sections(cfi, reterr) : -ENOMEM;
	if (rc)
		seam_cfi_close(cfi);
	else
		*ret_cfi = cfi;
	return rc;
}

struct seam_cfi *seam_cfi_close(struct seam_cfi *cfi)
{
	if (!cfi)
		return NULL;
	leave_work(cfi);
	free(cfi->ranges);
	free(cfi->found);
	seam_cfi_work_free(cfi->own_work);
	for (size_t i = 0; i < 2; i++)
		seam_elf_content_fini(&cfi->contents[i]);
	free(cfi);
	return NULL;
}

int seam_cfi_keeps(struct seam_cfi *cfi, struct seam_elf_parts *ret_parts,
		   size_t *ret_own)
{
	struct seam_elf_parts parts = {0};
	size_t size, own = sizeof(*cfi);
	const uint8_t *bytes = seam_elf_bytes(cfi->elf, &size);
	int rc = seam_cfi_index(cfi);

	for (unsigned int i = 0; i < cfi->num_sections && !rc; i++) {
		const struct seam_cfi_section *s = &cfi->sections[i];

		if (!cfi->contents[i].owned)
			rc = seam_elf_parts_add(
				&parts, (uint64_t)(s->data - bytes), s->size);
		else
			own += s->size;
	}
	if (rc) {
		seam_elf_parts_fini(&parts);
		return rc;
	}
	seam_elf_parts_settle(&parts, size);
	*ret_parts = parts;
	if (cfi->own_work)
		own += sizeof(struct seam_cfi_large);
	*ret_own = own + cfi->num_ranges * sizeof(*cfi->ranges) +
		   seam_cfi_found_slots(cfi) * sizeof(*cfi->found);
	return 0;
}
