/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Source: the ELF gABI, "Section Compression". */
#include "elf/inflate.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* The largest content that is believed; real ones are a few MiB. */
#define CONTENT_MAX (UINT64_C(256) << 20)

static bool inflate_zlib(const uint8_t *in, size_t in_size, uint8_t *out,
			 size_t size)
{
	uLongf len = size;

	return uncompress(out, &len, in, in_size) == Z_OK && len == size;
}

int seam_elf_inflate(const struct seam_elf_section *in,
		     struct seam_elf_section *ret, void **ret_owned)
{
	const uint8_t *data = in->data + sizeof(Elf64_Chdr);
	bool ok = false;
	uint8_t *out;
	Elf64_Chdr chdr;
	size_t size;

	if (in->size < sizeof(chdr))
		return -EINVAL;
	size = in->size - sizeof(chdr);
	memcpy(&chdr, in->data, sizeof(chdr));
	if (!chdr.ch_size || chdr.ch_size > CONTENT_MAX)
		return -EINVAL;
	out = malloc(chdr.ch_size);
	if (!out)
		return -ENOMEM;
	if (chdr.ch_type == ELFCOMPRESS_ZLIB)
		ok = inflate_zlib(data, size, out, chdr.ch_size);
	else if (chdr.ch_type == ELFCOMPRESS_ZSTD)
		ok = ZSTD_decompress(out, chdr.ch_size, data, size) ==
		     chdr.ch_size;
	if (!ok) {
		free(out);
		return -EINVAL;
	}
	*ret = (struct seam_elf_section){
		.data = out,
		.size = chdr.ch_size,
		.svma = in->svma,
		.off = in->off,
	};
	*ret_owned = out;
	return 0;
}
