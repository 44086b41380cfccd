// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The files that a process has mapped. Those that another process or machine
 * serves are opened and read by fetch.h's process alone. */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/process.h"
#include "process/target.h"
#include "unwind/refused.h"

/* The kernel may stamp a file with its last tick: of at least 100 Hz. */
#define TICK_NS 10000000

/*
 * What is behind a process's mapping or its path may be another file by now.
 * Without a build-id the inode's number tells, and since that is used again
 * at once, that the file has not changed since it was mapped.
 */
static bool right_file(const struct seam_map *map, const struct stat *st)
{
	return map->build_id_len ||
	       (st->st_ino == map->ino &&
		seam_image_ctime_ns(st) + TICK_NS < map->since_ns);
}

static bool right_image(const struct seam_map *map, const struct seam_image *im)
{
	return im &&
	       (!map->build_id_len ||
		(im->build_id_len == map->build_id_len &&
		 !memcmp(im->build_id, map->build_id, map->build_id_len)));
}

/* Gives the mapping its image, if it is the right one: the same as before, if
 * that was taken out. */
static int take_image(struct seam_map *map, struct seam_image *im)
{
	if (map->image)
		return im == map->image ? 0 : -ESTALE;
	if (!right_image(map, im))
		return -ESTALE;
	seam_map_name(map, im);
	return 0;
}

/* The same with the file behind fd. */
static int try_fd(struct seam_processes *ps, struct seam_map *map, int fd)
{
	struct seam_image *im;
	struct stat st;
	int err;

	if (fd < 0)
		return fd;
	err = fstat(fd, &st) ? -errno : 0;
	if (!err)
		err = right_file(map, &st)
			      ? seam_image_of_fd(ps->images, fd, &im)
			      : -ESTALE;
	close(fd);
	return err ? err : take_image(map, im);
}

static struct seam_fetch_from from_of(const struct seam_process *p,
				      const struct seam_map *map, uint32_t dev)
{
	return (struct seam_fetch_from){.pid = p->pid,
					.dev = dev,
					.start = map->start,
					.end = map->end};
}

void seam_fetched_refuse(struct seam_images *images,
			 const struct seam_fetched *file, uint64_t n_bad,
			 const struct seam_errinfo *why)
{
	const struct seam_refused_id id = {file->st.st_dev, file->st.st_ino,
					   seam_image_ctime_ns(&file->st)};

	if (images->refused)
		seam_refuse_known(images->refused, file->path, &id, n_bad, why);
}

/* The image of a copy of the file. */
static int image_of(struct seam_images *images, const struct seam_fetched *file,
		    int fd, struct seam_image **ret)
{
	struct seam_errinfo why = {0};
	struct seam_elf *elf = NULL;
	int err = fd < 0 ? -EINVAL
			 : seam_elf_open_fd(fd, SEAM_ELF_PARTS, &elf, &why);

	if (fd >= 0 && err == -EINVAL)
		seam_fetched_refuse(images, file, 0, &why);
	if (err && err != -EINVAL)
		return err;
	err = seam_image_of_elf(images, &file->st, err ? NULL : elf, ret);
	if (!err && (*ret)->n_bad)
		seam_fetched_refuse(images, file, (*ret)->n_bad, &(*ret)->why);
	return err;
}

/* File systems that a daemon or server serves may use numbers again, and have
 * times of whole seconds: build-ids decide, where there are any. */
static bool is_surely(const struct seam_map *map, const struct seam_image *im)
{
	return right_image(map, im) && (map->build_id_len || !im->build_id_len);
}

/* The image of the file that has been opened. */
static int fetch_image(struct seam_processes *ps, const struct seam_map *map,
		       const struct seam_fetched *file, struct seam_image **ret)
{
	const struct stat *st = &file->st;
	struct seam_fetched now;
	int fd, err;

	*ret = seam_image_by_stat(ps->images, st);
	if (is_surely(map, *ret))
		return 0;
	fd = seam_fetch_copy(&ps->fetch, &now);
	if (fd < 0 && fd != -EINVAL)
		return fd;
	/* What was read while it was written is neither of two files. */
	err = fd >= 0 && (now.st.st_size != st->st_size ||
			  seam_image_ctime_ns(&now.st) !=
				  seam_image_ctime_ns(st))
		      ? -ESTALE
		      : image_of(ps->images, file, fd, ret);
	if (fd >= 0)
		close(fd);
	return err;
}

static int try_far(struct seam_processes *ps, struct seam_map *map,
		   const struct seam_fetch_from *from)
{
	struct seam_fetched file;
	struct seam_image *im;
	int err = seam_fetch_open(&ps->fetch, from, &file);

	if (!err)
		err = right_file(map, &file.st)
			      ? fetch_image(ps, map, &file, &im)
			      : -ESTALE;
	seam_fetch_close(&ps->fetch);
	return err ? err : take_image(map, im);
}

static int try_vdso(struct seam_processes *ps, struct seam_map *map)
{
	struct seam_image *im;
	int err = seam_image_vdso(ps->images, &im);

	if (!err && !map->image)
		seam_map_name(map, im);
	return err;
}

