/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Sources: the ELF gABI, "Section Compression"; binutils' .zdebug_ sections. */
#include "elf/inflate.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
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

static uint64_t load(const uint8_t *p, size_t size, bool be)
{
	uint64_t v = 0;

	for (size_t i = 0; i < size; i++)
		v |= (uint64_t)p[i] << 8 * (be ? size - 1 - i : i);
	return v;
}

/* How a content is compressed, and to what size. */
static int unpack(const struct seam_elf_section *in, size_t header,
		  uint32_t type, uint64_t size, struct seam_elf_section *ret,
		  void **ret_owned)
{
	const uint8_t *data = in->data + header;
	size_t packed = in->size - header;
	bool ok = false;
	uint8_t *out;

	if (!size || size > CONTENT_MAX)
		return -EINVAL;
	out = reallocarray(NULL, size, 1);
	if (!out)
		return -ENOMEM;
	if (type == ELFCOMPRESS_ZLIB)
		ok = inflate_zlib(data, packed, out, size);
	else if (type == ELFCOMPRESS_ZSTD)
		ok = ZSTD_decompress(out, size, data, packed) == size;
	if (!ok) {
		free(out);
		return -EINVAL;
	}
	*ret = (struct seam_elf_section){
		.data = out,
		.size = size,
		.svma = in->svma,
		.off = in->off,
	};
	*ret_owned = out;
	return 0;
}

int seam_elf_inflate(const struct seam_elf_section *in, bool be,
		     struct seam_elf_section *ret, void **ret_owned)
{
	if (in->size < sizeof(Elf64_Chdr))
		return -EINVAL;
	return unpack(
		in, sizeof(Elf64_Chdr),
		(uint32_t)load(in->data + offsetof(Elf64_Chdr, ch_type), 4, be),
		load(in->data + offsetof(Elf64_Chdr, ch_size), 8, be), ret,
		ret_owned);
}

int seam_elf_inflate_z(const struct seam_elf_section *in,
		       struct seam_elf_section *ret, void **ret_owned)
{
	if (in->size < 12 || memcmp(in->data, "ZLIB", 4))
		return -EINVAL;
	return unpack(in, 12, ELFCOMPRESS_ZLIB, load(in->data + 4, 8, true),
		      ret, ret_owned);
}
