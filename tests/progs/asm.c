// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: hand-written assembly with its own CFI (asm-paths.S). Every
 * function is called by one whose CFA is in rbp, so a wrong rbp shows too.
 */
#include "path.h"

void asm_push(unsigned long n);
void asm_rbp(unsigned long n);
void asm_rbx(unsigned long n);
void asm_r10(unsigned long n);
void asm_remember(unsigned long n);
void asm_expression(unsigned long n);
void asm_expression2(unsigned long n);
void asm_ra_in_rdx(unsigned long n);
void asm_call_pop(unsigned long n);
void asm_rbp_in_r12(unsigned long n);
void asm_red_zone(unsigned long n);
void asm_far(unsigned long n);

KEEP void all(unsigned long n)
{
	volatile char vla[n % 64 + 1];

	vla[n % 64] = 1;
	asm_push(n);
	asm_rbp(n);
	asm_rbx(n);
	asm_r10(n);
	asm_remember(n);
	asm_remember(n + 1);
	asm_expression(n);
	asm_expression2(n);
	asm_ra_in_rdx(n);
	asm_call_pop(n);
	asm_rbp_in_r12(n);
	asm_red_zone(n);
	asm_far(n);
	STAY();
}

KEEP void run(unsigned long n)
{
	all(n);
	STAY();
}

PATH_MAIN(run(r))