static bool is_open(const struct seam_map *map)
{
	return map->image && map->image->is_open;
}

/* Of ours, and no matter of the file's. */
static bool is_accident(int err)
{
	return err == -EIO || err == -EMFILE || err == -ENFILE ||
	       err == -ENOMEM;
}

/* Whether to try again is a matter of time. */
static bool is_stuck(int err)
{
	return err == -ETIMEDOUT || err == -EBUSY;
}

/* The ways to the file of a mapping, best first. */
static int try_ways(struct seam_processes *ps, const struct seam_process *p,
		    struct seam_map *map)
{
	struct seam_fetch_from from = from_of(p, map, 0);
	int err;

	if (seam_far_path(&ps->far, p->pid, map->path, &from.dev)) {
		err = try_far(ps, map, &from);
		from.path = map->path;
		return err && err != -ENOMEM && !is_stuck(err)
			       ? try_far(ps, map, &from)
			       : err;
	}
	err = try_fd(ps, map, seam_open_mapped(p->pid, map->start, map->end));
	if (err && err != -ENOMEM)
		err = try_fd(ps, map, seam_open_path(p->pid, map->path));
	return err;
}

static void open_image(struct seam_processes *ps, const struct seam_process *p,
		       struct seam_map *map)
{
	int err;

	if (!map->image) {
		struct seam_image *im = seam_image_by_id(
			ps->images, map->build_id, map->build_id_len);

		if (im)
			seam_map_name(map, im);
		if (is_open(map))
			return;
	}
	err = strcmp(map->path, "[vdso]") ? try_ways(ps, p, map)
					  : try_vdso(ps, map);
	map->failed = err && !is_stuck(err) && !is_accident(err);
	ps->images->stats.gone += map->failed && map->image;
}

struct seam_map *seam_process_map(struct seam_processes *ps,
				  struct seam_process *p, uint64_t addr)
{
	const struct seam_range *range = seam_ranges_find(&p->maps, addr);
	struct seam_map *map;

	if (!range)
		return NULL;
	map = range->value;
	/* A later mapping may have taken a part of it. */
	map->off += range->start - map->start;
	map->start = range->start;
	map->end = range->end;
	if (!is_open(map) && !map->failed)
		open_image(ps, p, map);
	if (is_open(map))
		seam_image_used(ps->images, map->image);
	return map;
}

void seam_process_know(struct seam_process *p, uint64_t start,
		       struct seam_image *image)
{
	const struct seam_range *range = seam_ranges_find(&p->maps, start);
	struct seam_map *map = range ? range->value : NULL;

	if (!map || range->start != start || map->image ||
	    !right_image(map, image))
		return;
	seam_map_name(map, image);
}

static bool is_of_image(const struct seam_image *im, const struct stat *st)
{
	return im && im->dev == st->st_dev && im->ino == st->st_ino &&
	       im->size == (uint64_t)st->st_size &&
	       im->ctime_ns == seam_image_ctime_ns(st);
}

/* Other files than ELF's are no better than memory: JIT compilers keep code in
 * a memfd, and no time of it tells when that was written through a mapping. */
static bool is_elf(const char *magic, ssize_t n)
{
	return n == SELFMAG && !memcmp(magic, ELFMAG, SELFMAG);
}

/* Closes fd. */
static ssize_t read_fd(const struct seam_map *map, int fd,
		       const struct seam_process_bytes *at)
{
	char magic[SELFMAG];
	ssize_t n = -ESTALE;
	struct stat st;

	if (fd < 0)
		return fd;
	if (!fstat(fd, &st) && is_of_image(map->image, &st) &&
	    is_elf(magic, pread(fd, magic, SELFMAG, 0)))
		n = pread(fd, at->to, at->size, (off_t)at->off);
	close(fd);
	return n;
}

static ssize_t read_far(struct seam_processes *ps, const struct seam_map *map,
			const struct seam_fetch_from *from,
			const struct seam_process_bytes *at)
{
	struct seam_fetch *f = &ps->fetch;
	struct seam_fetched file;
	char magic[SELFMAG];
	ssize_t n = seam_fetch_open(f, from, &file);

	if (n)
		return n;
	n = -ESTALE;
	if (is_of_image(map->image, &file.st) &&
	    is_elf(magic, seam_fetch_read(f, 0, magic, SELFMAG)))
		n = seam_fetch_read(f, at->off, at->to, at->size);
	seam_fetch_close(f);
	return n;
}

ssize_t seam_process_read(struct seam_processes *ps,
			  const struct seam_process *p,
			  const struct seam_map *map,
			  const struct seam_process_bytes *at)
{
	struct seam_fetch_from from = from_of(p, map, 0);
	ssize_t n;

	if (seam_far_path(&ps->far, p->pid, map->path, &from.dev)) {
		n = read_far(ps, map, &from, at);
		from.path = map->path;
		return n < 0 && !is_stuck((int)n) ? read_far(ps, map, &from, at)
						  : n;
	}
	n = read_fd(map, seam_open_mapped(p->pid, map->start, map->end), at);
	return n < 0 ? read_fd(map, seam_open_path(p->pid, map->path), at) : n;
}
