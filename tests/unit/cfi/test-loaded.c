/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Description: the rows of an image in memory are those of its file, with
 * sections and without; what cannot be read of it is missing, and headers
 * that lie are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cfi/cfi.h"
#include "core/err.h"
#include "tests/unit/skip.h"

struct sum {
	uint64_t rows, hash, bad;
};

static void mix(struct sum *s, uint64_t v)
{
	s->hash = (s->hash ^ v) * 0x100000001b3;
}

static int add_row(void *ctx, const struct seam_cfi_row *row)
{
	struct sum *s = ctx;

	s->rows++;
	mix(s, row->start);
	mix(s, row->end);
	mix(s, row->cfa_is_expr ? row->cfa_expr_len
				: row->cfa_reg + 256 * (uint64_t)row->cfa_off);
	for (int i = 0; i < SEAM_CFI_REGS; i++) {
		mix(s, row->regs[i].how);
		mix(s, row->regs[i].expr_len
			       ? row->regs[i].expr[0]
			       : row->regs[i].reg + (uint64_t)row->regs[i].off);
	}
	return 0;
}

static void add_bad(void *ctx, uint64_t start, uint64_t end,
		    const struct seam_errinfo *why)
{
	(void)start;
	(void)end;
	(void)why;
	((struct sum *)ctx)->bad++;
}

static struct sum sum_of(struct seam_elf *elf)
{
	struct sum s = {0};
	struct seam_cfi *cfi;

	assert_int_equal(seam_cfi_open(elf, &cfi, NULL), 0);
	assert_int_equal(seam_cfi_each(cfi, add_row, add_bad, &s), 0);
	seam_cfi_close(cfi);
	return s;
}

static void assert_same(struct sum a, struct sum b)
{
	assert_true(a.rows > 0);
	assert_int_equal(a.bad, 0);
	assert_int_equal(a.rows, b.rows);
	assert_int_equal(a.hash, b.hash);
	assert_int_equal(b.bad, 0);
}

/* This process itself. *ctx: no byte from there on can be read. */
static int read_self(void *ctx, uint64_t avma, void *to, size_t size)
{
	uint64_t end = *(uint64_t *)ctx;

	if (avma + size > end)
		return -EFAULT;
	memcpy(to, (const void *)(uintptr_t)avma, size);
	return 0;
}

static void check_module(const char *path, uint64_t header)
{
	uint64_t all = UINT64_MAX;
	struct seam_elf *file, *loaded;
	uint8_t a[SEAM_BUILD_ID_MAX], b[SEAM_BUILD_ID_MAX];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(seam_elf_open_fd(fd, 0, &file, NULL), 0);
	close(fd);
	assert_int_equal(
		seam_elf_open_loaded(read_self, &all, header, &loaded, NULL),
		0);
	assert_same(sum_of(file), sum_of(loaded));
	assert_int_equal(seam_elf_build_id(file, a),
			 seam_elf_build_id(loaded, b));
	assert_memory_equal(a, b, seam_elf_build_id(file, a));
	seam_elf_close(loaded);
	seam_elf_close(file);
}

static int one_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
	unsigned int *n = ctx;
	uint64_t low = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_LOAD) {
			low = info->dlpi_phdr[i].p_vaddr;
			break;
		}
	}
	if (info->dlpi_name[0] == '/') {
		check_module(info->dlpi_name, info->dlpi_addr + low);
		(*n)++;
	}
	return 0;
}

static void libraries(void **state)
{
	unsigned int n = 0;

	(void)state;
	dl_iterate_phdr(one_module, &n);
	assert_true(n >= 2);
}

static void vdso(void **state)
{
	uint64_t header = getauxval(AT_SYSINFO_EHDR), all = UINT64_MAX;
	const Elf64_Ehdr *ehdr = (const void *)(uintptr_t)header;
	struct seam_elf *mem, *loaded;

	(void)state;
	if (!header)
		skip_since("no vDSO is mapped here");
	assert_int_equal(
		seam_elf_open_mem(ehdr,
				  ehdr->e_shoff + (size_t)ehdr->e_shnum *
							  ehdr->e_shentsize,
				  &mem, NULL),
		0);
	assert_int_equal(
		seam_elf_open_loaded(read_self, &all, header, &loaded, NULL),
		0);
	assert_same(sum_of(mem), sum_of(loaded));
	seam_elf_close(mem);
	seam_elf_close(loaded);
}

/* A file is as good without its section headers. */
static void no_section_headers(void **state)
{
	static const char *const paths[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib/x86_64-linux-gnu/libm.so.6",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/bin/python3",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		struct seam_elf *whole, *bare;
		const uint8_t *bytes;
		Elf64_Ehdr *copy;
		size_t size;

		if (fd < 0)
			continue;
		assert_int_equal(
			seam_elf_open_fd(fd, SEAM_ELF_COPY, &whole, NULL), 0);
		close(fd);
		bytes = seam_elf_bytes(whole, &size);
		copy = malloc(size);
		assert_non_null(copy);
		memcpy(copy, bytes, size);
		copy->e_shoff = 0;
		copy->e_shnum = 0;
		copy->e_shstrndx = 0;
		assert_int_equal(seam_elf_open_mem(copy, size, &bare, NULL), 0);
		assert_same(sum_of(whole), sum_of(bare));
		seam_elf_close(bare);
		seam_elf_close(whole);
		free(copy);
	}
}

