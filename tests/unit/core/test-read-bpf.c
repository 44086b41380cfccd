// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: the reader, loaded into the kernel, says of every section what
 * it says here, where a section lies in an array as in an arena: of tables by
 * real assemblers, of a library's thousands of functions, and of hostile
 * bytes. Where the rows of a section are listed one after the other, each
 * holds from its start to the next one's, in BPF as well.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/sframe-read.h"
#include "seam/sframe.h"
#include "sframe/encode.h"
#include "sframe/file.h"
#include "table/table.h"
#include "tests/unit/core/bpf-reader.h"
#include "tests/unit/random.h"

#include "read-arena.skel.h"
#include "read-map.skel.h"

#define PATH_LEN 512

static struct bpf_reader readers[2];
static size_t num_readers;
static uint64_t asked, rules; /* pcs; those that had a rule */

/* A section, alone in its allocation. */
struct section {
	char name[PATH_LEN];
	uint8_t *bytes;
	size_t size;
	bool is_rel;
	int open_err;
	struct seam_sframe sf;
};

static void section_fini(struct section *s)
{
	free(s->bytes);
}

static void section_init(struct section *ret, const char *name,
			 const uint8_t *bytes, size_t size, bool is_rel)
{
	*ret = (struct section){.size = size, .is_rel = is_rel};
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	assert_in_range(size, 0, READ_MAX_SIZE);
	ret->bytes = malloc(size ? size : 1);
	assert_non_null(ret->bytes);
	memcpy(ret->bytes, bytes, size);
	ret->open_err = seam_sframe_open(&ret->sf, ret->bytes, size);
	if (!ret->open_err && is_rel)
		seam_sframe_set_relocatable(&ret->sf);
	for (size_t i = 0; i < num_readers; i++)
		bpf_reader_put(&readers[i], bytes, size);
}

static void check_row(const struct seam_rule *rule, const struct seam_row *row)
{
	assert_int_equal(row->flags, rule->flags & 7);
	assert_int_equal(row->cfa.off, rule->cfa.off);
	assert_int_equal(row->cfa.how, rule->cfa.kind);
	assert_int_equal(row->cfa.reg, rule->cfa.reg);
	assert_int_equal(row->ra.off, rule->ra.off);
	assert_int_equal(row->ra.how, rule->ra.kind);
	assert_int_equal(row->ra.reg, rule->ra.reg);
	assert_int_equal(row->fp.off, rule->fp.off);
	assert_int_equal(row->fp.how, rule->fp.kind);
	assert_int_equal(row->fp.reg, rule->fp.reg);
}

/* The public face knows nothing of relocatable files. */
static void check_public(const struct section *s, uint64_t pc, int err,
			 const struct seam_rule *rule)
{
	struct seam_section section;
	struct seam_row row;
	int want;

	if (s->is_rel)
		return;
	assert_int_equal(
		seam_section_open(&section, s->bytes, s->size, 0, NULL), 0);
	want = seam_section_find(&section, pc, &row);
	if (err || rule->cfa_add) {
		assert_int_equal(want, err == SEAM_NO_RULE ? -ENOENT : -EINVAL);
		return;
	}
	assert_int_equal(want, 0);
	check_row(rule, &row);
}

/* Return: what a reader in the kernel says of a pc, which is what is said
 * here. */
static struct read_args ask(const struct section *s, size_t reader, uint64_t pc)
{
	struct read_args args = {
		.pc = pc,
		.size = (uint32_t)s->size,
		.is_relocatable = s->is_rel,
	};
	struct seam_rule want = {0};
	int err = 0;

	assert_int_equal(bpf_reader_ask(&readers[reader], &args), 0);
	asked++;
	if (!s->open_err)
		err = seam_sframe_find(&s->sf, pc, &want);
	if (args.open_err != s->open_err || args.err != err ||
	    (!s->open_err && !err &&
	     memcmp(&args.rule, &want, sizeof(want)) != 0))
		fail_msg("%s, pc %#" PRIx64 ": %d %d in BPF, %d %d here",
			 s->name, pc, args.open_err, args.err, s->open_err,
			 err);
	if (!s->open_err && !err)
		rules++;
	return args;
}

