/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * CIEs and FDEs. Sources: DWARF 5, section 6.4.1; the Linux Standard Base
 * 5.0, chapter 10.6 (.eh_frame, augmentations, pointer encodings).
 */
#include <string.h>

#include "base/search.h"
#include "cfi/private.h"
#include "core/err.h"

#define ENC_OMIT 0xff
#define ENC_FORMAT 0x0f
#define ENC_APPLY 0x70
#define ENC_SDATA4 0x0b
#define ENC_PCREL 0x10
#define ENC_DATAREL 0x30
#define ENC_FUNCREL 0x40
#define ENC_ALIGNED 0x50
#define ENC_INDIRECT 0x80

bool seam_cfi_entry_read(const struct seam_cfi_section *sec, uint64_t off,
			 struct seam_cfi_entry *ret,
			 struct seam_cfi_fault *fault)
{
	struct seam_bytes b = {sec->data + off, sec->data + sec->size, sec->be};
	const uint8_t *field;
	uint64_t len, id, cie_id = 0;
	size_t id_size = 4;

	*ret = (struct seam_cfi_entry){.off = off};
	if (!seam_bytes_uint(&b, 4, &len))
		return seam_cfi_fault_at(fault, SEAM_CFI_SHORT, b.p,
					 "the section ends inside a length");
	if (!len) {
		ret->terminator = true;
		ret->next_off = off + 4;
		return true;
	}
	if (len == 0xffffffff) {
		if (!seam_bytes_uint(&b, 8, &len))
			return seam_cfi_fault_at(
				fault, SEAM_CFI_SHORT, b.p,
				"the section ends inside a length");
		/* .eh_frame's CIE pointers have 4 bytes in every form. */
		if (!sec->eh)
			id_size = 8;
	} else if (len >= 0xfffffff0) {
		return seam_cfi_fault_at(fault, SEAM_CFI_SHORT, b.p - 4,
					 "an entry has a reserved length");
	}
	if (len > seam_bytes_left(&b))
		return seam_cfi_fault_at(fault, SEAM_CFI_SHORT, b.p,
					 "an entry is longer than its section");
	b.end = b.p + len;
	ret->next_off = (uint64_t)(b.end - sec->data);
	field = b.p;
	if (!seam_bytes_uint(&b, id_size, &id)) {
		/* The walk can go on: next_off is good. */
		return seam_cfi_fault_at(fault, SEAM_CFI_SHORT, b.p,
					 "an entry ends inside its CIE field");
	}
	ret->body = b;
	if (!sec->eh)
		cie_id = id_size == 8 ? UINT64_MAX : 0xffffffff;
	ret->is_cie = id == cie_id;
	/* .eh_frame counts back from the field, .debug_frame from the
	 * section's start. A wrong one is found where it is used. */
	ret->cie_off = sec->eh ? (uint64_t)(field - sec->data) - id : id;
	return true;
}

bool seam_cfi_sized(struct seam_bytes *b, uint8_t format, uint8_t address_size,
		    uint64_t *ret)
{
	static const uint8_t sizes[8] = {0, 0, 2, 4, 8, 0, 0, 0};
	size_t size = sizes[format & 7] ?: address_size;
	int64_t v;

	if (format == 0x1)
		return seam_bytes_uleb(b, ret);
	if (format == 0x9) {
		if (!seam_bytes_sleb(b, &v))
			return false;
	} else if (format & 8) {
		if (!seam_bytes_sint(b, size, &v))
			return false;
	} else {
		return seam_bytes_uint(b, size, ret);
	}
	*ret = (uint64_t)v;
	return true;
}

static bool format_known(uint8_t enc)
{
	return (enc & 7) <= 4;
}

static bool load_pointer(const struct seam_cfi *cfi, uint64_t svma,
			 uint64_t *ret)
{
	struct seam_bytes b;
	const uint8_t *bytes;
	size_t size;
	uint64_t off;

	if (!cfi->elf)
		return false;
	bytes = seam_elf_bytes(cfi->elf, &size);
	if (!seam_elf_svma_to_off(cfi->elf, svma, &off) ||
	    !seam_elf_has(cfi->elf, off, 8))
		return false;
	b = (struct seam_bytes){bytes + off, bytes + size, cfi->arch->be};
	if (!seam_bytes_uint(&b, 8, ret))
		return false;
	*ret -= cfi->elf_bias;
	return true;
}

bool seam_cfi_encoded(struct seam_bytes *b, uint8_t enc,
		      const struct seam_cfi *cfi, const struct seam_cie *cie,
		      uint64_t func_start, uint64_t *ret,
		      struct seam_cfi_fault *fault)
{
	const uint8_t *at = b->p;
	uint64_t field = cie->sec->svma + (uint64_t)(at - cie->sec->data);
	uint64_t base = 0, v, pad;

