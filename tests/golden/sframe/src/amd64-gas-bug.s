# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# FP = *(rbx + 0): gas of binutils 2.46 and later takes it and writes a
# control word with a register that does not exist.
	.text
	.type	fp_by_rbx, @function
fp_by_rbx:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	movq	%rsp, %rbx
	.cfi_escape 0x10,0x6,0x2,0x73,0
	nop
	popq	%rbp
	.cfi_def_cfa_offset 8
	.cfi_restore rbp
	ret
	.cfi_endproc
	.size	fp_by_rbx, .-fp_by_rbx
	.section .note.GNU-stack,"",@progbits
