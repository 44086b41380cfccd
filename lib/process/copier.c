// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "process/copier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/maps-path.h"
#include "core/arch.h"
#include "core/err.h"
#include "unwind/refused.h"
#include "unwind/skid.h"

struct find_ctx {
	struct seam_processes *processes;
	struct seam_process *process;
	struct seam_code_pages *code;
	uint64_t time_ns; /* of the copy */
	uint64_t opening_ns; /* spent on reading files */
	/* Of the mapping found last: what is wrong with its CFI, if anything
	 * is. */
	struct seam_map *map;
	struct seam_errinfo why;
};

static struct seam_map *find_map(struct find_ctx *f, uint64_t avma)
{
	const uint64_t images = f->processes->images->stats.n;
	const uint64_t began_ns = seam_now_ns();
	struct seam_map *map = seam_process_map(f->processes, f->process, avma);

	if (f->processes->images->stats.n != images)
		f->opening_ns += seam_now_ns() - began_ns;
	return map;
}

static const struct seam_jit_table *table_of(struct find_ctx *f, uint64_t avma)
{
	struct seam_jit *jit = &f->process->jit;

	return f->processes->hears_made
		       ? seam_jit_find_at(jit, avma, f->time_ns)
		       : seam_jit_find_seen(jit, f->process->pid, avma,
					    f->time_ns);
}

/* Code that was made at run time; its maker may have made more meanwhile. */
static bool find_made(struct find_ctx *f, uint64_t avma,
		      struct seam_mapping *ret)
{
	struct seam_jit *jit = &f->process->jit;
	const struct seam_jit_table *t = table_of(f, avma);
	bool changed;

	if (!t && !seam_jit_find(jit, avma) &&
	    !seam_jit_rescan(jit, f->process->pid, &changed) && changed)
		t = table_of(f, avma);
	/* There may have been other code then. */
	if (!t)
		return false;
	ret->sframe = &t->sf;
	ret->sframe_avma = t->sframe;
	return true;
}

static void tell_why(struct find_ctx *f)
{
	struct seam_refusals *refused = f->processes->images->refused;
	const struct seam_image *im = f->map ? f->map->image : NULL;

	if (im && refused && f->why.reason[0])
		seam_refuse_known(refused, f->map->path,
				  &(struct seam_refused_id){im->dev, im->ino,
							    im->ctime_ns},
				  1, &f->why);
	f->why.reason[0] = 0;
}

static int find_mapping(void *ctx, uint64_t avma, struct seam_mapping *ret)
{
	struct find_ctx *f = ctx;
	struct seam_map *map = NULL;
	uint64_t svma;

	tell_why(f);
	if (f->process)
		map = find_map(f, avma);
	f->map = map;
	memset(ret, 0, sizeof(*ret));
	ret->is_probe_page = map && seam_maps_is_probe_page(map->path);
	if (ret->is_probe_page)
		return 0;
	if (!map || !map->image || !map->image->elf ||
	    !seam_elf_off_to_svma(map->image->elf, avma - map->start + map->off,
				  &svma))
		return (f->process && find_made(f, avma, ret)) || map ? 0
								      : -ENOENT;
	ret->bias = avma - svma;
	ret->elf = map->image->elf;
	ret->cfi = map->image->cfi;
	ret->why = &f->why;
	ret->derived = map->image->derived;
	return 0;
}

static size_t read_code(void *ctx, uint64_t avma, enum seam_dump_when when,
			void *to, size_t size)
{
	struct find_ctx *f = ctx;

	return seam_code_read(f->code, f->processes, f->process, avma, when, to,
			      size);
}

static void set_dump(struct seam_dump *dump, const struct seam_wire_copy *copy,
		     struct find_ctx *ctx)
{
	memset(dump, 0, sizeof(*dump));
	memcpy(dump->regs.r, copy->regs, sizeof(dump->regs.r));
	dump->regs.valid = (1u << SEAM_CFI_REGS) - 1;
	dump->stack_avma = copy->stack;
	dump->stack = copy->bytes;
	dump->stack_size = copy->size;
	dump->cut = copy->cut;
	dump->syscall = copy->flags & SEAM_STACK_SYSCALL;
	dump->find = find_mapping;
	dump->ctx = ctx;
	dump->code = read_code;
	dump->is_32 = copy->flags & SEAM_STACK_32BIT;
	dump->may_be_probed = ctx->processes->has_probe_page;
}

static size_t unwind_precise(struct seam_copier *c, struct seam_dump *dump,
			     int *ret_end)
{
	struct seam_skid skid = {.ip = dump->regs.r[SEAM_AMD64_REG_IP],
				 .is_ip_lost = true};

	if (!c->decoder && seam_decoder_new(&c->decoder)) {
		c->ips[0] = skid.ip;
		c->found[0] = SEAM_METHOD_NONE;
		*ret_end = SEAM_IRREVERSIBLE;
		return 1;
	}
	skid.decoder = c->decoder;
	return seam_skid_unwind(&skid, dump, c->ips, c->max_frames, ret_end);
}

