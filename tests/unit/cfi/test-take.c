// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: seam_cfi_take says the same of CFA, SP, FP and RA as
 * seam_cfi_each at every address, for programs of all sorts of instructions,
 * put together at random, sound or not; and when there are more states than
 * it keeps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cfi/cfi.h"
#include "elf/elf.h"
#define IMAGE_MAX 0x60000
#include "image.h"

#define FUNCS 24
#define ADDRS 0x6000 /* of all functions */
#define STATES 0x10000
#define ROUNDS 400

/* What holds at an address: all that matters here. */
struct what {
	bool known, signal, cfa_is_expr;
	uint8_t cfa_reg, ra_state;
	uint32_t cfa_expr_len;
	int64_t cfa_off;
	const uint8_t *cfa_expr;
	uint64_t func_start, func_end;
	struct seam_cfi_reg sp, fp, ra;
};

struct all {
	const struct seam_cfi_arch *arch;
	struct what at[ADDRS];
	unsigned int bad, forgot;
	uint32_t num_states;
};

static struct image im;
static struct all each, take;
static struct seam_cfi_row states[STATES];
static uint64_t seed;

static uint32_t number(uint32_t below)
{
	seed = seed * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(seed >> 33) % below;
}

static void note(struct all *all, const struct seam_cfi_row *row,
		 uint64_t start, uint64_t end, uint64_t func_start,
		 uint64_t func_end)
{
	const struct seam_cfi_arch *arch = all->arch;

	assert_true(start < end && start >= IMAGE_FUNC);
	assert_true(end - IMAGE_FUNC <= ADDRS);
	for (uint64_t pc = start; pc < end; pc++) {
		all->at[pc - IMAGE_FUNC] = (struct what){
			.known = true,
			.signal = row->signal,
			.cfa_is_expr = row->cfa_is_expr,
			.cfa_reg = row->cfa_reg,
			.ra_state = row->ra_state,
			.cfa_expr_len = row->cfa_expr_len,
			.cfa_off = row->cfa_off,
			.cfa_expr = row->cfa_expr,
			.func_start = func_start,
			.func_end = func_end,
			.sp = row->regs[arch->sp],
			.fp = row->regs[arch->fp],
			.ra = row->regs[arch->ra],
		};
	}
}

static int on_row(void *ctx, const struct seam_cfi_row *row)
{
	note(ctx, row, row->start, row->end, row->func_start, row->func_end);
	return 0;
}

static void on_bad(void *ctx, uint64_t start, uint64_t end,
		   const struct seam_errinfo *why)
{
	(void)start;
	(void)end;
	(void)why;
	((struct all *)ctx)->bad++;
}

static int on_state(void *ctx, const struct seam_cfi_row *state,
		    uint32_t *ret_number)
{
	struct all *all = ctx;

	assert_true(all->num_states < STATES);
	states[all->num_states] = *state;
	*ret_number = all->num_states++;
	return 0;
}

static void on_forget(void *ctx)
{
	struct all *all = ctx;

	memset(states, 0xee, sizeof(states));
	all->num_states = 0;
	all->forgot++;
}

static int on_func(void *ctx, const struct seam_cfi_func *func)
{
	const struct seam_span *rows = func->rows;
	struct all *all = ctx;

	assert_true(func->num_rows > 0);
	assert_int_equal(rows->start, func->start);
	for (size_t i = 0; i < func->num_rows; i++) {
		assert_true(rows[i].what < all->num_states);
		note(all, &states[rows[i].what], rows[i].start,
		     i + 1 < func->num_rows ? rows[i + 1].start : func->end,
		     func->start, func->end);
	}
	return 0;
}

static bool is_equal_reg(const struct seam_cfi_reg *a,
			 const struct seam_cfi_reg *b)
{
	return a->how == b->how && a->reg == b->reg &&
	       a->expr_len == b->expr_len && a->off == b->off;
}

static bool is_equal(const struct what *a, const struct what *b)
{
	return a->known == b->known && a->signal == b->signal &&
	       a->cfa_is_expr == b->cfa_is_expr && a->cfa_reg == b->cfa_reg &&
	       a->ra_state == b->ra_state &&
	       a->cfa_expr_len == b->cfa_expr_len && a->cfa_off == b->cfa_off &&
	       a->cfa_expr == b->cfa_expr && a->func_start == b->func_start &&
	       a->func_end == b->func_end && is_equal_reg(&a->sp, &b->sp) &&
	       is_equal_reg(&a->fp, &b->fp) && is_equal_reg(&a->ra, &b->ra);
}

static void clear(struct all *all, const struct seam_cfi *cfi, size_t addrs)
{
	all->arch = seam_cfi_arch(cfi);
	memset(all->at, 0, addrs * sizeof(*all->at));
	all->bad = 0;
	all->forgot = 0;
	all->num_states = 0;
}

