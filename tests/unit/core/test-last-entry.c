// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: an entry of a last stack gives back the rule, frame, slot and
 * epoch it was made of, at every bound, and is refused where it could not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/last-entry.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

static const int32_t cfa_offs[] = {
	INT32_MIN, -262144, -8,	    -1,	     0,
	1,	   7,	    8,	    16,	     255,
	4096,	   131072,  262135, 262136,  262137,
	262143,	   262144,  262152, 1 << 20, INT32_MAX - 7,
	INT32_MAX,
};
static const int32_t fp_offs[] = {
	INT16_MIN, -4096,
	-520,	   -513,
	-512,	   -511,
	-504,	   -24,
	-16,	   -9,
	-8,	   -7,
	-1,	   0,
	1,	   7,
	8,	   16,
	496,	   503,
	504,	   505,
	511,	   512,
	4096,	   INT16_MAX - 7,
	INT16_MAX,
};
static const uint64_t ips[] = {
	0,	    1,		0x401000,	  0x7fffffffffff,
	1ULL << 55, 1ULL << 56, (1ULL << 57) - 1, 1ULL << 57,
	1ULL << 58, 1ULL << 60, 1ULL << 61,	  0xffffffff81000000,
	UINT64_MAX,
};
static const uint64_t sps[] = {
	0,
	8,
	0x7ffff000,
	(1ULL << 29) - 8,
	1ULL << 29,
	0x7ffffffff000,
	UINT64_MAX - 7,
};
static const uint32_t slots[] = {0, 1, 6, 7, 8, 9, 1U << 13, UINT32_MAX};
static const uint32_t epochs[] = {0,	1,    2,    4095,     4096,
				  8191, 8192, 8193, 1U << 16, UINT32_MAX};

static void not_touched(const struct seam_last_entry *e)
{
	assert_int_equal(e->at, 0x5a5a5a5a5a5a5a5a);
	assert_int_equal(e->how, 0x5a5a5a5a5a5a5a5a);
}

static bool pack(const struct seam_cursor *c, uint64_t packed, uint32_t slot,
		 uint32_t epoch, struct seam_last_entry *e)
{
	memset(e, 0x5a, sizeof(*e));
	if (seam_last_pack(c, packed, slot, epoch, e))
		return true;
	not_touched(e);
	return false;
}

/* What an entry can be of, said apart from its layout. */
static bool representable(const struct seam_rule *r)
{
	if (r->flags & SEAM_RULE_OUTERMOST)
		return true;
	if (r->cfa.off < 0 || r->cfa.off >= 256 << 10 || r->cfa.off % 8)
		return false;
	return r->fp.kind == SEAM_SAME ||
	       (r->fp.off >= -512 && r->fp.off < 512 && r->fp.off % 8 == 0);
}

static void same_value(const struct seam_value *a, const struct seam_value *b)
{
	assert_int_equal(a->off, b->off);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->reg, b->reg);
}

static void same_rule(const struct seam_rule *a, const struct seam_rule *b)
{
	same_value(&a->cfa, &b->cfa);
	same_value(&a->ra, &b->ra);
	same_value(&a->fp, &b->fp);
	assert_int_equal(a->cfa_add, b->cfa_add);
	assert_int_equal(a->flags, b->flags);
}

/* The whole way, from a rule to a rule. */
static void there_and_back(const struct seam_rule *rule, int *num_fit)
{
	const struct seam_cursor c = {.ip = 0x401234, .sp = 0x1ffc1230};
	uint64_t packed = seam_rule_pack(rule);
	struct seam_last_entry e;
	struct seam_rule got;

	assert_int_not_equal(packed, 0);
	if (!pack(&c, packed, 5, 77, &e)) {
		assert_false(representable(rule));
		return;
	}
	assert_true(representable(rule));
	assert_true(seam_last_rule(&e) == packed);
	seam_rule_unpack(seam_last_rule(&e), &got);
	same_rule(rule, &got);
	assert_true(seam_last_is(e.at, &c));
	assert_int_equal(seam_last_sp(e.how), c.sp / 8);
	assert_int_equal(seam_last_slot(e.how), 5);
	assert_int_equal(seam_last_epoch(e.how), 77);
	++*num_fit;
}

