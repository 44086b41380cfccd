/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Description: a section that is added is where libelf finds it, in a segment
 * of its own, and all else stays; a file with any byte of its headers changed
 * is refused or gets its section, and nothing worse; so when memory runs out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/add-section.h"

#define SECTION_TYPE 0x6ffffff3
#define SEGMENT_TYPE 0x6474e5ff
#define FILE_MAX (64 << 20)

static const struct seam_elf_new_section spec = {
	.name = ".added",
	.sh_type = SECTION_TYPE,
	.p_type = SEGMENT_TYPE,
};

static const char *const files[] = {
	"v3/amd64-so.so",
	"v3/amd64-static.exe",
	"v3/aarch64-static-be.exe",
	"v3/s390x-so.so",
};

static long left = -1; /* allocations until they fail; -1: never */

/* Stands in for the C library's, for the whole program. */
void *calloc(size_t num, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(num, size, &bytes) || !left) {
		errno = ENOMEM;
		return NULL;
	}
	if (left > 0)
		left--;
	p = malloc(bytes);
	/* Without this the compiler makes calloc of malloc and memset. */
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p ? memset(p, 0, bytes) : NULL;
}

struct bytes {
	uint8_t *p;
	size_t size;
};

static struct bytes read_fd(int fd)
{
	struct bytes b;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	b.size = (size_t)st.st_size;
	b.p = malloc(b.size + 1);
	assert_non_null(b.p);
	assert_int_equal(pread(fd, b.p, b.size, 0), b.size);
	return b;
}

static struct bytes read_golden(const char *name)
{
	char path[512];
	struct bytes b;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", getenv("SEAM_GOLDEN"), name);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	b = read_fd(fd);
	close(fd);
	return b;
}

/* Adds content to a file. Return: 0 and the new file, or why not. */
static int add(const struct bytes *in, const struct bytes *content,
	       struct bytes *out, bool *in_place, uint64_t *svma)
{
	struct seam_errinfo err = {0};
	struct seam_elf_add *plan = NULL;
	struct seam_elf *elf;
	int fd, rc = seam_elf_open_mem(in->p, in->size, &elf, &err);

	if (rc)
		return rc;
	rc = seam_elf_add_plan(elf, &spec, content->size, &plan, &err);
	if (rc) {
		assert_null(plan);
		assert_true(rc == -ENOMEM || err.reason[0]);
		seam_elf_close(elf);
		return rc;
	}
	*in_place = seam_elf_add_in_place(plan);
	*svma = seam_elf_add_svma(plan);
	fd = memfd_create("added", MFD_CLOEXEC);
	assert_true(fd >= 0);
	rc = seam_elf_add_write(plan, content->p, fd);
	if (!rc && lseek(fd, 0, SEEK_END) < FILE_MAX)
		*out = read_fd(fd);
	else
		*out = (struct bytes){0};
	close(fd);
	seam_elf_add_free(plan);
	seam_elf_close(elf);
	return rc;
}

/* By libelf alone. */
static void check_added(const struct bytes *out, const struct bytes *content,
			uint64_t svma)
{
	Elf *elf = elf_memory((char *)out->p, out->size);
	Elf_Scn *scn = NULL;
	unsigned named = 0, loaded = 0, sections = 0;
	size_t num, names;
	GElf_Phdr ph;
	GElf_Shdr sh;

	assert_int_equal(elf_getphdrnum(elf, &num), 0);
	for (size_t i = 0; i < num; i++) {
		assert_non_null(gelf_getphdr(elf, (int)i, &ph));
		if (ph.p_type == SEGMENT_TYPE) {
			named++;
			assert_int_equal(ph.p_vaddr, svma);
			assert_int_equal(ph.p_memsz, content->size);
			assert_memory_equal(out->p + ph.p_offset, content->p,
					    content->size);
		}
		if (ph.p_type == PT_LOAD && svma >= ph.p_vaddr &&
		    svma + content->size <= ph.p_vaddr + ph.p_filesz) {
			loaded++;
			assert_int_equal(ph.p_flags, PF_R);
			assert_int_equal(
				(ph.p_vaddr - ph.p_offset) % ph.p_align, 0);
			assert_memory_equal(out->p + ph.p_offset +
						    (svma - ph.p_vaddr),
					    content->p, content->size);
		}
	}
	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;

		assert_non_null(gelf_getshdr(scn, &sh));
		name = elf_strptr(elf, names, sh.sh_name);
		assert_non_null(name);
		if (strcmp(name, spec.name))
			continue;
		sections++;
		assert_int_equal(sh.sh_type, SECTION_TYPE);
		assert_int_equal(sh.sh_flags, SHF_ALLOC);
		assert_int_equal(sh.sh_addr, svma);
		assert_memory_equal(out->p + sh.sh_offset, content->p,
				    content->size);
	}
	assert_int_equal(named, 1);
	assert_int_equal(loaded, 1);
	assert_int_equal(sections, 1);
	elf_end(elf);
}

static struct bytes make_content(size_t size)
{
	struct bytes b = {malloc(size), size};

	assert_non_null(b.p);
	for (size_t i = 0; i < size; i++)
		b.p[i] = (uint8_t)(i * 7 + 1);
	return b;
}

