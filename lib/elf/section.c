// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Sections, by name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/inflate.h"
#include "elf/private.h"

/* Of what is aligned further apart nothing here depends. */
#define ALIGN_MAX 65536
/* Nor on where a larger one ends: sums of sizes must not wrap. */
#define NOBITS_MAX (UINT64_C(1) << 32)

static void read_section(struct seam_elf *elf, const GElf_Shdr *sh,
			 const char *name)
{
	struct seam_elf_shdr *s = &elf->sections[elf->num_sections++];

	s->type = sh->sh_type;
	s->link = sh->sh_link;
	s->info = sh->sh_info;
	s->flags = sh->sh_flags;
	s->bytes.svma = sh->sh_addr;
	if (sh->sh_type == SHT_NULL || sh->sh_type == SHT_NOBITS ||
	    !seam_elf_has(elf, sh->sh_offset, sh->sh_size))
		return;
	s->has_bytes = true;
	s->name = name;
	s->bytes.data = elf->bytes + sh->sh_offset;
	s->bytes.size = sh->sh_size;
	s->bytes.off = sh->sh_offset;
}

/* Gives an allocated section of a relocatable file an address; one without
 * bytes in the file as well, which symbols may be in. */
static void lay_out(struct seam_elf *elf, const GElf_Shdr *sh, uint64_t *at)
{
	struct seam_elf_shdr *s = &elf->sections[elf->num_sections - 1];
	bool is_nobits = s->type == SHT_NOBITS && sh->sh_size <= NOBITS_MAX;
	uint64_t align = sh->sh_addralign;

	if (!(s->flags & SHF_ALLOC) || (!s->has_bytes && !is_nobits))
		return;
	if (align > 1 && align <= ALIGN_MAX && !(align & (align - 1)))
		*at = (*at + align - 1) & -align;
	s->bytes.svma = *at;
	if (!sh->sh_size)
		return;
	elf->segments[elf->num_segments++] = (struct seam_elf_segment){
		.svma = *at,
		.off = s->bytes.off,
		.filesz = s->bytes.size,
		.memsz = sh->sh_size,
		.flags = PF_R | (s->flags & SHF_EXECINSTR ? PF_X : 0) |
			 (s->flags & SHF_WRITE ? PF_W : 0),
	};
	*at += sh->sh_size;
}

/* Section headers are for tools, not for running: a file whose section
 * headers lie or are gone is opened without sections. */
int seam_elf_read_sections(struct seam_elf *elf)
{
	bool is_rel = elf->ehdr.e_type == ET_REL && !elf->segments;
	size_t n, strndx;
	uint64_t at = 0;
	GElf_Shdr sh;

	if (elf_getshdrnum(elf->libelf, &n) || !n ||
	    elf_getshdrstrndx(elf->libelf, &strndx))
		return 0;
	elf->sections = calloc(n, sizeof(*elf->sections));
	if (is_rel)
		elf->segments = calloc(n, sizeof(*elf->segments));
	if (!elf->sections || (is_rel && !elf->segments))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getshdr(elf_getscn(elf->libelf, i), &sh))
			break;
		read_section(elf, &sh,
			     elf_strptr(elf->libelf, strndx, sh.sh_name));
		if (is_rel)
			lay_out(elf, &sh, &at);
	}
	return 0;
}

static bool is_called(const struct seam_elf_shdr *s, const char *name)
{
	return s->name && !strcmp(s->name, name);
}

/* Return: its index, or 0. */
static size_t find_named(const struct seam_elf *elf, const char *name)
{
	for (size_t i = 1; i < elf->num_sections; i++)
		if (is_called(&elf->sections[i], name))
			return i;
	return 0;
}

int seam_elf_section(const struct seam_elf *elf, const char *name,
		     struct seam_elf_section *ret)
{
	size_t i = find_named(elf, name);

	if (!i || elf->sections[i].flags & SHF_COMPRESSED)
		return -ENOENT;
	*ret = elf->sections[i].bytes;
	return 0;
}

/* .debug_x as older tools compress it: in .zdebug_x. */
static size_t find_z(const struct seam_elf *elf, const char *name)
{
	char z[64] = ".z";
	size_t len = strlen(name);

	if (*name != '.' || len + 2 > sizeof(z))
		return 0;
	memcpy(z + 2, name + 1, len);
	return find_named(elf, z);
}

