/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Any bytes as an ELF file: everything that can be asked of it is, and SFrame
 * is made of it; and as an image in memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cfi/cfi.h"
#include "elf/elf.h"
#include "elf/entry.h"
#include "elf/links.h"
#include "sframe/verify.h"
#include "table/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void inside(const struct seam_elf_section *s, const uint8_t *data,
		   size_t size)
{
	check(s->data >= data && s->size <= size &&
	      (size_t)(s->data - data) <= size - s->size);
	check((size_t)(s->data - data) == s->off);
}

static void ask_sections(const struct seam_elf *elf, const uint8_t *data,
			 size_t size)
{
	static const char *const names[] = {".eh_frame", ".debug_frame",
					    ".sframe", ".text", ".dynsym"};
	struct seam_elf_section s;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!seam_elf_section(elf, names[i], &s))
			inside(&s, data, size);
	if (!seam_elf_eh_frame_hdr(elf, &s))
		inside(&s, data, size);
}

static void ask_segments(const struct seam_elf *elf)
{
	const struct seam_elf_segment *segs;
	uint64_t v, back;
	size_t n;

	segs = seam_elf_segments(elf, &n);
	for (size_t i = 0; i < n; i++) {
		check(segs[i].filesz <= segs[i].memsz);
		if (!segs[i].filesz)
			continue;
		check(seam_elf_off_to_svma(elf, segs[i].off, &v));
		check(seam_elf_svma_to_off(elf, v, &back));
	}
}

static void ask_links(const struct seam_elf *elf, size_t size)
{
	struct seam_links *links;
	size_t n;

	if (seam_links_read(elf, SIZE_MAX, &links))
		return;
	check(seam_links_bytes(links) < 8 * size + 4096);
	seam_links_defs(links, seam_link_name("main"), &n);
	for (uint64_t svma = 0; svma < size; svma += 8)
		seam_links_slot(links, svma);
	seam_links_free(links);
}

static int on_row(void *ctx, const struct seam_cfi_row *row)
{
	size_t *rows = ctx;

	check(row->start < row->end);
	return ++*rows == 100000;
}

struct memory {
	const uint8_t *data;
	size_t size;
};

/* The file's bytes as if they were mapped at 1 MiB. */
static int read_memory(void *ctx, uint64_t avma, void *to, size_t size)
{
	const struct memory *m = ctx;

	avma -= 1 << 20;
	if (avma > m->size || size > m->size - avma)
		return -EFAULT;
	memcpy(to, m->data + avma, size);
	return 0;
}

static void ask_loaded(const uint8_t *data, size_t size)
{
	struct memory m = {data, size};
	struct seam_elf *elf;
	struct seam_cfi *cfi;
	size_t rows = 0;

	if (seam_elf_open_loaded(read_memory, &m, 1 << 20, &elf, NULL))
		return;
	ask_segments(elf);
	if (!seam_cfi_open(elf, &cfi, NULL)) {
		seam_cfi_each(cfi, on_row, NULL, &rows);
		seam_cfi_close(cfi);
	}
	seam_elf_close(elf);
}

/* What is made of it is a section that the verifier believes. */
static void make_table(const struct seam_elf *elf)
{
	struct seam_table_stats stats;
	uint64_t holes = 0;
	uint8_t *bytes;
	size_t size;

	if (seam_table_build(elf, &bytes, &size, &stats, NULL))
		return;
	check(!seam_sframe_verify(bytes, size, NULL, NULL));
	for (int i = 0; i < SEAM_HOLE_NUM; i++)
		holes += stats.holes[i];
	check(holes == stats.hole_bytes);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t id[SEAM_BUILD_ID_MAX];
	struct seam_cfi_row row;
	struct seam_elf *elf;
	struct seam_cfi *cfi;
	size_t rows = 0;

	if (seam_elf_open_mem(data, size, &elf, NULL))
		return 0;
	check(seam_elf_build_id(elf, id) <= SEAM_BUILD_ID_MAX);
	ask_sections(elf, data, size);
	ask_segments(elf);
	ask_links(elf, size);
	if (seam_entry_is_real(elf))
		check(seam_entry_next_symbol(elf) >= seam_elf_entry(elf));
	if (!seam_cfi_open(elf, &cfi, NULL)) {
		seam_cfi_each(cfi, on_row, NULL, &rows);
		seam_cfi_find(cfi, seam_elf_entry(elf), &row, NULL);
		seam_cfi_close(cfi);
	}
	make_table(elf);
	seam_elf_close(elf);
	ask_loaded(data, size);
	return 0;
}
