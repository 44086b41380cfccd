// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "offline/unwind.h"

#include <errno.h>
#include <string.h>

#include "base/index.h"
#include "base/maps-path.h"
#include "core/arch.h"
#include "core/err.h"
#include "core/wire.h"
#include "offline/entered.h"
#include "offline/precise.h"
#include "seam/tracer.h"
#include "unwind/skid.h"

#define REG_IP 16
#define USER_END (UINT64_C(1) << 56) /* with five levels of pages */

int seam_offline_init(struct seam_offline *o)
{
	o->decoder = NULL;
	memset(o->entered, 0, sizeof(o->entered));
	return seam_offline_files_init(&o->files);
}

void seam_offline_fini(struct seam_offline *o)
{
	seam_decoder_free(o->decoder);
	seam_offline_files_fini(&o->files);
}

/* --- by full CFI: with the lock held --- */

struct full {
	struct seam_offline *o;
	const struct seam_offline_copy *copy;
	struct seam_offline_file *found; /* by find_mapping, last */
};

/* Return: whether code is mapped there; *ret: NULL: nothing is known of it. */
static bool image_at(struct full *full, uint64_t avma, struct seam_image **ret,
		     uint64_t *ret_off)
{
	struct seam_offline_file *f = NULL;

	*ret = NULL;
	if (!full->copy->find(full->copy->ctx, avma, &f, ret_off))
		return false;
	if (f && seam_offline_have_locked(&full->o->files, f))
		*ret = seam_offline_image(&full->o->files, f);
	full->found = f;
	return true;
}

static const struct seam_derived *derive(void *ctx)
{
	struct full *full = ctx;

	return seam_offline_derived(&full->o->files, full->found);
}

static int find_mapping(void *ctx, uint64_t avma, struct seam_mapping *ret)
{
	const struct full *full = ctx;
	struct seam_image *image;
	uint64_t off, svma;

	*ret = (struct seam_mapping){0};
	if (!image_at(ctx, avma, &image, &off))
		return -ENOENT;
	ret->is_probe_page =
		full->found && seam_maps_is_probe_page(full->found->path);
	if (!image || !image->elf ||
	    !seam_elf_off_to_svma(image->elf, off, &svma))
		return 0;
	ret->bias = avma - svma;
	ret->elf = image->elf;
	ret->cfi = image->cfi;
	ret->derive = derive;
	ret->ctx = ctx;
	return 0;
}

static size_t read_code(void *ctx, uint64_t avma, enum seam_dump_when when,
			void *to, size_t size)
{
	const struct full *full = ctx;

	(void)when;
	return seam_offline_code_at(full->o, full->copy, avma, to, size);
}

static bool area_at(void *ctx, size_t i, struct seam_entered_area *ret)
{
	const struct full *full = ctx;
	struct seam_offline_area area;

	if (!full->copy->area || !full->copy->area(full->copy->ctx, i, &area))
		return false;
	*ret = (struct seam_entered_area){area.start, area.end, area.off,
					  area.file};
	/* Nobody's calls are bound to the vDSO's functions but the C
	 * library's, which are by pointer; nor to the page for probes. */
	if (area.file && (!strcmp(area.file->path, "[vdso]") ||
			  seam_maps_is_probe_page(area.file->path)))
		ret->file = NULL;
	return true;
}

static const struct seam_links *links_of(void *ctx, void *file)
{
	const struct full *full = ctx;

	if (!seam_offline_have_locked(&full->o->files, file))
		return NULL;
	return seam_offline_links(&full->o->files, file);
}

static size_t unwind_precise(struct full *full, struct seam_dump *dump,
			     struct seam_offline_stack *ret)
{
	struct seam_skid skid = {
		.decoder = seam_offline_decoder(full->o),
		.ip = full->copy->ip,
		.is_ip_lost = full->copy->ip == dump->regs.r[REG_IP],
		.outcome = &ret->skid,
	};

	if (!skid.decoder) {
		ret->ips[0] = skid.ip;
		ret->methods[0] = SEAM_METHOD_NONE;
		ret->end = SEAM_IRREVERSIBLE;
		ret->skid = (struct seam_skid_outcome){SEAM_SKID_IRREVERSIBLE,
						       SEAM_SKID_KIND_UNKNOWN};
		return 1;
	}
	return seam_skid_unwind(&skid, dump, ret->ips, SEAM_OFFLINE_FRAMES,
				&ret->end);
}

