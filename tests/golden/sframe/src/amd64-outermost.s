# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# The return address is undefined from the start, and only in between. And
# a function that has no CFI but its start.
	.text
	.type	outer, @function
outer:
	.cfi_startproc
	.cfi_undefined rip
	nop
	pushq	%rbp
	.cfi_def_cfa_offset 16
	nop
	hlt
	.cfi_endproc
	.size	outer, .-outer

	.type	between, @function
between:
	.cfi_startproc
	nop
	.cfi_undefined rip
	nop
	nop
	.cfi_offset rip, -8
	nop
	ret
	.cfi_endproc
	.size	between, .-between
	.section .note.GNU-stack,"",@progbits