static void both_ways(size_t addrs)
{
	const struct seam_cfi_taker taker = {.state = on_state,
					     .forget = on_forget,
					     .func = on_func,
					     .bad = on_bad,
					     .ctx = &take};
	struct seam_elf *elf;
	struct seam_cfi *cfi;

	assert_int_equal(seam_elf_open_mem(im.bytes, im.size, &elf, NULL), 0);
	assert_int_equal(seam_cfi_open(elf, &cfi, NULL), 0);
	clear(&each, cfi, addrs);
	clear(&take, cfi, addrs);
	assert_int_equal(seam_cfi_each(cfi, on_row, on_bad, &each), 0);
	assert_int_equal(seam_cfi_take(cfi, &taker), 0);
	assert_int_equal(each.bad, take.bad);
	for (size_t i = 0; i < addrs; i++)
		assert_true(is_equal(&each.at[i], &take.at[i]));
	seam_cfi_close(cfi);
	seam_elf_close(elf);
}

/* The frequent instructions are frequent, SP, FP and RA are named often, and
 * now and then comes anything at all. */
static size_t put_op(uint8_t *p, uint8_t machine)
{
	static const uint8_t few[2][4] = {{7, 6, 16, 3}, {31, 29, 30, 34}};
	static const uint8_t ops[] = {0x02, 0x03, 0x05, 0x06, 0x07, 0x08, 0x09,
				      0x0a, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0e,
				      0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x2b,
				      0x2d, 0x2e, 0x2f, 0};
	uint8_t reg = few[machine == EM_AARCH64][number(4)];
	size_t n = 0;

	switch (number(8)) {
	case 0:
	case 1:
		p[n++] = (uint8_t)(0x40 | number(6));
		break;
	case 2:
		p[n++] = 0x80 | reg;
		break;
	case 3:
		p[n++] = 0xc0 | reg;
		return n;
	case 4:
		p[n++] = (uint8_t)number(256);
		break;
	default:
		p[n++] = ops[number(sizeof(ops))];
	}
	for (uint32_t operands = number(3); operands; operands--) {
		uint32_t kind = number(5);

		if (kind == 4)
			p[n++] = (uint8_t)(0x80 | number(128));
		p[n++] = kind < 2 ? reg : (uint8_t)number(kind < 4 ? 24 : 128);
	}
	return n;
}

static void put_random_func(struct spec *spec, uint8_t machine, unsigned int i)
{
	uint8_t program[64 * 5];
	uint32_t ops = number(i % 4 ? 8 : 64);
	size_t len = 0;

	while (ops--)
		len += put_op(program + len, machine);
	/* Some are cut inside an instruction. */
	spec->fde = (struct bytes){program, len - (len && !number(8))};
	put_fde(&im, spec, IMAGE_FUNC + i * IMAGE_FUNC_SIZE);
}

static void random_programs(uint8_t machine)
{
	static const uint8_t cie[2][5] = {{0x0c, 7, 8, 0x90, 1},
					  {0x0c, 31, 0, 0, 0}};
	unsigned int good = 0;

	seed = machine;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		struct spec spec = {
			.cie = {cie[machine == EM_AARCH64], 5},
			.code_align = number(4) ? 1 : 4,
			.ra = machine == EM_AARCH64 ? 30 : 16,
		};

		spec_defaults(&spec);
		image_begin(&im);
		put_cie(&im, &spec);
		for (unsigned int i = 0; i < FUNCS; i++)
			put_random_func(&spec, machine, i);
		image_end(&im, false);
		((Elf64_Ehdr *)im.bytes)->e_machine = machine;
		both_ways(FUNCS * IMAGE_FUNC_SIZE);
		good += FUNCS - each.bad;
	}
	/* Not all nonsense, nor all in vain. */
	assert_in_range(good, ROUNDS * FUNCS / 8, ROUNDS * FUNCS * 7 / 8);
}

static void random_x86(void **state)
{
	(void)state;
	random_programs(EM_X86_64);
}

static void random_aarch64(void **state)
{
	(void)state;
	random_programs(EM_AARCH64);
}

/* Each row has an offset of its own. */
static void many_states(void **state)
{
	static uint8_t program[0x1000 * 5];
	struct spec spec = {.func_size = 0x1000};
	uint32_t off = 8;

	(void)state;
	spec_defaults(&spec);
	image_begin(&im);
	put_cie(&im, &spec);
	for (uint64_t func = 0; func < 6; func++) {
		size_t len = 0;

		for (unsigned int i = 0; i < 0x1000; i++, off++) {
			program[len++] = 0x41;
			program[len++] = 0x0e;
			program[len++] = (uint8_t)(0x80 | off);
			program[len++] = (uint8_t)(0x80 | off >> 7);
			program[len++] = (uint8_t)(off >> 14);
		}
		spec.fde = (struct bytes){program, len};
		put_fde(&im, &spec, IMAGE_FUNC + func * spec.func_size);
	}
	image_end(&im, false);
	both_ways(6 * 0x1000);
	assert_int_equal(each.bad, 0);
	assert_true(take.forgot > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_x86),
		cmocka_unit_test(random_aarch64),
		cmocka_unit_test(many_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
