// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "process/code.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 4096

struct seam_code_page {
	uint64_t avma; /* valid if .known */
	bool known, there;
	bool of_file; /* as it always was */
	bool was_peeked; /* at the process's memory, whatever came of it */
	uint8_t bytes[PAGE];
};

static bool from_file(struct seam_processes *ps, struct seam_process *p,
		      uint64_t avma, uint8_t *to)
{
	struct seam_map *map = seam_process_map(ps, p, avma);
	struct seam_process_bytes at = {.to = to, .size = PAGE};
	ssize_t n;

	if (!map || map->path[0] != '/')
		return false;
	at.off = avma - map->start + map->off;
	n = seam_process_read(ps, p, map, &at);
	if (n <= 0)
		return false;
	memset(to + n, 0, PAGE - (size_t)n);
	return true;
}

/* The kernel's, which nobody changes, as long as the process is there to show
 * it. For 64-bit processes there are rules, and no code is asked for. */
static bool from_vdso(struct seam_processes *ps, struct seam_process *p,
		      uint64_t avma, uint8_t *to)
{
	struct seam_map *map = seam_process_map(ps, p, avma);

	return map && !strcmp(map->path, "[vdso]") &&
	       !seam_jit_peek(&p->jit, p->pid, avma, to, PAGE);
}

static const struct seam_code_page *
page_at(struct seam_code_pages *c, struct seam_processes *ps,
	struct seam_process *p, uint64_t avma, enum seam_dump_when when)
{
	struct seam_code_page *page;

	if (!c->pages)
		c->pages = calloc(SEAM_CODE_PAGES, sizeof(*c->pages));
	if (!c->pages)
		return NULL;
	page = &c->pages[avma / PAGE % SEAM_CODE_PAGES];
	if (!page->known || page->avma != avma) {
		page->known = true;
		page->was_peeked = false;
		page->avma = avma;
		page->of_file = from_file(ps, p, avma, page->bytes) ||
				from_vdso(ps, p, avma, page->bytes);
		page->there = page->of_file;
	}
	if (!page->there && !page->was_peeked && when == SEAM_DUMP_NOW) {
		page->was_peeked = true;
		page->there = !seam_jit_peek(&p->jit, p->pid, avma, page->bytes,
					     PAGE);
	}
	return page->of_file || (page->there && when == SEAM_DUMP_NOW) ? page
								       : NULL;
}

size_t seam_code_read(struct seam_code_pages *c, struct seam_processes *ps,
		      struct seam_process *p, uint64_t avma,
		      enum seam_dump_when when, void *to, size_t size)
{
	size_t done = 0;

	while (p && done < size) {
		uint64_t at = avma + done, off = at % PAGE;
		size_t n = size - done < PAGE - off ? size - done : PAGE - off;
		const struct seam_code_page *page =
			page_at(c, ps, p, at - off, when);

		if (!page)
			break;
		memcpy((uint8_t *)to + done, page->bytes + off, n);
		done += n;
	}
	return done;
}

void seam_code_forget(struct seam_code_pages *c)
{
	for (size_t i = 0; c->pages && i < SEAM_CODE_PAGES; i++)
		c->pages[i].known = false;
}

void seam_code_fini(struct seam_code_pages *c)
{
	free(c->pages);
	c->pages = NULL;
}
