/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A recording and what is merged of it. */
#ifndef SEAM_TESTS_MERGED_H
#define SEAM_TESTS_MERGED_H

#include <sys/mman.h>

#include "../perfdata/image.h"
#include "base/spill.h"
#include "inject/inject.h"

struct merged {
	struct seam_injected n;
	int fd;
	uint8_t *p;
	size_t size;
	struct seam_pd_reader *r;
};

static inline void merge_into(struct seam_pd_reader *r, struct merged *m)
{
	m->fd = memfd_create("merged", 0);
	assert_true(m->fd >= 0);
	assert_int_equal(seam_inject(r, m->fd, NULL, &m->n), 0);
	m->size = (size_t)lseek(m->fd, 0, SEEK_END);
	m->p = mmap(NULL, m->size, PROT_READ, MAP_PRIVATE, m->fd, 0);
	assert_true(m->p != MAP_FAILED);
}

/* What is kept in between may be in a file. */
static inline void same_by_file(struct seam_pd_reader *r,
				const struct merged *m)
{
	const size_t from = seam_spill_from;
	struct merged by_file;

	seam_spill_from = 1;
	merge_into(r, &by_file);
	seam_spill_from = from;
	assert_int_equal(by_file.size, m->size);
	assert_memory_equal(by_file.p, m->p, m->size);
	munmap(by_file.p, by_file.size);
	close(by_file.fd);
}

static inline struct merged merge(struct seam_pd_reader *r)
{
	struct seam_errinfo err = {0};
	struct merged m;

	merge_into(r, &m);
	same_by_file(r, &m);
	assert_int_equal(seam_pd_open_mem(m.p, m.size, &m.r, &err), 0);
	assert_false(seam_pd_damage(m.r)->damaged);
	assert_int_equal(seam_pd_damage(m.r)->n_malformed, 0);
	assert_false(seam_inject_needed(m.r));
	return m;
}

static inline void merged_free(struct merged *m)
{
	seam_pd_close(m->r);
	munmap(m->p, m->size);
	close(m->fd);
}

#endif
