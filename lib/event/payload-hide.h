/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Takes the kernel's addresses out of a tracepoint's payload, for events that
 * leave the kernel out (:u). A tracepoint tells whatever it likes: kmem:kmalloc
 * who called and what was given.
 *
 * A field of 8 bytes, or of such elements, may hold an address at each of
 * them; an array of others, and what varies in length, at any byte; a number
 * that is shorter holds none. Between fields lies what the kernel's buffer had
 * before, so that goes as a whole.
 */
#ifndef SEAM_LIB_EVENT_PAYLOAD_HIDE_H
#define SEAM_LIB_EVENT_PAYLOAD_HIDE_H

#include <stddef.h>
#include <stdint.h>

struct seam_payload_field {
	uint32_t at, size;
	uint32_t stride; /* from one possible address to the next; 0: none */
};

struct seam_payload_fields {
	struct seam_payload_field *v; /* by at */
	size_t n;
};

/* As tracefs prints them. Return: 0; -EBADMSG: there is none; -ENOMEM. */
int seam_payload_fields(const char *format, struct seam_payload_fields *ret);
void seam_payload_fields_fini(struct seam_payload_fields *fields);
/* Zeros take the place of what goes. Return: how many addresses went. */
size_t seam_payload_hide(const struct seam_payload_fields *fields,
			 uint8_t *payload, size_t size);

#endif
