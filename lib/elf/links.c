// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "elf/links.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/index.h"
#include "base/search.h"

/* Names may overlap, so that a small file could ask for endless work. */
#define NAME_MAX_BYTES 4096
#define NAMES_MAX_BYTES ((size_t)256 << 20)

struct slot {
	uint64_t svma, name;
};

struct seam_links {
	struct slot *slots; /* by svma */
	struct seam_link_def *defs; /* by name */
	size_t n_slots, n_defs, room_slots, room_defs;
	bool is_linker;
};

struct reader {
	struct seam_links *links;
	const struct seam_elf *elf;
	Elf_Data *syms, *names;
	size_t left; /* bytes of names that may still be read */
	size_t room; /* bytes that all of it may take */
};

/* For one more, before there is none: a file may claim what it likes. */
static int grow(struct reader *r, void *array, size_t n, size_t *room,
		size_t size)
{
	if (n < *room)
		return 0;
	if (seam_links_bytes(r->links) + *room * size > r->room)
		return -ENOSPC;
	return seam_grow(array, n + 1, room, size);
}

/* --- sections --- */

static Elf_Scn *find(Elf *elf, Elf_Scn *from, uint32_t type, GElf_Shdr *ret)
{
	Elf_Scn *scn = from;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, ret) && ret->sh_type == type &&
		    !(ret->sh_flags & SHF_COMPRESSED))
			return scn;
	return NULL;
}

static bool is_dynamic(Elf *elf)
{
	size_t n = 0;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &n))
		return true;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_DYNAMIC)
			return true;
	return false;
}

/* Return: 0; -ENODATA: it should have symbols; -ENOENT: it needs none. */
static int open_symbols(struct reader *r)
{
	Elf *elf = seam_elf_libelf(r->elf);
	GElf_Shdr sh;
	Elf_Scn *scn;

	if (!elf || seam_elf_machine(r->elf) != EM_X86_64)
		return -ENODATA;
	scn = find(elf, NULL, SHT_DYNSYM, &sh);
	if (!scn)
		return is_dynamic(elf) ? -ENODATA : -ENOENT;
	r->syms = elf_getdata(scn, NULL);
	scn = elf_getscn(elf, sh.sh_link);
	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type != SHT_STRTAB ||
	    sh.sh_flags & SHF_COMPRESSED)
		return -ENODATA;
	r->names = elf_rawdata(scn, NULL);
	return r->syms && r->syms->d_buf && r->names && r->names->d_buf
		       ? 0
		       : -ENODATA;
}

/* --- names --- */

static uint64_t hash(const char *name, size_t len)
{
	return seam_hash(SEAM_HASH_START, name, len) | 1;
}

uint64_t seam_link_name(const char *name)
{
	return hash(name, strlen(name));
}

/* Return: its hash, or 0: it has none, or too long a one. */
static uint64_t name_of(struct reader *r, const GElf_Sym *sym)
{
	const char *name = r->names->d_buf;
	size_t room, len;

	if (sym->st_name >= r->names->d_size)
		return 0;
	name += sym->st_name;
	room = r->names->d_size - sym->st_name;
	if (room > NAME_MAX_BYTES)
		room = NAME_MAX_BYTES;
	if (room > r->left)
		room = r->left;
	len = strnlen(name, room);
	r->left -= len;
	return len && len < room ? hash(name, len) : 0;
}

/* --- what others find --- */

static bool is_defined(const GElf_Sym *sym)
{
	return sym->st_shndx != SHN_UNDEF &&
	       GELF_ST_BIND(sym->st_info) != STB_LOCAL;
}

static int add_def(struct reader *r, const GElf_Sym *sym)
{
	struct seam_links *l = r->links;
	struct seam_link_def def = {.name = name_of(r, sym)};
	int rc;

	if (!def.name)
		return 0;
	def.is_func = GELF_ST_TYPE(sym->st_info) == STT_FUNC &&
		      sym->st_shndx != SHN_ABS &&
		      seam_elf_svma_to_off(r->elf, sym->st_value, &def.off);
	rc = grow(r, &l->defs, l->n_defs, &l->room_defs, sizeof(*l->defs));
	if (!rc)
		l->defs[l->n_defs++] = def;
	return rc;
}

static int by_name(const void *va, const void *vb)
{
	const struct seam_link_def *a = va, *b = vb;

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return a->off < b->off ? -1 : a->off > b->off;
}

static int read_defs(struct reader *r)
{
	size_t n = r->syms->d_size / sizeof(Elf64_Sym);
	GElf_Sym sym;
	int rc = 0;

	for (size_t i = 1; !rc && i < n && i < INT32_MAX; i++)
		if (gelf_getsym(r->syms, (int)i, &sym) && is_defined(&sym))
			rc = add_def(r, &sym);
	if (r->links->n_defs)
		qsort(r->links->defs, r->links->n_defs, sizeof(*r->links->defs),
		      by_name);
	return rc;
}

