// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "unwind/snapshot.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/grow.h"
#include "unwind/backtrace-full.h"

/*
 * Readers are counted in stripes, so that threads do not share a line. A
 * reader counts itself before it takes the pointer. So a stripe that is seen
 * empty after the pointer was replaced holds nobody who has the old one.
 */
#define STRIPES 64
#define PROCESSES 8 /* one forked by the other while readers were counted */
static struct stripe {
	_Alignas(64) unsigned int readers;
} all_stripes[PROCESSES][STRIPES];
static struct stripe *stripes = all_stripes[0];
/* In a child where stripes began anew a walk of the old ones may go on, and
 * there are none. */
static struct seam_memo memos[STRIPES];

static struct seam_snapshot *current;

/* Below: whoever holds this. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct seam_snapshot *retired;
static bool at_fork;

static void lock_all(void)
{
	pthread_mutex_lock(&lock);
}

static void unlock_all(void)
{
	pthread_mutex_unlock(&lock);
}

static uint64_t busy_stripes(void)
{
	uint64_t busy = 0;

	for (unsigned int i = 0; i < STRIPES; i++)
		if (__atomic_load_n(&stripes[i].readers, __ATOMIC_SEQ_CST))
			busy |= 1ULL << i;
	return busy;
}

/*
 * In a child after fork. Readers that are counted were other threads, and are
 * no more; or it was this one, where a handler forks, and it goes on with any
 * snapshot that there is. So all of these stay, and counting begins anew.
 */
static void forked(void)
{
	if (busy_stripes() && stripes != all_stripes[PROCESSES - 1]) {
		stripes += STRIPES;
		for (struct seam_snapshot *s = retired; s; s = s->next)
			s->is_kept = true;
		if (current)
			current->is_kept = true;
	}
	seam_backtrace_full_forked();
	unlock_all();
}

struct seam_reading seam_snapshot_read(void)
{
	uint64_t self = (uintptr_t)__builtin_thread_pointer();
	uint64_t i = (self * 0x9e3779b97f4a7c15) >> 58;
	struct seam_reading reading = {.stripe = &stripes[i].readers};

	/* Who comes later does not find 0 before this one has gone. */
	if (!__atomic_fetch_add(reading.stripe, 1, __ATOMIC_SEQ_CST) &&
	    stripes == all_stripes[0])
		reading.memo = &memos[i];
	reading.snapshot = __atomic_load_n(&current, __ATOMIC_SEQ_CST);
	return reading;
}

void seam_snapshot_done(const struct seam_reading *reading)
{
	__atomic_fetch_sub(reading->stripe, 1, __ATOMIC_RELEASE);
}

static struct seam_snapshot *snapshot_free(struct seam_snapshot *s)
{
	struct seam_snapshot *next;

	if (!s)
		return NULL;
	next = s->next;
	for (size_t i = 0; i < s->n_objects; i++)
		if (!--s->objects[i]->refs)
			seam_object_free(s->objects[i]);
	free(s->objects);
	free(s->codes);
	free(s);
	return next;
}

/* Frees those that nobody can be reading any more. */
static void free_retired(void)
{
	const uint64_t busy = busy_stripes();

	for (struct seam_snapshot **at = &retired; *at;) {
		(*at)->busy &= busy;
		if ((*at)->busy || (*at)->is_kept)
			at = &(*at)->next;
		else
			*at = snapshot_free(*at);
	}
}

struct look {
	struct seam_snapshot *fresh;
	const struct seam_snapshot *old;
	uint64_t vdso; /* 0: listed, or there is none */
};

/* The same object in the snapshot before, or NULL. */
static struct seam_object *known(const struct look *look,
				 const struct seam_loaded *loaded)
{
	uint64_t identity = seam_loaded_identity(loaded);

	for (size_t i = 0; look->old && i < look->old->n_objects; i++) {
		struct seam_object *o = look->old->objects[i];

		if (o->bias == loaded->bias && o->identity == identity)
			return o;
	}
	return NULL;
}

static int add_object(struct look *look, const struct seam_loaded *loaded)
{
	struct seam_snapshot *s = look->fresh;
	struct seam_object *object = known(look, loaded);
	int r = seam_grow(&s->objects, s->n_objects + 1, &s->max_objects,
			  sizeof(struct seam_object *));

	if (!r && !object)
		r = seam_object_make(loaded, &object);
	if (r)
		return r;
	object->refs++;
	s->objects[s->n_objects++] = object;
	return 0;
}

