/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Description: an ELF file opened in parts answers as the whole file does,
 * without its debugging information; trimmed to its CFI it holds only that
 * in memory, and every address still has the row that it had; and so it has
 * when the image is gone.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "cfi/private.h"
#include "elf/elf.h"
#include "elf/entry.h"
#include "table/table.h"
#include "tests/unit/skip.h"

static struct seam_elf *open_file(const char *path, int flags)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct seam_elf *elf = NULL;

	assert_true(fd >= 0);
	assert_int_equal(seam_elf_open_fd(fd, flags, &elf, NULL), 0);
	close(fd);
	return elf;
}

static const char *libc_path(void)
{
	Dl_info info;

	assert_true(dladdr((const void *)(uintptr_t)strtoul, &info));
	return info.dli_fname;
}

/* As the kernel says, not as the code under test believes. */
static size_t resident(const struct seam_elf *elf)
{
	size_t size, pages, n = 0, page = (size_t)sysconf(_SC_PAGESIZE);
	const uint8_t *bytes = seam_elf_bytes(elf, &size);
	unsigned char *in;

	pages = (size + page - 1) / page;
	in = malloc(pages);
	assert_non_null(in);
	assert_int_equal(mincore((void *)bytes, size, in), 0);
	for (size_t i = 0; i < pages; i++)
		n += in[i] & 1;
	free(in);
	return n * page;
}

static void trim(struct seam_elf *elf, struct seam_cfi *cfi)
{
	struct seam_elf_parts keep;
	size_t own;

	seam_entry_is_real(elf);
	seam_entry_next_symbol(elf);
	assert_int_equal(seam_cfi_keeps(cfi, &keep, &own), 0);
	assert_true(own > 0);
	seam_elf_trim(elf, &keep);
	assert_null(keep.v);
}

struct starts {
	uint64_t *v;
	size_t n;
};

static int collect(void *ctx, const struct seam_cfi_row *row)
{
	struct starts *s = ctx;

	s->v = reallocarray(s->v, s->n + 1, sizeof(*s->v));
	assert_non_null(s->v);
	s->v[s->n++] = row->start;
	return 0;
}

/* Expressions lie in different memory: their bytes are compared. */
static void same_row(struct seam_cfi_row a, struct seam_cfi_row b)
{
	assert_int_equal(a.start, b.start);
	assert_int_equal(a.end, b.end);
	assert_int_equal(a.cfa_is_expr, b.cfa_is_expr);
	if (a.cfa_is_expr) {
		assert_int_equal(a.cfa_expr_len, b.cfa_expr_len);
		assert_memory_equal(a.cfa_expr, b.cfa_expr, a.cfa_expr_len);
	} else {
		assert_int_equal(a.cfa_reg, b.cfa_reg);
		assert_int_equal(a.cfa_off, b.cfa_off);
	}
	for (int i = 0; i < SEAM_CFI_REGS; i++) {
		assert_int_equal(a.regs[i].how, b.regs[i].how);
		assert_int_equal(a.regs[i].expr_len, b.regs[i].expr_len);
		if (!a.regs[i].expr_len)
			assert_int_equal(a.regs[i].off, b.regs[i].off);
		else
			assert_memory_equal(a.regs[i].expr, b.regs[i].expr,
					    a.regs[i].expr_len);
	}
}

