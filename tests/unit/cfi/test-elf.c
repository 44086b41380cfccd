/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Description: ELF files are opened, or refused with the right reason; their
 * addresses, sections and build-ids are what the file says and no more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cfi/cfi.h"
#include "core/err.h"
#include "image.h"

static struct image im;

static Elf64_Ehdr *ehdr(void)
{
	return (Elf64_Ehdr *)im.bytes;
}

static Elf64_Phdr *phdr(int i)
{
	return (Elf64_Phdr *)(im.bytes + ehdr()->e_phoff) + i;
}

static int setup(void **state)
{
	struct spec spec = {0};

	(void)state;
	image_build(&im, &spec);
	return 0;
}

static void refused(size_t size, int code)
{
	struct seam_elf *elf = (void *)&im;
	struct seam_errinfo why = {0};

	assert_int_equal(seam_elf_open_mem(im.bytes, size, &elf, &why),
			 -EINVAL);
	assert_int_equal(why.code, code);
	assert_true(why.reason[0]);
	assert_ptr_equal(elf, &im); /* untouched */
	assert_int_equal(seam_elf_open_mem(im.bytes, size, &elf, NULL),
			 -EINVAL);
}

static struct seam_elf *opened(void)
{
	struct seam_elf *elf;

	assert_int_equal(seam_elf_open_mem(im.bytes, im.size, &elf, NULL), 0);
	return elf;
}

static void not_elf(void **state)
{
	(void)state;
	refused(0, SEAM_ELF_NOT);
	refused(4, SEAM_ELF_NOT);
	refused(EI_NIDENT - 1, SEAM_ELF_NOT);
	refused(sizeof(Elf64_Ehdr) - 1, SEAM_ELF_NOT);
	im.bytes[0] = 'E';
	refused(im.size, SEAM_ELF_NOT);
}

static void wrong_class(void **state)
{
	(void)state;
	im.bytes[EI_CLASS] = ELFCLASS32;
	refused(im.size, SEAM_ELF_CLASS);
}

static void other_machine(void **state)
{
	struct seam_errinfo why = {0};
	struct seam_cfi *cfi;
	struct seam_elf *elf;

	(void)state;
	ehdr()->e_machine = EM_RISCV;
	elf = opened();
	assert_int_equal(seam_elf_machine(elf), EM_RISCV);
	assert_int_equal(seam_cfi_open(elf, &cfi, &why), -EINVAL);
	assert_int_equal(why.code, SEAM_ELF_CLASS);
	seam_elf_close(elf);

	ehdr()->e_machine = EM_S390; /* but little-endian */
	elf = opened();
	assert_int_equal(seam_cfi_open(elf, &cfi, &why), -EINVAL);
	assert_int_equal(why.code, SEAM_ELF_CLASS);
	seam_elf_close(elf);

	ehdr()->e_machine = EM_X86_64;
	ehdr()->e_type = ET_CORE;
	elf = opened();
	assert_int_equal(seam_cfi_open(elf, &cfi, &why), -EINVAL);
	assert_int_equal(why.code, SEAM_ELF_CLASS);
	seam_elf_close(elf);
}

static void lying_headers(void **state)
{
	(void)state;
	phdr(0)->p_memsz = phdr(0)->p_filesz - 1;
	refused(im.size, SEAM_ELF_LAYOUT);
	setup(NULL);
	phdr(0)->p_vaddr = UINT64_MAX - 16;
	refused(im.size, SEAM_ELF_LAYOUT);
	setup(NULL);
	phdr(0)->p_offset = UINT64_MAX - 16;
	refused(im.size, SEAM_ELF_LAYOUT);
	setup(NULL);
	ehdr()->e_phoff = im.size - 16;
	refused(im.size, SEAM_ELF_LAYOUT);
	setup(NULL);
	ehdr()->e_phoff = UINT64_MAX - 8;
	refused(im.size, SEAM_ELF_LAYOUT);
	setup(NULL);
	ehdr()->e_phnum = 0xfff0;
	refused(im.size, SEAM_ELF_LAYOUT);
}

