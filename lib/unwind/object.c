// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "unwind/object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/index.h"
#include "elf/elf.h"
#include "sframe/verify.h"
#include "table/lookup.h"
#include "table/table.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME 0x6474e554
#endif

#define TABLE_MAX (UINT64_C(1) << 30)

/* Bytes of a segment, of those that the loader maps from the file. */
static const void *segment_bytes(const struct seam_loaded *l,
				 const Elf64_Phdr *ph)
{
	return (const void *)(uintptr_t)(l->bias + ph->p_vaddr);
}

/* Whether a range of svma lies in what is mapped for reading. */
static bool is_loaded(const struct seam_loaded *l, uint64_t svma, uint64_t size)
{
	for (size_t i = 0; i < l->n_phdrs; i++) {
		const Elf64_Phdr *ph = &l->phdrs[i];
		uint64_t in = svma - ph->p_vaddr;

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_R &&
		    svma >= ph->p_vaddr && in <= ph->p_filesz &&
		    size <= ph->p_filesz - in)
			return true;
	}
	return false;
}

/* The first of a type that is in memory, or NULL. */
static const Elf64_Phdr *find_phdr(const struct seam_loaded *l, uint32_t type)
{
	for (size_t i = 0; i < l->n_phdrs; i++)
		if (l->phdrs[i].p_type == type &&
		    is_loaded(l, l->phdrs[i].p_vaddr, l->phdrs[i].p_filesz))
			return &l->phdrs[i];
	return NULL;
}

uint64_t seam_loaded_identity(const struct seam_loaded *l)
{
	bool is_noted = find_phdr(l, PT_NOTE);
	uint64_t hash = seam_hash(SEAM_HASH_START, l->phdrs,
				  l->n_phdrs * sizeof(*l->phdrs));

	for (size_t i = 0; i < l->n_phdrs; i++) {
		const Elf64_Phdr *ph = &l->phdrs[i];

		if (ph->p_type == (is_noted ? PT_NOTE : PT_GNU_EH_FRAME) &&
		    is_loaded(l, ph->p_vaddr, ph->p_filesz))
			hash = seam_hash(hash, segment_bytes(l, ph),
					 ph->p_filesz);
	}
	return hash;
}

bool seam_loaded_holds(const struct seam_loaded *l, uint64_t pc)
{
	for (size_t i = 0; i < l->n_phdrs; i++)
		if (l->phdrs[i].p_type == PT_LOAD &&
		    pc - l->bias - l->phdrs[i].p_vaddr < l->phdrs[i].p_memsz)
			return true;
	return false;
}

static bool is_fixed(const Elf64_Phdr *ph)
{
	return ph->p_type == PT_LOAD && ph->p_flags & PF_R &&
	       !(ph->p_flags & PF_W) && ph->p_filesz;
}

/* The segment that begins with the ELF header, or NULL. */
static const Elf64_Phdr *first_segment(const struct seam_loaded *l)
{
	for (size_t i = 0; i < l->n_phdrs; i++)
		if (is_fixed(&l->phdrs[i]))
			return l->phdrs[i].p_offset ||
					       l->phdrs[i].p_filesz <
						       sizeof(Elf64_Ehdr)
				       ? NULL
				       : &l->phdrs[i];
	return NULL;
}

/*
 * Where memory has the layout of the file and no gap, nothing needs copying,
 * and no code is read from disk for it. Return: the size in bytes, up to where
 * segments begin that may be written to; 0: it is not so.
 */
static uint64_t size_in_place(const struct seam_loaded *l,
			      const Elf64_Phdr *first)
{
	uint64_t end = first->p_filesz;
	const uint64_t page = 4096;

	for (const Elf64_Phdr *ph = first + 1; ph < l->phdrs + l->n_phdrs;
	     ph++) {
		if (!is_fixed(ph))
			continue;
		if (ph->p_vaddr - first->p_vaddr != ph->p_offset ||
		    ph->p_offset > ((end + page - 1) & -page))
			return 0;
		end = ph->p_offset + ph->p_filesz;
	}
	return end;
}

/* Of what is asked for all is mapped: the loader did it. */
static int read_own(void *ctx, uint64_t avma, void *to, size_t size)
{
	(void)ctx;
	memcpy(to, (const void *)(uintptr_t)avma, size);
	return 0;
}

static int open_memory(const struct seam_loaded *l, struct seam_elf **ret)
{
	const Elf64_Phdr *first = first_segment(l);
	uint64_t size;

	if (!first)
		return -ENOENT;
	size = size_in_place(l, first);
	if (size)
		return seam_elf_open_mem(segment_bytes(l, first), size, ret,
					 NULL);
	return seam_elf_open_loaded(read_own, NULL, l->bias + first->p_vaddr,
				    ret, NULL);
}

