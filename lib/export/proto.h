/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Messages of protocol buffers, added to what there is of them.
 * Source: https://protobuf.dev/programming-guides/encoding/
 */
#ifndef SEAM_LIB_EXPORT_PROTO_H
#define SEAM_LIB_EXPORT_PROTO_H

#include <stdint.h>

#include "report/strbuf.h"

void seam_proto_varint(struct seam_strbuf *b, uint64_t v);
/* A field that is a number; none for 0, which is what it has then. */
void seam_proto_number(struct seam_strbuf *b, unsigned field, uint64_t v);
void seam_proto_bytes(struct seam_strbuf *b, unsigned field, const char *s,
		      size_t len);
/* Moves what was made of one message into another, with its err. */
void seam_proto_message(struct seam_strbuf *to, unsigned field,
			struct seam_strbuf *from);
/* For an int64: of what is more the most there is. */
uint64_t seam_proto_most(uint64_t v);

#endif
