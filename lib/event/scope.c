// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "event/scope.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>

bool seam_scope_has(const struct seam_scope *scope, uint32_t tid)
{
	for (size_t i = 0; i < scope->n; i++)
		if (scope->tids[i] == (int32_t)tid)
			return true;
	return false;
}

int seam_scope_add(struct seam_scope *scope, uint32_t tid)
{
	int32_t *tids;

	if (seam_scope_has(scope, tid))
		return 0;
	tids = reallocarray(scope->tids, scope->n + 1, sizeof(*tids));
	if (!tids)
		return -ENOMEM;
	scope->tids = tids;
	scope->tids[scope->n++] = (int32_t)tid;
	return 0;
}

int seam_scope_add_process(struct seam_scope *scope, uint32_t pid)
{
	struct dirent *de;
	char path[32];
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && (de = readdir(dir))) {
		uint32_t tid = (uint32_t)strtoul(de->d_name, NULL, 10);

		if (tid)
			err = seam_scope_add(scope, tid);
	}
	closedir(dir);
	return err;
}

void seam_scope_fini(struct seam_scope *scope)
{
	free(scope->tids);
	*scope = (struct seam_scope){0};
}

void seam_scope_set(const struct seam_scope *scope,
		    struct perf_event_attr *attr)
{
	if (!scope || !scope->tids)
		return;
	attr->inherit = !scope->alone || scope->threads;
	attr->inherit_thread = scope->alone && scope->threads;
	attr->enable_on_exec = scope->on_exec;
}
