// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: when memory runs out at any call of an allocator, a conversion,
 * and each other step of reading, checking, measuring and writing a table,
 * says so and gives nothing, or does what it does with enough memory; the
 * builds with sanitizers see that nothing leaks. On the dynamic loader, a
 * relocatable file, and libgcc.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "elf/elf.h"
#include "elf/inflate.h"
#include "sframe/check.h"
#include "sframe/encode.h"
#include "sframe/known-bad.h"
#include "table/coverage.h"
#include "table/into-elf.h"
#include "table/lookup.h"
#include "table/table.h"
#include "tests/unit/oom-wrap.h"

#define TABLE_MAX (64 << 20)
#define LOADER "/lib64/ld-linux-x86-64.so.2"

/* What a step gave. */
struct result {
	uint8_t *bytes; /* NULL: nothing; the caller frees it */
	size_t size;
};

/* Return: 0 with *ret, or -errno. */
typedef int step_fn(const struct seam_elf *elf, struct result *ret);

/* Its table; made before memory runs out. */
static struct result table, kernel;
static struct seam_elf_section compressed;
static char folder[] = P_tmpdir "/seam-test-oom-XXXXXX";

static int build(const struct seam_elf *elf, struct result *ret)
{
	return seam_table_build(elf, &ret->bytes, &ret->size, NULL, NULL);
}

static int build_kernel(const struct seam_elf *elf, struct result *ret)
{
	return seam_table_build_kernel(elf, &ret->bytes, &ret->size, NULL,
				       NULL);
}

static int lay_out(const struct seam_elf *elf, struct result *ret)
{
	struct seam_lookup lookup;
	struct seam_sframe sf;
	int r;

	(void)elf;
	if (seam_sframe_open(&sf, kernel.bytes, kernel.size))
		return -EINVAL;
	r = seam_lookup_build(&sf, TABLE_MAX, &lookup, &ret->bytes, NULL);
	ret->size = lookup.size;
	return r;
}

/* What was measured, but for pointers. */
static int measure(const struct seam_elf *elf, struct result *ret)
{
	struct seam_known_bad_range *bad = NULL;
	static struct seam_coverage coverage;
	struct seam_sframe sf;
	struct seam_cfi *cfi;
	size_t n;
	int r;

	if (seam_sframe_open(&sf, table.bytes, table.size))
		return -EINVAL;
	r = seam_coverage(elf, &sf, 0, &coverage, NULL);
	if (r)
		return r;
	r = seam_cfi_open(elf, &cfi, NULL);
	if (r)
		return r;
	r = seam_known_bad_list(elf, cfi, "ld.so", &bad, &n);
	seam_cfi_close(cfi);
	free(bad);
	ret->bytes = r ? NULL : (uint8_t *)&coverage;
	ret->size = sizeof(coverage);
	return r;
}

static int add_to_file(const struct seam_elf *elf, struct result *ret)
{
	static struct seam_table_in_elf in;
	char path[sizeof(folder) + 8];
	int fd, r;

	sprintf(path, "%s/out", folder);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		return -errno;
	r = seam_table_into_elf(elf, 3, fd, &in, NULL);
	close(fd);
	unlink(path);
	ret->bytes = r ? NULL : (uint8_t *)&in;
	ret->size = sizeof(in);
	return r;
}

/* Converted and stored, then read back. */
static int go_by_cache(const struct seam_elf *elf, struct result *ret)
{
	struct seam_table_cache *cache;
	struct result first = {0};
	int r = seam_table_cache_open(folder, &cache);

	if (r)
		return r;
	r = seam_table_load_kernel(cache, elf, &first.bytes, &first.size, NULL,
				   NULL);
	if (!r)
		r = seam_table_load_kernel(cache, elf, &ret->bytes, &ret->size,
					   NULL, NULL);
	free(first.bytes);
	seam_table_cache_close(cache);
	return r;
}

/* A section of a relocatable file, and all that is wrong with it. */
static int find_section(const struct seam_elf *elf, struct result *ret)
{
	static struct seam_sframe_findings found;
	struct seam_sframe_file f;
	int r = seam_sframe_file_find(elf, &f, NULL);

	if (r)
		return r;
	memset(&found, 0, sizeof(found));
	seam_sframe_check(&f, &found);
	seam_sframe_file_fini(&f);
	ret->bytes = (uint8_t *)&found;
	ret->size = sizeof(found);
	return 0;
}

