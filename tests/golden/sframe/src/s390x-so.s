# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# What a library calls of others: its linkage table gets functions.
	.text
	.globl	first
	.type	first, @function
first:
	.cfi_startproc
	stmg	%r14, %r15, 112(%r15)
	.cfi_rel_offset r14, 112
	.cfi_rel_offset r15, 120
	lay	%r15, -160(%r15)
	.cfi_adjust_cfa_offset 160
	brasl	%r14, outside_one@PLT
	brasl	%r14, outside_two@PLT
	lmg	%r14, %r15, 272(%r15)
	.cfi_restore r15
	.cfi_restore r14
	.cfi_def_cfa_offset 160
	br	%r14
	.cfi_endproc
	.size	first, .-first