static void ask_all(const struct section *s, uint64_t pc)
{
	for (size_t i = 0; i < num_readers; i++) {
		struct read_args args = ask(s, i, pc);

		if (!args.open_err)
			check_public(s, pc, args.err, &args.rule);
	}
}

/* At both ends of a row. */
static void check_span(const struct section *s, uint64_t start, uint64_t end,
		       const struct seam_row *row)
{
	const uint64_t pcs[] = {start, end - 1};

	for (size_t i = 0; i < 2 && start < end; i++)
		for (size_t j = 0; j < num_readers; j++) {
			struct read_args args = ask(s, j, pcs[i]);

			assert_int_equal(args.err, 0);
			check_public(s, pcs[i], 0, &args.rule);
			check_row(&args.rule, row);
		}
}

/* The rows of a function as they are listed, which takes no search. start: of
 * the function, in section space. */
static void check_listed(const struct section *s,
			 const struct seam_section *section, uint32_t i,
			 uint64_t start)
{
	struct seam_row row = {0}, last = {0};
	struct seam_function func;
	uint64_t at = 0;
	int got, num = 0;

	assert_int_equal(seam_section_function(section, i, &func), 0);
	while ((got = seam_section_next_row(section, i, &at, &row)) == 1) {
		if (num++)
			check_span(s, start + last.start, start + row.start,
				   &last);
		last = row;
	}
	if (!got && num)
		check_span(s, start + last.start, start + func.size, &last);
}

/* Around a function, and at each block of one that has such. */
static void ask_func(const struct section *s, uint32_t i, bool is_listed)
{
	struct seam_section section;
	struct seam_sframe_func f = {.start = seam_sframe_start(&s->sf, i)};
	int err = seam_sframe_func_at(&s->sf, i, &f);
	const uint64_t pcs[] = {
		f.start - 1,
		f.start,
		f.start + f.size / 2,
		f.start + f.size - 1,
		f.start + f.size,
		f.start + f.rep_size,
		f.start + f.size / 2 + f.rep_size / 2,
	};

	for (size_t j = 0; j < sizeof(pcs) / sizeof(pcs[0]); j++)
		ask_all(s, pcs[j]);
	if (err || !is_listed || f.info & SEAM_SFRAME_INFO_PCMASK)
		return;
	assert_int_equal(
		seam_section_open(&section, s->bytes, s->size, 0, NULL), 0);
	check_listed(s, &section, i, f.start);
}

static void ask_section(const struct section *s, uint32_t max_funcs,
			bool is_listed)
{
	const uint64_t far[] = {0, INT64_MAX, (uint64_t)INT64_MIN, UINT64_MAX};

	for (size_t i = 0; i < 4; i++)
		ask_all(s, far[i]);
	if (s->open_err)
		return;
	for (uint32_t i = 0; i < s->sf.num_fdes && i < max_funcs; i++)
		ask_func(s, i, is_listed);
}

/* Prints and resets how many pcs there were. */
static void say(const char *what)
{
	print_message("%s: %" PRIu64 " pcs asked, %" PRIu64 " have a rule\n",
		      what, asked, rules);
	assert_true(rules > 0);
	asked = rules = 0;
}

static void paths_of(const char *variable, const char *pattern, glob_t *ret)
{
	const char *folder = getenv(variable);
	char path[PATH_LEN];

	assert_non_null(folder);
	snprintf(path, sizeof(path), "%s/%s", folder, pattern);
	assert_int_equal(glob(path, GLOB_BRACE, NULL, ret), 0);
}

