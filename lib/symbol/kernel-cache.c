// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "symbol/kernel-cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/boot.h"
#include "base/search.h"
#include "table/folder.h"

#define NAME "kernel.s1"
#define MAGIC "seamksy"
/* Parts of the kernel lie so far from each other. What seems to be larger may
 * reach to where modules are loaded later. */
#define SYMBOL_MAX (4u << 20)

/* The file: this, the symbols by address, their names each with its end. */
struct header {
	char magic[8];
	uint64_t hash; /* of what follows */
	char boot_id[SEAM_BOOT_ID_SIZE + 4];
	uint64_t n, names_size;
};

struct symbol {
	uint64_t start;
	uint32_t size, name;
};

static uint64_t hash_of(const uint8_t *file, size_t size)
{
	size_t from = offsetof(struct header, boot_id);

	return seam_cache_hash(0, file + from, size - from);
}

static const struct symbol *symbols(const struct seam_kernel_cache *c)
{
	return (const void *)(c->bytes + sizeof(struct header));
}

/* That its parts fill the file, and names end. */
static bool is_whole(const struct seam_kernel_cache *c)
{
	const struct header *h = (const void *)c->bytes;
	size_t left = c->size - sizeof(*h);

	return !memcmp(h->magic, MAGIC, sizeof(h->magic)) &&
	       h->n <= left / sizeof(struct symbol) && h->names_size &&
	       h->names_size == left - h->n * sizeof(struct symbol) &&
	       !c->bytes[c->size - 1] && h->hash == hash_of(c->bytes, c->size);
}

static bool is_of_this_boot(const struct seam_kernel_cache *c)
{
	const struct header *h = (const void *)c->bytes;

	return seam_is_this_boot(h->boot_id);
}

void seam_kernel_cache_open(struct seam_kernel_cache *c)
{
	struct stat st;
	int dir, fd = -1;
	void *p = MAP_FAILED;

	*c = (struct seam_kernel_cache){0};
	if (seam_cache_folder(NULL, &dir))
		return;
	fd = seam_cache_read(dir, NAME, &st);
	close(dir);
	if (fd < 0)
		return;
	/* Nobody writes to a file that is there; and as all of it is hashed,
	 * faults one by one would take longer. */
	if ((size_t)st.st_size >= sizeof(struct header))
		p = mmap(NULL, (size_t)st.st_size, PROT_READ,
			 MAP_PRIVATE | MAP_POPULATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return;
	c->bytes = p;
	c->size = (size_t)st.st_size;
	if (!is_of_this_boot(c) || !is_whole(c))
		seam_kernel_cache_close(c);
}

void seam_kernel_cache_close(struct seam_kernel_cache *c)
{
	if (c->bytes)
		munmap((void *)c->bytes, c->size);
	*c = (struct seam_kernel_cache){0};
}

bool seam_kernel_cache_find(const struct seam_kernel_cache *c, uint64_t addr,
			    struct seam_symbol *ret)
{
	const struct header *h = (const void *)c->bytes;
	const struct symbol *v, *sym;
	const char *names;
	size_t next;

	if (!c->bytes)
		return false;
	v = symbols(c);
	names = (const char *)(v + h->n);
	next = SEAM_SEARCH(i, h->n, v[i].start <= addr);
	sym = next ? &v[next - 1] : NULL;
	if (!sym || addr - sym->start >= sym->size ||
	    sym->name >= h->names_size)
		return false;
	*ret = (struct seam_symbol){
		.name = names + sym->name,
		.raw_name = names + sym->name,
		.start = sym->start,
		.size = sym->size,
		.off = addr - sym->start,
	};
	return true;
}

/* Not what is shown by another name than it has. */
static bool is_kept(const struct seam_sym *sym)
{
	return !sym->module && !sym->shown &&
	       sym->end - sym->start <= SYMBOL_MAX;
}

static size_t plan(const struct seam_symtab *tab, struct header *h)
{
	for (size_t i = 0; i < tab->count; i++) {
		if (!is_kept(&tab->syms[i]))
			continue;
		h->n++;
		h->names_size += strlen(tab->syms[i].raw) + 1;
	}
	return sizeof(*h) + h->n * sizeof(struct symbol) + h->names_size;
}

static void fill(const struct seam_symtab *tab, const struct header *h,
		 uint8_t *file, size_t size)
{
	struct symbol *to = (void *)(file + sizeof(*h));
	char *names = (char *)(to + h->n);
	struct header *head = (void *)file;
	uint32_t at = 0;

	*head = *h;
	for (size_t i = 0; i < tab->count; i++) {
		const struct seam_sym *sym = &tab->syms[i];

		if (!is_kept(sym))
			continue;
		*to++ = (struct symbol){sym->start,
					(uint32_t)(sym->end - sym->start), at};
		strcpy(names + at, sym->raw);
		at += (uint32_t)strlen(sym->raw) + 1;
	}
	head->hash = hash_of(file, size);
}

void seam_kernel_cache_store(const struct seam_symtab *tab)
{
	struct header h = {.magic = MAGIC};
	size_t size = plan(tab, &h);
	struct iovec part = {NULL, size};
	int dir;

	if (!h.n || size > UINT32_MAX || !seam_boot_id(h.boot_id) ||
	    seam_cache_folder(NULL, &dir))
		return;
	part.iov_base = malloc(size);
	if (part.iov_base) {
		fill(tab, &h, part.iov_base, size);
		seam_cache_write(dir, NAME, &part, 1);
	}
	free(part.iov_base);
	close(dir);
}