/* A new section, then a smaller one in its place, then a larger one. */
static void one_file(const char *name)
{
	static const size_t sizes[] = {1000, 777, 1000, 5000};
	struct bytes in = read_golden(name), out, old = in;
	uint64_t svma, first_svma = 0;
	bool in_place;

	for (size_t i = 0; i < 4; i++) {
		struct bytes content = make_content(sizes[i]);

		assert_int_equal(add(&in, &content, &out, &in_place, &svma), 0);
		check_added(&out, &content, svma);
		if (!i)
			first_svma = svma;
		/* Once 777 bytes are said to be all, there is no more. */
		assert_int_equal(in_place, i == 1);
		assert_int_equal(svma == first_svma, i < 2);
		if (!i)
			assert_memory_equal(out.p + 64, old.p + 64,
					    old.size - 64);
		free(in.p);
		free(content.p);
		in = out;
		old = out;
	}
	free(in.p);
}

static void added(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		one_file(files[i]);
}

/* The header of the section that was added, which is the last one. */
static Elf64_Shdr *last_header(const struct bytes *b)
{
	Elf64_Ehdr eh;

	memcpy(&eh, b->p, sizeof(eh));
	return (Elf64_Shdr *)(void *)(b->p + eh.e_shoff) + eh.e_shnum - 1;
}

/* An old section that says it lies at off: what is there is not cleared. */
static void lie(struct bytes *in, uint64_t off, uint64_t size, int want)
{
	struct bytes content = make_content(100), out = {0};
	Elf64_Shdr *header = last_header(in), was = *header;
	uint64_t svma;
	bool in_place;

	header->sh_offset = off;
	header->sh_size = size;
	assert_int_equal(add(in, &content, &out, &in_place, &svma), want);
	*header = was;
	free(out.p);
	free(content.p);
}

static void overlapping(void **state)
{
	struct bytes golden = read_golden(files[0]), in;
	struct bytes content = make_content(200);
	const Elf64_Shdr *header;
	Elf64_Ehdr eh;
	uint64_t svma;
	bool in_place;

	(void)state;
	assert_int_equal(add(&golden, &content, &in, &in_place, &svma), 0);
	memcpy(&eh, in.p, sizeof(eh));
	header = last_header(&in);
	lie(&in, header->sh_offset, 200, 0);
	lie(&in, header->sh_offset, 201, -EINVAL); /* the names */
	lie(&in, header[-2].sh_offset, 1, -EINVAL);
	lie(&in, 0, 8, -EINVAL);
	lie(&in, eh.e_phoff + eh.e_phnum * sizeof(Elf64_Phdr) - 1, 1, -EINVAL);
	lie(&in, eh.e_shoff + 64, 1, -EINVAL);
	free(in.p);
	free(golden.p);
	free(content.p);
}

static unsigned refused, taken;

static void try_byte(struct bytes *in, size_t at, uint8_t value)
{
	struct bytes content = make_content(100), out;
	uint8_t was = in->p[at];
	uint64_t svma;
	bool in_place;
	int rc;

	in->p[at] = value;
	rc = add(in, &content, &out, &in_place, &svma);
	if (rc) {
		refused++;
	} else {
		taken++;
		/* All that was not a header stays. */
		if (out.p)
			assert_true(out.size >= in->size);
		free(out.p);
	}
	in->p[at] = was;
	free(content.p);
}

static void try_range(struct bytes *in, size_t off, size_t size)
{
	for (size_t at = off; at < off + size; at++) {
		try_byte(in, at, 0);
		try_byte(in, at, 0xff);
		try_byte(in, at, in->p[at] ^ 0x80);
		try_byte(in, at, (uint8_t)(in->p[at] + 1));
	}
}

static void hostile(void **state)
{
	struct bytes in = read_golden(files[0]);
	Elf64_Ehdr eh;

	(void)state;
	memcpy(&eh, in.p, sizeof(eh));
	try_range(&in, 0, sizeof(eh));
	try_range(&in, eh.e_phoff, eh.e_phnum * sizeof(Elf64_Phdr));
	try_range(&in, eh.e_shoff, eh.e_shnum * sizeof(Elf64_Shdr));
	assert_true(refused > 100);
	assert_true(taken > 100);
	free(in.p);
}

static void truncated(void **state)
{
	struct bytes whole = read_golden(files[0]);
	struct bytes content = make_content(100), out;
	uint64_t svma;
	bool in_place;

	(void)state;
	for (size_t size = 0; size < whole.size; size += 13) {
		struct bytes in = {malloc(size + 1), size};

		memcpy(in.p, whole.p, size);
		assert_int_equal(add(&in, &content, &out, &in_place, &svma),
				 -EINVAL);
		free(in.p);
	}
	free(content.p);
	free(whole.p);
}

static void no_memory(void **state)
{
	struct bytes in = read_golden(files[0]), out;
	struct bytes content = make_content(100);
	struct seam_elf_add *plan;
	struct seam_elf *elf;
	uint64_t svma;
	bool in_place;
	int rc = -ENOMEM;

	(void)state;
	assert_int_equal(seam_elf_open_mem(in.p, in.size, &elf, NULL), 0);
	for (long n = 0; rc; n++) {
		assert_true(n < 100);
		left = n;
		rc = seam_elf_add_plan(elf, &spec, 100, &plan, NULL);
		left = -1;
		/* libelf, out of memory, only says that it cannot read. */
		assert_true(!rc || rc == -ENOMEM || rc == -EINVAL);
	}
	seam_elf_add_free(plan);
	seam_elf_close(elf);
	assert_int_equal(add(&in, &content, &out, &in_place, &svma), 0);
	free(out.p);
	free(content.p);
	free(in.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(added),     cmocka_unit_test(overlapping),
		cmocka_unit_test(hostile),   cmocka_unit_test(truncated),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