/* Sections are not needed to run; a file whose section table lies has none. */
static void lying_sections(void **state)
{
	struct seam_elf_section s;
	struct seam_elf *elf;
	Elf64_Shdr *sh;

	(void)state;
	elf = opened();
	assert_int_equal(seam_elf_section(elf, ".eh_frame", &s), 0);
	assert_int_equal(s.svma, IMAGE_SVMA + IMAGE_CFI_OFF);
	assert_int_equal(s.off, IMAGE_CFI_OFF);
	assert_ptr_equal(s.data, im.bytes + IMAGE_CFI_OFF);
	assert_int_equal(seam_elf_section(elf, ".nothing", &s), -ENOENT);
	sh = (Elf64_Shdr *)(im.bytes + ehdr()->e_shoff);
	seam_elf_close(elf);

	sh[1].sh_size = im.size;
	elf = opened();
	assert_int_equal(seam_elf_section(elf, ".eh_frame", &s), -ENOENT);
	seam_elf_close(elf);
	sh[1].sh_size = UINT64_MAX - 0x100;
	elf = opened();
	assert_int_equal(seam_elf_section(elf, ".eh_frame", &s), -ENOENT);
	seam_elf_close(elf);
	sh[1].sh_size = 16;
	sh[1].sh_name = 0xffffff;
	elf = opened();
	assert_int_equal(seam_elf_section(elf, ".eh_frame", &s), -ENOENT);
	seam_elf_close(elf);
	ehdr()->e_shoff = UINT64_MAX - 8;
	elf = opened();
	assert_int_equal(seam_elf_section(elf, ".eh_frame", &s), -ENOENT);
	seam_elf_close(elf);
	setup(NULL);
	ehdr()->e_shstrndx = 77;
	elf = opened();
	assert_int_equal(seam_elf_section(elf, ".eh_frame", &s), -ENOENT);
	seam_elf_close(elf);
}

/* Three more program headers, over space that the image does not use. */
static void more_segments(void)
{
	const Elf64_Phdr add[] = {
		/* data, in other pages than its offset says */
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_W,
		 .p_offset = 0x2000,
		 .p_vaddr = 0x42000,
		 .p_filesz = 0x100,
		 .p_memsz = 0x5000},
		/* beyond the file, as in separate debug files */
		{.p_type = PT_LOAD,
		 .p_flags = PF_R,
		 .p_offset = 0x700000,
		 .p_vaddr = 0x900000,
		 .p_filesz = 0x100,
		 .p_memsz = 0x100},
		{.p_type = PT_LOAD}, /* nothing at all */
	};

	ehdr()->e_phoff = 0x3000;
	ehdr()->e_phnum = 4;
	memcpy(im.bytes + 0x3000, im.bytes + sizeof(Elf64_Ehdr),
	       sizeof(Elf64_Phdr));
	memcpy(phdr(1), add, sizeof(add));
}

static void addresses(void **state)
{
	struct seam_elf *elf;
	uint64_t v;
	size_t n;

	(void)state;
	more_segments();
	/* Code is not the first that holds an offset. */
	Elf64_Phdr first = *phdr(0);

	*phdr(0) = *phdr(1);
	*phdr(1) = first;
	elf = opened();
	assert_int_equal(seam_elf_segments(elf, &n)[0].svma, 0x42000);
	assert_int_equal(n, 4);
	assert_true(seam_elf_svma_to_off(elf, IMAGE_SVMA, &v));
	assert_int_equal(v, 0);
	assert_true(seam_elf_svma_to_off(elf, IMAGE_SVMA + IMAGE_MAX - 1, &v));
	assert_int_equal(v, IMAGE_MAX - 1);
	assert_false(seam_elf_svma_to_off(elf, IMAGE_SVMA + IMAGE_MAX, &v));
	assert_false(seam_elf_svma_to_off(elf, IMAGE_SVMA - 1, &v));
	assert_true(seam_elf_svma_to_off(elf, 0x420ff, &v));
	assert_int_equal(v, 0x20ff);
	/* zero-filled memory has no offset */
	assert_false(seam_elf_svma_to_off(elf, 0x42100, &v));
	assert_true(seam_elf_svma_to_off(elf, 0x900010, &v));
	assert_int_equal(v, 0x700010);
	/* 0x2000 is in both: the executable one is meant */
	assert_true(seam_elf_off_to_svma(elf, 0x2000, &v));
	assert_int_equal(v, IMAGE_SVMA + 0x2000);
	assert_true(seam_elf_off_to_svma(elf, 0x700000, &v));
	assert_int_equal(v, 0x900000);
	assert_false(seam_elf_off_to_svma(elf, IMAGE_MAX, &v));
	assert_false(seam_elf_off_to_svma(elf, UINT64_MAX, &v));
	seam_elf_close(elf);
}

