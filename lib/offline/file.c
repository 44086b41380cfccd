// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "offline/file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/maps-path.h"
#include "core/sframe-read.h"
#include "elf/doubt.h"
#include "elf/elf.h"
#include "table/laid-out.h"
#include "table/lookup.h"

int seam_offline_files_init(struct seam_offline_files *files)
{
	*files = (struct seam_offline_files){0};
	/* Without a cache tables are made anew. */
	if (seam_table_cache_open(NULL, &files->cache))
		files->cache = NULL;
	files->images.derive_late = true;
	return -pthread_mutex_init(&files->lock, NULL);
}

void seam_offline_files_fini(struct seam_offline_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		free(files->v[i]->path);
		free(files->v[i]->found);
		free(files->v[i]->doubt);
		free(files->v[i]->table);
		seam_links_free(files->v[i]->links);
		free(files->v[i]);
	}
	free(files->v);
	seam_index_fini(&files->index);
	seam_images_fini(&files->images);
	seam_table_cache_close(files->cache);
	for (size_t i = 0; i < SEAM_OFFLINE_CODES; i++)
		if (files->codes[i].of)
			close(files->codes[i].fd);
	pthread_mutex_destroy(&files->lock);
}

static bool is_it(const struct seam_offline_file *f, const char *path,
		  const uint8_t *id, size_t id_len)
{
	return f->build_id_len == id_len && !strcmp(f->path, path) &&
	       (!id_len || !memcmp(f->build_id, id, id_len));
}

static struct seam_offline_file *add(struct seam_offline_files *files,
				     const char *path, const uint8_t *id,
				     size_t id_len, uint64_t hash)
{
	struct seam_offline_file *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->path = strdup(path);
	if (id_len)
		memcpy(f->build_id, id, id_len);
	f->build_id_len = id_len;
	if (!f->path ||
	    seam_grow(&files->v, files->n + 1, &files->cap,
		      sizeof(struct seam_offline_file *)) ||
	    seam_index_add(&files->index, hash, files->n)) {
		free(f->path);
		free(f);
		return NULL;
	}
	files->v[files->n++] = f;
	return f;
}

struct seam_offline_file *seam_offline_file(struct seam_offline_files *files,
					    const char *path, const uint8_t *id,
					    size_t id_len)
{
	uint64_t hash;
	uint32_t i;

	if (!id || id_len > SEAM_BUILD_ID_MAX)
		id_len = 0;
	hash = id_len ? seam_hash(SEAM_HASH_START, id, id_len)
		      : seam_hash(SEAM_HASH_START, path, strlen(path));
	for (size_t at = 0; seam_index_next(&files->index, hash, &at, &i);)
		if (is_it(files->v[i], path, id, id_len))
			return files->v[i];
	files->has_probe_page |= seam_maps_is_probe_page(path);
	return add(files, path, id, id_len, hash);
}

static bool has_id(const struct seam_offline_file *f,
		   const struct seam_elf *elf)
{
	uint8_t id[SEAM_BUILD_ID_MAX];

	return !f->build_id_len ||
	       (seam_elf_build_id(elf, id) == f->build_id_len &&
		!memcmp(id, f->build_id, f->build_id_len));
}

static uint64_t room_for(const struct seam_offline_files *files)
{
	return files->table_bytes < SEAM_OFFLINE_TABLES_MAX
		       ? SEAM_OFFLINE_TABLES_MAX - files->table_bytes
		       : 0;
}

/* What an earlier reading made of the very same file. */
static bool take_table(struct seam_offline_files *files,
		       struct seam_offline_file *f)
{
	const struct seam_laid_out of = {f->build_id, f->build_id_len, &f->st};

	if (!files->cache ||
	    seam_laid_out_load(files->cache, &of, room_for(files), &f->lookup,
			       &f->table))
		return false;
	files->table_bytes += f->lookup.size;
	return true;
}