	if (enc == ENC_OMIT || !format_known(enc))
		goto unknown;
	switch (enc & ENC_APPLY) {
	case 0:
		/* The loader made it an address in memory. */
		base = -cfi->elf_bias;
		break;
	case ENC_PCREL:
		base = field;
		break;
	case ENC_DATAREL:
		base = cie->sec->datarel;
		if (!base)
			goto unknown;
		break;
	case ENC_FUNCREL:
		if (!func_start)
			goto unknown;
		base = func_start;
		break;
	case ENC_ALIGNED:
		pad = -field & (cie->address_size - 1);
		if (!seam_bytes_skip(b, pad))
			goto cut;
		break;
	default:
		goto unknown;
	}
	if (!seam_cfi_sized(b, enc & ENC_FORMAT, cie->address_size, &v))
		goto cut;
	v += base;
	if (enc & ENC_INDIRECT && !load_pointer(cfi, v, &v))
		goto unknown;
	*ret = v;
	return true;
unknown:
	return seam_cfi_fault_at(fault, SEAM_CFI_ENCODING, at,
				 "a pointer encoding that cannot be resolved");
cut:
	return seam_cfi_fault_at(fault, SEAM_CFI_SHORT, at,
				 "an entry ends inside a pointer");
}

static bool bad_cie(struct seam_cfi_fault *fault, const uint8_t *at,
		    const char *reason)
{
	return seam_cfi_fault_at(fault, SEAM_CFI_BAD_CIE, at, reason);
}

/* The augmentation string's letters, over the data that 'z' promised. */
static bool parse_aug(struct seam_cie *cie, const char *aug,
		      struct seam_bytes *data, struct seam_cfi_fault *fault)
{
	uint8_t enc;
	uint64_t skipped;

	for (; *aug; aug++) {
		switch (*aug) {
		case 'R':
			if (!seam_bytes_u8(data, &cie->fde_enc))
				goto cut;
			break;
		case 'L': /* where the LSDA is does not matter here */
			if (!seam_bytes_u8(data, &enc))
				goto cut;
			break;
		case 'P':
			if (!seam_bytes_u8(data, &enc))
				goto cut;
			if ((enc & ENC_APPLY) == ENC_ALIGNED)
				return bad_cie(fault, data->p - 1,
					       "an aligned personality");
			if (enc == ENC_OMIT)
				break;
			if (!format_known(enc))
				return bad_cie(fault, data->p - 1,
					       "an unknown personality "
					       "encoding");
			if (!seam_cfi_sized(data, enc & ENC_FORMAT,
					    cie->address_size, &skipped))
				goto cut;
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B':
			cie->key_b = true;
			break;
		case 'G': /* aarch64: memory tags; means nothing here */
			break;
		default:
			return bad_cie(fault, data->p,
				       "an unknown augmentation");
		}
	}
	return true;
cut:
	return bad_cie(fault, data->p, "augmentation data is too short");
}

static bool parse_version(struct seam_cie *cie, uint8_t version,
			  struct seam_bytes *b, struct seam_cfi_fault *fault)
{
	cie->address_size = 8;
	if (version == 1 || version == 3)
		return true;
	if (version != 4)
		return bad_cie(fault, b->p, "an unknown CIE version");
	if (!seam_bytes_u8(b, &cie->address_size) ||
	    !seam_bytes_u8(b, &cie->segment_size))
		return bad_cie(fault, b->p, "a CIE is too short");
	if ((cie->address_size != 4 && cie->address_size != 8) ||
	    cie->segment_size > 8)
		return bad_cie(fault, b->p - 2,
			       "an unknown address or segment size");
	return true;
}

static bool parse_cie(struct seam_cie *cie, struct seam_bytes b, uint8_t column,
		      struct seam_cfi_fault *fault)
{
	struct seam_bytes data;
	const char *aug;
	uint8_t version, ra8;
	uint64_t ra, len;
	const uint8_t *nul;