static void unwind_full(struct full *full, struct seam_dump *dump,
			bool is_precise, struct seam_offline_stack *ret)
{
	dump->find = find_mapping;
	dump->may_be_probed = full->o->files.has_probe_page;
	dump->code = read_code;
	dump->ctx = full;
	dump->order = SEAM_UNWIND_TABLES | SEAM_UNWIND_FP;
	dump->methods = ret->methods;
	dump->reach = &ret->reach;
	ret->by_cfi = true;
	pthread_mutex_lock(&full->o->files.lock);
	ret->n = is_precise ? unwind_precise(full, dump, ret)
			    : seam_dump_unwind(dump, ret->ips,
					       SEAM_OFFLINE_FRAMES, &ret->end);
	pthread_mutex_unlock(&full->o->files.lock);
}

/* --- what came of it --- */

static bool is_mapped(const struct seam_offline_copy *copy, uint64_t avma,
		      struct seam_offline_file **ret)
{
	uint64_t off;

	*ret = NULL;
	return copy->find(copy->ctx, avma, ret, &off);
}

static bool is_no_stack(const struct seam_offline_copy *copy, uint64_t sp)
{
	struct seam_offline_file *f;

	return !sp || sp >= USER_END || (is_mapped(copy, sp, &f) && f);
}

/*
 * In the kernel, the registers are those that the task entered it with, if
 * they have been saved. Where they have not yet, or not all, SP is the one of
 * an earlier entry. It shows where the leaf's rule leads: to no multiple of 8,
 * or to a word that is no code.
 */
static bool is_contradicted(const struct seam_offline_copy *copy,
			    const struct seam_offline_stack *s)
{
	struct seam_offline_file *f;

	if (!is_mapped(copy, s->ips[0], &f) || !f)
		return false;
	return (s->n == 1 && s->end == SEAM_BAD_CFA) ||
	       (s->n == 2 && s->end == SEAM_NO_TABLE &&
		!is_mapped(copy, s->ips[1] - 1, &f));
}

/* Where it is kept, and as what, whether they are of one call. */
struct answer {
	uint64_t *at, hash;
};

/* pair: the files and offsets of a leaf and a return address. maps: 0: they
 * are so in whatever mappings. */
static struct answer answer_of(struct seam_offline *o, const uint64_t pair[4],
			       uint64_t maps)
{
	uint64_t hash = seam_hash(SEAM_HASH_START, pair, 4 * sizeof(*pair));

	hash = seam_hash(hash, &maps, sizeof(maps)) | 1;
	return (struct answer){&o->entered[(hash >> 1) % SEAM_OFFLINE_ENTERED],
			       hash};
}

/* Return: whether it is known. */
static bool recall(const struct answer *a, bool *ret_is_other)
{
	uint64_t was = __atomic_load_n(a->at, __ATOMIC_RELAXED);

	if ((was | 1) != a->hash)
		return false;
	*ret_is_other = was == a->hash;
	return true;
}

static void keep(const struct answer *a, bool is_other)
{
	__atomic_store_n(a->at, a->hash - !is_other, __ATOMIC_RELAXED);
}

static bool ask(struct full *full, uint64_t leaf, uint64_t ra,
		const uint64_t pair[4])
{
	const struct seam_entered e = {find_mapping, read_code, full, area_at,
				       links_of};
	const uint32_t *maps = full->copy->maps;
	const uint64_t here = maps[0] | (uint64_t)maps[1] << 32;
	const struct answer any = answer_of(full->o, pair, 0),
			    now = answer_of(full->o, pair, here);
	bool is_other, by_maps;

	if (recall(&any, &is_other) || (here && recall(&now, &is_other)))
		return is_other;
	pthread_mutex_lock(&full->o->files.lock);
	is_other = seam_entered_otherwise(&e, leaf, ra, &by_maps);
	pthread_mutex_unlock(&full->o->files.lock);
	if (!by_maps)
		keep(&any, is_other);
	else if (here)
		keep(&now, is_other);
	return is_other;
}

/* Or it is a word that is code, but where the leaf cannot return to. */
static bool is_another_call(struct full *full, const struct seam_dump *dump,
			    const struct seam_offline_stack *s)
{
	const struct seam_offline_copy *copy = full->copy;
	struct seam_offline_file *f[2];
	uint64_t leaf, ra, pair[4] = {0};

	if (s->n < 2 || s->methods[1] == SEAM_METHOD_FP)
		return false;
	leaf = s->ips[0] - dump->syscall;
	ra = s->ips[1];
	if (!copy->find(copy->ctx, leaf, &f[0], &pair[1]) || !f[0] ||
	    !copy->find(copy->ctx, ra - 1, &f[1], &pair[3]) || !f[1])
		return false;
	/* What it is called from is a nop in the file. */
	if (seam_maps_is_probe_page(f[0]->path))
		return false;
	pair[0] = (uintptr_t)f[0];
	pair[2] = (uintptr_t)f[1];
	return ask(full, leaf, ra, pair);
}