/* Without section headers: PT_GNU_EH_FRAME leads to .eh_frame. */
static void no_sections(void **state)
{
	struct seam_cfi_row row;
	struct seam_errinfo why = {0};
	struct seam_elf *elf;
	struct seam_cfi *cfi;
	int32_t rel = IMAGE_CFI_OFF - (0x2800 + 4);

	(void)state;
	more_segments();
	ehdr()->e_shoff = 0;
	ehdr()->e_shnum = 0;
	ehdr()->e_shstrndx = 0;
	*phdr(3) = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
				.p_offset = 0x2800,
				.p_vaddr = IMAGE_SVMA + 0x2800,
				.p_filesz = 8,
				.p_memsz = 8};
	memcpy(im.bytes + 0x2800, "\x01\x1b\xff\xff", 4);
	memcpy(im.bytes + 0x2804, &rel, 4);
	elf = opened();
	assert_int_equal(seam_cfi_open(elf, &cfi, NULL), 0);
	assert_int_equal(seam_cfi_find(cfi, IMAGE_FUNC, &row, NULL), 0);
	assert_int_equal(row.func_end, IMAGE_FUNC + IMAGE_FUNC_SIZE);
	seam_cfi_close(cfi);
	seam_elf_close(elf);

	/* A header that points at nothing, or says nothing. */
	rel = 0x70000000;
	memcpy(im.bytes + 0x2804, &rel, 4);
	elf = opened();
	assert_int_equal(seam_cfi_open(elf, &cfi, &why), -ENOENT);
	assert_int_equal(why.code, SEAM_ELF_NO_CFI);
	seam_elf_close(elf);
	phdr(3)->p_filesz = 7;
	elf = opened();
	assert_int_equal(seam_cfi_open(elf, &cfi, NULL), -ENOENT);
	seam_elf_close(elf);
	phdr(3)->p_offset = im.size - 4;
	elf = opened();
	assert_int_equal(seam_cfi_open(elf, &cfi, NULL), -ENOENT);
	seam_elf_close(elf);
}

static int add_start(void *ctx, const struct seam_cfi_row *row)
{
	uint64_t **starts = ctx;

	*(*starts)++ = row->func_start;
	return 0;
}

static void no_bad(void *ctx, uint64_t start, uint64_t end,
		   const struct seam_errinfo *why)
{
	(void)ctx;
	fail_msg("%#lx-%#lx: %s", (unsigned long)start, (unsigned long)end,
		 why->reason);
}

/* .debug_frame answers for functions that .eh_frame does not have. */
static void both_sections(void **state)
{
	struct spec eh = {0}, debug = {.debug_frame = true, .func_size = 0x20};
	uint64_t starts[8], *end = starts;
	struct seam_cfi_row row;
	struct seam_elf *elf;
	struct seam_cfi *cfi;
	size_t at;

	(void)state;
	spec_defaults(&eh);
	spec_defaults(&debug);
	image_begin(&im);
	put_cie(&im, &eh);
	put_fde(&im, &eh, IMAGE_FUNC);
	at = im.size;
	put_cie(&im, &debug);
	put_fde(&im, &debug, IMAGE_FUNC); /* known already */
	put_fde(&im, &debug, IMAGE_FUNC + 0x80);
	put_fde(&im, &debug, IMAGE_FUNC + IMAGE_FUNC_SIZE);
	put_fde(&im, &debug, IMAGE_FUNC - 0x20);
	put_fde(&im, &debug, 0); /* the linker left these three behind */
	put_fde(&im, &debug, UINT64_MAX);
	put_fde(&im, &debug, UINT64_MAX - 1);
	image_end_two(&im, at, 0);
	elf = opened();
	assert_int_equal(seam_cfi_open(elf, &cfi, NULL), 0);
	assert_int_equal(seam_cfi_each(cfi, add_start, no_bad, &end), 0);
	assert_int_equal(end - starts, 3);
	assert_int_equal(starts[0], IMAGE_FUNC);
	assert_int_equal(starts[1], IMAGE_FUNC + IMAGE_FUNC_SIZE);
	assert_int_equal(starts[2], IMAGE_FUNC - 0x20);
	assert_int_equal(seam_cfi_find(cfi, IMAGE_FUNC + 0x90, &row, NULL), 0);
	assert_int_equal(row.func_start, IMAGE_FUNC);
	assert_int_equal(seam_cfi_find(cfi, IMAGE_FUNC - 1, &row, NULL), 0);
	assert_int_equal(row.func_start, IMAGE_FUNC - 0x20);
	seam_cfi_close(cfi);
	seam_elf_close(elf);
}