static void keep_table(struct seam_offline_files *files,
		       struct seam_offline_file *f, int fd)
{
	const struct seam_laid_out of = {f->build_id, f->build_id_len, &f->st};
	struct stat now;

	if (files->cache && f->table && !fstat(fd, &now) &&
	    now.st_size == f->st.st_size &&
	    seam_image_ctime_ns(&now) == seam_image_ctime_ns(&f->st))
		seam_laid_out_store(files->cache, &of, &f->lookup, f->table);
}

/* A file without a table is none the worse, but slower. */
static void make_table(struct seam_offline_files *files,
		       struct seam_offline_file *f, const struct seam_elf *elf)
{
	struct seam_sframe sf;
	uint8_t *bytes;
	size_t size;

	if (!room_for(files) ||
	    seam_table_load_kernel(files->cache, elf, &bytes, &size, NULL,
				   NULL))
		return;
	if (seam_sframe_open(&sf, bytes, size) ||
	    sf.abi != SEAM_SFRAME_ABI_AMD64 || !sf.num_fdes ||
	    seam_lookup_build(&sf, room_for(files), &f->lookup, &f->table,
			      NULL))
		f->table = NULL;
	else
		files->table_bytes += f->lookup.size;
	free(bytes);
}

static enum seam_offline_problem problem_of(int err)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
		return SEAM_OFFLINE_CLOSED;
	case -ENOENT:
	case -ENOTDIR:
		return SEAM_OFFLINE_GONE;
	case -EINVAL:
	case -EBADMSG:
		return SEAM_OFFLINE_NO_ELF;
	case -ESTALE:
		return SEAM_OFFLINE_CHANGED;
	}
	return SEAM_OFFLINE_FAILED;
}

static enum seam_offline_problem read_file(struct seam_offline_files *files,
					   struct seam_offline_file *f, int fd)
{
	enum seam_offline_problem problem = SEAM_OFFLINE_FINE;
	struct seam_elf *elf = NULL;
	int err = seam_elf_open_fd(fd, SEAM_ELF_PARTS, &elf, NULL);

	if (err)
		return problem_of(err);
	if (!has_id(f, elf))
		problem = SEAM_OFFLINE_OTHER;
	else if (seam_elf_machine(elf) != EM_X86_64)
		problem = SEAM_OFFLINE_NO_ELF;
	else
		make_table(files, f, elf);
	seam_elf_close(elf);
	if (problem == SEAM_OFFLINE_FINE)
		keep_table(files, f, fd);
	return problem;
}

/* Takes fd. */
static enum seam_offline_problem try_fd(struct seam_offline_files *files,
					struct seam_offline_file *f, int fd,
					bool by_id)
{
	enum seam_offline_problem problem = SEAM_OFFLINE_FINE;

	if (fstat(fd, &f->st))
		problem = problem_of(-errno);
	else if (!S_ISREG(f->st.st_mode))
		problem = problem_of(-EINVAL);
	else if (by_id && seam_is_doubted(&f->st))
		problem = SEAM_OFFLINE_DOUBTED;
	else if (files->lost_ids && !f->build_id_len && !seam_trusts_all())
		problem = SEAM_OFFLINE_UNSURE;
	else if (!take_table(files, f))
		problem = read_file(files, f, fd);
	close(fd);
	return problem;
}

static enum seam_offline_problem open_vdso(struct seam_offline_files *files,
					   struct seam_offline_file *f)
{
	struct seam_elf *elf;
	bool is_it;

	if (files->is_other_kernel || seam_vdso_open(&elf))
		return SEAM_OFFLINE_VDSO;
	is_it = has_id(f, elf);
	if (is_it)
		make_table(files, f, elf);
	seam_elf_close(elf);
	return is_it ? SEAM_OFFLINE_FINE : SEAM_OFFLINE_VDSO;
}

/* What was split off for a debugger has the build-id and the sections' names,
 * but mostly neither code nor rules. */
