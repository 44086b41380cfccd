// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * COMPRESSED records as perf record -z has them: one zstd stream through
 * the whole file, cut into records at any byte, brought to a block's end at
 * each flush. Each record holds at most PD_COMPRESS_CHUNK when decompressed,
 * since readers have one buffer for it, whose size the COMPRESSED feature
 * tells them.
 */
#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "perfdata/writer-priv.h"

/* Perf's own bound: what the 16 bits of a record's size can say, less one. */
#define MAX_PAYLOAD (65535 - 8 - 1)

struct pd_compressor {
	ZSTD_CCtx *ctx;
	uint8_t payload[MAX_PAYLOAD];
};

struct pd_compressor *seam_pd_compressor_new(int level)
{
	struct pd_compressor *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->ctx = ZSTD_createCCtx();
	if (!c->ctx || ZSTD_isError(ZSTD_CCtx_setParameter(
			       c->ctx, ZSTD_c_compressionLevel, level)))
		return seam_pd_compressor_free(c);
	return c;
}

struct pd_compressor *seam_pd_compressor_free(struct pd_compressor *c)
{
	if (c) {
		ZSTD_freeCCtx(c->ctx);
		free(c);
	}
	return NULL;
}

static void add_record(struct pd_buf *out, const void *payload, size_t len)
{
	struct perf_event_header h = {
		.type = PD_COMPRESSED,
		.size = (uint16_t)(sizeof(h) + len),
	};

	seam_pd_buf_add(out, &h, sizeof(h));
	seam_pd_buf_add(out, payload, len);
}

static int compress_chunk(struct pd_compressor *c, ZSTD_inBuffer in,
			  struct pd_buf *out)
{
	size_t left;

	do {
		ZSTD_outBuffer o = {c->payload, sizeof(c->payload), 0};

		left = ZSTD_compressStream2(c->ctx, &o, &in, ZSTD_e_flush);
		if (ZSTD_isError(left))
			return -EIO;
		if (o.pos)
			add_record(out, c->payload, o.pos);
	} while (left);
	return out->err;
}

int seam_pd_compress(struct pd_compressor *c, const struct pd_buf *raw,
		     struct pd_buf *out)
{
	for (size_t pos = 0; pos < raw->len; pos += PD_COMPRESS_CHUNK) {
		size_t len = raw->len - pos;
		int rc;

		if (len > PD_COMPRESS_CHUNK)
			len = PD_COMPRESS_CHUNK;
		rc = compress_chunk(c, (ZSTD_inBuffer){raw->p + pos, len, 0},
				    out);
		if (rc)
			return rc;
	}
	return 0;
}
