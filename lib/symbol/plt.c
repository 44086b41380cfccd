/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Names for PLT stubs: each stub jumps through a GOT slot, and a relocation
 * says whose address the loader puts there. The jump is decoded rather than
 * counted on to be in the relocations' order, since linkers differ. x86-64
 * only; other machines' stubs stay unnamed.
 */
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "elf/stub.h"
#include "symbol/symtab.h"

struct slot { /* one GOT slot */
	uint64_t svma;
	uint32_t sym; /* in .dynsym; 0: none */
	uint64_t addend;
};

struct reader {
	struct seam_symtab *tab;
	size_t num_finished; /* the stubs come after these, unsorted */
	const struct seam_elf *elf;
	struct slot *slots;
	size_t num_slots, room_slots;
	Elf_Data *syms;
	struct seam_strings names; /* of syms */
};

static int add_slot(struct reader *r, const GElf_Rela *rela)
{
	if (seam_grow(&r->slots, r->num_slots + 1, &r->room_slots,
		      sizeof(*r->slots)))
		return -ENOMEM;
	r->slots[r->num_slots++] = (struct slot){
		.svma = rela->r_offset,
		.sym = (uint32_t)GELF_R_SYM(rela->r_info),
		.addend = (uint64_t)rela->r_addend,
	};
	return 0;
}

static int read_relocations(struct reader *r, Elf_Scn *scn)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Rela rela;
	uint32_t type;
	size_t n;
	int rc;

	if (!data || !data->d_buf)
		return 0;
	n = data->d_size / sizeof(Elf64_Rela);
	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		if (!gelf_getrela(data, (int)i, &rela))
			break;
		type = (uint32_t)GELF_R_TYPE(rela.r_info);
		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT &&
		    type != R_X86_64_IRELATIVE)
			continue;
		rc = add_slot(r, &rela);
		if (rc)
			return rc;
	}
	return 0;
}

static int read_dynsym(struct reader *r, Elf_Scn *scn, size_t link)
{
	int rc = seam_symtab_own_strings(r->tab, r->elf, link, &r->names);

	if (!rc)
		r->syms = elf_getdata(scn, NULL);
	return rc == -ENOENT ? 0 : rc;
}

static int compare_slots(const void *pa, const void *pb)
{
	const struct slot *a = pa, *b = pb;

	return a->svma < b->svma ? -1 : a->svma > b->svma;
}

/* Each byte of the file is read as a relocation once at most, however many
 * sections claim it. */
static int read_slots(struct reader *r)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t left;
	int rc = 0;

	seam_elf_bytes(r->elf, &left);
	while (!rc && (scn = elf_nextscn(seam_elf_libelf(r->elf), scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_flags & SHF_COMPRESSED)
			continue;
		if (sh.sh_type == SHT_DYNSYM && !r->names.data) {
			rc = read_dynsym(r, scn, sh.sh_link);
		} else if (sh.sh_type == SHT_RELA && sh.sh_flags & SHF_ALLOC &&
			   sh.sh_size <= left) {
			left -= sh.sh_size;
			rc = read_relocations(r, scn);
		}
	}
	if (r->num_slots)
		qsort(r->slots, r->num_slots, sizeof(*r->slots), compare_slots);
	return rc;
}

static const char *symbol_name(const struct reader *r, uint32_t index)
{
	GElf_Sym sym;

	if (!r->syms || !r->names.data || index > INT32_MAX ||
	    !gelf_getsym(r->syms, (int)index, &sym) ||
	    sym.st_name >= r->names.size || !r->names.data[sym.st_name])
		return NULL;
	return r->names.data + sym.st_name;
}

static const struct seam_sym *find_finished(const struct reader *r,
					    uint64_t svma)
{
	struct seam_symtab finished = *r->tab;

	finished.count = r->num_finished;
	return seam_symtab_find(&finished, svma);
}

/* A stub without a symbol is an IFUNC's of this file, or unknown. */
static int name_stub(struct reader *r, const struct slot *slot, uint64_t off,
		     struct seam_sym *stub)
{
	const struct seam_sym *target;
	char *name;

