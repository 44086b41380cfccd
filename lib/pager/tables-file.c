// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The files that tables are made of, and the ways to them. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pager/tables-priv.h"
#include "process/far.h"
#include "process/opener.h"
#include "process/target.h"
#include "unwind/refused.h"

/* BPF is asked: user space sees another inode on some file systems. */
static bool is_file(struct seam_kernel *k, const struct seam_file_key *key,
		    int fd)
{
	struct seam_file_key now;

	return !seam_kernel_key_of_fd(k, fd, &now, NULL) &&
	       !memcmp(key, &now, sizeof(now));
}

/* Or that it was but for its last name, which has been taken away since: a
 * change of the file like any other to its ctime, though not of what is in
 * it. Good for the process that has it mapped. */
static bool was_file(struct seam_kernel *k, const struct seam_wire_miss *miss,
		     int fd)
{
	struct seam_file_key now;
	uint64_t mtime_ns;
	struct stat st;

	if (seam_kernel_key_of_fd(k, fd, &now, &mtime_ns))
		return false;
	if (!fstat(fd, &st) && !st.st_nlink && mtime_ns == miss->mtime_ns) {
		now.ctime_sec = miss->key.ctime_sec;
		now.ctime_nsec = miss->key.ctime_nsec;
	}
	return !memcmp(&miss->key, &now, sizeof(now));
}

/* We are to load it, and it is not there: a request may come twice. */
bool seam_tables_is_wanted(struct seam_tables *t,
			   const struct seam_file_key *key)
{
	struct seam_file_key named;
	struct seam_table_ref ref;

	if (t->at.is_done || !(t->at.is_for_us ? t->loads_own : t->is_owner))
		return false;
	return seam_kernel_table_get(t->kernel, seam_tables_key(t, key, &named),
				     &ref) ||
	       (ref.state != SEAM_TABLE_LOADED &&
		ref.state != SEAM_TABLE_MAPPED);
}

/* Says what the table of the file last looked at was not made of. */
static void refuse_cfi(struct seam_tables *t, int fd,
		       const struct seam_elf *elf)
{
	struct seam_refusals *refused = t->processes->images->refused;
	struct seam_errinfo why;

	if (refused && elf && t->has_bad_cfi)
		seam_refuse_cfi(refused, fd, seam_cfi_bad(elf, &why), &why);
	t->has_bad_cfi = false;
}

/*
 * Makes a table of the file behind fd, if that is what the key names once it
 * has been read. *ret: what was read, whether or not there is a table of it:
 * the caller's to close; NULL: no ELF file, or it could not be read.
 */
static int load_fd(struct seam_tables *t, const struct seam_file_key *key,
		   int fd, struct seam_elf **ret)
{
	struct seam_errinfo why = {0};
	int err = seam_elf_open_fd(fd, SEAM_ELF_PARTS, ret, &why);

	seam_image_refuse(t->processes->images, fd, NULL, err, &why);
	if (err)
		*ret = NULL;
	if (err && err != -EINVAL && err != -EFBIG)
		return err;
	if (!is_file(t->kernel, key, fd))
		return -ESTALE;
	if (!seam_tables_is_wanted(t, key))
		return 0;
	err = seam_tables_load_elf(t, key, *ret,
				   seam_kernel_is_near(t->kernel, fd));
	refuse_cfi(t, fd, *ret);
	return err;
}

int seam_tables_hold(struct seam_kernel *k, const struct seam_opener *opener,
		     const struct seam_wire_miss *miss)
{
	struct seam_wire_miss of = *miss;
	int fd;

	of.key.kind &= ~(uint32_t)SEAM_KEY_OWN;
	if (of.key.kind != SEAM_KEY_FILE)
		return -ENOENT;
	fd = seam_opener_mapped(opener, miss->head.pid, miss->start, miss->end);
	if (fd < 0 || was_file(k, &of, fd))
		return fd;
	close(fd);
	return -ESTALE;
}

