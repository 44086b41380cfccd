/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What was recorded: cc -O1 -fomit-frame-pointer -nostdlib -static -s
 * -Wl,--build-id=sha1 -o chain chain.c
 *
 * _start - main - down x 12 - { spin | ask | room - spin }
 */
static volatile unsigned long sink;

__attribute__((noipa)) static void spin(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
}

/* In the kernel for most of its time. */
__attribute__((noipa)) static void ask(int n)
{
	long ret;

	while (n--)
		__asm__ volatile("syscall"
				 : "=a"(ret)
				 : "0"(39L)
				 : "rcx", "r11", "memory");
}

/* Its CFA is told by rbp. */
__attribute__((noipa)) static void room(int n)
{
	volatile char *p = __builtin_alloca(n);

	p[0] = 1;
	spin(20000);
}

__attribute__((noipa)) static void down(int n)
{
	volatile char local[200];

	local[0] = 1;
	if (n) {
		down(n - 1);
	} else {
		spin(20000);
		ask(300);
		room(64);
	}
	local[1] = 2;
}

__attribute__((noipa, used)) static void main_(void)
{
	for (int i = 0; i < 15000; i++)
		down(11);
	__asm__ volatile("syscall" : : "a"(231L), "D"(0L) : "memory");
}

__asm__(".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
	".cfi_startproc\n"
	".cfi_undefined rip\n"
	"xor %ebp, %ebp\n"
	"and $-16, %rsp\n"
	"call main_\n"
	"hlt\n"
	".cfi_endproc\n"
	".size _start, . - _start\n");
