// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "truth/space.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "table/lookup.h"
#include "table/table.h"

#define TABLE_MAX ((uint64_t)1 << 30)

static void free_file(struct seam_truth_file *f)
{
	free(f->table);
	seam_derived_free(f->derived);
	seam_links_free(f->links);
	seam_cfi_close(f->cfi);
	seam_elf_close(f->elf);
	free(f->bytes);
	free(f->path);
	free(f);
}

void seam_space_fini(struct seam_space *s)
{
	while (s->files) {
		struct seam_truth_file *f = s->files;

		s->files = f->next;
		free_file(f);
	}
	free(s->v);
	*s = (struct seam_space){0};
}

/* As the recorder makes it. */
static int build_table(struct seam_truth_file *f)
{
	struct seam_sframe sf;
	uint8_t *bytes;
	size_t size;
	int err = seam_table_build_kernel(f->elf, &bytes, &size, NULL, NULL);

	if (err)
		return err == -ENOMEM ? err : 0;
	err = seam_sframe_open(&sf, bytes, size) ? -EINVAL : 0;
	if (!err)
		err = seam_lookup_build(&sf, TABLE_MAX, &f->lookup, &f->table,
					NULL);
	free(bytes);
	return err;
}

static int read_rules(struct seam_truth_file *f)
{
	int err = seam_cfi_open(f->elf, &f->cfi, NULL);

	if (err == -ENOMEM)
		return err;
	err = seam_links_read(f->elf, SIZE_MAX, &f->links);
	if (err == -ENOMEM)
		return err;
	err = seam_derived_build(f->elf, f->cfi, &f->derived);
	if (err == -ENOMEM)
		return err;
	return build_table(f);
}

static int open_vdso(struct seam_truth_file *f, const struct seam_stepper *st,
		     const struct seam_truth_mapping *map)
{
	size_t size = map->end - map->start;

	f->bytes = malloc(size);
	if (!f->bytes)
		return -ENOMEM;
	if (seam_stepper_read(st, map->start, f->bytes, size) != size)
		return -EFAULT;
	return seam_elf_open_mem(f->bytes, size, &f->elf, NULL);
}

static int open_path(struct seam_truth_file *f)
{
	int fd = open(f->path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = seam_elf_open_fd(fd, 0, &f->elf, NULL);
	close(fd);
	return err;
}

static int open_file(struct seam_space *s, const char *path,
		     const struct seam_truth_mapping *map,
		     struct seam_truth_file **ret)
{
	struct seam_truth_file *f;
	int err;

	for (f = s->files; f; f = f->next) {
		if (!strcmp(f->path, path)) {
			*ret = f;
			return 0;
		}
	}
	f = calloc(1, sizeof(*f));
	if (!f || !(f->path = strdup(path))) {
		free(f);
		return -ENOMEM;
	}
	err = strcmp(path, "[vdso]") ? open_path(f)
				     : open_vdso(f, s->stepper, map);
	err = err ? (err == -ENOMEM ? err : 0) : read_rules(f);
	if (err) {
		free_file(f);
		return err;
	}
	f->next = s->files;
	s->files = f;
	*ret = f;
	return 0;
}

static int add(struct seam_space *s, const char *line)
{
	struct seam_truth_mapping map = {0};
	char perms[5], path[4096] = "";
	void *v;
	int err = 0;

	if (sscanf(line,
		   "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %4095[^\n]",
		   &map.start, &map.end, perms, &map.off, path) < 4 ||
	    perms[2] != 'x')
		return 0;
	v = realloc(s->v, (s->n + 1) * sizeof(*s->v));
	if (!v)
		return -ENOMEM;
	s->v = v;
	if (path[0] == '/' || !strcmp(path, "[vdso]"))
		err = open_file(s, path, &map, &map.file);
	if (!err)
		s->v[s->n++] = map;
	return err;
}

int seam_space_read(struct seam_space *s, const struct seam_stepper *stepper)
{
	char name[32], line[4200];
	FILE *f;
	int err = 0;

	s->stepper = stepper;
	s->generation++;
	s->n = 0;
	snprintf(name, sizeof(name), "/proc/%d/maps", (int)stepper->pid);
	f = fopen(name, "re");
	if (!f)
		return -errno;
	while (!err && fgets(line, sizeof(line), f))
		err = add(s, line);
	fclose(f);
	return err;
}

const struct seam_truth_mapping *seam_space_find(const struct seam_space *s,
						 uint64_t avma)
{
	for (size_t i = 0; i < s->n; i++)
		if (avma >= s->v[i].start && avma < s->v[i].end)
			return &s->v[i];
	return NULL;
}

bool seam_space_svma(const struct seam_truth_mapping *map, uint64_t avma,
		     uint64_t *ret)
{
	return map->file && map->file->elf &&
	       seam_elf_off_to_svma(map->file->elf,
				    avma - map->start + map->off, ret);
}

int seam_space_dump_find(void *ctx, uint64_t avma, struct seam_mapping *ret)
{
	const struct seam_truth_mapping *map = seam_space_find(ctx, avma);
	uint64_t svma;

	if (!map)
		return -ENOENT;
	*ret = (struct seam_mapping){0};
	if (!seam_space_svma(map, avma, &svma))
		return 0;
	ret->bias = avma - svma;
	ret->elf = map->file->elf;
	ret->cfi = map->file->cfi;
	ret->derived = map->file->derived;
	return 0;
}
