/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Any bytes as a file's debugging information, and as what dwz took out of
 * it: looks up addresses all over where units, functions and lines are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/source-private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* Strings have ends, and the last frame alone is no inlined one. */
static void look_up(struct seam_source *s, uint64_t svma)
{
	const struct seam_source_frame *f;
	size_t total = 0;
	int n = seam_source_find(s, svma, &f);

	check(n >= 0 && n <= SEAM_SOURCE_DEPTH);
	for (int i = 0; i < n; i++) {
		check(f[i].inlined == (i < n - 1));
		total += f[i].name ? strlen(f[i].name) : 0;
		total += f[i].file ? strlen(f[i].file) : 0;
	}
	check(n <= 0 || !f[n - 1].name);
	check(total < (size_t)SEAM_SOURCE_DEPTH << 17);
}

static void look_around(struct seam_source *s, const struct seam_spans *spans)
{
	for (size_t i = 0; i < spans->n && i < 64; i++) {
		uint64_t low = spans->v[i].low, high = spans->v[i].high;

		look_up(s, low);
		look_up(s, low + (high - low) / 2);
		look_up(s, high - 1);
		look_up(s, high);
	}
}

static void look_everywhere(struct seam_source *s)
{
	look_around(s, &s->spans);
	for (size_t i = 0; i < s->main.n_units && i < 16; i++) {
		struct seam_source_unit *u = &s->main.units[i];

		look_around(s, &u->lines.spans);
		look_around(s, &u->spans);
		for (size_t j = 0; j < u->n_functions && j < 16; j++)
			look_around(s, &u->functions[j].spans);
	}
	for (uint64_t svma = 0; svma < 0x4000; svma += 61)
		look_up(s, svma);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seam_source *s;
	struct seam_elf *elf;
	int rc;

	if (seam_elf_open_mem(data, size, &elf, NULL))
		return 0;
	rc = seam_source_open(elf, elf, size & 1, &s);
	check(!rc || rc == -ENOENT || rc == -EINVAL || rc == -EFBIG);
	seam_elf_close(elf);
	if (rc)
		return 0;
	look_everywhere(s);
	seam_source_problem(s);
	seam_source_close(s);
	return 0;
}
