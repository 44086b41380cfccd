// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "table/into-elf.h"

#include <errno.h>
#include <stdlib.h>

#include "cfi/cfi.h"
#include "core/err.h"
#include "elf/add-section.h"
#include "elf/fail.h"
#include "sframe/file.h"
#include "sframe/rebase.h"
#include "sframe/verify.h"

static const struct seam_elf_new_section section = {
	.name = ".sframe",
	.sh_type = 0x6ffffff4, /* SHT_GNU_SFRAME */
	.p_type = 0x6474e554, /* PT_GNU_SFRAME */
};

static int no_rules(struct seam_errinfo *reterr)
{
	seam_elf_fail(reterr, SEAM_ELF_NO_CFI, 0, "",
		      "no function of the file has CFI that makes a rule");
	return -ENOENT;
}

int seam_table_of_elf(const struct seam_elf *elf, uint8_t version,
		      uint8_t **ret_bytes, size_t *ret_size,
		      struct seam_table_stats *ret_stats,
		      struct seam_errinfo *reterr)
{
	uint8_t *bytes = NULL;
	int rc = seam_table_build_as(elf, version, &bytes, ret_size, ret_stats,
				     reterr);

	/* Loaders refuse a table of nothing. */
	if (rc == -ENOENT || (!rc && !ret_stats->functions)) {
		free(bytes);
		return no_rules(reterr);
	}
	if (!rc)
		*ret_bytes = bytes;
	return rc;
}

/* Moves the table to its place, and sees that Linux would take it there, or
 * anybody one that is not of Linux's version. */
static int check(const struct seam_elf *elf, uint8_t version, uint8_t *bytes,
		 size_t size, uint64_t svma, struct seam_errinfo *reterr)
{
	const struct seam_sframe_limits limits = {
		.flags = version == SEAM_SFRAME_V3 ? SEAM_SFRAME_VERIFY_LOADER
						   : 0,
		.abi = seam_cfi_arch_of(seam_elf_machine(elf),
					!seam_elf_is_le(elf))
			       ->abi,
		.section_addr = svma,
	};
	int rc = seam_sframe_rebase(bytes, size, 0, svma);

	return rc ? rc : seam_sframe_verify(bytes, size, &limits, reterr);
}

/* Without section headers a program header alone says what is replaced: that
 * has to be a table, and not what else the file has. */
static int check_place(const struct seam_elf *elf, struct seam_errinfo *reterr)
{
	struct seam_sframe_file f;
	struct seam_sframe sf;
	int rc = seam_sframe_file_find(elf, &f, reterr);

	if (rc)
		return rc;
	if (!f.content.bytes.data && seam_sframe_open(&sf, f.bytes, f.size))
		rc = seam_elf_fail(reterr, SEAM_ELF_LAYOUT, f.off,
				   "PT_GNU_SFRAME",
				   "what it names is no SFrame section");
	seam_sframe_file_fini(&f);
	return rc;
}

int seam_table_into_elf(const struct seam_elf *elf, uint8_t version, int fd,
			struct seam_table_in_elf *ret,
			struct seam_errinfo *reterr)
{
	struct seam_table_in_elf in = {0};
	struct seam_elf_add *add = NULL;
	uint8_t *bytes = NULL;
	size_t size;
	int rc = seam_table_of_elf(elf, version, &bytes, &size, &in.stats,
				   reterr);

	if (!rc)
		rc = seam_elf_add_plan(elf, &section, size, &add, reterr);
	if (!rc && seam_elf_add_in_place(add))
		rc = check_place(elf, reterr);
	if (rc)
		goto out;
	in.svma = seam_elf_add_svma(add);
	in.size = size;
	in.in_place = seam_elf_add_in_place(add);
	rc = check(elf, version, bytes, size, in.svma, reterr);
	if (!rc)
		rc = seam_elf_add_write(add, bytes, fd);
	if (!rc)
		*ret = in;
out:
	seam_elf_add_free(add);
	free(bytes);
	return rc;
}