static int inflate(const struct seam_elf *elf, const struct seam_elf_shdr *s,
		   bool is_z, struct seam_elf_content *c)
{
	if (is_z)
		return seam_elf_inflate_z(&s->bytes, &c->bytes, &c->owned);
	if (s->flags & SHF_COMPRESSED)
		return seam_elf_inflate(&s->bytes, !seam_elf_is_le(elf),
					&c->bytes, &c->owned);
	c->bytes = s->bytes;
	return 0;
}

/* Return: 0; -EINVAL: some are compressed, or they are larger than the file,
 * so that they overlap. */
static int place_all(const struct seam_elf *elf, const char *name,
		     struct seam_elf_place *places, uint64_t *ret_size)
{
	uint64_t size = 0;

	for (size_t i = 1; i < elf->num_sections; i++) {
		const struct seam_elf_shdr *s = &elf->sections[i];

		if (!is_called(s, name))
			continue;
		if (s->flags & SHF_COMPRESSED ||
		    s->bytes.size > elf->size - size)
			return -EINVAL;
		places[i] = (struct seam_elf_place){size, s->bytes.size};
		size += s->bytes.size;
	}
	*ret_size = size;
	return 0;
}

/* Replaces what is in c, which has the first section's address. */
static int join(const struct seam_elf *elf, const struct seam_elf_place *places,
		uint64_t size, struct seam_elf_content *c)
{
	uint8_t *bytes = malloc(size ?: 1);

	if (!bytes)
		return -ENOMEM;
	for (size_t i = 1; i < elf->num_sections; i++)
		if (places[i].size)
			memcpy(bytes + places[i].at,
			       elf->sections[i].bytes.data, places[i].size);
	c->owned = bytes;
	c->bytes.data = bytes;
	c->bytes.size = size;
	return 0;
}

/* first: of those to be joined; or is_alone, what c has. */
static int relocated(const struct seam_elf *elf, size_t first, bool is_alone,
		     struct seam_elf_content *c)
{
	struct seam_elf_place *places =
		calloc(elf->num_sections, sizeof(*places));
	uint64_t size = c->bytes.size;
	int rc = 0;

	if (!places)
		return -ENOMEM;
	places[first].size = size;
	if (!is_alone)
		rc = place_all(elf, elf->sections[first].name, places, &size);
	/* Inflated already, it is a copy. */
	if (!rc && !c->owned)
		rc = join(elf, places, size, c);
	if (!rc)
		rc = seam_elf_relocate(elf, places, c->bytes.svma, c->owned,
				       &c->unresolved, &c->num_unresolved);
	free(places);
	return rc;
}

static size_t count_named(const struct seam_elf *elf, const char *name)
{
	size_t n = 0;

	for (size_t i = 1; i < elf->num_sections; i++)
		n += is_called(&elf->sections[i], name);
	return n;
}

static int content(const struct seam_elf *elf, const char *name, bool is_alone,
		   struct seam_elf_content *ret)
{
	struct seam_elf_content c = {0};
	size_t i = find_named(elf, name);
	bool is_z = !i;
	int rc;

	if (is_z)
		i = find_z(elf, name);
	if (!i)
		return -ENOENT;
	is_alone = is_alone || count_named(elf, name) < 2;
	rc = inflate(elf, &elf->sections[i], is_z, &c);
	if (!rc && seam_elf_type(elf) == ET_REL)
		rc = relocated(elf, i, is_alone, &c);
	if (rc)
		seam_elf_content_fini(&c);
	else
		*ret = c;
	return rc;
}

int seam_elf_content(const struct seam_elf *elf, const char *name,
		     struct seam_elf_content *ret)
{
	return content(elf, name, true, ret);
}

int seam_elf_content_joined(const struct seam_elf *elf, const char *name,
			    struct seam_elf_content *ret)
{
	return content(elf, name, false, ret);
}

void seam_elf_content_fini(struct seam_elf_content *content)
{
	free(content->owned);
	free(content->unresolved);
	*content = (struct seam_elf_content){0};
}
