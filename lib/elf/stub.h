/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A stub of a procedure linkage table (PLT) of x86-64: it jumps to where a
 * slot of the GOT says. Linkers differ in what is before that and behind it.
 */
#ifndef SEAM_LIB_ELF_STUB_H
#define SEAM_LIB_ELF_STUB_H

#include <stddef.h>
#include <stdint.h>

/* The sections that stubs lie in; the first has the lazy binder's code, too. */
#define SEAM_STUB_SECTIONS 4
extern const char *const seam_stub_sections[SEAM_STUB_SECTIONS];

/* endbr64; mov $number, %r11d (mold); bnd jmp *slot(%rip). */
#define SEAM_STUB_JUMP_MAX 17

/*
 * ret_slot: bytes from the stub's first one to its slot.
 * Return: bytes to the end of its jump; 0 if code is no stub, or too short.
 */
size_t seam_stub_jump(const uint8_t *code, size_t size, uint64_t *ret_slot);

#endif
