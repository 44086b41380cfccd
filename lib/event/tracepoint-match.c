// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "event/tracepoint-match.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "event/tracepoint.h"

struct names {
	char **v; /* NULL behind the last */
	size_t n, cap;
};

static int add(struct names *names, const char *subsystem, const char *name)
{
	if (seam_grow(&names->v, names->n + 2, &names->cap, sizeof(*names->v)))
		return -ENOMEM;
	names->v[names->n + 1] = NULL;
	if (asprintf(&names->v[names->n], "%s:%s", subsystem, name) < 0) {
		names->v[names->n] = NULL;
		return -ENOMEM;
	}
	names->n++;
	return 0;
}

/* Folders in a folder whose names are like pattern: 0, or what each said. */
static int each(int at, const char *folder, const char *pattern,
		int (*take)(int at, const char *name, void *ctx), void *ctx)
{
	int fd = openat(at, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		rc = errno == ENOTDIR ? 0 : -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (!rc && (e = readdir(d)) != NULL)
		if (e->d_name[0] != '.' && !fnmatch(pattern, e->d_name, 0))
			rc = take(dirfd(d), e->d_name, ctx);
	closedir(d);
	return rc;
}

struct match {
	const char *name; /* its pattern */
	const char *subsystem;
	struct names names;
};

/* What perf cannot have has no number. */
static int take_name(int at, const char *name, void *ctx)
{
	struct match *m = ctx;
	char id[300];

	snprintf(id, sizeof(id), "%s/id", name);
	return faccessat(at, id, F_OK, 0) ? 0
					  : add(&m->names, m->subsystem, name);
}

static int take_subsystem(int at, const char *subsystem, void *ctx)
{
	struct match *m = ctx;

	m->subsystem = subsystem;
	return each(at, subsystem, m->name, take_name, m);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int seam_tracepoint_match(const char *pattern, char ***ret)
{
	const char *colon = strchr(pattern, ':');
	struct match m = {.name = colon ? colon + 1 : ""};
	char *subsystem = colon ? strndup(pattern, (size_t)(colon - pattern))
				: strdup("");
	int root = seam_tracefs_open(), rc = -ENOENT;

	if (!subsystem)
		rc = -ENOMEM;
	else if (root >= 0)
		rc = each(root, "events", subsystem, take_subsystem, &m);
	free(subsystem);
	if (root >= 0)
		close(root);
	if (!rc && !m.names.n)
		rc = seam_grow(&m.names.v, 1, &m.names.cap, sizeof(*m.names.v));
	if (rc) {
		seam_tracepoint_names_free(m.names.v);
		return rc;
	}
	if (m.names.n)
		qsort(m.names.v, m.names.n, sizeof(*m.names.v), by_name);
	else
		m.names.v[0] = NULL;
	*ret = m.names.v;
	return (int)m.names.n;
}

void seam_tracepoint_names_free(char **names)
{
	for (size_t i = 0; names && names[i]; i++)
		free(names[i]);
	free(names);
}