static bool is_of_use(const struct seam_offline_file *f)
{
	return f->has_code || f->table;
}

/* Without memory for it, it is told that there is one. */
static void note_doubt(struct seam_offline_file *f, const char *path)
{
	char why[SEAM_DOUBT_SIZE];

	free(f->doubt);
	seam_doubt_say(&f->st, why);
	if (asprintf(&f->doubt, "%s may be it, but %s", path, why) < 0)
		f->doubt = NULL;
}

/* The first place's problem is what is told, unless another has the file, or
 * would have it. */
static enum seam_offline_problem open_any(struct seam_offline_files *files,
					  struct seam_offline_file *f)
{
	enum seam_offline_problem first = SEAM_OFFLINE_GONE, now;
	char *path;
	int fd;

	if (!strcmp(f->path, "[vdso]"))
		return open_vdso(files, f);
	if (seam_maps_is_probe_page(f->path))
		return SEAM_OFFLINE_NO_ELF;
	for (unsigned int i = 0;; i++) {
		fd = seam_offline_find(f, i, &path, &f->has_code);
		if (fd == -ERANGE)
			return first;
		now = fd < 0 ? problem_of(fd) : try_fd(files, f, fd, i > 0);
		if (fd >= 0 && now == SEAM_OFFLINE_FINE && is_of_use(f)) {
			f->found = path;
			return now;
		}
		if (now == SEAM_OFFLINE_DOUBTED)
			note_doubt(f, path);
		if (fd >= 0)
			free(path);
		if (!i || now == SEAM_OFFLINE_DOUBTED)
			first = now;
	}
}

bool seam_offline_have_locked(struct seam_offline_files *files,
			      struct seam_offline_file *f)
{
	if (!f->was_opened) {
		f->problem = open_any(files, f);
		__atomic_store_n(&f->was_opened, 1, __ATOMIC_RELEASE);
	}
	return f->problem == SEAM_OFFLINE_FINE;
}

bool seam_offline_have(struct seam_offline_files *files,
		       struct seam_offline_file *f)
{
	bool have;

	if (__atomic_load_n(&f->was_opened, __ATOMIC_ACQUIRE))
		return f->problem == SEAM_OFFLINE_FINE;
	pthread_mutex_lock(&files->lock);
	have = seam_offline_have_locked(files, f);
	pthread_mutex_unlock(&files->lock);
	return have;
}

/* The table stays, which was made of it. */
static void lose(struct seam_offline_file *f, int err)
{
	__atomic_store_n(&f->later, problem_of(err), __ATOMIC_RELAXED);
}

/* The file again, if nothing has changed it. */
static int reopen(struct seam_offline_file *f)
{
	struct stat st;
	int fd = open(f->found, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0) {
		fd = -errno;
		lose(f, fd);
		return fd;
	}
	if (!fstat(fd, &st) && st.st_ino == f->st.st_ino &&
	    st.st_dev == f->st.st_dev && st.st_size == f->st.st_size &&
	    seam_image_ctime_ns(&st) == seam_image_ctime_ns(&f->st))
		return fd;
	close(fd);
	lose(f, -ESTALE);
	return -ESTALE;
}

struct seam_image *seam_offline_image(struct seam_offline_files *files,
				      struct seam_offline_file *f)
{
	struct seam_image *im;
	int fd, err;

	if (f->image && f->image->is_open) {
		seam_image_used(&files->images, f->image);
		return f->image;
	}
	if (f->found) {
		fd = reopen(f);
		if (fd < 0)
			return NULL;
		err = seam_image_of_fd(&files->images, fd, &im);
		close(fd);
	} else {
		err = seam_image_vdso(&files->images, &im);
	}
	if (err)
		lose(f, err);
	f->image = err ? NULL : im;
	return f->image;
}

