// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "export/proto.h"

void seam_proto_varint(struct seam_strbuf *b, uint64_t v)
{
	char bytes[10];
	size_t n = 0;

	do {
		bytes[n] = (char)(v & 0x7f);
		v >>= 7;
		if (v)
			bytes[n] |= (char)0x80;
		n++;
	} while (v);
	seam_strbuf_add(b, bytes, n);
}

void seam_proto_number(struct seam_strbuf *b, unsigned field, uint64_t v)
{
	if (!v)
		return;
	seam_proto_varint(b, field << 3);
	seam_proto_varint(b, v);
}

uint64_t seam_proto_most(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : v;
}

void seam_proto_bytes(struct seam_strbuf *b, unsigned field, const char *s,
		      size_t len)
{
	seam_proto_varint(b, field << 3 | 2);
	seam_proto_varint(b, len);
	seam_strbuf_add(b, s, len);
}

void seam_proto_message(struct seam_strbuf *to, unsigned field,
			struct seam_strbuf *from)
{
	if (from->err)
		to->err = from->err;
	else
		seam_proto_bytes(to, field, from->len ? from->s : "",
				 from->len);
	seam_strbuf_reset(from);
}
