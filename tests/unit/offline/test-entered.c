// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: which return addresses a leaf cannot have, of this program's own
 * code: behind a call of another function, told by where it leads to or by the
 * name that it is bound by; not where that function may have gone on to the
 * leaf, where its code is another's, or where something is not known. Files
 * that claim no end of functions, or of mappings, end the question. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include "../elf/namesakes.h"
#include "offline/entered.h"
#include "own-text.h"

#define FILES 32
#define OPEN_FUNC(name, body)                                                  \
	__asm__(".text\n"                                                      \
		".type " name ", @function\n" name ":\n"                       \
		".cfi_startproc\n" body ".cfi_endproc\n"                       \
		".size " name ", . - " name "\n")
#define FUNC(name, body) OPEN_FUNC(name, body "ret\n")
#define CALL(name) "call " name "\nbehind_" name ":\n"

FUNC("leaf", "nop\n");
/* Each byte of e9 and ff 25 would be a jump's first. */
FUNC("seems_to_jump", "mov $0x25ffe9, %eax\n");
FUNC("jumps", "test %eax, %eax\njne leaf\n");
FUNC("by_slot", "test %eax, %eax\nje 1f\njmp *getppid@GOTPCREL(%rip)\n1:\n");
FUNC("unknown", ".byte 0x06\n");
FUNC("to_within", "jmp .+3\nmov $0x90909090, %eax\n");
OPEN_FUNC("runs_on", "nop\n");
/* Of -mindirect-branch=thunk: its ret is a jump. */
FUNC("thunk", "mov %rax, (%rsp)\n");
FUNC("longjmp_like", "mov %rdi, %rsp\n");
FUNC("restores", "mov %rbp, %rsp\n");
FUNC("trampoline", ".cfi_signal_frame\nnop\nnop\nin_trampoline:\nnop\n");
FUNC("calls",
     "sub $8, %rsp\n"
     ".cfi_def_cfa_offset 16\n" CALL("leaf") CALL("seems_to_jump") CALL("jumps")
	     CALL("by_slot") CALL("unknown") CALL("runs_on") CALL("thunk") CALL(
		     "to_within") "call getppid@plt\nbehind_stub:\n"
				  "call *getppid@GOTPCREL(%rip)\nbehind_slot:\n"
				  "call *%rax\nbehind_pointer:\n"
				  "call memcpy@plt\nbehind_ifunc:\n"
				  "nop\nbehind_none:\n"
				  "add $8, %rsp\n"
				  ".cfi_def_cfa_offset 8\n");

extern const char leaf[], seems_to_jump[], longjmp_like[], restores[],
	trampoline[], in_trampoline[];
extern const char behind_leaf[], behind_seems_to_jump[], behind_jumps[],
	behind_by_slot[], behind_unknown[], behind_runs_on[], behind_thunk[],
	behind_to_within[], behind_stub[], behind_slot[], behind_pointer[],
	behind_ifunc[], behind_none[];

struct file {
	char path[512];
	struct seam_elf *elf;
	struct seam_cfi *cfi;
	struct seam_links *links;
};

static struct {
	struct file files[FILES];
	struct seam_entered_area areas[FILES];
	size_t n;
	struct file *hidden; /* of which nothing is known */
	size_t others; /* areas of no file, behind them */
	size_t found; /* times that an address was looked up */
} self;

static void open_file(struct file *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	snprintf(f->path, sizeof(f->path), "%s", path);
	assert_true(fd >= 0);
	assert_int_equal(seam_elf_open_fd(fd, SEAM_ELF_PARTS, &f->elf, NULL),
			 0);
	close(fd);
	assert_int_equal(seam_cfi_open(f->elf, &f->cfi, NULL), 0);
	assert_int_equal(seam_links_read(f->elf, SIZE_MAX, &f->links), 0);
}

static int set_up(void **state)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	struct seam_entered_area at;
	struct own_text text;

	(void)state;
	assert_non_null(maps);
	while (next_own_text(maps, &text)) {
		assert_true(self.n < FILES);
		at.start = text.start;
		at.end = text.end;
		at.off = text.off;
		open_file(&self.files[self.n], text.path);
		at.file = &self.files[self.n];
		self.areas[self.n++] = at;
	}
	fclose(maps);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < self.n; i++) {
		seam_links_free(self.files[i].links);
		seam_cfi_close(self.files[i].cfi);
		seam_elf_close(self.files[i].elf);
	}
	return 0;
}

static const struct seam_entered_area *area_of(uint64_t avma)
{
	for (size_t i = 0; i < self.n; i++)
		if (avma >= self.areas[i].start && avma < self.areas[i].end)
			return &self.areas[i];
	return NULL;
}

static int find(void *ctx, uint64_t avma, struct seam_mapping *ret)
{
	const struct seam_entered_area *at = area_of(avma);
	const struct file *f = at ? at->file : NULL;
	uint64_t svma;

	(void)ctx;
	self.found++;
	if (!f ||
	    !seam_elf_off_to_svma(f->elf, avma - at->start + at->off, &svma))
		return -1;
	*ret = (struct seam_mapping){
		.bias = avma - svma, .elf = f->elf, .cfi = f->cfi};
	return 0;
}

