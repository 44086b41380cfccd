// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: whether a leaf can have a return address, where the mappings
 * decide it, is asked once of the same mappings, and again of others, or where
 * it is not known which they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "offline/unwind.h"
#include "own-text.h"
#include "seam/tracer.h"

#define FILES 32
#define REG_SP 7
#define REG_IP 8
#define REGS 18

__asm__(".text\n.type leaf, @function\nleaf:\n.cfi_startproc\n"
	"nop\nret\n.cfi_endproc\n.size leaf, . - leaf\n"
	".type calls, @function\ncalls:\n.cfi_startproc\n"
	"sub $8, %rsp\n.cfi_def_cfa_offset 16\n"
	"call *getppid@GOTPCREL(%rip)\nbehind_slot:\n"
	"add $8, %rsp\n.cfi_def_cfa_offset 8\n"
	"ret\n.cfi_endproc\n.size calls, . - calls\n");

__asm__(".type probed, @function\nprobed:\n.cfi_startproc\n"
	".byte 0x0f, 0x1f, 0x44, 0, 0\nbehind_nop:\n"
	"ret\n.cfi_endproc\n.size probed, . - probed\n");

extern const char leaf[], behind_slot[], behind_nop[];

#define PROBE_PAGE 0x7000000000ULL /* nothing of this program is there */

static struct {
	struct seam_offline o;
	struct seam_offline_area areas[FILES];
	size_t n, asked;
	struct seam_offline_stack stack;
} self;

static int set_up(void **state)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	struct seam_offline_area at;
	struct own_text text;

	(void)state;
	setenv("XDG_CACHE_HOME", "/proc", 1);
	assert_int_equal(seam_offline_init(&self.o), 0);
	assert_non_null(maps);
	while (next_own_text(maps, &text)) {
		assert_true(self.n < FILES);
		at.start = text.start;
		at.end = text.end;
		at.off = text.off;
		at.file = seam_offline_file(&self.o.files, text.path, NULL, 0);
		assert_non_null(at.file);
		self.areas[self.n++] = at;
	}
	fclose(maps);
	self.areas[self.n++] = (struct seam_offline_area){
		.start = PROBE_PAGE,
		.end = PROBE_PAGE + 4096,
		.file = seam_offline_file(&self.o.files, "[uprobes-trampo",
					  NULL, 0),
	};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	seam_offline_fini(&self.o);
	return 0;
}

static bool find(void *ctx, uint64_t avma, struct seam_offline_file **ret,
		 uint64_t *ret_off)
{
	(void)ctx;
	for (size_t i = 0; i < self.n; i++) {
		const struct seam_offline_area *at = &self.areas[i];

		if (avma < at->start || avma >= at->end)
			continue;
		*ret = at->file;
		*ret_off = avma - at->start + at->off;
		return true;
	}
	return false;
}

static bool area(void *ctx, size_t i, struct seam_offline_area *ret)
{
	(void)ctx;
	self.asked++;
	if (i < self.n)
		*ret = self.areas[i];
	return i < self.n;
}

/* A sample in the kernel. Return: how often it was asked what is mapped. */
static size_t unwind(uint64_t ip, const uint64_t words[static 8], uint32_t now,
		     uint32_t before)
{
	uint64_t regs[REGS] = {0};
	struct seam_offline_copy copy = {
		.user = {.abi = SEAM_PERF_ABI_64,
			 .mask = SEAM_PERF_REGS_MASK,
			 .regs = (const uint8_t *)regs,
			 .n_regs = REGS,
			 .stack = (const uint8_t *)words,
			 .stack_size = 8 * sizeof(*words),
			 .stack_room = 8 * sizeof(*words),
			 .in_kernel = true},
		.find = find,
		.area = area,
		.maps = {now, before},
	};

	regs[REG_SP] = (uintptr_t)words;
	regs[REG_IP] = ip;
	self.asked = 0;
	seam_offline_unwind(&self.o, &copy, &self.stack);
	return self.asked;
}

/* Of a leaf with a return address behind a call of another function. */
static size_t ask(uint32_t now, uint32_t before)
{
	const uint64_t words[8] = {(uintptr_t)behind_slot};
	size_t asked = unwind((uintptr_t)leaf, words, now, before);

	assert_int_equal(self.stack.end, SEAM_UNSURE);
	assert_int_equal(self.stack.n, 0);
	return asked;
}

/* In the page that probed functions call, behind its system call: from a nop,
 * as the file has it. */
static void is_probe(void **state)
{
	const uint64_t words[8] = {1, 2, 3, (uintptr_t)behind_nop};

	(void)state;
	unwind(PROBE_PAGE + 13, words, 1, 0);
	assert_int_equal(self.stack.end, SEAM_OUTERMOST);
	assert_int_equal(self.stack.n, 2);
	assert_true(self.stack.ips[1] == (uintptr_t)behind_nop);
}

static void is_kept(void **state)
{
	(void)state;
	assert_true(ask(1, 0));
	assert_int_equal(ask(1, 0), 0);
	assert_true(ask(2, 0));
	assert_true(ask(2, 1));
	assert_int_equal(ask(2, 1), 0);
	assert_int_equal(ask(2, 0), 0);
	assert_true(ask(0, 0));
	assert_true(ask(0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_kept),
		cmocka_unit_test(is_probe),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
