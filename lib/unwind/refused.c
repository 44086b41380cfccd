// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "unwind/refused.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cfi/cfi.h"
#include "unwind/image.h"

static bool is_known(const struct seam_refusals *r,
		     const struct seam_refused_id *id)
{
	for (uint64_t i = 0; i < r->n && i < SEAM_REFUSED_KNOWN; i++)
		if (!memcmp(&r->known[i], id, sizeof(*id)))
			return true;
	return false;
}

void seam_refuse_known(struct seam_refusals *r, const char *path,
		       const struct seam_refused_id *id, uint64_t n_bad,
		       const struct seam_errinfo *why)
{
	if (is_known(r, id))
		return;
	if (r->n < SEAM_REFUSED_KNOWN)
		r->known[r->n] = *id;
	if (r->n < SEAM_REFUSED_NAMED) {
		struct seam_refused *f = &r->files[r->n];

		snprintf(f->path, sizeof(f->path), "%s", path);
		f->n_bad = n_bad;
		f->why = *why;
	}
	r->n++;
}

static void refuse(struct seam_refusals *r, int fd, uint64_t n_bad,
		   const struct seam_errinfo *why)
{
	char link[32], path[SEAM_REFUSED_PATH];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st))
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	seam_refuse_known(r, path,
			  &(struct seam_refused_id){st.st_dev, st.st_ino,
						    seam_image_ctime_ns(&st)},
			  n_bad, why);
}

void seam_refuse_file(struct seam_refusals *r, int fd, int rc,
		      const struct seam_errinfo *why)
{
	const struct seam_errinfo too_large = {
		.where = "program and section headers",
		.reason = "they claim more than is read of a file",
	};
	char magic[SELFMAG];

	if (rc != -EINVAL && rc != -EFBIG)
		return;
	if (pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, ELFMAG, SELFMAG))
		return;
	refuse(r, fd, 0, rc == -EFBIG ? &too_large : why);
}

void seam_refuse_cfi(struct seam_refusals *r, int fd, uint64_t n_bad,
		     const struct seam_errinfo *why)
{
	if (n_bad)
		refuse(r, fd, n_bad, why);
}

struct bad {
	uint64_t n;
	struct seam_errinfo *first;
};

static int on_row(void *ctx, const struct seam_cfi_row *row)
{
	(void)ctx;
	(void)row;
	return 0;
}

static void on_bad(void *ctx, uint64_t start, uint64_t end,
		   const struct seam_errinfo *why)
{
	struct bad *bad = ctx;

	(void)start;
	(void)end;
	if (!bad->n++)
		*bad->first = *why;
}

uint64_t seam_cfi_bad(const struct seam_elf *elf, struct seam_errinfo *ret_why)
{
	struct bad bad = {.first = ret_why};
	struct seam_cfi *cfi;
	int rc = seam_cfi_open(elf, &cfi, ret_why);

	if (rc)
		return rc == -EINVAL;
	seam_cfi_each(cfi, on_row, on_bad, &bad);
	seam_cfi_close(cfi);
	return bad.n;
}