static bool is_in_file_only(const struct seam_loaded *l)
{
	return l->is_program && !find_phdr(l, PT_GNU_EH_FRAME);
}

/* A program that runs cannot be written to. */
static int open_program(struct seam_elf **ret)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return -ENOENT;
	r = seam_elf_open_fd(fd, 0, ret, NULL);
	close(fd);
	return r;
}

static int make_table(const struct seam_elf *elf, struct seam_lookup *ret,
		      uint8_t **ret_table)
{
	struct seam_sframe sf;
	uint8_t *bytes = NULL;
	size_t size;
	int r = seam_table_build_kernel(elf, &bytes, &size, NULL, NULL);

	if (!r && !seam_sframe_open(&sf, bytes, size) && sf.num_fdes)
		r = seam_lookup_build(&sf, TABLE_MAX, ret, ret_table, NULL);
	free(bytes);
	return r;
}

static int copy_cfi(const struct seam_elf *elf, struct seam_cfi **ret)
{
	struct seam_cfi *cfi;
	int r = seam_cfi_open(elf, &cfi, NULL);

	if (r)
		return r;
	r = seam_cfi_detach(cfi);
	if (r)
		seam_cfi_close(cfi);
	else
		*ret = cfi;
	return r;
}

/* The table of its CFI, and a copy of that. */
static int convert(const struct seam_loaded *l, struct seam_object *object,
		   struct seam_lookup *ret)
{
	struct seam_elf *elf = NULL;
	int r = is_in_file_only(l) ? open_program(&elf) : open_memory(l, &elf);

	if (!r)
		r = make_table(elf, ret, &object->table);
	if (!r)
		r = copy_cfi(elf, &object->cfi);
	seam_elf_close(elf);
	return r;
}

/* Its own .sframe, if all of it is well-formed. A copy: the object may be
 * unloaded while signal handlers still ask for its rules. */
static int copy_sframe(const struct seam_loaded *l, struct seam_object *object,
		       struct seam_code *rules)
{
	static const struct seam_sframe_limits limits = {
		.abi = SEAM_SFRAME_ABI_AMD64};
	const Elf64_Phdr *ph = find_phdr(l, PT_GNU_SFRAME);
	uint8_t *bytes;

	if (!ph || !ph->p_filesz || ph->p_filesz > TABLE_MAX)
		return 0;
	bytes = reallocarray(NULL, ph->p_filesz, 1);
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, segment_bytes(l, ph), ph->p_filesz);
	if (seam_sframe_verify(bytes, ph->p_filesz, &limits, NULL) ||
	    seam_sframe_open(&rules->sframe, bytes, ph->p_filesz)) {
		rules->sframe = (struct seam_sframe){0};
		free(bytes);
		return 0;
	}
	object->sframe = bytes;
	rules->sframe_avma = (uintptr_t)segment_bytes(l, ph);
	return 0;
}

/* One stretch for each executable segment. Its table has file offsets; those
 * of an image are distances from the ELF header. */
static void add_codes(const struct seam_loaded *l,
		      const struct seam_code *rules, struct seam_object *object)
{
	const Elf64_Phdr *first = first_segment(l);

	for (size_t i = 0; i < l->n_phdrs; i++) {
		const Elf64_Phdr *ph = &l->phdrs[i];
		struct seam_code *code = &object->codes[object->n_codes];

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		*code = *rules;
		code->start = l->bias + ph->p_vaddr;
		code->end = code->start + ph->p_filesz;
		code->table_avma = is_in_file_only(l) || !first
					   ? code->start - ph->p_offset
					   : l->bias + first->p_vaddr;
		object->n_codes++;
	}
}

int seam_object_make(const struct seam_loaded *l, struct seam_object **ret)
{
	struct seam_object *object;
	struct seam_code rules = {0};
	int r;

	object = calloc(1, sizeof(*object) +
				   l->n_phdrs * sizeof(object->codes[0]));
	if (!object)
		return -ENOMEM;
	object->bias = l->bias;
	object->identity = seam_loaded_identity(l);
	r = copy_sframe(l, object, &rules);
	if (!r)
		r = convert(l, object, &rules.lookup);
	if (r == -ENOMEM) {
		seam_object_free(object);
		return r;
	}
	rules.table = object->table;
	rules.cfi = object->cfi;
	rules.bias = l->bias;
	if (rules.table || rules.sframe.base)
		add_codes(l, &rules, object);
	*ret = object;
	return 0;
}

void seam_object_free(struct seam_object *object)
{
	if (!object)
		return;
	free(object->sframe);
	free(object->table);
	seam_cfi_close(object->cfi);
	free(object);
}
