# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# Signal frames: with a rule, and with CFI that no SFrame can hold.
	.text
	.type	plain_signal, @function
plain_signal:
	.cfi_startproc
	.cfi_signal_frame
	nop
	subq	$8, %rsp
	.cfi_def_cfa_offset 16
	nop
	.cfi_endproc
	.size	plain_signal, .-plain_signal

	.type	odd_signal, @function
odd_signal:
	.cfi_startproc
	.cfi_signal_frame
	# CFA = *(rsp + 160), as in a C library's restorer
	.cfi_escape 0x0f,0x04,0x77,0xa0,0x01,0x06
	movl	$15, %eax
	syscall
	.cfi_endproc
	.size	odd_signal, .-odd_signal

	.type	after, @function
after:
	.cfi_startproc
	ret
	.cfi_endproc
	.size	after, .-after
	.section .note.GNU-stack,"",@progbits