static void test_rows(void **state)
{
	struct seam_elf *whole = open_file(libc_path(), SEAM_ELF_COPY);
	struct seam_elf *elf = open_file(libc_path(), SEAM_ELF_PARTS);
	struct seam_cfi *want, *got;
	struct starts starts = {0};
	struct seam_elf_section s;
	struct seam_cfi_row a, b;
	size_t size;

	(void)state;
	assert_int_equal(seam_cfi_open(whole, &want, NULL), 0);
	assert_int_equal(seam_cfi_open(elf, &got, NULL), 0);
	trim(elf, got);
	assert_int_equal(seam_cfi_each(want, collect, NULL, &starts), 0);
	assert_true(starts.n > 1000);
	for (size_t i = 0; i < starts.n; i++) {
		int rc = seam_cfi_find(want, starts.v[i], &a, NULL);

		assert_int_equal(seam_cfi_find(got, starts.v[i], &b, NULL), rc);
		if (!rc)
			same_row(a, b);
	}
	assert_int_equal(seam_entry_is_real(elf), seam_entry_is_real(whole));
	assert_int_equal(seam_entry_next_symbol(elf),
			 seam_entry_next_symbol(whole));
	/* What is not there any more says so. */
	assert_int_equal(seam_elf_section(elf, ".text", &s), -ENOENT);
	assert_null(seam_elf_libelf(elf));
	assert_int_equal(seam_elf_section(whole, ".eh_frame", &s), 0);
	assert_true(seam_elf_has(elf, s.off, s.size));
	assert_int_equal(seam_elf_section(whole, ".text", &s), 0);
	assert_false(seam_elf_has(elf, s.off, s.size));
	seam_elf_bytes(elf, &size);
	assert_true(resident(elf) < size / 4);
	free(starts.v);
	seam_cfi_close(got);
	seam_cfi_close(want);
	seam_elf_close(elf);
	seam_elf_close(whole);
}

/* The image is gone altogether. */
static void test_detached(void **state)
{
	static struct seam_cfi_small work;
	struct seam_elf *whole = open_file(libc_path(), 0);
	struct seam_elf *elf = open_file(libc_path(), SEAM_ELF_COPY);
	struct seam_cfi *want, *got;
	struct starts starts = {0};
	struct seam_cfi_row a, b;

	(void)state;
	assert_int_equal(seam_cfi_open(whole, &want, NULL), 0);
	assert_int_equal(seam_cfi_open(elf, &got, NULL), 0);
	assert_int_equal(seam_cfi_each(want, collect, NULL, &starts), 0);
	assert_int_equal(seam_cfi_find(got, starts.v[0], &b, NULL), 0);
	assert_int_equal(seam_cfi_detach(got), 0);
	seam_elf_close(elf);
	for (size_t i = 0; i < starts.n; i++) {
		int rc = seam_cfi_find(want, starts.v[i], &a, NULL);

		assert_int_equal(
			seam_cfi_find_detached(got, &work, starts.v[i], &b),
			rc);
		if (!rc)
			same_row(a, b);
	}
	assert_int_equal(seam_cfi_find_detached(got, &work, 1, &b), -ENOENT);
	free(starts.v);
	seam_cfi_close(got);
	seam_cfi_close(want);
	seam_elf_close(whole);
}

static void test_table(void **state)
{
	static const int flags[] = {SEAM_ELF_COPY, SEAM_ELF_PARTS};
	uint8_t *bytes[2];
	size_t size[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct seam_elf *elf = open_file(libc_path(), flags[i]);

		assert_int_equal(seam_table_build_kernel(elf, &bytes[i],
							 &size[i], NULL, NULL),
				 0);
		seam_elf_close(elf);
	}
	assert_int_equal(size[0], size[1]);
	assert_memory_equal(bytes[0], bytes[1], size[0]);
	free(bytes[0]);
	free(bytes[1]);
}

