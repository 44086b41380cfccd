// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: which function a slot is filled with, which ones others find in
 * a file, and what is no function though it has a name; a file that does not
 * tell is none that has nothing, and one that has too much is not read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "elf/links.h"
#include "namesakes.h"

static struct seam_elf *open_elf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct seam_elf *elf;

	assert_true(fd >= 0);
	assert_int_equal(seam_elf_open_fd(fd, SEAM_ELF_NAMES, &elf, NULL), 0);
	close(fd);
	return elf;
}

static struct seam_links *read_links(const char *path)
{
	struct seam_elf *elf = open_elf(path);
	struct seam_links *links;

	assert_int_equal(seam_links_read(elf, SIZE_MAX, &links), 0);
	seam_elf_close(elf);
	assert_true(seam_links_bytes(links) > 0);
	return links;
}

static const struct seam_link_def *def_of(const struct seam_links *links,
					  const char *name, size_t *ret_n)
{
	return seam_links_defs(links, seam_link_name(name), ret_n);
}

/* Where this file of libc's is, and where in it a function begins. */
static const char *where(const char *name, uint64_t *ret_svma)
{
	void *at = dlsym(RTLD_DEFAULT, name);
	Dl_info info;

	assert_non_null(at);
	assert_int_not_equal(dladdr(at, &info), 0);
	*ret_svma = (uintptr_t)at - (uintptr_t)info.dli_fbase;
	return info.dli_fname;
}

static void finds(void **state)
{
	uint64_t svma, off;
	const char *path = where("getppid", &svma);
	struct seam_links *links = read_links(path);
	struct seam_elf *elf = open_elf(path);
	const struct seam_link_def *def;
	size_t n;

	(void)state;
	def = def_of(links, "getppid", &n);
	assert_int_equal(n, 1);
	assert_true(def->is_func);
	assert_true(seam_elf_svma_to_off(elf, svma, &off));
	assert_int_equal(def->off, off);
	/* An IFUNC, whose code is elsewhere; data; and of several versions
	 * each. */
	def = def_of(links, "strchr", &n);
	assert_int_equal(n, 1);
	assert_false(def->is_func);
	def = def_of(links, "environ", &n);
	assert_int_equal(n, 1);
	assert_false(def->is_func);
	def_of(links, "pthread_cond_wait", &n);
	assert_true(n >= 2);
	/* It needs that of others, or nobody has it. */
	assert_null(def_of(links, "__tls_get_addr", &n));
	assert_int_equal(n, 0);
	assert_null(def_of(links, "no_such_function", &n));
	assert_false(seam_links_is_linker(links));
	seam_links_free(links);
	seam_elf_close(elf);
}

static const uint64_t *slot;

/* The slot of this program that has getppid's address. */
__attribute__((noipa)) static void find_slot(void)
{
	__asm__("lea getppid@GOTPCREL(%%rip), %0" : "=r"(slot));
}

static void fills(void **state)
{
	struct seam_links *links = read_links("/proc/self/exe");
	struct link_map *map = dlopen(NULL, RTLD_NOW);
	uint64_t svma;

	(void)state;
	assert_non_null(map);
	find_slot();
	assert_int_equal(*slot, (uintptr_t)dlsym(RTLD_DEFAULT, "getppid"));
	svma = (uintptr_t)slot - map->l_addr;
	assert_int_equal(seam_links_slot(links, svma),
			 seam_link_name("getppid"));
	assert_int_equal(seam_links_slot(links, svma + 1), 0);
	assert_int_equal(seam_links_slot(links, 0), 0);
	assert_int_equal(seam_links_slot(links, UINT64_MAX), 0);
	seam_links_free(links);
	dlclose(map);
}

static void is_linker(void **state)
{
	uint64_t svma;
	struct seam_links *links = read_links(where("_r_debug", &svma));

	(void)state;
	assert_true(seam_links_is_linker(links));
	seam_links_free(links);
}

/* As of a library without section headers: its symbols are there, but are not
 * found; a program that needs none has none. */
static void tells_nothing(void **state)
{
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph;
	} image = {
		.eh = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
				   ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		       .e_type = ET_DYN,
		       .e_machine = EM_X86_64,
		       .e_version = EV_CURRENT,
		       .e_ehsize = sizeof(image.eh),
		       .e_phoff = sizeof(image.eh),
		       .e_phentsize = sizeof(image.ph),
		       .e_phnum = 1},
		.ph = {.p_type = PT_DYNAMIC},
	};
	struct seam_links *links = NULL;
	struct seam_elf *elf;

	(void)state;
	assert_int_equal(seam_elf_open_mem(&image, sizeof(image), &elf, NULL),
			 0);
	assert_int_equal(seam_links_read(elf, SIZE_MAX, &links), -ENODATA);
	assert_null(links);
	seam_elf_close(elf);
	image.ph.p_type = PT_LOAD;
	assert_int_equal(seam_elf_open_mem(&image, sizeof(image), &elf, NULL),
			 0);
	assert_int_equal(seam_links_read(elf, SIZE_MAX, &links), 0);
	assert_int_equal(seam_links_slot(links, 0), 0);
	seam_elf_close(elf);
	seam_links_free(links);
}

/* Whatever it claims, no more is kept than there is room for. */
static void has_no_room(void **state)
{
	const size_t n = 100000;
	struct seam_links *links = NULL;
	struct seam_elf *elf;
	size_t size, bytes, found;
	void *image = namesakes("f", 64, n, &size);

	(void)state;
	assert_non_null(image);
	assert_int_equal(seam_elf_open_mem(image, size, &elf, NULL), 0);
	assert_int_equal(seam_links_read(elf, SIZE_MAX, &links), 0);
	def_of(links, "f", &found);
	assert_int_equal(found, n);
	bytes = seam_links_bytes(links);
	seam_links_free(links);
	assert_int_equal(seam_links_read(elf, bytes, &links), 0);
	seam_links_free(links);
	links = NULL;
	assert_int_equal(seam_links_read(elf, bytes - 1, &links), -ENOSPC);
	assert_null(links);
	seam_elf_close(elf);
	free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds),       cmocka_unit_test(fills),
		cmocka_unit_test(is_linker),   cmocka_unit_test(tells_nothing),
		cmocka_unit_test(has_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