/* Under the dynamic linker's lock: nothing goes while it is looked at. */
static int on_loaded(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct look *look = ctx;
	const struct seam_loaded loaded = {
		.bias = info->dlpi_addr,
		.phdrs = info->dlpi_phdr,
		.n_phdrs = info->dlpi_phnum,
		.is_program = !look->fresh->n_objects,
	};

	if (!look->fresh->n_objects &&
	    size > offsetof(struct dl_phdr_info, dlpi_subs)) {
		look->fresh->adds = info->dlpi_adds;
		look->fresh->subs = info->dlpi_subs;
		if (look->old && look->old->adds == info->dlpi_adds &&
		    look->old->subs == info->dlpi_subs)
			return 1; /* nothing has changed */
	}
	if (seam_loaded_holds(&loaded, look->vdso))
		look->vdso = 0;
	return add_object(look, &loaded);
}

/* Static programs do not list the vDSO. */
static int add_vdso(struct look *look)
{
	const Elf64_Ehdr *ehdr = (const void *)(uintptr_t)look->vdso;
	struct seam_loaded loaded;

	if (!ehdr || memcmp(ehdr->e_ident, ELFMAG, SELFMAG))
		return 0;
	loaded = (struct seam_loaded){
		.phdrs = (const void *)(look->vdso + ehdr->e_phoff),
		.n_phdrs = ehdr->e_phnum,
	};
	for (size_t i = 0; i < loaded.n_phdrs; i++) {
		if (loaded.phdrs[i].p_type != PT_LOAD)
			continue;
		loaded.bias = look->vdso - loaded.phdrs[i].p_vaddr;
		return add_object(look, &loaded);
	}
	return 0;
}

static int compare_codes(const void *va, const void *vb)
{
	const struct seam_code *a = va, *b = vb;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* The stretches of all objects; where two overlap the first has it. */
static int join_codes(struct seam_snapshot *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_objects; i++)
		n += s->objects[i]->n_codes;
	s->codes = calloc(n ? n : 1, sizeof(*s->codes));
	if (!s->codes)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < s->n_objects; i++) {
		const struct seam_object *o = s->objects[i];

		memcpy(s->codes + n, o->codes, o->n_codes * sizeof(*s->codes));
		n += o->n_codes;
	}
	qsort(s->codes, n, sizeof(*s->codes), compare_codes);
	for (size_t i = 0; i < n; i++) {
		struct seam_code *code = &s->codes[i];
		uint64_t before = s->n_codes ? s->codes[s->n_codes - 1].end : 0;

		if (code->start < before)
			code->start = before;
		if (code->start < code->end)
			s->codes[s->n_codes++] = *code;
	}
	return 0;
}

static void publish(struct seam_snapshot *fresh)
{
	struct seam_snapshot *old = current;

	__atomic_store_n(&current, fresh, __ATOMIC_SEQ_CST);
	if (!old)
		return;
	old->busy = ~0ULL;
	old->next = retired;
	retired = old;
}

static int refresh(void)
{
	static uint64_t serial;
	struct look look = {.old = current};
	int r;

	look.vdso = getauxval(AT_SYSINFO_EHDR);
	look.fresh = calloc(1, sizeof(*look.fresh));
	if (!look.fresh)
		return -ENOMEM;
	look.fresh->serial = ++serial;
	memset(look.fresh->nodes.callers, 0xff,
	       sizeof(look.fresh->nodes.callers));
	r = dl_iterate_phdr(on_loaded, &look);
	if (r == 1) {
		free(look.fresh);
		return 0;
	}
	if (!r)
		r = add_vdso(&look);
	if (!r)
		r = join_codes(look.fresh);
	if (r) {
		snapshot_free(look.fresh);
		return r;
	}
	publish(look.fresh);
	return 1;
}

int seam_snapshot_refresh(bool wait)
{
	int r, cancel_state;

	/* Files are opened; a thread that ends there would keep the lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	if (wait) {
		pthread_mutex_lock(&lock);
	} else if (pthread_mutex_trylock(&lock)) {
		pthread_setcancelstate(cancel_state, NULL);
		return -EBUSY;
	}
	/* A child must not begin with a lock that nobody in it holds. */
	if (!at_fork)
		at_fork = !pthread_atfork(lock_all, unlock_all, forked);
	r = refresh();
	free_retired();
	pthread_mutex_unlock(&lock);
	pthread_setcancelstate(cancel_state, NULL);
	return r;
}
