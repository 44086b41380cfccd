// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/code.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "seam/unwind.h"

#define PAGE 4096

struct seam_code_page {
	uint64_t avma; /* valid if .known */
	bool known, there;
	bool of_file; /* as it always was */
	uint8_t bytes[PAGE];
};

static bool from_process(uint32_t pid, uint64_t avma, uint8_t *to)
{
	pid_t id = (pid_t)pid;

	return !seam_read_process(&id, avma, to, PAGE);
}

static bool from_file(struct seam_processes *ps, struct seam_process *p,
		      uint64_t avma, uint8_t *to)
{
	struct seam_map *map = p ? seam_process_map(ps, p, avma) : NULL;
	ssize_t n;
	int fd;

	if (!map || !map->path || map->path[0] != '/')
		return false;
	fd = seam_process_open(p, map);
	if (fd < 0)
		return false;
	n = pread(fd, to, PAGE, (off_t)(avma - map->start + map->off));
	close(fd);
	if (n <= 0)
		return false;
	memset(to + n, 0, PAGE - (size_t)n);
	return true;
}

static const struct seam_code_page *page_at(struct seam_code_pages *c,
					    struct seam_processes *ps,
					    struct seam_process *p,
					    uint32_t pid, uint64_t avma,
					    enum seam_dump_when when)
{
	struct seam_code_page *page;

	if (!c->pages)
		c->pages = calloc(SEAM_CODE_PAGES, sizeof(*c->pages));
	if (!c->pages)
		return NULL;
	page = &c->pages[avma / PAGE % SEAM_CODE_PAGES];
	if (!page->known || page->avma != avma) {
		page->known = true;
		page->avma = avma;
		page->of_file = from_file(ps, p, avma, page->bytes);
		page->there = page->of_file;
	}
	if (!page->there && when == SEAM_DUMP_NOW)
		page->there = from_process(pid, avma, page->bytes);
	return page->of_file || (page->there && when == SEAM_DUMP_NOW) ? page
								       : NULL;
}

size_t seam_code_read(struct seam_code_pages *c, struct seam_processes *ps,
		      struct seam_process *p, uint32_t pid, uint64_t avma,
		      enum seam_dump_when when, void *to, size_t size)
{
	size_t done = 0;

	while (done < size) {
		uint64_t at = avma + done, off = at % PAGE;
		size_t n = size - done < PAGE - off ? size - done : PAGE - off;
		const struct seam_code_page *page =
			page_at(c, ps, p, pid, at - off, when);

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