static struct seam_elf *elf_of(const char *path)
{
	struct seam_elf *elf;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(seam_elf_open_fd(fd, 0, &elf, NULL), 0);
	close(fd);
	return elf;
}

/* As golden sections are, with relocations applied. */
static void golden_section(const char *path, struct section *ret)
{
	struct seam_elf *elf = elf_of(path);
	struct seam_sframe_file file;

	assert_int_equal(seam_sframe_file_find(elf, &file, NULL), 0);
	section_init(ret, path, file.bytes, file.size, file.is_rel);
	seam_sframe_file_fini(&file);
	seam_elf_close(elf);
}

static void golden(void **state)
{
	uint32_t versions[SEAM_SFRAME_V3 + 1] = {0};
	glob_t g;

	(void)state;
	paths_of("SEAM_GOLDEN", "v*/*.{o,so,exe}", &g);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct section s;

		golden_section(g.gl_pathv[i], &s);
		assert_int_equal(s.open_err, 0);
		versions[s.sf.version]++;
		ask_section(&s, UINT32_MAX, true);
		section_fini(&s);
	}
	globfree(&g);
	for (int v = SEAM_SFRAME_V1; v <= SEAM_SFRAME_V3; v++)
		assert_true(versions[v] > 0);
	say("real assemblers' tables");
}

/* What a section of version 3 says, as far as version 2 can. Caller frees. */
static uint8_t *as_v2(const struct seam_sframe *sf, size_t *ret_size)
{
	struct seam_sframe_builder *b;
	uint8_t *bytes;

	assert_int_equal(
		seam_sframe_builder_new_for(SEAM_SFRAME_V2, sf->abi, 0, &b), 0);
	for (uint32_t i = 0; i < sf->num_fdes; i++) {
		struct seam_sframe_builder_func in = {0};
		struct seam_sframe_row row = {0};
		struct seam_sframe_func f = {0};
		struct seam_rule rule;
		int err = 0;

		assert_int_equal(seam_sframe_func_at(sf, i, &f), 0);
		in.start = f.start;
		assert_int_equal(seam_sframe_builder_begin(b, &in), 0);
		row.next = f.rows;
		for (uint32_t j = 0; j < f.num_rows && !err; j++) {
			assert_int_equal(
				seam_sframe_row_at(sf, &f, row.next, &row), 0);
			assert_int_equal(seam_sframe_rule(sf, &f, &row, &rule),
					 0);
			err = seam_sframe_builder_row(b, row.start, &rule);
		}
		if (!err)
			seam_sframe_builder_end(b, f.size);
	}
	assert_int_equal(
		seam_sframe_builder_finish(b, 0, &bytes, ret_size, NULL), 0);
	seam_sframe_builder_free(b);
	return bytes;
}

/* The C library's table, of both versions; and unsorted, where each search
 * looks at every function. */
static void real_library(void **state)
{
	struct section s, v2;
	struct seam_elf *elf;
	uint8_t *bytes;
	size_t size;
	Dl_info info;

	(void)state;
	assert_true(dladdr((void *)(uintptr_t)gnu_get_libc_version, &info));
	elf = elf_of(info.dli_fname);
	assert_int_equal(seam_table_build(elf, &bytes, &size, NULL, NULL), 0);
	seam_elf_close(elf);
	section_init(&s, "libc, V3", bytes, size, false);
	assert_in_range(s.sf.num_fdes, 1000, UINT32_MAX);
	ask_section(&s, UINT32_MAX, true);
	say("libc, V3");

	free(bytes);
	bytes = as_v2(&s.sf, &size);
	section_init(&v2, "libc, V2", bytes, size, false);
	assert_in_range(v2.sf.num_fdes, 1000, UINT32_MAX);
	ask_section(&v2, UINT32_MAX, true);
	say("libc, V2");
	section_fini(&v2);
	free(bytes);

	bytes = malloc(s.size);
	assert_non_null(bytes);
	memcpy(bytes, s.bytes, s.size);
	bytes[3] &= (uint8_t)~SEAM_SFRAME_F_SORTED;
	section_init(&v2, "libc, unsorted", bytes, s.size, false);
	ask_section(&v2, 100, true);
	say("libc, unsorted");
	section_fini(&v2);
	section_fini(&s);
	free(bytes);
}