	stub->plt = true;
	stub->raw = slot && slot->sym ? symbol_name(r, slot->sym) : NULL;
	if (stub->raw)
		return 0;
	target = slot && !slot->sym ? find_finished(r, slot->addend) : NULL;
	if (target && !target->plt) {
		stub->raw = target->raw;
		return 0;
	}
	name = malloc(sizeof("offset_0x") + 16);
	if (!name)
		return -ENOMEM;
	sprintf(name, "offset_0x%llx", (unsigned long long)off);
	stub->raw = name;
	return seam_symtab_own(r->tab, name);
}

static int add_stub(struct reader *r, const struct seam_elf_section *sec,
		    size_t at, size_t size)
{
	struct seam_sym stub = {
		.start = sec->svma + at,
		.end = sec->svma + at + size,
		.has_size = true,
		.type = STT_FUNC,
		.bind = STB_GLOBAL,
	};
	struct slot key, *slot;
	int rc;

	if (stub.end < stub.start ||
	    !seam_stub_jump(sec->data + at, size, &key.svma))
		return 0;
	key.svma += stub.start;
	slot = r->num_slots ? bsearch(&key, r->slots, r->num_slots,
				      sizeof(*slot), compare_slots)
			    : NULL;
	rc = name_stub(r, slot, sec->off + at, &stub);
	return rc ? rc : seam_symtab_add(r->tab, &stub);
}

/* The lazy binder's code: the header, or with .plt.sec all of .plt. */
static int add_header(struct reader *r, const struct seam_elf_section *plt,
		      size_t size)
{
	struct seam_sym header = {
		.start = plt->svma,
		.end = plt->svma + size,
		.has_size = true,
		.raw = ".plt",
		.type = STT_FUNC,
		.bind = STB_GLOBAL,
	};
	uint64_t slot;

	if (header.end < header.start || plt->size < size ||
	    seam_stub_jump(plt->data, size, &slot))
		return 0;
	return seam_symtab_add(r->tab, &header);
}

static bool is_named(const struct seam_strings *names, uint64_t at,
		     const char *name)
{
	size_t len = strlen(name) + 1;

	return at < names->size && names->size - at >= len &&
	       !memcmp(names->data + at, name, len);
}

static size_t stub_size(const struct seam_elf *elf, const char *name)
{
	Elf *libelf = seam_elf_libelf(elf);
	struct seam_strings names;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t strndx;

	if (elf_getshdrstrndx(libelf, &strndx) ||
	    !seam_strings_get(elf, strndx, &names))
		return 16;
	while ((scn = elf_nextscn(libelf, scn)))
		if (gelf_getshdr(scn, &sh) &&
		    is_named(&names, sh.sh_name, name))
			return sh.sh_entsize == 8 || (sh.sh_entsize != 16 &&
						      sh.sh_addralign == 8)
				       ? 8
				       : 16;
	return 16;
}

static int read_stubs(struct reader *r)
{
	struct seam_elf_section sec, other;
	size_t size;
	int rc = 0;

	for (size_t i = 0; i < SEAM_STUB_SECTIONS; i++) {
		if (seam_elf_section(r->elf, seam_stub_sections[i], &sec))
			continue;
		size = stub_size(r->elf, seam_stub_sections[i]);
		if (!i) {
			bool has_sec =
				!seam_elf_section(r->elf, ".plt.sec", &other);

			rc = add_header(r, &sec, has_sec ? sec.size : size);
		}
		for (size_t at = 0; !rc && sec.size - at >= size; at += size)
			rc = add_stub(r, &sec, at, size);
		if (rc)
			return rc;
	}
	return 0;
}

int seam_symtab_read_plt(struct seam_symtab *tab, const struct seam_elf *elf)
{
	struct reader r = {.tab = tab, .num_finished = tab->count, .elf = elf};
	int rc;

	if (seam_elf_machine(elf) != EM_X86_64)
		return 0;
	rc = read_slots(&r);
	if (!rc)
		rc = read_stubs(&r);
	free(r.slots);
	return rc;
}