	if (!seam_bytes_u8(&b, &version))
		goto cut;
	nul = memchr(b.p, 0, seam_bytes_left(&b));
	if (!nul)
		return bad_cie(fault, b.p, "an augmentation does not end");
	aug = (const char *)b.p;
	b.p = nul + 1;
	if (*aug && *aug != 'z')
		return bad_cie(fault, (const uint8_t *)aug,
			       "an unknown augmentation");
	if (!parse_version(cie, version, &b, fault))
		return false;
	if (!seam_bytes_uleb(&b, &cie->code_align) ||
	    !seam_bytes_sleb(&b, &cie->data_align))
		goto cut;
	if (version == 1) {
		if (!seam_bytes_u8(&b, &ra8))
			goto cut;
		ra = ra8;
	} else if (!seam_bytes_uleb(&b, &ra)) {
		goto cut;
	}
	cie->odd_column = ra != column;
	if (*aug == 'z') {
		if (!seam_bytes_uleb(&b, &len) || len > seam_bytes_left(&b))
			goto cut;
		data = (struct seam_bytes){b.p, b.p + len, b.be};
		b.p += len;
		cie->has_aug_data = true;
		if (!parse_aug(cie, aug + 1, &data, fault))
			return false;
	}
	cie->is_plain = cie->sec->eh && !cie->segment_size &&
			cie->fde_enc == (ENC_PCREL | ENC_SDATA4);
	cie->program = b;
	return true;
cut:
	return bad_cie(fault, b.p, "a CIE is too short");
}

const struct seam_cie *seam_cie_get(struct seam_cfi *cfi,
				    const struct seam_cfi_section *sec,
				    uint64_t off, struct seam_cfi_fault *fault)
{
	struct seam_cie *cie = seam_cie_slot(cfi->work, off);
	struct seam_cfi_entry entry;

	if (cie->used && cie->off == off && cie->sec == sec)
		return cie;
	if (off >= sec->size) {
		bad_cie(fault, sec->data, "a CIE pointer leaves the section");
		return NULL;
	}
	if (!seam_cfi_entry_read(sec, off, &entry, fault))
		return NULL;
	if (entry.terminator || !entry.is_cie) {
		bad_cie(fault, sec->data + off,
			"a CIE pointer does not lead to a CIE");
		return NULL;
	}
	if (entry.next_off - off > SEAM_CFI_CIE_MAX) {
		bad_cie(fault, sec->data + off, "a CIE is over 4 KiB long");
		return NULL;
	}
	/* The slot holds nothing while it is being filled. */
	memset(cie, 0, sizeof(*cie));
	cie->off = off;
	cie->sec = sec;
	if (!parse_cie(cie, entry.body, cfi->arch->ra, fault))
		return NULL;
	seam_cie_run(cfi, cie);
	cie->used = true;
	return cie;
}

/* Whether the field at b is one that a relocation was to fill, and none did. */
static bool is_unresolved(const struct seam_cfi_section *sec,
			  const struct seam_bytes *b)
{
	uint64_t off = (uint64_t)(b->p - sec->data);
	size_t i =
		SEAM_SEARCH(k, sec->num_unresolved, sec->unresolved[k] < off);

	return i < sec->num_unresolved && sec->unresolved[i] == off;
}

bool seam_fde_parse(struct seam_cfi *cfi, const struct seam_cfi_section *sec,
		    const struct seam_cfi_entry *entry, struct seam_fde *ret,
		    struct seam_cfi_fault *fault)
{
	struct seam_bytes b = entry->body;
	const struct seam_cie *cie;
	uint64_t size, len, selector;

	*ret = (struct seam_fde){.off = entry->off};
	cie = seam_cie_get(cfi, sec, entry->cie_off, fault);
	if (!cie) {
		/* Where it leads there is nothing to point at. */
		if (entry->cie_off >= sec->size)
			fault->at = sec->data + entry->off;
		return false;
	}
	if (cie->segment_size) {
		if (!seam_bytes_uint(&b, cie->segment_size, &selector))
			goto cut;
		if (selector)
			return seam_cfi_fault_at(fault, SEAM_CFI_ENCODING, b.p,
						 "a segmented address");
	}
	if (sec->num_unresolved && is_unresolved(sec, &b))
		return seam_cfi_fault_at(fault, SEAM_CFI_ENCODING, b.p,
					 "a relocation that cannot be applied");
	if (!seam_cfi_encoded(&b, cie->fde_enc, cfi, cie, 0, &ret->start,
			      fault))
		return false;
	if (!seam_cfi_sized(&b, cie->fde_enc & ENC_FORMAT, cie->address_size,
			    &size))
		goto cut;
	/* lld writes -1 or -2 where it discarded the function. */
	if (!sec->eh && ret->start >= UINT64_MAX - 1)
		size = 0;
	if (size > UINT64_MAX - ret->start)
		return seam_cfi_fault_at(fault, SEAM_CFI_ENCODING, b.p,
					 "a function's end overflows");
	ret->end = ret->start + size;
	if (cie->has_aug_data &&
	    (!seam_bytes_uleb(&b, &len) || !seam_bytes_skip(&b, len)))
		goto cut;
	ret->program = b;
	ret->cie = cie;
	return true;
cut:
	return seam_cfi_fault_at(fault, SEAM_CFI_SHORT, b.p,
				 "an FDE is too short");
}
