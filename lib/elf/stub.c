// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "elf/stub.h"

#include <stdbool.h>
#include <string.h>

#define BND "\xf2"
#define ENDBR64 "\xf3\x0f\x1e\xfa"
#define MOV_R11D "\x41\xbb" /* and 32 bits */
#define JMP "\xff\x25" /* and 32 bits */

const char *const seam_stub_sections[SEAM_STUB_SECTIONS] = {
	".plt", ".plt.got", ".plt.sec", ".iplt"};

/* Where these bytes are, goes on len bytes behind at. */
static bool skip(const uint8_t *code, size_t size, size_t *at,
		 const char *bytes, size_t len)
{
	size_t n = strlen(bytes);

	if (size - *at < len || memcmp(code + *at, bytes, n))
		return false;
	*at += len;
	return true;
}

size_t seam_stub_jump(const uint8_t *code, size_t size, uint64_t *ret_slot)
{
	size_t at = 0;
	int32_t disp;

	skip(code, size, &at, ENDBR64, 4);
	skip(code, size, &at, MOV_R11D, 6);
	skip(code, size, &at, BND, 1);
	if (!skip(code, size, &at, JMP, 6))
		return 0;
	memcpy(&disp, code + at - sizeof(disp), sizeof(disp));
	*ret_slot = at + (uint64_t)(int64_t)disp;
	return at;
}
