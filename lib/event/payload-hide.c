// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "event/payload-hide.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* The kernel's half begins at 2^64 - 2^56 with five levels of page tables, and
 * above that with four. */
#define KERNEL_FIRST 0xff00000000000000ULL
#define KERNEL_FIRST_4 0xffff800000000000ULL
/* Error numbers, and the page of the old vsyscalls, which is the user's. */
#define ERRORS_FIRST 0xfffffffffffff000ULL
#define VSYSCALL 0xffffffffff600000ULL

static bool is_kernel(const uint8_t *at, uint64_t first)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v >= first && v < ERRORS_FIRST && v - VSYSCALL >= 4096;
}

static size_t hide_from(uint8_t *from, size_t size, size_t stride,
			uint64_t first)
{
	size_t n = 0;

	for (size_t i = 0; i + 8 <= size; i += stride) {
		if (!is_kernel(from + i, first))
			continue;
		memset(from + i, 0, 8);
		n++;
	}
	return n;
}

/* Those of four levels first: from the byte before one of them on, it looks
 * like one of five. */
static size_t hide_in(uint8_t *from, size_t size, size_t stride)
{
	return hide_from(from, size, stride, KERNEL_FIRST_4) +
	       hide_from(from, size, stride, KERNEL_FIRST);
}

size_t seam_payload_hide(const struct seam_payload_fields *fields,
			 uint8_t *payload, size_t size)
{
	size_t n = 0, done = 0;

	for (size_t i = 0; i < fields->n; i++) {
		struct seam_payload_field f = fields->v[i];

		if (f.at >= size)
			break;
		if (f.at > done)
			memset(payload + done, 0, f.at - done);
		if (f.size > size - f.at)
			f.size = (uint32_t)(size - f.at);
		if (f.stride)
			n += hide_in(payload + f.at, f.size, f.stride);
		if (f.at + f.size > done)
			done = f.at + f.size;
	}
	return n + hide_in(payload + done, size - done, 1);
}

/* "unsigned long args[6]", "const void * ptr", "char comm[16]". */
static uint32_t stride_of(const char *text, size_t len, uint32_t size)
{
	if (size < 8)
		return 0;
	if (size == 8 && !memchr(text, '[', len))
		return 8;
	return memmem(text, len, "long", 4) || memmem(text, len, "64", 2) ||
			       memchr(text, '*', len)
		       ? 8
		       : 1;
}

static int by_place(const void *va, const void *vb)
{
	const struct seam_payload_field *a = va, *b = vb;

	return a->at < b->at ? -1 : a->at > b->at;
}

int seam_payload_fields(const char *format, struct seam_payload_fields *ret)
{
	static const char begin[] = "\tfield:";
	struct seam_payload_fields fields = {0};
	size_t room = 0;

	for (const char *at = format; (at = strstr(at, begin)); at++) {
		const char *text = at + sizeof(begin) - 1;
		size_t len = strcspn(text, ";\n");
		unsigned from, size;

		if (sscanf(text + len, ";\toffset:%u;\tsize:%u;", &from,
			   &size) != 2 ||
		    from > UINT16_MAX || size > UINT16_MAX)
			continue;
		if (seam_grow(&fields.v, fields.n + 1, &room,
			      sizeof(*fields.v))) {
			seam_payload_fields_fini(&fields);
			return -ENOMEM;
		}
		fields.v[fields.n++] = (struct seam_payload_field){
			from, size, stride_of(text, len, size)};
	}
	if (!fields.n)
		return -EBADMSG;
	qsort(fields.v, fields.n, sizeof(*fields.v), by_place);
	*ret = fields;
	return 0;
}

void seam_payload_fields_fini(struct seam_payload_fields *fields)
{
	free(fields->v);
	*fields = (struct seam_payload_fields){0};
}