/* Whether copies are unwound with the file: the stack that asked is in one. */
static bool keeps_image(const struct seam_tables *t)
{
	return t->at.in_turn || t->at.is_ours;
}

/* Keeps of the file what copies are unwound with. st: of before it was read.
 * Takes elf. *ret: NULL: it is not kept. */
static int keep_image(struct seam_tables *t, int fd, const struct stat *st,
		      struct seam_elf *elf, struct seam_image **ret)
{
	int err;

	*ret = NULL;
	if (!keeps_image(t)) {
		seam_elf_close(elf);
		return 0;
	}
	err = seam_image_of_elf(t->processes->images, st, elf, ret);
	if (!err)
		seam_image_refuse(t->processes->images, fd, *ret, 0, NULL);
	return err;
}

/* Whether nothing is to be read: many ask for what was loaded for the first of
 * them. *ret: the image, NULL: none is kept. */
static bool is_had(struct seam_tables *t, const struct seam_file_key *key,
		   const struct stat *st, struct seam_image **ret)
{
	*ret = NULL;
	if (seam_tables_is_wanted(t, key))
		return false;
	if (keeps_image(t))
		*ret = seam_image_by_stat(t->processes->images, st);
	return *ret || !keeps_image(t);
}

/* In turn alone: what is mapped there before or after is another file's. */
static void know(const struct seam_tables *t, const struct seam_wire_miss *miss,
		 struct seam_process *p, struct seam_image *image)
{
	if (image && p && t->at.in_turn &&
	    seam_image_may_have_key(image, &miss->key))
		seam_process_know(p, miss->start, image);
}

/* The image is of the file behind fd. If nothing of that has changed, not even
 * its names, it is good for all who ask for that key. */
static void name_image(const struct seam_tables *t,
		       const struct seam_file_key *key, int fd,
		       struct seam_image *image)
{
	if (image && seam_image_may_have_key(image, key) &&
	    is_file(t->kernel, key, fd))
		image->key = *key;
}

/* What was read when it was asked for is good in its turn, whatever has become
 * of the file by then. Return: whether nothing is left to do. */
static bool was_read(struct seam_tables *t, const struct seam_wire_miss *miss,
		     struct seam_process *p)
{
	struct seam_image *image =
		seam_image_by_key(t->processes->images, &miss->key);

	if (!image)
		return false;
	seam_image_used(t->processes->images, image);
	know(t, miss, p, image);
	return !seam_tables_is_wanted(t, &miss->key);
}

/*
 * The file was the right one when it was opened, so copies of the process's
 * stack are unwound with it, if nothing but its last name has gone since: it
 * may have been written over, and what is read be another's. The table is for
 * all who have that key: there it must not have changed at all.
 */
static int load_held(struct seam_tables *t, const struct seam_wire_miss *miss,
		     struct seam_process *p, int fd)
{
	struct seam_image *image;
	struct seam_elf *elf = NULL;
	struct stat st;
	int err = 0;

	if (fstat(fd, &st) || !was_file(t->kernel, miss, fd))
		return -ESTALE;
	if (!is_had(t, &miss->key, &st, &image))
		err = load_fd(t, &miss->key, fd, &elf);
	if (elf && !was_file(t->kernel, miss, fd))
		elf = seam_elf_close(elf);
	if (elf && keep_image(t, fd, &st, elf, &image))
		return -ENOMEM;
	name_image(t, &miss->key, fd, image);
	know(t, miss, p, image);
	return err;
}

/* The same for a file that was only found now, and may be another: copies are
 * unwound with it where it has not changed at all either. Closes fd. */
static int load_found(struct seam_tables *t, const struct seam_wire_miss *miss,
		      struct seam_process *p, int fd)
{
	struct seam_image *image = NULL;
	struct seam_elf *elf = NULL;
	struct stat st;
	int err;

