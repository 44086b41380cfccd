# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# A function that the assembler leaves out, alone: the section is a header.
	.text
	.type	odd, @function
odd:
	.cfi_startproc
	# RA = *(rsp + rax), which is no rule of any version
	.cfi_escape 0x10,0x10,0x05,0x77,0x00,0x70,0x00,0x22
	nop
	ret
	.cfi_endproc
	.size	odd, .-odd
	.section .note.GNU-stack,"",@progbits
