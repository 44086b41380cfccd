# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# Offsets of one, two and four bytes, and functions on both sides of 256 and
# 65,536 bytes. The section has no bytes in the file.
	.section wide,"ax",@nobits
	.macro	wide name, size, first, second
	.type	\name, @function
\name:
	.cfi_startproc
	.skip	4
	.cfi_def_cfa_offset 136
	.cfi_offset rbp, -16
	.skip	\first - 4
	.cfi_def_cfa_offset 40008
	.skip	\second - \first
	.cfi_def_cfa_offset 500016
	.skip	\size - \second - 1
	.cfi_def_cfa_offset 8
	.cfi_restore rbp
	.skip	1
	.cfi_endproc
	.size	\name, .-\name
	.endm

	wide	f255, 255, 100, 200
	wide	f256, 256, 100, 200
	wide	f65535, 65535, 250, 300
	wide	f65536, 65536, 250, 300
	wide	f70000, 70000, 300, 66000
	.section .note.GNU-stack,"",@progbits