/* Each function of the table, as V2 in section-relative form. */
static int encode_old(const struct seam_elf *elf, struct result *ret)
{
	const struct seam_rule rule = {
		.cfa = {.kind = SEAM_REG_OFF, .reg = 7, .off = 8}};
	struct seam_sframe_builder *b;
	int r = seam_sframe_builder_new_for(2, SEAM_SFRAME_ABI_AMD64,
					    SEAM_SFRAME_SECTION_RELATIVE, &b);

	(void)elf;
	if (r)
		return r;
	seam_sframe_builder_reserve(b, 64, 2);
	for (uint64_t i = 100; i-- && !r;) {
		const struct seam_sframe_builder_func f = {.start = 40 * i};

		r = seam_sframe_builder_begin(b, &f);
		if (!r)
			r = seam_sframe_builder_row(b, 0, &rule);
		if (!r) /* into the next one */
			r = seam_sframe_builder_end(b, 44);
	}
	if (!r)
		r = seam_sframe_builder_finish(b, 0, &ret->bytes, &ret->size,
					       NULL);
	seam_sframe_builder_free(b);
	return r;
}

/* A file that is read and not mapped. */
static int open_copy(const struct seam_elf *elf, struct result *ret)
{
	static uint8_t kept[64];
	struct seam_elf *copy;
	size_t size;
	int fd, r;

	(void)elf;
	fd = open(LOADER, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = seam_elf_open_fd(fd, SEAM_ELF_COPY, &copy, NULL);
	close(fd);
	if (r)
		return r;
	memcpy(kept, seam_elf_bytes(copy, &size), sizeof(kept));
	seam_elf_close(copy);
	ret->bytes = kept;
	ret->size = sizeof(kept);
	return 0;
}

/* The table, as a compressed section. */
static int inflate_section(const struct seam_elf *elf, struct result *ret)
{
	struct seam_elf_section out = {0};
	void *owned = NULL;
	int r;

	(void)elf;
	r = seam_elf_inflate(&compressed, false, &out, &owned);
	ret->bytes = owned;
	ret->size = out.size;
	return r;
}

static int list_known_bad(const struct seam_elf *elf, struct result *ret)
{
	struct seam_known_bad_range *v = NULL;
	struct seam_cfi *cfi;
	size_t n;
	int r = seam_cfi_open(elf, &cfi, NULL);

	if (r)
		return r;
	r = seam_known_bad_list(elf, cfi, "libgcc_s.so.1", &v, &n);
	seam_cfi_close(cfi);
	if (r)
		return r;
	ret->bytes = (uint8_t *)v;
	ret->size = n * sizeof(*v);
	return 0;
}

enum input { LOADER_FILE, RELOCATABLE, UNRESOLVED, LIBGCC, NUM_INPUTS };

static const struct step {
	const char *name;
	step_fn *run;
	bool is_static; /* what it gives */
	enum input input;
	int places; /* allocations that there are at least */
} steps[] = {
	{"conversion", build, .places = 12},
	{"conversion of .o", build, .input = RELOCATABLE, .places = 8},
	{"conversion for the kernel", build_kernel, .places = 20},
	{"layout", lay_out, .places = 6},
	{"coverage", measure, .is_static = true, .places = 6},
	{"seam sframe make", add_to_file, .is_static = true, .places = 14},
	{"cache", go_by_cache, .places = 24},
	{"section of .o", find_section, .is_static = true, .input = RELOCATABLE,
	 .places = 3},
	{"section of .o, not resolved", find_section, .is_static = true,
	 .input = UNRESOLVED, .places = 4},
	{"V2", encode_old, .places = 5},
	{"a copy", open_copy, .is_static = true, .places = 4},
	{"inflating", inflate_section, .places = 1},
	{"known bad CFI", list_known_bad, .input = LIBGCC, .places = 2},
};

static void give_back(const struct step *s, struct result *r)
{
	if (!s->is_static)
		free(r->bytes);
	*r = (struct result){0};
}

/* With n allocations. Return: whether that was enough; what it gives is as
 * with enough memory, want, or it fails with -ENOMEM. */
static bool try(const struct step *s, const struct seam_elf *elf, long n,
		const struct result *want)
{
	struct result got = {0};
	bool was_enough;
	int r;

	left = n;
	r = s->run(elf, &got);
	was_enough = left > 0;
	left = -1;
	if (r == -ENOMEM ? got.bytes != NULL || was_enough
			 : r || !got.bytes || got.size != want->size ||
				   memcmp(got.bytes, want->bytes, got.size)) {
		printf("%s with %ld allocations: %d\n", s->name, n, r);
		exit(1);
	}
	give_back(s, &got);
	return was_enough;
}

static void forget_cache(void)
{
	char command[sizeof(folder) + 16];

	sprintf(command, "rm -rf %s/*", folder);
	if (system(command))
		exit(1);
}

static void run_step(const struct step *s, const struct seam_elf *elf)
{
	struct result want = {0}, kept = {0};
	long n = 0;
	int r = s->run(elf, &want);

	if (r || !want.bytes) {
		printf("%s: %d\n", s->name, r);
		exit(1);
	}
	kept = want;
	if (s->is_static) {
		kept.bytes = malloc(want.size);
		memcpy(kept.bytes, want.bytes, want.size);
	}
	do
		forget_cache();
	while (!try(s, elf, n++, &kept));
	free(kept.bytes);
	printf("%s: %ld places\n", s->name, n - 1);
	if (n - 1 < s->places)
		exit(1);
}

static struct seam_elf *open_elf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct seam_elf *elf;

	if (fd < 0 || seam_elf_open_fd(fd, 0, &elf, NULL)) {
		printf("%s cannot be read\n", path);
		exit(77);
	}
	close(fd);
	return elf;
}

