/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* This process with code of no use, whose sections are in its own list. */
#ifndef SEAM_TESTS_JIT_WORLD_H
#define SEAM_TESTS_JIT_WORLD_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "../jit/made.h"
#include "base/clock.h"
#include "core/jit-registry.h"
#include "process/jit.h"
#include "seam/jit.h"

#define CODE_SIZE 32
#define PLACES 64

struct made {
	uint8_t code[CODE_SIZE];
	struct made_section section;
};
static struct made all[PLACES];

struct world {
	struct seam_jit_reader reader;
	struct seam_jit jit;
};

static inline int set_up(void **state)
{
	static struct world w;

	w = (struct world){.jit.reader = &w.reader};
	*state = &w;
	return 0;
}

static inline int tear_down(void **state)
{
	struct world *w = *state;

	seam_jit_fini(&w->jit);
	seam_peek_fini(&w->reader.peek);
	assert_int_equal(w->reader.stats.bytes, 0);
	return 0;
}

static inline void make(int at, uint8_t frame)
{
	all[at].section =
		made_section((int64_t)offsetof(struct made, code) -
				     (int64_t)offsetof(struct made, section),
			     CODE_SIZE, frame);
}

static inline void add(int at, uint8_t frame)
{
	make(at, frame);
	assert_int_equal(seam_jit_add(&all[at].section, sizeof(all[at].section),
				      all[at].code, CODE_SIZE, NULL),
			 0);
}

static inline uint64_t code_of(int at)
{
	return (uint64_t)(uintptr_t)all[at].code;
}

static inline uint64_t section_of(int at)
{
	return (uint64_t)(uintptr_t)&all[at].section;
}

static inline uint32_t self(void)
{
	return (uint32_t)getpid();
}

/* The CFA's offset from rsp at byte 8 of a function; 0: no rule. */
static inline int cfa(const struct seam_jit *j, int at)
{
	const struct seam_jit_table *t = seam_jit_find(j, code_of(at) + 8);
	struct seam_rule rule;

	if (!t || seam_sframe_find(&t->sf, code_of(at) + 8 - t->sframe, &rule))
		return 0;
	return rule.cfa.off;
}

static inline void scan(struct world *w)
{
	assert_int_equal(seam_jit_scan(&w->jit, self()), 0);
}

/* A list of another maker, in memory of the same name. */
static inline struct seam_jit_registry *lie(size_t size)
{
	int fd = memfd_create(SEAM_JIT_NAME, 0);
	struct seam_jit_registry *r;

	assert_true(fd >= 0 && !ftruncate(fd, (off_t)size));
	r = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_true(r != MAP_FAILED);
	close(fd);
	r->magic = SEAM_JIT_MAGIC;
	r->version = SEAM_JIT_VERSION;
	r->entry_size = sizeof(r->entries[0]);
	return r;
}

static inline void set_entry(struct seam_jit_registry *r, uint64_t i, int at,
			     uint64_t id)
{
	make(at, 16);
	r->entries[i] = (struct seam_jit_entry){
		.code = code_of(at),
		.code_size = CODE_SIZE,
		.sframe = section_of(at),
		.sframe_size = sizeof(struct made_section),
		.id = id,
	};
}

#endif
