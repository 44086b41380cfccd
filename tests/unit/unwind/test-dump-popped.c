// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: GCC's rules go on to say where a register was saved when it has
 * been popped, which is below the copy. Where the code pops and then returns,
 * or jumps to another function, also to one of the PLT, the register has its
 * value; elsewhere it has not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cfi/cfi.h"
#include "core/err.h"
#include "elf/elf.h"
#include "seam/tracer.h"
#include "sframe/encode.h"
#include "tests/unit/skip.h"
#include "unwind/dump.h"

#define OUTER 0x1000u /* code of 256 bytes, the outermost frame */
#define MIDDLE 0x2000u /* rbp's frame: CFA = rbp + 16 */
#define LEAF 0x3000u /* CFA = rsp + 8; rbp saved below rsp */
#define ENTRY 0x3100u /* CFA = rsp + 8 */
#define PLT 0x4000u /* this program's: CFA by the ip */

#define AT(i) ((uint64_t)(uintptr_t)&stack[i])

#define ZERO 0xaa

static struct seam_sframe sframe;
static uint8_t code[16];
static uint64_t stack[16];

/* This program, so that its PLT lies at PLT. */
static struct seam_mapping plt;

static int find(void *ctx, uint64_t avma, struct seam_mapping *ret)
{
	(void)ctx;
	if (plt.cfi && avma >= PLT && avma < PLT + 0x40) {
		*ret = plt;
		return 0;
	}
	if (avma < OUTER || avma >= ENTRY + 0x100)
		return -ENOENT;
	*ret = (struct seam_mapping){.sframe = &sframe};
	return 0;
}

static size_t read_code(void *ctx, uint64_t avma, enum seam_dump_when when,
			void *to, size_t size)
{
	(void)ctx;
	assert_int_equal(when, SEAM_DUMP_THEN);
	assert_int_equal(avma, LEAF + 0x80);
	assert_true(size >= sizeof(code));
	memcpy(to, code, sizeof(code));
	return sizeof(code);
}

static void add(struct seam_sframe_builder *b, uint64_t start,
		const struct seam_rule *rule)
{
	const struct seam_sframe_builder_func func = {.start = start};

	assert_int_equal(seam_sframe_builder_begin(b, &func), 0);
	assert_int_equal(seam_sframe_builder_row(b, 0, rule), 0);
	assert_int_equal(seam_sframe_builder_end(b, 0x100), 0);
}

static uint8_t *make_rules(void)
{
	const struct seam_rule outer = {.flags = SEAM_RULE_OUTERMOST};
	const struct seam_rule by_fp = {
		.cfa = {.kind = SEAM_REG_OFF, .reg = 6, .off = 16},
		.ra = {.kind = SEAM_CFA_DEREF, .off = -8},
		.fp = {.kind = SEAM_CFA_DEREF, .off = -16}};
	const struct seam_rule entry = {
		.cfa = {.kind = SEAM_REG_OFF, .reg = 7, .off = 8},
		.ra = by_fp.ra};
	struct seam_rule stale = by_fp;
	struct seam_sframe_builder *b;
	uint8_t *section;
	size_t size;

	stale.cfa = entry.cfa;
	assert_int_equal(seam_sframe_builder_new(0, &b), 0);
	add(b, OUTER, &outer);
	add(b, MIDDLE, &by_fp);
	add(b, LEAF, &stale);
	add(b, ENTRY, &entry);
	assert_int_equal(
		seam_sframe_builder_finish(b, 0, &section, &size, NULL), 0);
	seam_sframe_builder_free(b);
	assert_int_equal(seam_sframe_open(&sframe, section, size), 0);
	return section;
}

