// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Where the file of a recording may be: at its path; in perf's cache of
 * build-ids, which has whole files; in the caches of debuginfod's clients; and
 * as debugging information, which has CFI only if it is .debug_frame.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/maps-path.h"
#include "elf/fetched.h"
#include "offline/file.h"

/* With a build-id a file that was deleted and came back is as good. */
static const char deleted[] = " (deleted)";

static bool name_by_id(char to[static PATH_MAX],
		       const struct seam_offline_file *f, unsigned int i)
{
	char hex[2 * SEAM_BUILD_ID_MAX + 1];
	int n = 0;

	if (f->build_id_len < 2)
		return false;
	for (size_t j = 0; j < f->build_id_len; j++)
		sprintf(hex + 2 * j, "%02x", f->build_id[j]);
	switch (i) {
	case 0:
		return seam_perf_kept_name(to, hex, "elf");
	case 1:
		return seam_fetched_name(to, hex, "executable");
	case 2:
		n = snprintf(to, PATH_MAX,
			     "/usr/lib/debug/.build-id/%.2s/%s.debug", hex,
			     hex + 2);
		break;
	case 3:
		return seam_fetched_name(to, hex, "debuginfo");
	}
	return n > 0 && n < PATH_MAX;
}

static bool name_undeleted(char to[static PATH_MAX],
			   const struct seam_offline_file *f)
{
	size_t len = strlen(f->path), mark = sizeof(deleted) - 1;

	if (!f->build_id_len || len <= mark || len - mark >= PATH_MAX ||
	    strcmp(f->path + len - mark, deleted) != 0)
		return false;
	memcpy(to, f->path, len - mark);
	to[len - mark] = '\0';
	return true;
}

/* Never waits for a FIFO. */
static int open_quietly(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

/* A recording may have it as /proc/PID/maps wrote it. */
static int open_other(char path[static PATH_MAX])
{
	char *other = seam_maps_path_other(path);

	if (!other)
		return -ENOENT;
	strcpy(path, other); /* it is shorter */
	free(other);
	return open_quietly(path);
}

int seam_offline_find(const struct seam_offline_file *f, unsigned int i,
		      char **ret_path, bool *ret_has_code)
{
	char path[PATH_MAX];
	bool is_there;
	int fd;

	if (i > 5)
		return -ERANGE;
	if (i == 0)
		is_there = snprintf(path, PATH_MAX, "%s", f->path) < PATH_MAX;
	else
		is_there = i == 1 ? name_undeleted(path, f)
				  : name_by_id(path, f, i - 2);
	if (!is_there)
		return -ENOENT;
	fd = open_quietly(path);
	if (fd == -ENOENT && i == 0)
		fd = open_other(path);
	if (fd < 0)
		return fd;
	*ret_path = strdup(path);
	*ret_has_code = i < 4;
	if (*ret_path)
		return fd;
	close(fd);
	return -ENOMEM;
}
