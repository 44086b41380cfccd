// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: the rules of a loaded object are those of its .sframe where
 * that is well-formed, and of its .eh_frame; a malformed .sframe, or headers
 * that lie, give no rules and no crash; and memory that does not have the
 * layout of the file is read as well.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "sframe/encode.h"
#include "unwind/object.h"

#define PT_SFRAME 0x6474e554
#define CODE 256 /* bytes of code in front of the section */

static _Alignas(4096) uint8_t memory[4096];
static uint8_t *section;
static size_t section_size;

/* An object of one segment: code, and a section that says CFA = SP + 24. */
static void build_section(void)
{
	const struct seam_rule rule = {
		.cfa = {.kind = SEAM_REG_OFF, .reg = 7, .off = 24}};
	const struct seam_sframe_builder_func func = {.start = 16};
	struct seam_sframe_builder *b;

	assert_int_equal(seam_sframe_builder_new(0, &b), 0);
	assert_int_equal(seam_sframe_builder_begin(b, &func), 0);
	assert_int_equal(seam_sframe_builder_row(b, 0, &rule), 0);
	assert_int_equal(seam_sframe_builder_end(b, 64), 0);
	assert_int_equal(seam_sframe_builder_finish(b, CODE, &section,
						    &section_size, NULL),
			 0);
	seam_sframe_builder_free(b);
	assert_true(CODE + section_size <= sizeof(memory));
}

static struct seam_object *make(const Elf64_Phdr *phdrs, size_t n)
{
	const struct seam_loaded loaded = {
		.bias = (uintptr_t)memory, .phdrs = phdrs, .n_phdrs = n};
	struct seam_object *object = NULL;

	assert_int_equal(seam_object_make(&loaded, &object), 0);
	assert_non_null(object);
	return object;
}

static const Elf64_Phdr good[2] = {
	{.p_type = PT_LOAD,
	 .p_flags = PF_R | PF_X,
	 .p_filesz = sizeof(memory),
	 .p_memsz = sizeof(memory)},
	{.p_type = PT_SFRAME, .p_flags = PF_R, .p_vaddr = CODE},
};

static struct seam_object *make_section(size_t size)
{
	Elf64_Phdr phdrs[2];

	memcpy(phdrs, good, sizeof(phdrs));
	phdrs[1].p_filesz = phdrs[1].p_memsz = size;
	return make(phdrs, 2);
}

static void native(void **state)
{
	struct seam_object *object;
	struct seam_rule rule;
	uint64_t at = (uintptr_t)memory;

	(void)state;
	memcpy(memory + CODE, section, section_size);
	object = make_section(section_size);
	assert_int_equal(object->n_codes, 1);
	assert_int_equal(seam_code_rule(object->codes, at + 16, &rule), 0);
	assert_int_equal(rule.cfa.off, 24);
	assert_int_equal(seam_code_rule(object->codes, at + 79, &rule), 0);
	assert_int_equal(seam_code_rule(object->codes, at + 15, &rule),
			 SEAM_NO_RULE);
	assert_int_equal(seam_code_rule(object->codes, at + 80, &rule),
			 SEAM_NO_RULE);
	assert_null(seam_code_at(object->codes, 1, at - 1));
	assert_null(seam_code_at(object->codes, 1, at + sizeof(memory)));
	seam_object_free(object);
}

/* The rules outlive what they were made of: it may be unloaded. */
static void unloaded(void **state)
{
	struct seam_object *object;
	struct seam_rule rule;

	(void)state;
	memcpy(memory + CODE, section, section_size);
	object = make_section(section_size);
	memset(memory, 0xff, sizeof(memory));
	assert_int_equal(
		seam_code_rule(object->codes, (uintptr_t)memory + 16, &rule),
		0);
	assert_int_equal(rule.cfa.off, 24);
	seam_object_free(object);
	memset(memory, 0, sizeof(memory));
}

/* Each byte of it, and each length. */
static void malformed(void **state)
{
	struct seam_object *object;
	size_t refused = 0;

	(void)state;
	for (size_t i = 0; i < section_size; i++) {
		memcpy(memory + CODE, section, section_size);
		memory[CODE + i] ^= 0x55;
		object = make_section(section_size);
		refused += !object->n_codes;
		seam_object_free(object);
	}
	assert_true(refused > section_size / 2);
	memcpy(memory + CODE, section, section_size);
	for (size_t size = 0; size < section_size; size++) {
		object = make_section(size);
		assert_int_equal(object->n_codes, 0);
		seam_object_free(object);
	}
}

/* A section where nothing is loaded is not looked at. */
static void elsewhere(void **state)
{
	static const uint64_t vaddrs[] = {sizeof(memory) - 8, sizeof(memory),
					  1ULL << 47, UINT64_MAX - 7};
	struct seam_object *object;
	Elf64_Phdr phdrs[2];

	(void)state;
	for (size_t i = 0; i < sizeof(vaddrs) / sizeof(vaddrs[0]); i++) {
		memcpy(phdrs, good, sizeof(phdrs));
		phdrs[1].p_vaddr = vaddrs[i];
		phdrs[1].p_filesz = section_size;
		object = make(phdrs, 2);
		assert_int_equal(object->n_codes, 0);
		seam_object_free(object);
	}
	object = make(NULL, 0);
	assert_int_equal(object->n_codes, 0);
	seam_object_free(object);
}

static int keep_libc(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct seam_loaded *ret = ctx;

	(void)size;
	*ret = (struct seam_loaded){
		.bias = info->dlpi_addr,
		.phdrs = info->dlpi_phdr,
		.n_phdrs = info->dlpi_phnum,
	};
	return seam_loaded_holds(ret, (uintptr_t)&qsort);
}

/* The same object, as if its segments' offsets in the file were others. */
static void other_layout(void **state)
{
	struct seam_object *a, *b;
	struct seam_loaded loaded;
	Elf64_Phdr phdrs[64];
	size_t rules = 0;

	(void)state;
	assert_int_equal(dl_iterate_phdr(keep_libc, &loaded), 1);
	assert_true(loaded.n_phdrs <= 64);
	assert_int_equal(seam_object_make(&loaded, &a), 0);
	memcpy(phdrs, loaded.phdrs, sizeof(phdrs[0]) * loaded.n_phdrs);
	for (size_t i = 0; i < loaded.n_phdrs; i++)
		if (phdrs[i].p_flags & PF_X)
			phdrs[i].p_offset += 4096;
	loaded.phdrs = phdrs;
	assert_int_equal(seam_object_make(&loaded, &b), 0);
	assert_int_equal(a->n_codes, 1);
	assert_int_equal(b->n_codes, 1);
	assert_int_not_equal(a->identity, b->identity);
	for (uint64_t pc = a->codes[0].start; pc < a->codes[0].end; pc += 3) {
		struct seam_rule of_a = {0}, of_b = {0};
		int r = seam_code_rule(a->codes, pc, &of_a);

		assert_int_equal(seam_code_rule(b->codes, pc, &of_b), r);
		assert_memory_equal(&of_a, &of_b, sizeof(of_a));
		rules += !r;
	}
	assert_true(rules > 10000);
	seam_object_free(a);
	seam_object_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(native),	cmocka_unit_test(unloaded),
		cmocka_unit_test(malformed),	cmocka_unit_test(elsewhere),
		cmocka_unit_test(other_layout),
	};
	int r;

	build_section();
	r = cmocka_run_group_tests(tests, NULL, NULL);
	free(section);
	return r;
}