static void set_head(struct seam_user_stack *ret,
		     const struct seam_wire_copy *copy)
{
	*ret = (struct seam_user_stack){
		.sz = sizeof(*ret),
		.time_ns = copy->head.time_ns,
		.cookie = copy->head.cookie,
		.pid = copy->head.pid,
		.tid = copy->head.tid,
		.cpu = copy->head.cpu,
		.before_exec = copy->flags & SEAM_STACK_EXEC,
		.at_exit = copy->flags & SEAM_STACK_EXIT,
		.asleep = copy->flags & SEAM_STACK_ASLEEP,
		.by_library = true,
	};
}

void seam_copier_lose(const struct seam_wire_copy *copy,
		      struct seam_unwound *ret)
{
	set_head(&ret->stack, copy);
	ret->stack.end = SEAM_LOST;
	ret->ips = malloc(sizeof(*ret->ips) + sizeof(copy->regs));
	if (!ret->ips)
		return;
	ret->ips[0] = copy->regs[SEAM_AMD64_REG_IP];
	memcpy(ret->ips + 1, copy->regs, sizeof(copy->regs));
	ret->stack.ips = ret->ips;
	ret->stack.n_ips = 1;
	ret->stack.regs = ret->ips + 1;
}

static size_t unwind(struct seam_copier *c, const struct seam_wire_copy *copy,
		     struct seam_dump *dump, int *ret_end)
{
	if (copy->flags & SEAM_STACK_UNSURE) {
		*ret_end = SEAM_UNSURE;
		return 0;
	}
	return copy->flags & SEAM_STACK_PRECISE
		       ? unwind_precise(c, dump, ret_end)
		       : seam_dump_unwind(dump, c->ips, c->max_frames, ret_end);
}

int seam_copier_unwind(struct seam_copier *c, const struct seam_wire_copy *copy,
		       struct seam_unwound *ret)
{
	struct find_ctx ctx = {
		.processes = c->processes,
		.process = seam_process_find(c->processes, copy->head.pid),
		.code = &c->code,
		.time_ns = copy->head.time_ns,
	};
	struct seam_dump dump;
	uint64_t began_ns = seam_now_ns();
	size_t n;
	int end;

	set_dump(&dump, copy, &ctx);
	dump.order = c->methods;
	dump.methods = c->found;
	dump.counts = &c->counts;
	seam_code_forget(&c->code);
	n = unwind(c, copy, &dump, &end);
	tell_why(&ctx);
	c->frames += n;
	c->unwind_ns += seam_now_ns() - began_ns - ctx.opening_ns;
	/* In a system call at an address that is not mapped: the program that
	 * made it is gone, if any is; else its mapping was not told of. An exec
	 * that fails before that leaves the call where it was mapped. */
	if (n == 1 && end == SEAM_NO_TABLE && dump.syscall && ctx.process &&
	    ctx.process->has_execed &&
	    find_mapping(&ctx, c->ips[0], &(struct seam_mapping){0}))
		end = SEAM_EXEC;
	ret->ips = malloc(sizeof(copy->regs) + n * (sizeof(*ret->ips) + 1));
	if (!ret->ips)
		return -ENOMEM;
	memcpy(ret->ips, c->ips, n * sizeof(*ret->ips));
	memcpy(ret->ips + n, copy->regs, sizeof(copy->regs));
	memcpy(ret->ips + n + SEAM_WIRE_REGS, c->found, n);
	set_head(&ret->stack, copy);
	ret->stack.took_ns = copy->took_ns;
	ret->stack.end = end;
	ret->stack.ips = ret->ips;
	ret->stack.n_ips = n;
	ret->stack.methods = (const uint8_t *)(ret->ips + n + SEAM_WIRE_REGS);
	ret->stack.regs = ret->ips + n;
	return 0;
}

int seam_copier_init(struct seam_copier *c, struct seam_processes *processes,
		     uint32_t methods, uint32_t max_frames)
{
	memset(c, 0, sizeof(*c));
	c->processes = processes;
	c->methods = methods;
	c->max_frames = max_frames;
	c->ips = calloc(max_frames, sizeof(*c->ips));
	c->found = calloc(max_frames, 1);
	if (c->ips && c->found)
		return 0;
	seam_copier_fini(c);
	return -ENOMEM;
}

void seam_copier_fini(struct seam_copier *c)
{
	free(c->ips);
	free(c->found);
	seam_decoder_free(c->decoder);
	seam_code_fini(&c->code);
}