/* A small image: headers, and CFI in a second page. */
static uint8_t image[3 * 4096] __attribute__((aligned(4096)));

static Elf64_Phdr *image_phdrs(void)
{
	return (Elf64_Phdr *)(image + sizeof(Elf64_Ehdr));
}

static void make_image(void)
{
	const uint8_t hdr[8] = {1, 0x1b, 0xff, 0xff, 0xfc, 0x0f, 0, 0};
	const uint8_t cie[] = {20,   0,	   0,	0, 0,	 0,    0,  0,
			       1,    'z',  'R', 0, 1,	 0x78, 16, 1,
			       0x1b, 0x0c, 7,	8, 0x90, 1,    0,  0};
	const uint8_t fde[] = {16, 0, 0, 0, 28, 0, 0, 0,    0xe0, 0x03,
			       0,  0, 8, 0, 0,	0, 0, 0x41, 0x0e, 16};
	Elf64_Ehdr *e = (Elf64_Ehdr *)image;

	memset(image, 0, sizeof(image));
	memcpy(e->e_ident, ELFMAG, SELFMAG);
	e->e_ident[EI_CLASS] = ELFCLASS64;
	e->e_ident[EI_DATA] = ELFDATA2LSB;
	e->e_ident[EI_VERSION] = EV_CURRENT;
	e->e_type = ET_DYN;
	e->e_machine = EM_X86_64;
	e->e_version = EV_CURRENT;
	e->e_phoff = sizeof(*e);
	e->e_ehsize = sizeof(*e);
	e->e_phentsize = sizeof(Elf64_Phdr);
	e->e_phnum = 2;
	e->e_shoff = 0x7fffffff; /* nobody loads that */
	e->e_shnum = 77;
	image_phdrs()[0] = (Elf64_Phdr){.p_type = PT_LOAD,
					.p_flags = PF_R | PF_X,
					.p_vaddr = 0x400000,
					.p_filesz = sizeof(image),
					.p_memsz = sizeof(image)};
	image_phdrs()[1] = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
					.p_vaddr = 0x400200,
					.p_filesz = sizeof(hdr),
					.p_memsz = sizeof(hdr)};
	memcpy(image + 0x200, hdr, sizeof(hdr)); /* .eh_frame: 0x401200 */
	memcpy(image + 0x1200, cie, sizeof(cie));
	memcpy(image + 0x1200 + sizeof(cie), fde, sizeof(fde));
}

static int open_image(uint64_t end, struct seam_elf **elf)
{
	struct seam_errinfo why;

	return seam_elf_open_loaded(read_self, &end, (uintptr_t)image, elf,
				    &why);
}

static void unreadable_pages(void **state)
{
	struct seam_elf *elf;
	struct seam_cfi *cfi;
	struct sum s;

	(void)state;
	make_image();
	assert_int_equal(open_image(UINT64_MAX, &elf), 0);
	assert_int_equal(seam_elf_bias(elf), (uintptr_t)image - 0x400000);
	s = sum_of(elf);
	assert_int_equal(s.rows, 2);
	assert_int_equal(s.bad, 0);
	seam_elf_close(elf);

	assert_int_equal(open_image((uintptr_t)image + 4096, &elf), 0);
	assert_true(seam_elf_has(elf, 0, 4096));
	assert_false(seam_elf_has(elf, 4096, 1));
	assert_int_equal(seam_cfi_open(elf, &cfi, NULL), 0);
	seam_cfi_close(cfi);
	seam_elf_close(elf);

	assert_int_equal(open_image((uintptr_t)image + 63, &elf), -EFAULT);
	assert_int_equal(open_image((uintptr_t)image + 64, &elf), -EFAULT);
}

static void lying_headers(void **state)
{
	struct seam_elf *elf;

	(void)state;
	make_image();
	((Elf64_Ehdr *)image)->e_phnum = 0;
	assert_int_equal(open_image(UINT64_MAX, &elf), -EINVAL);
	make_image();
	((Elf64_Ehdr *)image)->e_phentsize = 8;
	assert_int_equal(open_image(UINT64_MAX, &elf), -EINVAL);
	make_image();
	image[0] = 0;
	assert_int_equal(open_image(UINT64_MAX, &elf), -EINVAL);
	make_image();
	image_phdrs()[0].p_memsz = UINT64_MAX - 5;
	assert_int_equal(open_image(UINT64_MAX, &elf), -EINVAL);
	make_image();
	image_phdrs()[0].p_memsz = UINT64_C(1) << 40;
	assert_int_equal(open_image(UINT64_MAX, &elf), -EFBIG);
	make_image();
	image_phdrs()[0].p_offset = 4096;
	assert_int_equal(open_image(UINT64_MAX, &elf), -EINVAL);
	make_image();
	image_phdrs()[1].p_type = PT_LOAD;
	image_phdrs()[1].p_vaddr = 0x3000;
	assert_int_equal(open_image(UINT64_MAX, &elf), -EINVAL);
	make_image();
	image_phdrs()[0].p_type = PT_NULL;
	assert_int_equal(open_image(UINT64_MAX, &elf), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libraries),
		cmocka_unit_test(vdso),
		cmocka_unit_test(no_section_headers),
		cmocka_unit_test(unreadable_pages),
		cmocka_unit_test(lying_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
