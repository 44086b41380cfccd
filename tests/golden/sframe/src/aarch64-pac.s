// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Signed return addresses, by key A and by key B.
	.text
	.macro	signed name, sign, check
	hint	\sign
	.cfi_negate_ra_state
	stp	x29, x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	mov	x29, sp
	nop
	ldp	x29, x30, [sp], 16
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	hint	\check
	.cfi_negate_ra_state
	ret
	.endm

	.type	key_a, %function
key_a:
	.cfi_startproc
	signed	key_a, 25, 29
	.cfi_endproc
	.size	key_a, .-key_a

	.type	key_b, %function
key_b:
	.cfi_startproc
	.cfi_b_key_frame
	signed	key_b, 27, 31
	.cfi_endproc
	.size	key_b, .-key_b