static size_t code(void *ctx, uint64_t avma, enum seam_dump_when when, void *to,
		   size_t size)
{
	const struct seam_entered_area *at = area_of(avma);

	(void)ctx;
	(void)when;
	if (!at)
		return 0;
	if (size > at->end - avma)
		size = (size_t)(at->end - avma);
	memcpy(to, (const void *)(uintptr_t)avma, size);
	return size;
}

static bool area(void *ctx, size_t i, struct seam_entered_area *ret)
{
	(void)ctx;
	*ret = (struct seam_entered_area){0};
	if (i < self.n)
		*ret = self.areas[i];
	return i < self.n + self.others;
}

static const struct seam_links *links(void *ctx, void *file)
{
	const struct file *f = file;

	(void)ctx;
	return f == self.hidden ? NULL : f->links;
}

static const struct seam_entered all = {find, code, NULL, area, links};
static bool by_maps;

static bool is_doubted(const char *leaf_at, const char *ra)
{
	return seam_entered_otherwise(&all, (uintptr_t)leaf_at, (uintptr_t)ra,
				      &by_maps);
}

static void by_call(void **state)
{
	(void)state;
	assert_false(is_doubted(leaf, behind_leaf));
	assert_true(is_doubted(leaf, behind_none));
	assert_false(is_doubted(leaf, behind_pointer));
	assert_true(is_doubted(leaf, behind_seems_to_jump));
	assert_false(by_maps);
	assert_false(is_doubted(leaf, behind_jumps));
	assert_false(is_doubted(leaf, behind_by_slot));
	assert_false(is_doubted(leaf, behind_unknown));
	assert_false(is_doubted(leaf, behind_runs_on));
	assert_false(is_doubted(leaf, behind_to_within));
	assert_false(is_doubted(leaf, behind_thunk));
}

static void by_name(void **state)
{
	const char *getppid_at = dlsym(RTLD_NEXT, "getppid");
	struct seam_entered none = all;

	(void)state;
	assert_non_null(getppid_at);
	assert_true(is_doubted(leaf, behind_stub));
	assert_true(by_maps);
	assert_true(is_doubted(leaf, behind_slot));
	assert_false(is_doubted(getppid_at, behind_stub));
	assert_false(by_maps);
	assert_false(is_doubted(getppid_at, behind_slot));
	assert_true(is_doubted(getppid_at, behind_leaf));
	assert_false(is_doubted(leaf, behind_ifunc));
	/* Any file may have one of that name. */
	for (size_t i = 0; i < self.n; i++) {
		self.hidden = &self.files[i];
		assert_false(is_doubted(leaf, behind_stub));
	}
	self.hidden = NULL;
	none.area = NULL;
	assert_false(seam_entered_otherwise(&none, (uintptr_t)leaf,
					    (uintptr_t)behind_stub, &by_maps));
}

/* The dynamic linker is what a call by a slot leads to at first. */
static void by_linker(void **state)
{
	const char *linker = dlsym(RTLD_DEFAULT, "_dl_mcount");

	(void)state;
	assert_non_null(linker);
	assert_false(is_doubted(linker, behind_stub));
	assert_true(is_doubted(linker, behind_leaf));
}

/* A file that has getppid time and again, where this program has another
 * function that leads nowhere. */
static void by_namesakes(void)
{
	const size_t n = 100000;
	struct seam_entered_area *at = &self.areas[self.n];
	struct file *f = &self.files[self.n];
	size_t size;
	void *image;

	assert_true(self.n < FILES);
	*at = *area_of((uintptr_t)seems_to_jump);
	at->off = 4096;
	image = namesakes("getppid",
			  (uintptr_t)seems_to_jump - at->start + at->off, n,
			  &size);
	assert_non_null(image);
	assert_true(size >= at->off + at->end - at->start);
	assert_int_equal(seam_elf_open_mem(image, size, &f->elf, NULL), 0);
	assert_int_equal(seam_links_read(f->elf, SIZE_MAX, &f->links), 0);
	at->file = f;
	self.n++;
	self.found = 0;
	assert_false(is_doubted(leaf, behind_stub));
	assert_true(by_maps);
	self.n--;
	f->links = seam_links_free(f->links);
	seam_elf_close(f->elf);
	free(image);
}

static void is_bounded(void **state)
{
	(void)state;
	by_namesakes();
	assert_in_range(self.found, 100, 1000);
	self.others = 1000;
	assert_true(is_doubted(leaf, behind_stub));
	self.others = 1000000;
	assert_false(is_doubted(leaf, behind_stub));
	assert_true(by_maps);
	self.others = 0;
}

/* In its last instructions the stack is not that of whom it was called by. */
static void by_stack(void **state)
{
	(void)state;
	assert_false(is_doubted(longjmp_like + 3, behind_seems_to_jump));
	assert_false(is_doubted(longjmp_like + 3, behind_none));
	assert_true(is_doubted(restores + 3, behind_seems_to_jump));
}

/* A signal's trampoline is entered and left by the kernel. */
static void by_signal(void **state)
{
	(void)state;
	assert_false(is_doubted(trampoline, behind_none));
	assert_false(is_doubted(leaf, in_trampoline));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_call),   cmocka_unit_test(by_name),
		cmocka_unit_test(by_linker), cmocka_unit_test(is_bounded),
		cmocka_unit_test(by_stack),  cmocka_unit_test(by_signal),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