	if (fd < 0)
		return fd;
	err = !fstat(fd, &st) && is_file(t->kernel, &miss->key, fd)
		      ? load_fd(t, &miss->key, fd, &elf)
		      : -ESTALE;
	if (err)
		seam_elf_close(elf);
	else if (elf)
		err = keep_image(t, fd, &st, elf, &image);
	name_image(t, &miss->key, fd, image);
	know(t, miss, p, image);
	close(fd);
	return err;
}

/* Whether the library can unwind through the mapping, though not we. */
static bool has_image(const struct seam_map *map)
{
	return map && map->image && map->image->is_open && map->image->cfi;
}

/* Not to be had through this process: not asked for at each sample, but let
 * another that maps it ask again some time. */
static int give_up(struct seam_tables *t, const struct seam_wire_miss *miss,
		   const struct seam_map *map, bool refused)
{
	if (t->at.is_again)
		return 0;
	t->stats.gone++;
	return seam_tables_without(
		t, &miss->key,
		has_image(map) ? SEAM_TABLE_ASKED : SEAM_TABLE_NONE,
		refused ? SEAM_ABSENT_REFUSED : SEAM_ABSENT_GONE);
}

/* --- files that may never come --- */

static bool is_same_key(const struct seam_file_key *key,
			const struct seam_fetched *file)
{
	return file->has_key && !memcmp(key, &file->key, sizeof(*key));
}

/* As was_file, of what has been opened elsewhere. */
static bool is_far_file(const struct seam_wire_miss *miss,
			const struct seam_fetched *file)
{
	struct seam_fetched then = *file;

	if (!file->st.st_nlink && file->mtime_ns == miss->mtime_ns) {
		then.key.ctime_sec = miss->key.ctime_sec;
		then.key.ctime_nsec = miss->key.ctime_nsec;
	}
	return is_same_key(&miss->key, &then);
}

/* A table of the copy behind fd, and an image for copies of stacks. */
static int load_copy(struct seam_tables *t, const struct seam_wire_miss *miss,
		     struct seam_process *p, const struct seam_fetched *file,
		     int fd)
{
	struct seam_images *images = t->processes->images;
	struct seam_errinfo why = {0};
	struct seam_elf *elf = NULL;
	struct seam_image *image;
	int err = fd < 0 ? -EINVAL
			 : seam_elf_open_fd(fd, SEAM_ELF_PARTS, &elf, &why);

	if (err && err != -EINVAL && err != -EFBIG)
		return err;
	if (fd >= 0 && err == -EINVAL)
		seam_fetched_refuse(images, file, 0, &why);
	if (err)
		elf = NULL;
	err = seam_tables_is_wanted(t, &miss->key)
		      ? seam_tables_load_elf(t, &miss->key, elf, false)
		      : 0;
	t->has_bad_cfi = false; /* the image tells */
	if (elf && seam_image_of_elf(images, &file->st, elf, &image))
		return -ENOMEM;
	if (elf && image->n_bad)
		seam_fetched_refuse(images, file, image->n_bad, &image->why);
	know(t, miss, p, elf ? image : NULL);
	return err;
}

/* Through one way to it. */
static int load_far(struct seam_tables *t, const struct seam_wire_miss *miss,
		    struct seam_process *p, const struct seam_fetch_from *from)
{
	struct seam_fetch *f = &t->processes->fetch;
	struct seam_fetched file, now;
	int fd = -1, err = seam_fetch_open(f, from, &file);

	if (!err && !is_far_file(miss, &file))
		err = -ESTALE;
	if (!err) {
		now = file;
		fd = seam_fetch_copy(f, &now);
		err = fd < 0 && fd != -EINVAL && fd != -EFBIG ? fd : 0;
	}
	/* The table is for all who have that key. */
	if (!err && !is_same_key(&miss->key, &now))
		err = -ESTALE;
	seam_fetch_close(f);
	if (!err)
		err = load_copy(t, miss, p, &file, fd);
	if (fd >= 0)
		close(fd);
	return err;
}

/* As answer_file; but what does not come is asked for again some time, while
 * nobody waits for it. */
