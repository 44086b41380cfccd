// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The calling process's own list of sections, for others to find. */
#include "seam/jit.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/jit-registry.h"
#include "core/sframe-format.h"
#include "elf/fail.h"
#include "sframe/verify.h"

#define FIRST_SIZE 16384 /* bytes; 340 entries */

static struct {
	pthread_mutex_t lock;
	struct seam_jit_registry *r; /* NULL: nothing was ever added */
	size_t size; /* of its mapping */
	uint64_t last_id;
} jit = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Another thread may be at work on the list while one forks. */
static void lock_it(void)
{
	pthread_mutex_lock(&jit.lock);
}

static void unlock_it(void)
{
	pthread_mutex_unlock(&jit.lock);
}

static void register_fork(void)
{
	pthread_atfork(lock_it, unlock_it, unlock_it);
}

/*
 * Anonymous memory could have a name as well, but not on every kernel. The
 * memory is private: the file gives it no more than its name, and what one
 * process of a fork writes the other does not see.
 */
static struct seam_jit_registry *map_registry(size_t size)
{
	int fd = memfd_create(SEAM_JIT_NAME, MFD_CLOEXEC);
	void *at = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (!ftruncate(fd, (off_t)size))
		at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd,
			  0);
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

/* Orders what readers of our memory see. */
static void set_changes(struct seam_jit_registry *r, uint64_t changes)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&r->changes, changes, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* A larger one takes the place of the old one: for a moment both are there,
 * and say the same. It is none, by its magic, until it has all. */
static int grow(void)
{
	size_t size = jit.r ? jit.size * 2 : FIRST_SIZE;
	struct seam_jit_registry *r = map_registry(size);

	if (!r)
		return -ENOMEM;
	if (jit.r)
		memcpy(&r->version, &jit.r->version,
		       jit.size - offsetof(struct seam_jit_registry, version));
	r->version = SEAM_JIT_VERSION;
	r->entry_size = sizeof(r->entries[0]);
	__atomic_store_n(&r->magic, SEAM_JIT_MAGIC, __ATOMIC_SEQ_CST);
	if (jit.r) {
		__atomic_store_n(&jit.r->magic, 0, __ATOMIC_SEQ_CST);
		munmap(jit.r, jit.size);
	}
	jit.r = r;
	jit.size = size;
	return 0;
}

static int make_room(void)
{
	size_t need = sizeof(*jit.r);

	if (jit.r)
		need += (jit.r->num + 1) * sizeof(jit.r->entries[0]);
	if (jit.r && jit.r->num >= SEAM_JIT_MAX_ENTRIES)
		return -ENOSPC;
	return jit.r && need <= jit.size ? 0 : grow();
}

/* The first entry at or behind an address. */
static size_t search(uint64_t code)
{
	size_t lo = 0, hi = jit.r ? jit.r->num : 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (jit.r->entries[mid].code < code)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool overlaps(size_t at, const struct seam_jit_entry *new)
{
	const struct seam_jit_entry *v = jit.r ? jit.r->entries : NULL;

	if (v && at && new->code - v[at - 1].code < v[at - 1].code_size)
		return true;
	return v && at < jit.r->num && v[at].code - new->code < new->code_size;
}

/* Says what has changed to whoever watches now. That is seen before the
 * caller goes on. */
static void tell(enum seam_jit_change what, uint64_t code, uint64_t size)
{
	const int saved_errno = errno;

	prctl(SEAM_PRCTL_JIT, (unsigned long)what, code, size, 0UL);
	errno = saved_errno;
}

/* Who reads amid a change, of a program that may not run for long, sees of it
 * which sections are still there. So each entry is at any moment whole, in one
 * place or in two, which memmove does not promise. */
static void move(struct seam_jit_entry *to, const struct seam_jit_entry *from)
{
	*to = *from;
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void set_num(struct seam_jit_registry *r, uint64_t num)
{
	__atomic_store_n(&r->num, num, __ATOMIC_SEQ_CST);
}

static void insert(struct seam_jit_registry *r, size_t at,
		   const struct seam_jit_entry *new)
{
	struct seam_jit_entry *v = r->entries;
	size_t num = r->num;

	set_changes(r, r->changes + 1);
	move(&v[num], num > at ? &v[num - 1] : new);
	set_num(r, num + 1);
	for (size_t i = num; i > at + 1; i--)
		move(&v[i - 1], &v[i - 2]);
	move(&v[at], new);
	set_changes(r, r->changes + 1);
}

static void take_out(struct seam_jit_registry *r, size_t at)
{
	struct seam_jit_entry *v = r->entries;

	set_changes(r, r->changes + 1);
	for (size_t i = at; i + 1 < r->num; i++)
		move(&v[i], &v[i + 1]);
	set_num(r, r->num - 1);
	set_changes(r, r->changes + 1);
}

static int add_locked(struct seam_jit_entry *new)
{
	size_t at = search(new->code);
	int err = overlaps(at, new) ? -EEXIST : make_room();

	if (err)
		return err;
	new->id = ++jit.last_id;
	new->since_ns = seam_now_ns();
	insert(jit.r, at, new);
	return 0;
}

static int check(const struct seam_jit_entry *new, struct seam_errinfo *reterr)
{
	const struct seam_sframe_limits limits = {
		.abi = SEAM_SFRAME_ABI_AMD64,
		.section_addr = new->sframe,
		.text_start = new->code,
		.text_end = new->code + new->code_size,
	};

	if (!new->code || !new->sframe || !new->code_size ||
	    new->code + new->code_size < new->code ||
	    new->sframe + new->sframe_size < new->sframe)
		return seam_elf_fail(reterr, 0, 0, "code",
				     "no such range of addresses");
	return seam_sframe_verify((const uint8_t *)(uintptr_t) new->sframe,
				  new->sframe_size, &limits, reterr);
}

int seam_jit_add(const void *sframe, size_t sframe_size, const void *code,
		 size_t code_size, struct seam_errinfo *reterr)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct seam_jit_entry new = {
		.code = (uint64_t)(uintptr_t)code,
		.code_size = code_size,
		.sframe = (uint64_t)(uintptr_t)sframe,
		.sframe_size = sframe_size,
	};
	const int saved_errno = errno;
	int err = check(&new, reterr);

	if (err)
		return err;
	pthread_once(&once, register_fork);
	lock_it();
	err = add_locked(&new);
	unlock_it();
	if (!err)
		tell(SEAM_JIT_ADDED, new.code, new.code_size);
	errno = saved_errno;
	return err;
}

int seam_jit_remove(const void *code)
{
	uint64_t addr = (uint64_t)(uintptr_t)code, size = 0;
	int err = -ENOENT;
	size_t at;

	lock_it();
	at = search(addr);
	if (jit.r && at < jit.r->num && jit.r->entries[at].code == addr) {
		size = jit.r->entries[at].code_size;
		take_out(jit.r, at);
		err = 0;
	}
	unlock_it();
	if (!err)
		tell(SEAM_JIT_REMOVED, addr, size);
	return err;
}