static uint8_t *read_file(const char *path, size_t *ret_size)
{
	FILE *f = fopen(path, "re");
	uint8_t *bytes = malloc(READ_MAX_SIZE);

	assert_non_null(f);
	assert_non_null(bytes);
	*ret_size = fread(bytes, 1, READ_MAX_SIZE, f);
	assert_true(feof(f));
	fclose(f);
	return bytes;
}

/* What the fuzzer kept: the first byte is not the section's. */
static void corpus(void **state)
{
	struct section s;
	uint8_t *bytes;
	size_t size;
	glob_t g;

	(void)state;
	paths_of("SEAM_CORPUS", "*", &g);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		bytes = read_file(g.gl_pathv[i], &size);
		if (size) {
			section_init(&s, g.gl_pathv[i], bytes + 1, size - 1,
				     false);
			ask_section(&s, 16, false);
			section_fini(&s);
		}
		free(bytes);
	}
	globfree(&g);
	say("the fuzzer's corpus");
}

/* Changes a few bytes, most often where a number has its small part or the
 * section its header, or cuts the end off. */
static void spoil(struct random *r, uint8_t *bytes, size_t *size)
{
	uint32_t num = 1 + next(r, 4);

	if (!next(r, 8))
		*size = next(r, (uint32_t)*size);
	for (uint32_t i = 0; i < num && *size; i++) {
		uint32_t end = next(r, 4) ? (uint32_t)*size : 28;
		uint32_t at = next(r, end);

		if (at < *size)
			bytes[at] = (uint8_t)(next(r, 2) ? next(r, 256)
							 : 0xffu << next(r, 8));
	}
}

/* Golden sections with bytes changed. */
static void spoiled(void **state)
{
	struct random r = {.state = 1};
	glob_t g;

	(void)state;
	paths_of("SEAM_GOLDEN", "v*/*.{o,so,exe}", &g);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct section whole, s;

		golden_section(g.gl_pathv[i], &whole);
		for (int j = 0; j < 8; j++) {
			uint8_t *bytes = malloc(whole.size);
			size_t size = whole.size;

			assert_non_null(bytes);
			memcpy(bytes, whole.bytes, size);
			spoil(&r, bytes, &size);
			section_init(&s, whole.name, bytes, size, whole.is_rel);
			ask_section(&s, 16, false);
			section_fini(&s);
			free(bytes);
		}
		section_fini(&whole);
	}
	globfree(&g);
	say("spoiled tables");
}

static int load(void **state)
{
	const void *elf;
	size_t size;
	int err;

	(void)state;
	elf = read_map__elf_bytes(&size);
	err = bpf_reader_load(elf, size, false, &readers[num_readers++]);
	if (err)
		return err;
	elf = read_arena__elf_bytes(&size);
	err = bpf_reader_load(elf, size, true, &readers[num_readers]);
	if (err == -EOPNOTSUPP) {
		print_message("only in an array: the kernel lacks arenas, or "
			      "loads from them that extend the sign\n");
		return 0;
	}
	num_readers++;
	return err;
}

static int unload(void **state)
{
	(void)state;
	for (size_t i = 0; i < num_readers; i++)
		bpf_reader_fini(&readers[i]);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden),
		cmocka_unit_test(real_library),
		cmocka_unit_test(corpus),
		cmocka_unit_test(spoiled),
	};
	const char *missing = bpf_reader_missing();

	if (missing) {
		printf("skipped: %s\n", missing);
		return 77;
	}
	return cmocka_run_group_tests(tests, load, unload);
}