static int answer_far(struct seam_tables *t, const struct seam_wire_miss *miss,
		      struct seam_process *p)
{
	const struct seam_map *map;
	struct seam_fetch_from from = {.pid = p->pid,
				       .dev = miss->key.dev,
				       .start = miss->start,
				       .end = miss->end};
	int err = load_far(t, miss, p, &from);

	if (!err || err == -ENOMEM || !seam_tables_is_wanted(t, &miss->key))
		return err;
	map = seam_process_map(t->processes, p, miss->start);
	if (map && err != -ETIMEDOUT && err != -EBUSY) {
		from.path = map->path;
		err = load_far(t, miss, p, &from);
	}
	if (!err || err == -ENOMEM)
		return err;
	if (err != -ETIMEDOUT && err != -EBUSY)
		return give_up(t, miss, map, err == -EPERM || err == -EACCES);
	return seam_tables_without(t, &miss->key,
				   has_image(map) ? SEAM_TABLE_ASKED
						  : SEAM_TABLE_NONE,
				   SEAM_ABSENT_STUCK);
}

/* Its owner must not touch it: asked for ever, its stacks come as copies, and
 * who recorded them reads the file. */
int seam_tables_leave_alone(struct seam_tables *t,
			    const struct seam_file_key *key)
{
	return seam_tables_is_wanted(t, key)
		       ? seam_tables_without(t, key, SEAM_TABLE_ASKED,
					     SEAM_ABSENT_NO_CFI)
		       : 0;
}

/* Tries the ways to the file of a mapping, best first. */
int seam_tables_answer_file(struct seam_tables *t,
			    const struct seam_wire_miss *miss, int held)
{
	struct seam_process *p =
		seam_process_find(t->processes, miss->head.pid);
	struct seam_map *map = NULL;
	bool refused = false;
	uint32_t dev;
	int err;

	/* Of another recording's task: it may never open, and ours wait. */
	if (held < 0 && seam_is_far(miss->fs_magic, miss->fs_flags)) {
		/* Ours comes again in turn, when its process is known. */
		if (!t->at.in_turn &&
		    miss->client == seam_kernel_client(t->kernel))
			return 0;
		if (p)
			return answer_far(t, miss, p);
		seam_kernel_count_far(t->kernel);
		return seam_tables_leave_alone(t, &miss->key);
	}
	if (was_read(t, miss, p))
		return 0;
	if (held >= 0) {
		err = load_held(t, miss, p, held);
	} else {
		int fd =
			seam_opener_mapped(t->processes->opener, miss->head.pid,
					   miss->start, miss->end);

		refused = fd == -EPERM || fd == -EACCES ||
			  fd == -EWOULDBLOCK; /* a lease is on it */
		err = load_found(t, miss, p, fd);
	}
	if (!err || err == -ENOMEM || err == -ESHUTDOWN)
		return err;
	if (p)
		map = seam_process_map(t->processes, p, miss->start);
	/* Its name may by now lead to where an answer takes for ever. */
	if (map && held < 0 &&
	    !seam_far_path(&t->processes->far, miss->head.pid, map->path, &dev))
		err = load_found(t, miss, p,
				 seam_open_path(miss->head.pid, map->path));
	if (!err || err == -ENOMEM || !seam_tables_is_wanted(t, &miss->key))
		return err;
	return give_up(t, miss, map, refused);
}

int seam_tables_load_path(struct seam_tables *t, const char *path,
			  struct seam_elf **ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct seam_elf *elf = NULL;
	struct seam_file_key key;
	struct seam_table_ref ref;
	int err;

	if (fd < 0)
		return -errno;
	err = seam_kernel_key_of_fd(t->kernel, fd, &key, NULL);
	if (!err && !seam_kernel_table_get(t->kernel, &key, &ref))
		err = -EEXIST;
	if (!err)
		err = load_fd(t, &key, fd, &elf);
	close(fd);
	if (!err && !elf)
		err = -EINVAL;
	if (err) {
		seam_elf_close(elf);
		return err;
	}
	t->stats.preloaded++;
	*ret = elf;
	return 0;
}
