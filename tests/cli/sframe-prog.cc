// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What a file must still be able to do with a section added: find its program
// headers, its TLS and its CFI, zero its .bss, and grow its heap behind it.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <link.h>
#include <stdexcept>
#include <string>

static thread_local int counter = 42;
static char zeros[3 << 20];

// Prints the first bytes of each SFrame section that loaders tell of.
static int on_image(dl_phdr_info *info, size_t, void *images)
{
	++*static_cast<int *>(images);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) &ph = info->dlpi_phdr[i];
		unsigned first;

		if (ph.p_type != 0x6474e554)
			continue;
		memcpy(&first,
		       reinterpret_cast<void *>(info->dlpi_addr + ph.p_vaddr),
		       sizeof(first));
		printf("sframe %08x\n", first);
	}
	return 0;
}

int main(int argc, char **)
{
	int images = 0;
	char *heap = static_cast<char *>(malloc(1 << 20));

	for (char c : zeros)
		if (c)
			return 1;
	zeros[argc] = 1;
	memset(heap, argc, 1 << 20);
	try {
		throw std::runtime_error("thrown");
	} catch (std::exception &e) {
		printf("%s %d\n", e.what(), counter);
	}
	dl_iterate_phdr(on_image, &images);
	free(heap);
	return images ? 7 : 1;
}