static void every_rule(void **state)
{
	static const uint8_t regs[] = {SEAM_AMD64_REG_SP, SEAM_AMD64_REG_FP};
	struct seam_rule rule;
	int num_fit = 0;

	(void)state;
	for (size_t r = 0; r < 2; r++) {
		for (size_t i = 0; i < ARRAY_SIZE(cfa_offs); i++) {
			rule = (struct seam_rule){0};
			rule.cfa.kind = SEAM_REG_OFF;
			rule.cfa.reg = regs[r];
			rule.cfa.off = cfa_offs[i];
			there_and_back(&rule, &num_fit);
			rule.fp.kind = SEAM_CFA_DEREF;
			for (size_t j = 0; j < ARRAY_SIZE(fp_offs); j++) {
				rule.fp.off = fp_offs[j];
				there_and_back(&rule, &num_fit);
			}
		}
	}
	rule = (struct seam_rule){.flags = SEAM_RULE_OUTERMOST};
	there_and_back(&rule, &num_fit);
	assert_int_not_equal(num_fit, 0);
}

/* A table's word that no rule packs to does not come out as another. */
static void every_word(void **state)
{
	const struct seam_cursor c = {.ip = 1, .exact = true};
	struct seam_last_entry e;

	(void)state;
	assert_false(pack(&c, 0, 1, 1, &e));
	for (int hi = 0; hi < 64; hi++) {
		for (int lo = 0; lo < 64; lo++) {
			uint64_t word = 1ULL << hi | 1ULL << lo;

			if (pack(&c, word, 1, 1, &e))
				assert_true(seam_last_rule(&e) == word);
			word |= SEAM_PACKED_VALID;
			if (pack(&c, word, 1, 1, &e))
				assert_true(seam_last_rule(&e) == word);
		}
	}
}

static void every_place(void **state)
{
	const uint64_t packed = SEAM_PACKED_VALID | SEAM_PACKED_SP | 64;
	struct seam_last_entry e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(slots); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(epochs); j++) {
			struct seam_cursor c = {.ip = 0x401000};
			bool fits =
				slots[i] < 8 && epochs[j] && epochs[j] < 8192;

			assert_int_equal(
				pack(&c, packed, slots[i], epochs[j], &e),
				fits);
			if (!fits)
				continue;
			assert_int_equal(seam_last_slot(e.how), slots[i]);
			assert_int_equal(seam_last_epoch(e.how), epochs[j]);
			assert_true(seam_last_rule(&e) == packed);
		}
	}
}

/* Of two frames, whether the entry of one is for the other. */
static void one_for_other(const struct seam_cursor *a,
			  const struct seam_cursor *b)
{
	struct seam_last_entry e;

	if (pack(a, SEAM_PACKED_VALID | 16, 7, 8191, &e))
		assert_int_equal(seam_last_is(e.at, b),
				 a->ip == b->ip && a->exact == b->exact);
	else
		assert_true(a->ip >> 57);
	seam_last_none(a, &e);
	assert_false(seam_last_is(e.at, b));
}

static void every_frame(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ips); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(ips); j++) {
			for (int exact = 0; exact < 4; exact++) {
				struct seam_cursor a = {.ip = ips[i]};
				struct seam_cursor b = {.ip = ips[j]};

				a.exact = exact & 1;
				b.exact = exact & 2;
				one_for_other(&a, &b);
			}
		}
	}
}

/* Only the order is asked of SP, so of any SP something is kept. */
static void every_sp(void **state)
{
	const uint64_t packed = SEAM_PACKED_VALID | SEAM_PACKED_SP | 262136;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sps); i++) {
		const struct seam_cursor c = {.ip = 1, .sp = sps[i]};
		struct seam_last_entry e;

		assert_true(pack(&c, packed, 7, 8191, &e));
		assert_true(seam_last_sp(e.how) == sps[i] / 8 % (1 << 26));
		assert_true(seam_last_rule(&e) == packed);
		assert_int_equal(seam_last_slot(e.how), 7);
		assert_int_equal(seam_last_epoch(e.how), 8191);
		seam_last_none(&c, &e);
		assert_true(seam_last_sp(e.how) == sps[i] / 8 % (1 << 26));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rule),  cmocka_unit_test(every_word),
		cmocka_unit_test(every_place), cmocka_unit_test(every_frame),
		cmocka_unit_test(every_sp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
