// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Functions on both sides of 256 and 65,536 bytes, and a signal frame. The
// section has no bytes in the file.
	.section wide,"ax",%nobits
	.macro	wide name, size, at
	.type	\name, %function
\name:
	.cfi_startproc
	.skip	4
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	.skip	\at - 4
	.cfi_def_cfa_offset 4128
	.skip	\size - \at
	.cfi_endproc
	.size	\name, .-\name
	.endm

	wide	f252, 252, 100
	wide	f256, 256, 100
	wide	f65532, 65532, 300
	wide	f65536, 65536, 65532

	.type	signal, %function
signal:
	.cfi_startproc
	.cfi_signal_frame
	.skip	8
	.cfi_def_cfa_offset 64
	.skip	8
	.cfi_endproc
	.size	signal, .-signal
