// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * What finding the rule of a random pc costs in a warm table of some 30,000
 * rows: in seam's bucket layout, in SFrame V3 by core's reader, and by
 * libsframe in the same functions and rows as SFrame V1, the only version that
 * libsframe of binutils 2.40 reads. bench-lookup FILE
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sframe-api.h>
#include <sframe.h>

#include "core/sframe-read.h"
#include "table/lookup.h"
#include "table/table.h"

#define ROWS 30000
#define PCS 65536
#define ROUNDS 31
#define MAX_BYTES (1 << 30)

static struct seam_sframe sf;
static struct seam_lookup layout;
static uint8_t *buckets;
static sframe_decoder_ctx *theirs;
static uint32_t pcs[PCS], rows, functions, lo, hi;
static volatile uint64_t sink;

static bool add_rows(sframe_encoder_ctx *to,
		     const struct seam_sframe_func *func)
{
	struct seam_sframe_row row = {.next = func->rows};

	for (uint32_t i = 0; i < func->num_rows; i++) {
		sframe_frame_row_entry fre = {0};

		if (seam_sframe_row_at(&sf, func, row.next, &row) ||
		    row.next - row.words > sizeof(fre.fre_offsets))
			return false;
		fre.fre_start_addr = row.start;
		fre.fre_info = row.info;
		memcpy(fre.fre_offsets, sf.base + row.words,
		       row.next - row.words);
		if (sframe_encoder_add_fre(to, functions, &fre))
			return false;
		rows++;
	}
	return true;
}

/* What V1 can say too, up to ROWS. */
static bool make_theirs(void)
{
	int err = 0;
	size_t size;
	char *bytes;
	sframe_encoder_ctx *to =
		sframe_encode(SFRAME_VERSION, SFRAME_F_FDE_SORTED,
			      SFRAME_ABI_AMD64_ENDIAN_LITTLE, 0, -8, &err);

	for (uint32_t i = 0; i < sf.num_fdes && rows < ROWS; i++) {
		struct seam_sframe_func f;
		unsigned char info;

		if (seam_sframe_func_at(&sf, i, &f) || f.info2 ||
		    f.info & ~SEAM_SFRAME_INFO_FRE_TYPE)
			continue;
		info = sframe_fde_create_func_info(f.info,
						   SFRAME_FDE_TYPE_PCINC);
		if (sframe_encoder_add_funcdesc(to, (int32_t)f.start, f.size,
						info, f.num_rows) ||
		    !add_rows(to, &f))
			return false;
		lo = functions++ ? lo : (uint32_t)f.start;
		hi = (uint32_t)f.start + f.size;
	}
	bytes = sframe_encoder_write(to, &size, &err);
	theirs = bytes ? sframe_decode(bytes, size, &err) : NULL;
	return theirs && hi > lo;
}

/* Those that all find. */
static void choose_pcs(void)
{
	for (uint32_t n = 0; n < PCS;) {
		uint32_t pc = lo + (uint32_t)(((uint64_t)rand() << 15 ^
					       (uint64_t)rand()) %
					      (hi - lo));
		sframe_frame_row_entry fre;
		struct seam_rule rule;

		if (!seam_sframe_find(&sf, pc, &rule) &&
		    !sframe_find_fre(theirs, (int32_t)pc, &fre))
			pcs[n++] = pc;
	}
}

static void by_buckets(uint32_t pc)
{
	struct seam_rule rule;
	uint64_t packed = 0;

	seam_lookup_find(&layout, buckets, pc, &packed, &rule);
	sink += packed;
}

static void by_reader(uint32_t pc)
{
	struct seam_rule rule = {0};

	seam_sframe_find(&sf, pc, &rule);
	sink += (uint64_t)rule.cfa.off;
}

static void by_libsframe(uint32_t pc)
{
	sframe_frame_row_entry fre = {0};

	sframe_find_fre(theirs, (int32_t)pc, &fre);
	sink += fre.fre_info;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double l = *(const double *)a, r = *(const double *)b;

	return l < r ? -1 : l > r;
}

static void measure(void)
{
	static const struct {
		const char *name;
		void (*find)(uint32_t pc);
	} ways[3] = {{"seam, buckets", by_buckets},
		     {"seam, SFrame V3", by_reader},
		     {"libsframe, SFrame V1", by_libsframe}};
	static double ns[3][ROUNDS];

	for (int round = 0; round < ROUNDS; round++)
		for (int w = 0; w < 3; w++) {
			double start = now_ns();

			for (int i = 0; i < PCS; i++)
				ways[w].find(pcs[i]);
			ns[w][round] = (now_ns() - start) / PCS;
		}
	printf("| %u rows of %u functions | ns a pc |\n|---|---|\n", rows,
	       functions);
	for (int w = 0; w < 3; w++) {
		qsort(ns[w], ROUNDS, sizeof(double), compare);
		printf("| %s | %.1f [%.1f, %.1f] |\n", ways[w].name,
		       ns[w][ROUNDS / 2], ns[w][ROUNDS / 4],
		       ns[w][3 * ROUNDS / 4]);
	}
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	struct seam_elf *elf;
	uint8_t *bytes;
	size_t size;

	if (fd < 0 || seam_elf_open_fd(fd, 0, &elf, NULL) ||
	    seam_table_build(elf, &bytes, &size, NULL, NULL) ||
	    seam_sframe_open(&sf, bytes, size) ||
	    seam_lookup_build(&sf, MAX_BYTES, &layout, &buckets, NULL) ||
	    !make_theirs()) {
		fprintf(stderr, "usage: %s FILE, with CFI\n", argv[0]);
		return 1;
	}
	choose_pcs();
	measure();
	return 0;
}