const struct seam_derived *
seam_offline_derived(struct seam_offline_files *files,
		     struct seam_offline_file *f)
{
	struct seam_image *im = f->image;
	int fd, err;

	if (!im || !im->is_open)
		return NULL;
	if (!im->was_derived) {
		fd = f->found ? reopen(f) : -1;
		if (f->found && fd < 0)
			return NULL;
		err = seam_image_derive(&files->images, im, fd);
		if (err)
			lose(f, err);
		if (fd >= 0)
			close(fd);
	}
	return im->derived;
}

static void read_links(struct seam_offline_files *files,
		       struct seam_offline_file *f)
{
	int fd = f->found && f->has_code ? reopen(f) : -ENOENT;
	struct seam_elf *elf;
	size_t room = 0;

	if (fd < 0)
		return;
	if (files->links_bytes < SEAM_OFFLINE_LINKS_MAX)
		room = SEAM_OFFLINE_LINKS_MAX - files->links_bytes;
	if (!seam_elf_open_fd(fd, SEAM_ELF_NAMES, &elf, NULL)) {
		if (seam_links_read(elf, room, &f->links))
			f->links = NULL;
		seam_elf_close(elf);
	}
	close(fd);
	if (f->links)
		files->links_bytes += seam_links_bytes(f->links);
}

const struct seam_links *seam_offline_links(struct seam_offline_files *files,
					    struct seam_offline_file *f)
{
	if (!f->was_linked)
		read_links(files, f);
	f->was_linked = true;
	return f->links;
}

/* Return: a descriptor, which is kept; or -errno. */
static int open_code(struct seam_offline_files *files,
		     struct seam_offline_file *f)
{
	struct seam_offline_code *code;
	int fd;

	for (size_t i = 0; i < SEAM_OFFLINE_CODES; i++)
		if (files->codes[i].of == f)
			return files->codes[i].fd;
	fd = reopen(f);
	if (fd < 0)
		return fd;
	code = &files->codes[files->next_code++ % SEAM_OFFLINE_CODES];
	if (code->of)
		close(code->fd);
	*code = (struct seam_offline_code){f, fd};
	return fd;
}

size_t seam_offline_code(struct seam_offline_files *files,
			 struct seam_offline_file *f, uint64_t off, void *to,
			 size_t size)
{
	ssize_t n;
	int fd;

	if (!f->found || !f->has_code)
		return 0;
	fd = open_code(files, f);
	if (fd < 0)
		return 0;
	n = pread(fd, to, size, (off_t)off);
	return n > 0 ? (size_t)n : 0;
}

const char *seam_offline_problem_text(enum seam_offline_problem problem)
{
	switch (problem) {
	case SEAM_OFFLINE_FINE:
		break;
	case SEAM_OFFLINE_GONE:
		return "there is no such file any more";
	case SEAM_OFFLINE_OTHER:
		return "the file there now has another build-id";
	case SEAM_OFFLINE_CLOSED:
		return "the file may not be read";
	case SEAM_OFFLINE_NO_ELF:
		return "the file is no ELF file of x86-64";
	case SEAM_OFFLINE_VDSO:
		return "it is another kernel's";
	case SEAM_OFFLINE_DOUBTED:
		return "files with its build-id are another user's or may be "
		       "written by all (SEAM_TRUST, as in seam-script(1))";
	case SEAM_OFFLINE_UNSURE:
		return "the recording's build-ids are lost, and what is there "
		       "may be another file (SEAM_TRUST=all takes it)";
	case SEAM_OFFLINE_CHANGED:
		return "the file there changed while it was read";
	case SEAM_OFFLINE_FAILED:
		return "it could not be read";
	}
	return "";
}

const char *seam_offline_why(const struct seam_offline_file *f)
{
	enum seam_offline_problem problem = seam_offline_problem(f);

	return problem == SEAM_OFFLINE_DOUBTED && f->doubt
		       ? f->doubt
		       : seam_offline_problem_text(problem);
}