/* zlib's form without compression: one stored block and a checksum. */
static void compressed_section(void **state)
{
	struct spec debug = {.debug_frame = true};
	struct seam_errinfo why = {0};
	static struct image plain;
	struct seam_cfi_row row;
	struct seam_elf *elf;
	struct seam_cfi *cfi;
	Elf64_Chdr chdr = {.ch_type = ELFCOMPRESS_ZLIB, .ch_addralign = 1};
	uint32_t a = 1, b = 0;

	(void)state;
	spec_defaults(&debug);
	image_begin(&plain);
	put_cie(&plain, &debug);
	put_fde(&plain, &debug, IMAGE_FUNC);
	chdr.ch_size = plain.size - IMAGE_CFI_OFF;
	for (size_t i = 0; i < chdr.ch_size; i++) {
		a = (a + plain.bytes[IMAGE_CFI_OFF + i]) % 65521;
		b = (b + a) % 65521;
	}
	image_begin(&im);
	put_bytes(&im, (struct bytes){(uint8_t *)&chdr, sizeof(chdr)});
	put(&im, 0x010178, 3);
	put(&im, chdr.ch_size | ~chdr.ch_size << 16, 4);
	put_bytes(&im,
		  (struct bytes){plain.bytes + IMAGE_CFI_OFF, chdr.ch_size});
	put(&im, __builtin_bswap32(b << 16 | a), 4);
	image_end_two(&im, IMAGE_CFI_OFF, SHF_COMPRESSED);
	elf = opened();
	assert_int_equal(seam_cfi_open(elf, &cfi, NULL), 0);
	assert_int_equal(seam_cfi_find(cfi, IMAGE_FUNC, &row, NULL), 0);
	assert_int_equal(row.cfa_off, 8);
	seam_cfi_close(cfi);
	seam_elf_close(elf);

	/* Damaged, and of a size that nobody believes. */
	im.bytes[IMAGE_CFI_OFF + sizeof(chdr) + 12] ^= 1;
	elf = opened();
	assert_int_equal(seam_cfi_open(elf, &cfi, &why), -EINVAL);
	assert_int_equal(why.code, SEAM_ELF_LAYOUT);
	seam_elf_close(elf);
	im.bytes[IMAGE_CFI_OFF + sizeof(chdr) + 12] ^= 1;
	chdr.ch_size = UINT64_MAX;
	memcpy(im.bytes + IMAGE_CFI_OFF, &chdr, sizeof(chdr));
	elf = opened();
	assert_int_equal(seam_cfi_open(elf, &cfi, NULL), -EINVAL);
	seam_elf_close(elf);
}

static size_t put_note(size_t at, const char *name, uint32_t type,
		       const void *desc, uint32_t len)
{
	uint32_t head[3] = {(uint32_t)strlen(name) + 1, len, type};

	memcpy(im.bytes + at, head, sizeof(head));
	memcpy(im.bytes + at + 12, name, head[0]);
	memcpy(im.bytes + at + 12 + ((head[0] + 3) & ~3u), desc, len);
	return at + 12 + ((head[0] + 3) & ~3u) + ((len + 3) & ~3u);
}