static void blame_file(const struct seam_offline_copy *copy,
		       const struct seam_offline_stack *s)
{
	struct seam_offline_file *f;

	if (s->end == SEAM_NO_TABLE && s->n &&
	    is_mapped(copy, s->ips[s->n - 1] - (s->n > 1), &f) && f &&
	    seam_offline_problem(f) != SEAM_OFFLINE_FINE)
		__atomic_add_fetch(&f->stacks, 1, __ATOMIC_RELAXED);
}

static void unsure(struct seam_offline_stack *ret)
{
	ret->n = 0;
	ret->end = SEAM_UNSURE;
	ret->is_cut = false;
}

/*
 * Registers of some moment behind the ip's. In the same frame, as they mostly
 * are, they lead to the same callers, but nothing proves it; where they lead to
 * where the ip's function cannot return to, they are not.
 */
static void judge_later(struct full *full, const struct seam_dump *dump,
			struct seam_offline_stack *ret)
{
	if (is_contradicted(full->copy, ret) ||
	    is_another_call(full, dump, ret)) {
		ret->n = 1;
		ret->end = SEAM_SKID_MOMENT;
		ret->is_cut = false;
		if (!ret->skid.fate)
			ret->skid.kind = SEAM_SKID_KIND_UNKNOWN;
		ret->skid.fate = SEAM_SKID_MOMENT_END;
	} else if (ret->end == SEAM_OUTERMOST) {
		ret->end = SEAM_UNPROVEN;
	}
}

static void judge(struct full *full, const struct seam_dump *dump,
		  struct seam_offline_stack *ret)
{
	const struct seam_offline_copy *copy = full->copy;
	const struct seam_perf_user *user = &copy->user;
	struct seam_offline_file *f;

	/* The program that made the call is gone; else its mapping was not told
	 * of. */
	if (ret->n == 1 && ret->end == SEAM_NO_TABLE && dump->syscall &&
	    copy->may_be_exec && !is_mapped(copy, ret->ips[0], &f))
		ret->end = SEAM_EXEC;
	ret->is_cut = ret->end == SEAM_UNREADABLE &&
		      dump->stack_size >= user->stack_room &&
		      ret->reach.missing > dump->stack_size &&
		      ret->reach.missing < SEAM_OFFLINE_STACK_MAX;
	if (user->in_kernel &&
	    (is_contradicted(copy, ret) || is_another_call(full, dump, ret)))
		unsure(ret);
	if ((copy->is_later && !ret->skid.fate) ||
	    (copy->may_be_later && ret->skid.fate != SEAM_SKID_MOMENT_END))
		judge_later(full, dump, ret);
	blame_file(copy, ret);
}

/* The sample's ip and the registers' are of two moments, whoever says so. */
static bool is_of_two(const struct seam_offline_copy *copy,
		      const struct seam_dump *dump)
{
	return !copy->user.in_kernel && copy->ip &&
	       copy->ip != dump->regs.r[REG_IP];
}

void seam_offline_unwind(struct seam_offline *o,
			 const struct seam_offline_copy *copy,
			 struct seam_offline_stack *ret)
{
	struct full full = {.o = o, .copy = copy};
	struct seam_dump dump;
	int err = seam_dump_from_perf(&copy->user, &dump);
	bool is_precise;

	ret->n = 0;
	ret->sp = 0;
	ret->is_cut = ret->by_cfi = false;
	ret->skid = (struct seam_skid_outcome){0};
	ret->reach = (struct seam_dump_reach){0};
	if (err) {
		ret->end = err == -ENODATA ? SEAM_NO_USER : SEAM_NO_RULE;
		return;
	}
	/* What lacks behind it is named by how much: is_cut. */
	dump.cut = false;
	ret->sp = dump.stack_avma;
	if (copy->user.in_kernel &&
	    (copy->is_doubted || dump.regs.r[REG_IP] >= USER_END ||
	     is_no_stack(copy, ret->sp))) {
		unsure(ret);
		return;
	}
	is_precise =
		(copy->is_precise && !copy->is_later) || is_of_two(copy, &dump);
	if (!(is_precise ? seam_offline_precise(o, copy, &dump, ret)
			 : seam_offline_step(o, copy, &dump, ret))) {
		ret->reach = (struct seam_dump_reach){0};
		unwind_full(&full, &dump, is_precise, ret);
	}
	judge(&full, &dump, ret);
}
