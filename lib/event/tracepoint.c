// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "event/tracepoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "seam/tracer.h"

/* Where tracefs may be mounted. */
static const char *const roots[] = {"/sys/kernel/tracing",
				    "/sys/kernel/debug/tracing"};
/* The longest format of Linux 6.18 has 7 KiB. */
#define MAX_TEXT (256 << 10)

/* tracefs for us alone, where it is mounted nowhere. Return: a descriptor of
 * its root, or -1. */
static int open_unmounted(void)
{
	int fs = fsopen("tracefs", FSOPEN_CLOEXEC), root = -1;

	if (fs < 0)
		return -1;
	if (!fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		root = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	close(fs);
	return root;
}

int seam_tracefs_open(void)
{
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		int fd = open(roots[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0)
			continue;
		if (!faccessat(fd, "events", F_OK, 0))
			return fd;
		close(fd);
	}
	return open_unmounted();
}

static FILE *open_file(const char *file)
{
	int root, fd = -1;
	char path[512];
	FILE *f;

	errno = ENOENT;
	/* A name may be anybody's. */
	if (strstr(file, "..") || snprintf(path, sizeof(path), "events/%s",
					   file) >= (int)sizeof(path))
		return NULL;
	root = seam_tracefs_open();
	if (root >= 0) {
		fd = openat(root, path, O_RDONLY | O_CLOEXEC);
		close(root);
	}
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (fd >= 0 && !f)
		close(fd);
	return f;
}

/* Such files do not say how long they are. */
static char *read_text(FILE *f)
{
	size_t n = 0, room = 0;
	char *text = NULL;
	int err;

	do {
		char *more = realloc(text, room + 4096 + 1);

		if (!more) {
			free(text);
			errno = ENOMEM;
			return NULL;
		}
		text = more;
		room += 4096;
		n += fread(text + n, 1, room - n, f);
	} while (n == room && room < MAX_TEXT);
	err = ferror(f) ? EIO : n == room ? EFBIG : 0;
	text[n] = 0;
	if (!err)
		return text;
	free(text);
	errno = err;
	return NULL;
}

char *seam_tracepoint_text(const char *file)
{
	FILE *f = open_file(file);
	char *text = f ? read_text(f) : NULL;
	int err = errno;

	if (f)
		fclose(f);
	errno = err;
	return text;
}

/* A field is "\tfield:TYPE NAME;\toffset:0;\tsize:2;\tsigned:0;". */
static size_t payload_size(const char *format)
{
	const char *at = format;
	size_t size = 0;

	while ((at = strstr(at, "\toffset:")) != NULL) {
		unsigned offset = 0, n = 0;

		if (sscanf(at, "\toffset:%u;\tsize:%u;", &offset, &n) == 2 &&
		    offset < 65536 && n < 65536 && offset + n > size)
			size = offset + n;
		at++;
	}
	return size;
}

/* Every payload begins with fields that are common to all. */
static bool find_tid(const char *format, size_t *ret_at)
{
	const char *at = strstr(format, "int common_pid;");
	unsigned offset, n;

	if (!at ||
	    sscanf(at, "int common_pid;\toffset:%u;\tsize:%u;", &offset, &n) !=
		    2 ||
	    n != 4 || offset > 64)
		return false;
	*ret_at = offset;
	return true;
}

static int read_format(const char *folder, struct seam_tracepoint *tp)
{
	char file[256];

	snprintf(file, sizeof(file), "%s/format", folder);
	tp->format = seam_tracepoint_text(file);
	if (!tp->format)
		return -errno;
	tp->size = payload_size(tp->format);
	if (!tp->size || !find_tid(tp->format, &tp->tid_at))
		return -EBADMSG;
	return seam_payload_fields(tp->format, &tp->fields);
}

int seam_tracepoint_read(const char *name, struct seam_tracepoint *ret)
{
	struct seam_tracepoint tp = {0};
	char folder[192], file[256];
	char *colon, *text;
	int err;

	if (snprintf(folder, sizeof(folder), "%s", name) >= (int)sizeof(folder))
		return -ENOENT;
	colon = strchr(folder, ':');
	if (!colon)
		return -ENOENT;
	*colon = '/';
	snprintf(file, sizeof(file), "%s/id", folder);
	text = seam_tracepoint_text(file);
	if (!text)
		return -errno;
	tp.id = strtoull(text, NULL, 10);
	free(text);
	err = tp.id ? read_format(folder, &tp) : -EBADMSG;
	if (err) {
		seam_tracepoint_fini(&tp);
		return err;
	}
	*ret = tp;
	return 0;
}

void seam_tracepoint_fini(struct seam_tracepoint *tp)
{
	free(tp->format);
	seam_payload_fields_fini(&tp->fields);
	memset(tp, 0, sizeof(*tp));
}