static void build_id(void **state)
{
	static const uint8_t id[32] = "0123456789abcdefghijklmnopqrstu";
	uint8_t got[SEAM_BUILD_ID_MAX];
	struct seam_elf *elf;
	size_t end;

	(void)state;
	elf = opened();
	assert_int_equal(seam_elf_build_id(elf, got), 0);
	seam_elf_close(elf);

	/* After another note, and one of the same type that is not GNU's. */
	more_segments();
	end = put_note(0x2800, "Linux", 1, id, 7);
	end = put_note(end, "FOO", NT_GNU_BUILD_ID, id, 8);
	end = put_note(end, "GNU", NT_GNU_BUILD_ID, id, 20);
	*phdr(3) = (Elf64_Phdr){.p_type = PT_NOTE,
				.p_offset = 0x2800,
				.p_filesz = end - 0x2800,
				.p_align = 4};
	elf = opened();
	assert_int_equal(seam_elf_build_id(elf, got), 20);
	assert_memory_equal(got, id, 20);
	seam_elf_close(elf);

	/* The segment ends inside it. */
	phdr(3)->p_filesz--;
	elf = opened();
	assert_int_equal(seam_elf_build_id(elf, got), 0);
	seam_elf_close(elf);
	/* Longer than any that the kernel reports. */
	end = put_note(0x2800, "GNU", NT_GNU_BUILD_ID, id, 32);
	phdr(3)->p_filesz = end - 0x2800;
	elf = opened();
	assert_int_equal(seam_elf_build_id(elf, got), 0);
	seam_elf_close(elf);
	/* A size that wraps. */
	memset(im.bytes + 0x2804, 0xff, 4);
	elf = opened();
	assert_int_equal(seam_elf_build_id(elf, got), 0);
	seam_elf_close(elf);

	/* Only a section has it. */
	end = put_note(0x2800, "GNU", NT_GNU_BUILD_ID, id, 8);
	phdr(3)->p_type = PT_NULL;
	Elf64_Shdr *sh = (Elf64_Shdr *)(im.bytes + ehdr()->e_shoff);

	sh[1].sh_type = SHT_NOTE;
	sh[1].sh_offset = 0x2800;
	sh[1].sh_size = end - 0x2800;
	elf = opened();
	assert_int_equal(seam_elf_build_id(elf, got), 8);
	assert_memory_equal(got, id, 8);
	seam_elf_close(elf);
}

static void own_file(int flags)
{
	struct seam_elf_section text, copy;
	struct seam_elf *elf;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t size;

	assert_true(fd >= 0);
	errno = 4711;
	assert_int_equal(seam_elf_open_fd(fd, flags, &elf, NULL), 0);
	assert_int_equal(errno, 4711);
	assert_int_equal(lseek(fd, 0, SEEK_END),
			 (seam_elf_bytes(elf, &size), size));
	close(fd);
	assert_int_equal(seam_elf_section(elf, ".text", &text), 0);
	assert_true(seam_elf_entry(elf) >= text.svma &&
		    seam_elf_entry(elf) < text.svma + text.size);
	assert_int_equal(seam_elf_section(elf, ".bss", &copy), -ENOENT);
	seam_elf_close(elf);
}

static void from_fd(void **state)
{
	struct seam_elf *elf = NULL;
	struct seam_errinfo why = {0};
	int fd;

	(void)state;
	own_file(0);
	own_file(SEAM_ELF_COPY);
	/* A copy outlives its file's bytes. */
	fd = memfd_create("image", MFD_CLOEXEC);
	assert_int_equal(write(fd, im.bytes, im.size), im.size);
	assert_int_equal(seam_elf_open_fd(fd, SEAM_ELF_COPY, &elf, NULL), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(seam_elf_machine(elf), EM_X86_64);
	assert_memory_equal(seam_elf_bytes(elf, &(size_t){0}), im.bytes,
			    im.size);
	elf = seam_elf_close(elf);
	assert_null(elf);
	/* Sparse: nobody pays for it but who copies it. */
	if (!ftruncate(fd, (off_t)5 << 30))
		assert_int_equal(
			seam_elf_open_fd(fd, SEAM_ELF_COPY, &elf, NULL),
			-EFBIG);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(seam_elf_open_fd(fd, 0, &elf, &why), -EINVAL);
	assert_int_equal(why.code, SEAM_ELF_NOT);
	close(fd);
	assert_int_equal(seam_elf_open_fd(fd, 0, &elf, NULL), -EBADF);
	fd = open("/dev", O_RDONLY | O_CLOEXEC);
	assert_int_equal(seam_elf_open_fd(fd, 0, &elf, &why), -EINVAL);
	assert_int_equal(why.code, SEAM_ELF_NOT);
	close(fd);
	assert_null(elf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(not_elf, setup),
		cmocka_unit_test_setup(wrong_class, setup),
		cmocka_unit_test_setup(other_machine, setup),
		cmocka_unit_test_setup(lying_headers, setup),
		cmocka_unit_test_setup(lying_sections, setup),
		cmocka_unit_test_setup(addresses, setup),
		cmocka_unit_test_setup(no_sections, setup),
		cmocka_unit_test_setup(both_sections, setup),
		cmocka_unit_test_setup(compressed_section, setup),
		cmocka_unit_test_setup(build_id, setup),
		cmocka_unit_test_setup(from_fd, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