/* The table behind a header that says so. */
static bool compress_table(void)
{
	uLongf len = compressBound(table.size);
	uint8_t *bytes = malloc(sizeof(Elf64_Chdr) + len);

	*(Elf64_Chdr *)(void *)bytes = (Elf64_Chdr){
		.ch_type = ELFCOMPRESS_ZLIB,
		.ch_size = table.size,
	};
	if (compress(bytes + sizeof(Elf64_Chdr), &len, table.bytes,
		     table.size) != Z_OK)
		return false;
	compressed.data = bytes;
	compressed.size = sizeof(Elf64_Chdr) + len;
	return true;
}

/* The same file, with relocations that nobody knows. */
static struct seam_elf *open_unresolved(const struct seam_elf *rel,
					uint8_t **ret_bytes)
{
	Elf_Scn *scn = NULL;
	struct seam_elf *elf;
	GElf_Shdr sh;
	size_t size;
	const uint8_t *from = seam_elf_bytes(rel, &size);
	uint8_t *bytes = malloc(size);

	memcpy(bytes, from, size);
	while ((scn = elf_nextscn(seam_elf_libelf(rel), scn)))
		for (uint64_t at = gelf_getshdr(scn, &sh)->sh_type == SHT_RELA
					   ? 0
					   : sh.sh_size;
		     at < sh.sh_size; at += sizeof(Elf64_Rela))
			bytes[sh.sh_offset + at + 8] = 0x7f;
	if (seam_elf_open_mem(bytes, size, &elf, NULL))
		exit(1);
	*ret_bytes = bytes;
	return elf;
}

static struct seam_elf *open_libgcc(void)
{
	void *lib = dlopen("libgcc_s.so.1", RTLD_NOW);
	void *symbol = lib ? dlsym(lib, "_Unwind_Backtrace") : NULL;
	Dl_info info = {0};

	if (!symbol || !dladdr(symbol, &info))
		exit(1);
	return open_elf(info.dli_fname);
}

int main(int argc, char **argv)
{
	struct seam_elf *elf[NUM_INPUTS];
	uint8_t *unresolved;

	elf[LOADER_FILE] = open_elf(LOADER);
	elf[RELOCATABLE] = open_elf(argc > 1 ? argv[1] : "");
	elf[UNRESOLVED] = open_unresolved(elf[RELOCATABLE], &unresolved);
	elf[LIBGCC] = open_libgcc();
	if (build(elf[0], &table) || build_kernel(elf[0], &kernel) ||
	    !compress_table() || !mkdtemp(folder))
		return 1;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		run_step(&steps[i], elf[steps[i].input]);
	forget_cache();
	rmdir(folder);
	free((void *)compressed.data);
	free(table.bytes);
	free(kernel.bytes);
	for (int i = 0; i < NUM_INPUTS; i++)
		seam_elf_close(elf[i]);
	free(unresolved);
	return 0;
}
