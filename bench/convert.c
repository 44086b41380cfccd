// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * How long it takes to make SFrame of a file's CFI, beside how long elfutils
 * takes to enumerate the same rows. Prints an object of JSON a line: times
 * are of this thread's CPU, in nanoseconds, each run in turn.
 *
 *	convert RUNS FILE...
 */
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "elf/elf.h"
#include "table/table.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct run {
	uint64_t open_ns, convert_ns, elfutils_ns;
	uint64_t rows; /* elfutils' */
};

struct made {
	size_t eh_frame, table;
	struct seam_table_stats stats;
};

/* From the file's name to a section: open_ns has the first part. */
static int convert(const char *path, struct run *run, struct made *made)
{
	struct seam_elf_section eh = {0};
	struct seam_elf *elf;
	uint64_t at = now_ns();
	uint8_t *bytes;
	int fd, rc;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || seam_elf_open_fd(fd, 0, &elf, NULL))
		return -1;
	close(fd);
	run->open_ns = now_ns() - at;
	at = now_ns();
	rc = seam_table_build(elf, &bytes, &made->table, &made->stats, NULL);
	run->convert_ns = now_ns() - at;
	if (!rc)
		free(bytes);
	seam_elf_section(elf, ".eh_frame", &eh);
	made->eh_frame = eh.size;
	seam_elf_close(elf);
	return rc;
}

/* The start and size of an FDE whose CIE says "pcrel sdata4", as on x86-64. */
static void fde_range(const Dwarf_FDE *fde, uint64_t svma, const uint8_t *data,
		      uint64_t *ret_start, uint64_t *ret_end)
{
	int32_t rel;
	uint32_t size;

	memcpy(&rel, fde->start, 4);
	memcpy(&size, fde->start + 4, 4);
	*ret_start = svma + (uint64_t)(fde->start - data) + (uint64_t)rel;
	*ret_end = *ret_start + size;
}

/* Each row of each FDE by address, the one way that libdw has. */
static uint64_t rows_of(Dwarf_CFI *cfi, uint64_t start, uint64_t end)
{
	Dwarf_Op mem[3], *ops;
	Dwarf_Addr from, to;
	Dwarf_Frame *frame;
	size_t nops;
	uint64_t rows = 0;
	bool signal;

	while (start < end && !dwarf_cfi_addrframe(cfi, start, &frame)) {
		dwarf_frame_info(frame, &from, &to, &signal);
		/* What a rule is made of. */
		dwarf_frame_cfa(frame, &ops, &nops);
		dwarf_frame_register(frame, 16, mem, &ops, &nops);
		dwarf_frame_register(frame, 6, mem, &ops, &nops);
		free(frame);
		rows++;
		if (to <= start)
			break;
		start = to;
	}
	return rows;
}

static int enumerate(const char *path, struct run *run)
{
	struct seam_elf_section eh;
	uint64_t at, start, end;
	Dwarf_Off off = 0, next;
	Dwarf_CFI_Entry entry;
	struct seam_elf *elf;
	Dwarf_CFI *cfi;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || seam_elf_open_fd(fd, 0, &elf, NULL))
		return -1;
	close(fd);
	/* From an open file, as ours. */
	at = now_ns();
	cfi = dwarf_getcfi_elf(seam_elf_libelf(elf));
	if (!cfi || seam_elf_section(elf, ".eh_frame", &eh)) {
		seam_elf_close(elf);
		return -1;
	}
	/* The list of functions is the walk's, the rows are libdw's. */
	for (; !dwarf_next_cfi(
		     (const unsigned char *)elf_getident(seam_elf_libelf(elf),
							 NULL),
		     &(Elf_Data){.d_buf = (void *)eh.data, .d_size = eh.size},
		     true, off, &next, &entry);
	     off = next) {
		if (dwarf_cfi_cie_p(&entry))
			continue;
		fde_range(&entry.fde, eh.svma, eh.data, &start, &end);
		run->rows += rows_of(cfi, start, end);
	}
	dwarf_cfi_end(cfi);
	run->elfutils_ns = now_ns() - at;
	seam_elf_close(elf);
	return 0;
}

static int measure(const char *path)
{
	struct run run = {0};
	struct made made;

	if (convert(path, &run, &made) || enumerate(path, &run)) {
		fprintf(stderr, "convert: %s cannot be read\n", path);
		return 1;
	}
	printf("{\"file\": \"%s\", \"eh_frame\": %zu, \"table\": %zu, "
	       "\"functions\": %" PRIu64 ", \"rows\": %" PRIu64
	       ", \"code\": %" PRIu64 ", \"holes\": %" PRIu64
	       ", \"open_ns\": %" PRIu64 ", \"convert_ns\": %" PRIu64
	       ", \"elfutils_ns\": %" PRIu64 ", \"elfutils_rows\": %" PRIu64
	       "}\n",
	       path, made.eh_frame, made.table, made.stats.functions,
	       made.stats.rows, made.stats.code_bytes, made.stats.hole_bytes,
	       run.open_ns, run.convert_ns, run.elfutils_ns, run.rows);
	return 0;
}

int main(int argc, char **argv)
{
	int runs = argc > 1 ? atoi(argv[1]) : 0, bad = 0;

	if (runs <= 0 || argc < 3) {
		fprintf(stderr, "usage: convert RUNS FILE...\n");
		return 1;
	}
	for (int i = 0; i < runs && !bad; i++)
		for (int f = 2; f < argc; f++)
			bad |= measure(argv[f]);
	return bad;
}
