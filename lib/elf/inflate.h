/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The content of an SHF_COMPRESSED section. */
#ifndef SEAM_LIB_ELF_INFLATE_H
#define SEAM_LIB_ELF_INFLATE_H

#include "elf/elf.h"

/* in: the section as it lies in an ELF64 file, be: of that byte order.
 * Return: 0 and the caller's *ret_owned, -EINVAL or -ENOMEM. */
int seam_elf_inflate(const struct seam_elf_section *in, bool be,
		     struct seam_elf_section *ret, void **ret_owned);
/* The same of a .zdebug_ section, with a header of its own: "ZLIB" and the
 * size, always big-endian. */
int seam_elf_inflate_z(const struct seam_elf_section *in,
		       struct seam_elf_section *ret, void **ret_owned);

#endif