/* Our own program has debugging information, and symbols. */
static void test_debug(void **state)
{
	struct seam_elf *whole = open_file("/proc/self/exe", SEAM_ELF_COPY);
	struct seam_elf *elf = open_file("/proc/self/exe", SEAM_ELF_PARTS);
	static const char *const read[] = {".text", ".symtab", ".eh_frame",
					   ".rodata", ".dynamic"};
	struct seam_elf_section a, b;
	uint8_t id[2][SEAM_BUILD_ID_MAX];
	size_t size;

	(void)state;
	if (seam_elf_section(whole, ".debug_info", &a))
		skip_since("this program has no .debug_info");
	assert_int_equal(seam_elf_section(elf, ".debug_info", &b), -ENOENT);
	assert_false(seam_elf_has(elf, a.off, a.size));
	seam_elf_bytes(elf, &size);
	assert_true(resident(elf) < size - a.size / 2);
	for (size_t i = 0; i < sizeof(read) / sizeof(read[0]); i++) {
		assert_int_equal(seam_elf_section(whole, read[i], &a), 0);
		assert_int_equal(seam_elf_section(elf, read[i], &b), 0);
		assert_int_equal(a.size, b.size);
		assert_memory_equal(a.data, b.data, a.size);
	}
	assert_int_equal(seam_elf_build_id(whole, id[0]),
			 seam_elf_build_id(elf, id[1]));
	seam_elf_close(elf);
	seam_elf_close(whole);
}

static void test_parts(void **state)
{
	struct seam_elf_parts p = {0};

	(void)state;
	assert_false(seam_elf_parts_have(&p, 0, 0));
	assert_int_equal(seam_elf_parts_add(&p, 100, 50), 0);
	assert_int_equal(seam_elf_parts_add(&p, 0, 10), 0);
	assert_int_equal(seam_elf_parts_add(&p, 140, 20), 0);
	assert_int_equal(seam_elf_parts_add(&p, 160, 10), 0); /* touches */
	assert_int_equal(seam_elf_parts_add(&p, 500, UINT64_MAX), 0);
	assert_int_equal(seam_elf_parts_add(&p, 2000, 5), 0); /* outside */
	assert_int_equal(seam_elf_parts_settle(&p, 1000), 10 + 70 + 500);
	assert_int_equal(p.n, 3);
	assert_true(seam_elf_parts_have(&p, 100, 70));
	assert_true(seam_elf_parts_have(&p, 169, 1));
	assert_false(seam_elf_parts_have(&p, 169, 2));
	assert_false(seam_elf_parts_have(&p, 99, 1));
	assert_false(seam_elf_parts_have(&p, 5, 100));
	assert_true(seam_elf_parts_have(&p, 999, 1));
	assert_false(seam_elf_parts_have(&p, 999, UINT64_MAX));
	seam_elf_parts_fini(&p);
}

/* A file of a gigabyte that is nearly all debugging information. */
static void test_large(void **state)
{
	static const char names[] = "\0.shstrtab\0.debug_info";
	Elf64_Ehdr eh = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof(eh),
		.e_ehsize = sizeof(eh),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 1,
	};
	const Elf64_Shdr sh[3] = {
		{0},
		{.sh_name = 1,
		 .sh_type = SHT_STRTAB,
		 .sh_offset = 0x1000,
		 .sh_size = sizeof(names)},
		{.sh_name = 11,
		 .sh_type = SHT_PROGBITS,
		 .sh_offset = 0x2000,
		 .sh_size = (1u << 30) - 0x2000},
	};
	int fd = memfd_create("large", MFD_CLOEXEC);
	struct seam_elf *elf = NULL;

	(void)state;
	assert_int_equal(pwrite(fd, &eh, sizeof(eh), 0), sizeof(eh));
	assert_int_equal(pwrite(fd, sh, sizeof(sh), sizeof(eh)), sizeof(sh));
	assert_int_equal(pwrite(fd, names, sizeof(names), 0x1000),
			 sizeof(names));
	assert_int_equal(ftruncate(fd, 1 << 30), 0);
	assert_int_equal(seam_elf_open_fd(fd, SEAM_ELF_PARTS, &elf, NULL), 0);
	assert_true(resident(elf) < 64 * 1024);
	/* The file may go on changing. */
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(seam_elf_machine(elf), EM_X86_64);
	seam_elf_close(elf);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),	 cmocka_unit_test(test_rows),
		cmocka_unit_test(test_table),	 cmocka_unit_test(test_debug),
		cmocka_unit_test(test_detached), cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
