/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The files that a recording names, for unwinding the stack copies in it: one
 * for each path and build-id. A file is looked for when the first frame lies
 * in it, and believed if its build-id is the recorded one, or none was.
 *
 * Of each there is a table, which any thread reads without asking; CFI and
 * code, for what tables cannot say, only with the lock held. A table is kept
 * on disk by its build-id, as the recorder's are.
 */
#ifndef SEAM_LIB_OFFLINE_FILE_H
#define SEAM_LIB_OFFLINE_FILE_H

#include <pthread.h>
#include <sys/stat.h>

#include "base/index.h"
#include "core/lookup.h"
#include "elf/links.h"
#include "table/table.h"
#include "unwind/image.h"

/* Of all tables together; beyond it files have CFI alone, which is slower. */
#define SEAM_OFFLINE_TABLES_MAX ((size_t)512 << 20)
/* The same of what files link; without, some stacks of another moment are
 * believed. */
#define SEAM_OFFLINE_LINKS_MAX ((size_t)64 << 20)

/* Why a file is not had. */
enum seam_offline_problem {
	SEAM_OFFLINE_FINE,
	SEAM_OFFLINE_GONE, /* there is no such file */
	SEAM_OFFLINE_OTHER, /* there is one with another build-id */
	SEAM_OFFLINE_CLOSED, /* it may not be read */
	SEAM_OFFLINE_NO_ELF,
	SEAM_OFFLINE_VDSO, /* of another kernel */
	SEAM_OFFLINE_CHANGED, /* since it was found */
	SEAM_OFFLINE_DOUBTED, /* it has the build-id: see elf/doubt.h */
	SEAM_OFFLINE_UNSURE, /* its build-id is lost: see lost_ids */
	SEAM_OFFLINE_FAILED, /* it could not be read, whatever it is */
};

struct seam_offline_file {
	char *path; /* as recorded */
	uint8_t build_id[SEAM_BUILD_ID_MAX];
	size_t build_id_len; /* 0: not recorded */
	int was_opened; /* atomic: what follows is there, and stays */
	enum seam_offline_problem problem;
	struct seam_lookup lookup;
	uint8_t *table; /* NULL: none; its pc is the offset in the file */
	/* Atomic: of a file that is had, why it cannot be read again. */
	enum seam_offline_problem later;
	/* With the lock held. */
	char *found; /* where it is; NULL: in no file */
	char *doubt; /* of SEAM_OFFLINE_DOUBTED which file, whose; or NULL */
	bool has_code; /* else it is debugging information alone */
	struct stat st; /* of found */
	struct seam_image *image;
	struct seam_links *links; /* NULL: not known */
	bool was_linked; /* it was tried */
	uint64_t stacks; /* atomic: that end since it is not had */
};

/* Files whose code is read, mostly that of libraries, in turns. */
#define SEAM_OFFLINE_CODES 16
struct seam_offline_code {
	struct seam_offline_file *of; /* NULL: none */
	int fd;
};

struct seam_offline_files {
	pthread_mutex_t lock;
	struct seam_offline_file **v;
	size_t n, cap;
	struct seam_index index; /* of v */
	struct seam_table_cache *cache; /* NULL: none */
	struct seam_images images;
	size_t table_bytes, links_bytes;
	bool is_other_kernel; /* its vDSO is not this one's */
	/* Files' build-ids were recorded, and the recording has lost them: what
	 * is at the path of one without may be any. A stack through it would
	 * look whole, so that only the user may take it (seam_trusts_all()). */
	bool lost_ids;
	bool has_probe_page; /* one of them is, of a process */
	struct seam_offline_code codes[SEAM_OFFLINE_CODES];
	size_t next_code; /* is given up for another file's */
};

int seam_offline_files_init(struct seam_offline_files *files);
void seam_offline_files_fini(struct seam_offline_files *files);

/*
 * A file as a recording names it. Not while others use files. build_id may be
 * NULL. Return: NULL: no memory.
 */
struct seam_offline_file *seam_offline_file(struct seam_offline_files *files,
					    const char *path,
					    const uint8_t *build_id,
					    size_t build_id_len);

/* Opens it, if that has not been tried. Takes the lock. Return: whether it is
 * had. */
bool seam_offline_have(struct seam_offline_files *files,
		       struct seam_offline_file *f);

/* Why it is not had, or not any more, if that has been tried. */
static inline enum seam_offline_problem
seam_offline_problem(const struct seam_offline_file *f)
{
	if (!__atomic_load_n(&f->was_opened, __ATOMIC_ACQUIRE))
		return SEAM_OFFLINE_FINE;
	return f->problem != SEAM_OFFLINE_FINE
		       ? f->problem
		       : __atomic_load_n(&f->later, __ATOMIC_RELAXED);
}

/* The rest: with the lock held; but for the first, of a file that is had. */
bool seam_offline_have_locked(struct seam_offline_files *files,
			      struct seam_offline_file *f);

/* Its CFI. Return: NULL: it changed since, or has none. */
struct seam_image *seam_offline_image(struct seam_offline_files *files,
				      struct seam_offline_file *f);
/* The rules of an image of it that its CFI lacks. Return: NULL: there are
 * none. */
const struct seam_derived *
seam_offline_derived(struct seam_offline_files *files,
		     struct seam_offline_file *f);
/* Which functions it links. Return: NULL: that is not known. */
const struct seam_links *seam_offline_links(struct seam_offline_files *files,
					    struct seam_offline_file *f);
/* Its bytes at an offset. Return: how many. */
size_t seam_offline_code(struct seam_offline_files *files,
			 struct seam_offline_file *f, uint64_t off, void *to,
			 size_t size);

/* Where a file is looked for (file-find.c): opens the i-th place, from 0, which
 * is its path; others have it by its build-id alone.
 * Return: its descriptor; -errno; -ERANGE: there are no more. */
int seam_offline_find(const struct seam_offline_file *f, unsigned int i,
		      char **ret_path, bool *ret_has_code);

/* What to say of a problem; and of a file that was looked for: borrowed until
 * it goes. */
const char *seam_offline_problem_text(enum seam_offline_problem problem);
const char *seam_offline_why(const struct seam_offline_file *f);

#endif
