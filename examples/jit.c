// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Makes a function while it runs, says where its frames are, and calls
 * through it for some seconds:
 *
 *	cc jit.c -lseam && seam record -- ./a.out 3 && seam script
 */
#include <seam/jit.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* sub $40,%rsp; mov $work,%rax; call *%rax; add $40,%rsp; ret */
static const uint8_t template[] = {
	0x48, 0x83, 0xec, 40,	0x48, 0xb8, 0,	  0,	0,  0,	  0,
	0,    0,    0,	  0xff, 0xd0, 0x48, 0x83, 0xc4, 40, 0xc3,
};
#define TARGET 6 /* where the address belongs */
#define ADDED 20 /* where the stack pointer is back */

/* An SFrame section, version 3, of one function with three rows. */
struct section {
	uint16_t magic;
	uint8_t version, flags, abi;
	int8_t fixed_fp, fixed_ra;
	uint8_t aux;
	uint32_t num_functions, num_rows, rows_size, index, rows;
	int64_t start; /* counts from here */
	uint32_t size, at;
	uint16_t n;
	uint8_t info, info2, block;
	/* Offset in the function; one word of a byte, from rsp; CFA. */
	uint8_t row[3][3];
} __attribute__((packed));

struct page {
	uint8_t code[64];
	struct section section;
};

static void work(void)
{
	for (volatile int i = 0; i < 1000000; i++)
		;
}

static struct page *make(void)
{
	struct page *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*target)(void) = work;

	if (p == MAP_FAILED)
		return NULL;
	memcpy(p->code, template, sizeof(template));
	memcpy(p->code + TARGET, &target, sizeof(target));
	p->section = (struct section){
		.magic = 0xdee2,
		.version = 3,
		.flags = 5, /* sorted, starts count from themselves */
		.abi = 3, /* x86-64 */
		.fixed_ra = -8,
		.num_functions = 1,
		.num_rows = 3,
		.rows_size = 14,
		.rows = 16,
		.start = offsetof(struct page, code) -
			 offsetof(struct page, section.start),
		.size = sizeof(template),
		.n = 3,
		.row = {{0, 3, 8}, {4, 3, 48}, {ADDED, 3, 8}},
	};
	mprotect(p, sizeof(*p), PROT_READ | PROT_EXEC);
	return p;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	struct page *p = make();
	struct seam_errinfo why;
	void (*enter)(void);

	if (!p || seam_jit_add(&p->section, sizeof(p->section), p->code,
			       sizeof(template), &why)) {
		fprintf(stderr, "%s\n", p ? why.reason : "no memory");
		return 1;
	}
	memcpy(&enter, &p, sizeof(enter));
	while ((double)clock() < seconds * CLOCKS_PER_SEC)
		enter();
	return seam_jit_remove(p->code);
}