/* --- slots --- */

static int add_slot(struct reader *r, const GElf_Rela *rela)
{
	uint32_t type = (uint32_t)GELF_R_TYPE(rela->r_info);
	uint64_t index = GELF_R_SYM(rela->r_info);
	struct seam_links *l = r->links;
	struct slot slot = {.svma = rela->r_offset};
	GElf_Sym sym;
	int rc;

	if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
	    rela->r_addend || !index || index > INT32_MAX ||
	    !gelf_getsym(r->syms, (int)index, &sym) ||
	    GELF_ST_BIND(sym.st_info) == STB_LOCAL)
		return 0;
	slot.name = name_of(r, &sym);
	if (!slot.name)
		return 0;
	rc = grow(r, &l->slots, l->n_slots, &l->room_slots, sizeof(*l->slots));
	if (!rc)
		l->slots[l->n_slots++] = slot;
	return rc;
}

static int by_svma(const void *va, const void *vb)
{
	const struct slot *a = va, *b = vb;

	return a->svma < b->svma ? -1 : a->svma > b->svma;
}

static int read_section(struct reader *r, Elf_Scn *scn)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data && data->d_buf ? data->d_size / sizeof(Elf64_Rela) : 0;
	GElf_Rela rela;
	int rc = 0;

	for (size_t i = 0; !rc && i < n && i < INT32_MAX; i++)
		if (gelf_getrela(data, (int)i, &rela))
			rc = add_slot(r, &rela);
	return rc;
}

/* Each byte of the file is read as a relocation once at most, however many
 * sections claim it. */
static int read_slots(struct reader *r)
{
	Elf *elf = seam_elf_libelf(r->elf);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t left;
	int rc = 0;

	seam_elf_bytes(r->elf, &left);
	while (!rc && (scn = find(elf, scn, SHT_RELA, &sh))) {
		if (!(sh.sh_flags & SHF_ALLOC) || sh.sh_size > left)
			continue;
		left -= sh.sh_size;
		rc = read_section(r, scn);
	}
	if (r->links->n_slots)
		qsort(r->links->slots, r->links->n_slots,
		      sizeof(*r->links->slots), by_svma);
	return rc;
}

/* --- all of it --- */

static int read_all(struct reader *r)
{
	/* Where it tells debuggers what it has loaded. */
	static const char mark[] = "_r_debug";
	size_t n;
	int rc = open_symbols(r);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	rc = read_defs(r);
	if (!rc)
		rc = read_slots(r);
	if (!rc && !r->left)
		rc = -ENODATA;
	seam_links_defs(r->links, seam_link_name(mark), &n);
	r->links->is_linker = n > 0;
	return rc;
}

int seam_links_read(const struct seam_elf *elf, size_t room,
		    struct seam_links **ret)
{
	struct reader r = {
		.links = calloc(1, sizeof(*r.links)),
		.elf = elf,
		.left = NAMES_MAX_BYTES,
		.room = room,
	};
	int rc = r.links ? read_all(&r) : -ENOMEM;

	if (rc)
		seam_links_free(r.links);
	else
		*ret = r.links;
	return rc;
}

struct seam_links *seam_links_free(struct seam_links *l)
{
	if (!l)
		return NULL;
	free(l->slots);
	free(l->defs);
	free(l);
	return NULL;
}

size_t seam_links_bytes(const struct seam_links *l)
{
	return sizeof(*l) + l->room_slots * sizeof(*l->slots) +
	       l->room_defs * sizeof(*l->defs);
}

uint64_t seam_links_slot(const struct seam_links *l, uint64_t svma)
{
	size_t at = SEAM_SEARCH(i, l->n_slots, l->slots[i].svma < svma);

	if (at == l->n_slots || l->slots[at].svma != svma)
		return 0;
	/* A slot that two put something into has whose was last. */
	if (at + 1 < l->n_slots && l->slots[at + 1].svma == svma)
		return 0;
	return l->slots[at].name;
}

const struct seam_link_def *seam_links_defs(const struct seam_links *l,
					    uint64_t name, size_t *ret_n)
{
	size_t at = SEAM_SEARCH(i, l->n_defs, l->defs[i].name < name), n = 0;

	while (n < l->n_defs - at && l->defs[at + n].name == name)
		n++;
	*ret_n = n;
	return n ? &l->defs[at] : NULL;
}

bool seam_links_is_linker(const struct seam_links *l)
{
	return l->is_linker;
}
