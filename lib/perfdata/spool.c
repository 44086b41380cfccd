// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Bytes that need not stay in memory, in a file without a name. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/grow.h"
#include "perfdata/reader-priv.h"
#include "perfdata/writer-priv.h"

/* The first of what is decompressed stays in memory. */
#define KEEP_MAX (32ULL << 20)
#define SEGMENT_MIN (64u << 20)

/* One more segment, for len bytes or more. What is mapped is there to read
 * once it was written, and stays where it is. */
static int add_segment(struct pd_spool *s, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = len < SEGMENT_MIN ? SEGMENT_MIN
					: (len + page - 1) / page * page;
	void *p;

	if (!s->open) {
		s->fd = seam_spill_file();
		if (s->fd < 0)
			return s->fd;
		s->open = true;
	}
	if (seam_grow(&s->segments, s->n + 1, &s->cap, sizeof(*s->segments)))
		return -ENOMEM;
	if (ftruncate(s->fd, (off_t)(s->size + size)))
		return -errno;
	p = mmap(NULL, size, PROT_READ, MAP_SHARED, s->fd, (off_t)s->size);
	if (p == MAP_FAILED)
		return -errno;
	s->segments[s->n++] = (struct pd_segment){p, size};
	s->size += size;
	s->used = 0;
	return 0;
}

static int spool(struct pd_spool *s, const uint8_t *p, size_t len,
		 uint8_t **ret)
{
	struct pd_segment *last = s->n ? &s->segments[s->n - 1] : NULL;
	int rc = last && len <= last->size - s->used ? 0 : add_segment(s, len);

	if (rc)
		return rc;
	last = &s->segments[s->n - 1];
	rc = seam_pd_write_at(s->fd, p, len, s->size - last->size + s->used);
	if (rc)
		return rc;
	*ret = last->p + s->used;
	s->used += len;
	return 0;
}

int seam_pd_keep(struct seam_pd_reader *r, const uint8_t *p, size_t len,
		 struct pd_chunk *ret)
{
	/* Where no file can be had memory may do. */
	if (!r->stream && r->inflated + len > KEEP_MAX &&
	    !spool(&r->spool, p, len, &ret->p)) {
		ret->len = len;
		return 0;
	}
	ret->p = malloc(len);
	if (!ret->p)
		return -ENOMEM;
	memcpy(ret->p, p, len);
	ret->len = len;
	ret->allocated = true;
	return 0;
}

void seam_pd_spool_let_go(struct pd_spool *s)
{
	for (size_t i = 0; i < s->n; i++)
		madvise(s->segments[i].p, s->segments[i].size, MADV_DONTNEED);
}

void seam_pd_spool_fini(struct pd_spool *s)
{
	for (size_t i = 0; i < s->n; i++)
		munmap(s->segments[i].p, s->segments[i].size);
	if (s->open)
		close(s->fd);
	free(s->segments);
}
