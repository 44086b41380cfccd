/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Any bytes as an ELF file that is printed, checked and measured as seam
 * sframe does, and given a table. What comes of that loads where the input
 * did, has the input's bytes where they were, and a section that the checker
 * has nothing against.
 */
#include <errno.h>
#include <gelf.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "report/sframe-stat.h"
#include "report/sframe-text.h"
#include "sframe/check.h"
#include "table/into-elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_FUNCS 64
#define EHDR_SIZE 64
#define OUTPUT_MAX (UINT64_C(1) << 31) /* a hole of 1 GiB is allowed */

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void print(const struct seam_sframe_file *f,
		  const struct seam_sframe *sf)
{
	struct seam_strbuf b = {0};

	seam_sframe_text_head(&b, "fuzz", f, sf);
	seam_sframe_json_head(&b, "fuzz", f, sf);
	for (uint32_t i = 0; i < sf->num_fdes && i < MAX_FUNCS; i++)
		check(seam_sframe_text_func(&b, f, sf, i) ==
		      seam_sframe_json_func(&b, f, sf, i));
	seam_sframe_json_tail(&b);
	check(!b.err && strlen(b.s) == b.len);
	seam_strbuf_fini(&b);
}

static void measure(const struct seam_elf *elf,
		    const struct seam_sframe_file *f,
		    const struct seam_sframe *sf)
{
	struct seam_sframe_stat s = {.path = "fuzz"};
	struct seam_strbuf b = {0};

	if (seam_coverage(elf, sf, f->svma, &s.coverage, NULL))
		return;
	seam_sframe_stat_sizes(elf, &s);
	seam_sframe_stat_text(&b, &s);
	seam_sframe_stat_json(&b, &s);
	check(!b.err);
	seam_strbuf_fini(&b);
}

static bool is_malformed(const struct seam_sframe_findings *found)
{
	for (size_t i = 0; i < found->n; i++)
		if (found->v[i].severity == SEAM_SFRAME_MALFORMED)
			return true;
	return false;
}

/* Return: whether it has a section that is well; then *ret_svma. */
static bool look_at(const struct seam_elf *elf, uint64_t *ret_svma)
{
	struct seam_sframe_findings found;
	struct seam_sframe_file f;
	struct seam_sframe sf;
	bool is_well;

	if (seam_sframe_file_find(elf, &f, NULL))
		return false;
	seam_sframe_check(&f, &found);
	is_well = !is_malformed(&found);
	if (!seam_sframe_file_open(&f, &sf, NULL)) {
		print(&f, &sf);
		if (is_well)
			measure(elf, &f, &sf);
	} else {
		check(!is_well);
	}
	*ret_svma = f.svma;
	seam_sframe_file_fini(&f);
	return is_well;
}

static bool has_segment(const struct seam_elf *elf,
			const struct seam_elf_segment *want)
{
	const struct seam_elf_segment *s;
	size_t n;

	s = seam_elf_segments(elf, &n);
	for (size_t i = 0; i < n; i++)
		if (s[i].svma == want->svma && s[i].off == want->off &&
		    s[i].filesz == want->filesz && s[i].memsz == want->memsz &&
		    s[i].flags == want->flags)
			return true;
	return false;
}

/* What is replaced is a section as its header says, whatever it would hold if
 * it were inflated. Return: false: there is none in the file. */
static bool find_old(const struct seam_elf *elf, GElf_Shdr *ret)
{
	Elf *libelf = seam_elf_libelf(elf);
	Elf_Scn *scn = NULL;
	size_t names;

	if (!libelf || elf_getshdrstrndx(libelf, &names))
		return false;
	while ((scn = elf_nextscn(libelf, scn))) {
		const char *name =
			gelf_getshdr(scn, ret)
				? elf_strptr(libelf, names, ret->sh_name)
				: NULL;

		if (name && !strcmp(name, ".sframe"))
			return ret->sh_type != SHT_NOBITS &&
			       ret->sh_type != SHT_NULL;
	}
	return false;
}

/* But for the ELF header, and an old section, of which nothing is left. */
static void compare_bytes(const struct seam_elf *old,
			  const struct seam_elf *new)
{
	uint64_t from = EHDR_SIZE, to = EHDR_SIZE;
	size_t old_size, new_size;
	const uint8_t *was = seam_elf_bytes(old, &old_size);
	const uint8_t *is = seam_elf_bytes(new, &new_size);
	GElf_Shdr sh;

	if (find_old(old, &sh) && sh.sh_size) {
		from = sh.sh_offset;
		to = sh.sh_offset + sh.sh_size;
	}
	check(from >= EHDR_SIZE && from <= to);
	check(new_size >= old_size && to <= old_size);
	check(!memcmp(was + EHDR_SIZE, is + EHDR_SIZE, from - EHDR_SIZE));
	check(!memcmp(was + to, is + to, old_size - to));
}

static void compare(const struct seam_elf *old, const struct seam_elf *new,
		    const struct seam_table_in_elf *in)
{
	size_t n, num_new;
	const struct seam_elf_segment *s = seam_elf_segments(old, &n);
	uint64_t svma = 0;

	for (size_t i = 0; i < n; i++)
		check(has_segment(new, &s[i]));
	seam_elf_segments(new, &num_new);
	check(num_new == n + !in->in_place);
	check(seam_elf_entry(old) == seam_elf_entry(new));
	check(look_at(new, &svma) && svma == in->svma);
	if (!in->in_place)
		compare_bytes(old, new);
}

/* With a limit: whoever fills it writes more than a file could need. */
static int open_output(void)
{
	const struct rlimit limit = {OUTPUT_MAX, OUTPUT_MAX};

	signal(SIGXFSZ, SIG_IGN);
	check(!setrlimit(RLIMIT_FSIZE, &limit));
	return memfd_create("seam-fuzz", MFD_CLOEXEC);
}

static void make(const struct seam_elf *elf)
{
	struct seam_table_in_elf in;
	struct seam_elf *made;
	static int fd = -1;
	int rc;

	if (fd < 0)
		fd = open_output();
	check(fd >= 0 && !ftruncate(fd, 0) && !lseek(fd, 0, SEEK_SET));
	rc = seam_table_into_elf(elf, 3, fd, &in, NULL);
	check(rc != -EFBIG);
	if (rc)
		return;
	check(!seam_elf_open_fd(fd, 0, &made, NULL));
	compare(elf, made, &in);
	seam_elf_close(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seam_elf *elf;
	uint64_t svma;

	if (seam_elf_open_mem(data, size, &elf, NULL))
		return 0;
	look_at(elf, &svma);
	make(elf);
	seam_elf_close(elf);
	return 0;
}
