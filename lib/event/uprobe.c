// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "event/uprobe.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/uapi.h"
#include "event/event.h"
#include "event/fail.h"
#include "symbol/debugfile.h"
#include "symbol/symtab.h"

#define PMU "/sys/bus/event_source/devices/uprobe/"
#define DEBUG_ROOT "/usr/lib/debug"

struct place {
	const char *file;
	char *symbol; /* without the offset */
	uint64_t offset;
};

/* The name, or the name of a version of it. */
static bool is_named(const struct seam_sym *sym, const char *name)
{
	size_t len = strlen(name);

	return sym->raw && !strncmp(sym->raw, name, len) &&
	       (!sym->raw[len] || sym->raw[len] == '@');
}

static int find_in(const struct seam_elf *elf, uint32_t type,
		   const struct place *at, uint64_t *ret_svma)
{
	struct seam_symtab tab = {0};
	int err = seam_symtab_read_elf(&tab, elf, type);
	bool chosen = false, found = false;

	for (size_t i = 0; i < tab.count && !found; i++) {
		const struct seam_sym *sym = &tab.syms[i];

		if (!is_named(sym, at->symbol))
			continue;
		chosen |= sym->type == STT_GNU_IFUNC;
		found = sym->type == STT_FUNC;
		*ret_svma = sym->start + at->offset;
		if (found && at->offset && at->offset >= sym->end - sym->start)
			err = -ERANGE;
	}
	seam_symtab_fini(&tab);
	if (found)
		return err;
	return err == -ENOMEM ? err : chosen ? -EXDEV : -ENOENT;
}

/* A debug file has the addresses of the file that it is of. */
static int find_in_debug(const struct seam_elf *elf, const struct place *at,
			 uint64_t *ret_svma)
{
	struct seam_elf *debug = NULL;
	uint8_t id[SEAM_BUILD_ID_MAX], *bytes = NULL;
	size_t len = seam_elf_build_id(elf, id);
	char path[PATH_MAX];
	int err = -ENOENT;

	if (len && !seam_debugfile_by_build_id(DEBUG_ROOT, id, len,
					       SEAM_ELF_NAMES, &debug, path)) {
		err = find_in(debug, SHT_SYMTAB, at, ret_svma);
		seam_elf_close(debug);
	}
	if (err != -ENOENT || seam_debugfile_mini(elf, &debug, &bytes))
		return err;
	err = find_in(debug, SHT_SYMTAB, at, ret_svma);
	seam_elf_close(debug);
	free(bytes);
	return err;
}

static int find_symbol(const struct seam_elf *elf, const struct place *at,
		       uint64_t *ret_svma)
{
	char *end;
	int err;

	if (!strncmp(at->symbol, "0x", 2)) {
		errno = 0;
		*ret_svma = strtoull(at->symbol, &end, 16) + at->offset;
		return errno || *end || end == at->symbol + 2 ? -EINVAL : 0;
	}
	err = find_in(elf, SHT_SYMTAB, at, ret_svma);
	if (err == -ENOENT)
		err = find_in(elf, SHT_DYNSYM, at, ret_svma);
	return err == -ENOENT ? find_in_debug(elf, at, ret_svma) : err;
}

static int fail_symbol(const struct place *at, int err,
		       struct seam_errinfo *reterr)
{
	if (err == -ENOENT)
		return seam_fail(reterr, err,
				 "%.80s has no function '%.60s' (nm -D and nm "
				 "list them; stripped ones need a debug file)",
				 at->file, at->symbol);
	if (err == -EXDEV)
		return seam_fail(reterr, -ENOTSUP,
				 "'%.60s' is chosen when %.80s is loaded "
				 "(IFUNC): name the function itself",
				 at->symbol, at->file);
	if (err == -ERANGE)
		return seam_fail(reterr, -EINVAL,
				 "'%.60s' ends before its byte %llu",
				 at->symbol, (unsigned long long)at->offset);
	return seam_fail(reterr, err, "%.80s: '%.60s' cannot be looked up (%s)",
			 at->file, at->symbol, strerror(-err));
}

/* Return: where it is in the file, or -errno. */
static int find_offset(const struct place *at, uint64_t *ret_off,
		       struct seam_errinfo *reterr)
{
	struct seam_elf *elf;
	uint64_t svma = 0;
	int err = seam_symbol_open_elf(at->file, &elf);

	if (err)
		return seam_fail(reterr, err, "%.80s cannot be probed (%s)",
				 at->file,
				 err == -ENOENT || err == -EACCES
					 ? strerror(-err)
					 : "no ELF file that seam reads");
	err = find_symbol(elf, at, &svma);
	if (err)
		err = fail_symbol(at, err, reterr);
	else if (!seam_elf_svma_to_off(elf, svma, ret_off))
		err = seam_fail(reterr, -EINVAL,
				"0x%llx is no address of %.80s",
				(unsigned long long)svma, at->file);
	seam_elf_close(elf);
	return err;
}

/* SYMBOL[+OFFSET] */
static int split(const char *file, const char *where, struct place *ret,
		 struct seam_errinfo *reterr)
{
	const char *plus = strchr(where, '+');
	char *end = NULL;

	*ret = (struct place){.file = file};
	if (plus) {
		errno = 0;
		ret->offset = strtoull(plus + 1, &end, 0);
		if (errno || end == plus + 1 || *end || plus[1] == '-')
			return seam_fail(reterr, -EINVAL,
					 "'%.60s': want a number of bytes "
					 "behind '+'",
					 where);
	}
	ret->symbol =
		plus ? strndup(where, (size_t)(plus - where)) : strdup(where);
	return ret->symbol ? 0 : -ENOMEM;
}

static int read_type(uint32_t *ret)
{
	FILE *f = fopen(PMU "type", "re");
	int n = f ? fscanf(f, "%u", ret) : 0;

	if (f)
		fclose(f);
	return n == 1 ? 0 : -ENOTSUP;
}

static int open_at(const char *file, uint64_t off, bool returns,
		   struct seam_errinfo *reterr)
{
	struct perf_event_attr attr = {
		.size = SEAM_ATTR_SIZE,
		.config = returns, /* format/retprobe: config:0 */
		.config1 = (uint64_t)(uintptr_t)file,
		.config2 = off,
		.sample_period = 1,
	};
	int fd = read_type(&attr.type);

	if (fd)
		return seam_fail(reterr, fd,
				 "this kernel has no uprobes "
				 "(CONFIG_UPROBE_EVENTS)");
	/* A probe of no task is every task's, on whatever CPU. */
	fd = seam_perf_event_open(&attr, -1, 0);
	if (fd == -EACCES || fd == -EPERM)
		return seam_fail(reterr, fd,
				 "probing %.80s is not "
				 "permitted: " SEAM_TAKES_RIGHTS,
				 file);
	if (fd < 0)
		return seam_fail(reterr, fd,
				 "the kernel refuses a probe at offset 0x%llx "
				 "of %.80s (%s)",
				 (unsigned long long)off, file, strerror(-fd));
	return fd;
}

int seam_uprobe_open(const char *file, const char *where, bool returns,
		     struct seam_errinfo *reterr)
{
	struct place at;
	uint64_t off = 0;
	int err = split(file, where, &at, reterr);

	if (!err && returns && at.offset)
		err = seam_fail(reterr, -EINVAL,
				"'%.60s': a uretprobe is at a function's "
				"begin, without an offset",
				where);
	if (!err)
		err = find_offset(&at, &off, reterr);
	free(at.symbol);
	return err ? err : open_at(file, off, returns, reterr);
}