/* The leaf's return address is at stack[8], MIDDLE's frame is behind it. */
static int unwind(const char *bytes, size_t *ret_n)
{
	struct seam_dump dump = {
		.regs = {.valid = (1u << SEAM_CFI_REGS) - 1},
		.stack_avma = AT(8),
		.stack = (const uint8_t *)&stack[8],
		.stack_size = sizeof(stack) - 64,
		.find = find,
		.code = read_code,
	};
	uint64_t ips[8];
	int end;

	memset(code, 0xcc, sizeof(code));
	memcpy(code, bytes, strlen(bytes));
	for (size_t i = 0; i < sizeof(code); i++) /* no string has it */
		code[i] = code[i] == ZERO ? 0 : code[i];
	stack[7] = AT(2); /* below the copy: another's */
	stack[8] = MIDDLE + 0x40;
	stack[12] = 0;
	stack[13] = OUTER + 0x40;
	dump.regs.r[6] = AT(12);
	dump.regs.r[7] = AT(8);
	dump.regs.r[16] = LEAF + 0x80;
	*ret_n = seam_dump_unwind(&dump, ips, 8, &end);
	assert_int_equal(ips[0], LEAF + 0x80);
	assert_int_equal(ips[1], MIDDLE + 0x40);
	if (end == SEAM_OUTERMOST)
		assert_int_equal(ips[2], OUTER + 0x40);
	return end;
}

static void test_popped(void **state)
{
	static const char *const returns[] = {
		"\xc3", /* ret */
		"\xf3\xc3", /* rep ret */
		"\xc2\x08", /* ret 8 */
		"\xeb\x7e", /* to ENTRY */
		"\x5b\xe9\x7a\xaa\xaa\xaa", /* likewise, after a pop */
		"\x5b\xc3", /* pop rbx */
		"\x5b\x41\x5c\x41\x5d\x41\x5e\x41\x5f\xc3",
	};
	static const char *const others[] = {
		"\x90\xc3", /* nop: who knows what else there is */
		"\x5b\xeb\x10", /* a jump within the function */
		"\xe9\xfb\x00\x7f\x7f", /* or to who knows where */
		"\x41\x90\xc3",
		"\x58\x58\x58\x58\x58\x58\x58\xc3", /* no epilogue */
	};
	uint8_t *section = make_rules();
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(returns) / sizeof(*returns); i++) {
		assert_int_equal(unwind(returns[i], &n), SEAM_OUTERMOST);
		assert_int_equal(n, 3);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		assert_int_equal(unwind(others[i], &n), SEAM_NO_RULE);
		assert_int_equal(n, 2);
	}
	free(section);
}

/* Some linkers make none, or no rules for it. */
static bool open_plt(void)
{
	struct seam_elf_section section;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(seam_elf_open_fd(fd, 0, &plt.elf, NULL), 0);
	close(fd);
	if (seam_elf_section(plt.elf, ".plt", &section) || section.size < 0x40)
		return false;
	assert_int_equal(section.svma % 16, 0);
	plt.bias = PLT - section.svma;
	assert_int_equal(seam_cfi_open(plt.elf, &plt.cfi, NULL), 0);
	return true;
}

/* At the start of an entry it is what a call leaves, behind its push not. */
static void test_plt(void **state)
{
	uint8_t *section = make_rules();
	size_t n;

	(void)state;
	if (!open_plt()) {
		plt.elf = seam_elf_close(plt.elf);
		free(section);
		skip_since("this program has no PLT");
	}
	assert_int_equal(unwind("\xe9\x8b\x0f\xaa\xaa", &n), SEAM_OUTERMOST);
	assert_int_equal(n, 3);
	assert_int_equal(unwind("\x5d\xe9\x9a\x0f\xaa\xaa", &n),
			 SEAM_OUTERMOST);
	assert_int_equal(unwind("\xe9\x96\x0f\xaa\xaa", &n), SEAM_NO_RULE);
	plt.cfi = seam_cfi_close(plt.cfi);
	plt.elf = seam_elf_close(plt.elf);
	free(section);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_popped),
		cmocka_unit_test(test_plt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
