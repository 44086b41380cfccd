/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbol/symtab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"

#define NO_SYM UINT32_MAX
#define PAGE 4096u
/* Nested symbols: deeper than any compiler makes them, so that a hostile
 * file costs no more than this a look-up. */
#define MAX_NESTING 64
/* As much of two names is compared: names in a file may overlap, so that
 * each of its symbols has one as long as the file. */
#define COMPARED_LEN 4096
/* Bytes of names demangled, and made by it, to choose among symbols at one
 * address: libstdc++ and the like need a few MB. */
#define COMPARED_MAX (64u << 20)

void seam_symtab_fini(struct seam_symtab *tab)
{
	for (size_t i = 0; i < tab->count; i++)
		free(tab->syms[i].shown);
	for (size_t i = 0; i < tab->num_blobs; i++)
		free(tab->blobs[i]);
	free(tab->syms);
	free(tab->blobs);
	free(tab->modules);
	*tab = (struct seam_symtab){.demangle = tab->demangle};
}

int seam_symtab_add(struct seam_symtab *tab, const struct seam_sym *sym)
{
	if (tab->count == NO_SYM)
		return -EOVERFLOW;
	if (seam_grow(&tab->syms, tab->count + 1, &tab->room,
		      sizeof(*tab->syms)))
		return -ENOMEM;
	tab->syms[tab->count++] = *sym;
	return 0;
}

int seam_symtab_own(struct seam_symtab *tab, char *blob)
{
	char **blobs;

	blobs = realloc(tab->blobs, (tab->num_blobs + 1) * sizeof(*blobs));
	if (!blobs) {
		free(blob);
		return -ENOMEM;
	}
	tab->blobs = blobs;
	tab->blobs[tab->num_blobs++] = blob;
	return 0;
}

static size_t count_underscores(const char *name)
{
	size_t n = 0;

	while (n < COMPARED_LEN && name[n] == '_')
		n++;
	return n;
}

/* Return: < 0 if a is the better by its name, > 0 if b is. */
static int compare_names(const char *a, const char *b)
{
	size_t na = count_underscores(a), nb = count_underscores(b);

	if (na != nb)
		return na < nb ? -1 : 1;
	na = strnlen(a, COMPARED_LEN);
	nb = strnlen(b, COMPARED_LEN);
	if (na != nb)
		return na > nb ? -1 : 1;
	return 0;
}

/* Names are compared as they are shown, until that has cost too much. */
static char *demangle_to_compare(struct seam_symtab *tab, const char *raw)
{
	char *name;

	if (!tab->demangle || tab->compared > COMPARED_MAX)
		return NULL;
	name = seam_demangle(raw);
	tab->compared += strnlen(raw, SEAM_SYMBOL_NAME_MAX);
	tab->compared += name ? strlen(name) : 0;
	return name;
}

static int compare_shown(struct seam_symtab *tab, const char *a, const char *b)
{
	char *da = demangle_to_compare(tab, a);
	char *db = demangle_to_compare(tab, b);
	int cmp = compare_names(da ? da : a, db ? db : b);

	free(da);
	free(db);
	return cmp;
}

/* Both start at one address; a came first. perf's order of preference. */
static bool is_better(struct seam_symtab *tab, const struct seam_sym *a,
		      const struct seam_sym *b)
{
	bool of_a, of_b;
	int cmp;

	of_a = a->end > a->start;
	of_b = b->end > b->start;
	if (of_a != of_b)
		return of_a;
	of_a = a->type != STT_NOTYPE;
	of_b = b->type != STT_NOTYPE;
	if (of_a != of_b)
		return of_a;
	of_a = a->bind != STB_WEAK;
	of_b = b->bind != STB_WEAK;
	if (of_a != of_b)
		return of_a;
	of_a = a->bind == STB_GLOBAL;
	of_b = b->bind == STB_GLOBAL;
	if (of_a != of_b)
		return of_a;
	cmp = compare_shown(tab, a->raw, b->raw);
	if (cmp)
		return cmp < 0;
	/* The kernel's older aliases of system calls. */
	return strncmp(a->raw, "SyS", 3) && strncmp(a->raw, "compat_SyS", 10);
}

static int compare_starts(const void *pa, const void *pb)
{
	const struct seam_sym *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->up < b->up ? -1 : a->up > b->up;
}

static uint64_t page_after(uint64_t addr)
{
	if (addr > UINT64_MAX - 2 * PAGE)
		return UINT64_MAX;
	return (addr + 2 * PAGE - 1) & -(uint64_t)PAGE;
}

/* A symbol without a size reaches to the next one, but not out of what it
 * lies in. */
static void end_sizeless(struct seam_symtab *tab)
{
	for (size_t i = 0; i < tab->count; i++) {
		struct seam_sym *s = &tab->syms[i];
		const struct seam_sym *next = s + 1;

		if (s->has_size)
			continue;
		if (i + 1 == tab->count || next->module != s->module) {
			if (s->end > page_after(s->start))
				s->end = page_after(s->start);
		} else if (next->start < s->end) {
			s->end = next->start;
		}
		s->has_size = true;
	}
}

static void drop_duplicates(struct seam_symtab *tab)
{
	size_t kept = 0;

	for (size_t i = 0; i < tab->count; i++) {
		struct seam_sym *last = kept ? &tab->syms[kept - 1] : NULL;
		struct seam_sym *s = &tab->syms[i];

		if (!last || last->start != s->start) {
			tab->syms[kept++] = *s;
			continue;
		}
		if (is_better(tab, last, s)) {
			free(s->shown);
		} else {
			free(last->shown);
			*last = *s;
		}
	}
	tab->count = kept;
}

/* Links each symbol to the nearest one before it that reaches further: the
 * only one worth asking when this one has ended. */
static void link_nested(struct seam_symtab *tab)
{
	uint32_t up;

	for (size_t i = 0; i < tab->count; i++) {
		up = i ? (uint32_t)(i - 1) : NO_SYM;
		while (up != NO_SYM && tab->syms[up].end <= tab->syms[i].end)
			up = tab->syms[up].up;
		tab->syms[i].up = up;
	}
}

void seam_symtab_finish(struct seam_symtab *tab)
{
	if (!tab->count)
		return;
	for (size_t i = 0; i < tab->count; i++)
		tab->syms[i].up = (uint32_t)i;
	qsort(tab->syms, tab->count, sizeof(*tab->syms), compare_starts);
	end_sizeless(tab);
	drop_duplicates(tab);
	link_nested(tab);
}

struct seam_sym *seam_symtab_find(struct seam_symtab *tab, uint64_t addr)
{
	size_t next = SEAM_SEARCH(i, tab->count, tab->syms[i].start <= addr);
	uint32_t at = next ? (uint32_t)(next - 1) : NO_SYM;

	for (int depth = 0; at != NO_SYM && depth < MAX_NESTING; depth++) {
		if (addr < tab->syms[at].end)
			return &tab->syms[at];
		at = tab->syms[at].up;
	}
	return NULL;
}
