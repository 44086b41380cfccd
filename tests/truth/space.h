/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What is mapped in a stepped program, and the tables of its files: for each
 * the one that the kernel side would look in, and full CFI.
 */
#ifndef SEAM_TESTS_TRUTH_SPACE_H
#define SEAM_TESTS_TRUTH_SPACE_H

#include "core/lookup.h"
#include "elf/links.h"
#include "truth/stepper.h"
#include "unwind/dump.h"

struct seam_truth_file {
	struct seam_truth_file *next;
	char *path;
	void *bytes; /* of the vDSO */
	struct seam_elf *elf; /* NULL: not an ELF file */
	struct seam_cfi *cfi;
	struct seam_derived *derived;
	struct seam_links *links; /* NULL: not known */
	struct seam_lookup lookup;
	uint8_t *table; /* NULL: none */
};

struct seam_truth_mapping {
	uint64_t start, end, off;
	struct seam_truth_file *file; /* NULL: anonymous */
};

struct seam_space {
	const struct seam_stepper *stepper;
	struct seam_truth_file *files;
	struct seam_truth_mapping *v; /* executable ones, by address */
	size_t n;
	uint32_t generation; /* how often they were read */
};

/* Reads the mappings anew; files stay open. Return: 0 or -errno. */
int seam_space_read(struct seam_space *s, const struct seam_stepper *stepper);
void seam_space_fini(struct seam_space *s);
const struct seam_truth_mapping *seam_space_find(const struct seam_space *s,
						 uint64_t avma);
/* Return: false if no segment of the file holds it. */
bool seam_space_svma(const struct seam_truth_mapping *map, uint64_t avma,
		     uint64_t *ret);
/* seam_dump's find; ctx is the space. */
int seam_space_dump_find(void *ctx, uint64_t avma, struct seam_mapping *ret);

#endif
