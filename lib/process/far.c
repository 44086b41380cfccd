// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "process/far.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/disk.h"
#include "core/wire.h"

#define FUSE_MAGIC 0x65735546
/* Of fuse and fuseblk; virtiofs, which the host serves like a disk, has the
 * same magic, and no such name behind its own. */
#define FS_HAS_SUBTYPE 4
#define LOOP_MAJOR 7
#define NBD_MAJOR 43

bool seam_is_far(uint64_t fs_magic, uint64_t fs_flags)
{
	static const uint32_t others[] = {
		0x6969, /* NFS */
		0x517b, /* SMB */
		0xff534d42, /* CIFS */
		0xfe534d42, /* SMB 2 */
		0x01021997, /* 9P */
		0x00c36400, /* Ceph */
		0x5346414f, /* AFS */
		0x6b414653, /* the kernel's own AFS */
		0x73757245, /* Coda */
		0x0bd00bd0, /* Lustre */
		0x20030528, /* OrangeFS */
		0x786f4256, /* VirtualBox's shared folders */
	};

	if (fs_flags & SEAM_FS_ON_A_FILE)
		return true;
	if (fs_magic == FUSE_MAGIC)
		return fs_flags & FS_HAS_SUBTYPE;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (fs_magic == others[i])
			return true;
	return false;
}

/* --- by the mounts --- */

/* One line: ID PARENT MAJOR:MINOR ROOT MOUNTPOINT OPTIONS ... - TYPE SOURCE
 * ... */
struct mount {
	uint32_t dev;
	const char *at, *type, *source;
	size_t at_len, type_len, source_len;
};

/* To the field behind some others. Return: NULL: the line has none. */
static const char *skip(const char *c, const char *end, size_t fields)
{
	while (c && fields--) {
		c = memchr(c, ' ', (size_t)(end - c));
		c = c ? c + 1 : NULL;
	}
	return c;
}

static bool parse(const char *line, size_t size, struct mount *ret)
{
	const char *end = memmem(line, size, " - ", 3);
	const char *dev = end ? skip(line, end, 2) : NULL;
	unsigned long major, minor;
	char *c;

	ret->at = dev ? skip(dev, end, 2) : NULL;
	if (!ret->at)
		return false;
	major = strtoul(dev, &c, 10);
	minor = *c == ':' ? strtoul(c + 1, NULL, 10) : 0;
	ret->dev = (uint32_t)(major << 20 | minor);
	ret->at_len = strcspn(ret->at, " \n");
	ret->type = end + 3;
	ret->type_len = strcspn(ret->type, " \n");
	ret->source = skip(ret->type, line + size, 1);
	ret->source_len = ret->source ? strcspn(ret->source, " \n") : 0;
	return true;
}

/* A character of a mount point, where some are three octal digits. */
static char next_of(const char **at)
{
	const char *c = *at;

	*at += 1;
	if (c[0] != '\\' || c[1] < '0' || c[1] > '3' || c[2] < '0' ||
	    c[2] > '7' || c[3] < '0' || c[3] > '7')
		return c[0];
	*at += 3;
	return (char)((c[1] - '0') << 6 | (c[2] - '0') << 3 | (c[3] - '0'));
}

/* How many bytes of the path it is the mount point of; 0: none. */
static size_t covers(const struct mount *m, const char *path)
{
	const char *at = m->at, *end = m->at + m->at_len;
	size_t n = 0;

	while (at < end)
		if (path[n] != next_of(&at) || !path[n++])
			return 0;
	if (n == 1) /* the root */
		return 1;
	return path[n] == '/' || !path[n] ? n : 0;
}

/* Its device is a file elsewhere. The numbers of some file systems are not
 * their devices'. */
static bool is_on_a_file(const struct mount *m)
{
	static const char dev[] = "/dev/";
	const size_t n = sizeof(dev) - 1;
	uint32_t major = m->dev >> 20;
	uint64_t name = 0;

	if (m->source_len > n && !memcmp(m->source, dev, n))
		memcpy(&name, m->source + n,
		       m->source_len - n < sizeof(name) ? m->source_len - n
							: sizeof(name));
	return seam_disk_kind(name) == SEAM_DISK_SERVED ||
	       major == LOOP_MAJOR || major == NBD_MAJOR;
}

static bool is_own(const struct mount *m)
{
	static const char *const own[] = {
		"bcachefs", "btrfs",	"devtmpfs", "erofs", "exfat",
		"ext2",	    "ext3",	"ext4",	    "f2fs",  "hugetlbfs",
		"iso9660",  "jfs",	"nilfs2",   "ntfs3", "ramfs",
		"reiserfs", "rootfs",	"squashfs", "tmpfs", "udf",
		"vfat",	    "virtiofs", "xfs",	    "zfs",
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (strlen(own[i]) == m->type_len &&
		    !memcmp(own[i], m->type, m->type_len))
			return true;
	return false;
}

bool seam_far_in(const char *mounts, const char *path, uint32_t *ret_dev)
{
	size_t best = 0;
	bool far = true;

	*ret_dev = 0;
	while (*mounts) {
		size_t size = strcspn(mounts, "\n"), n;
		struct mount m;

		/* Of those at one place the last one is on top. */
		n = parse(mounts, size, &m) ? covers(&m, path) : 0;
		if (n && n >= best) {
			best = n;
			far = !is_own(&m) || is_on_a_file(&m);
			*ret_dev = m.dev;
		}
		mounts += size + (mounts[size] == '\n');
	}
	return far;
}

#define FRESH_NS 1000000000ULL
#define MAX_MOUNTS (16 << 20) /* bytes of text */

static bool make_room(struct seam_far_mounts *m, size_t used)
{
	size_t room = m->room ? m->room * 2 : 16384;
	char *text;

	if (used + 1 < m->room)
		return true;
	text = room <= MAX_MOUNTS ? realloc(m->text, room) : NULL;
	if (!text)
		return false;
	m->text = text;
	m->room = room;
	return true;
}

/* Return: NULL: they cannot be read. */
static const char *read_mounts(struct seam_far_mounts *m, uint32_t pid)
{
	uint64_t now_ns = seam_now_ns();
	size_t used = 0;
	char path[64];
	ssize_t n = 1;
	int fd;

	if (m->read_ns && m->pid == pid && now_ns - m->read_ns < FRESH_NS)
		return m->text;
	m->read_ns = 0;
	if (pid)
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/mountinfo",
			 pid);
	else
		snprintf(path, sizeof(path), "/proc/self/mountinfo");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && n > 0 && make_room(m, used)) {
		n = read(fd, m->text + used, m->room - 1 - used);
		used += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	if (fd < 0 || n)
		return NULL;
	m->text[used] = 0;
	m->pid = pid;
	m->read_ns = now_ns;
	return m->text;
}

bool seam_far_path(struct seam_far *f, uint32_t pid, const char *path,
		   uint32_t *ret_dev)
{
	const char *theirs = read_mounts(&f->theirs, pid);
	const char *ours = read_mounts(&f->ours, 0);

	*ret_dev = 0;
	/* What is no path leads nowhere but through the process's mapping. */
	if (path[0] != '/')
		return false;
	if (theirs && seam_far_in(theirs, path, ret_dev))
		return true;
	return !ours || seam_far_in(ours, path, ret_dev);
}

void seam_far_fini(struct seam_far *f)
{
	free(f->theirs.text);
	free(f->ours.text);
	*f = (struct seam_far){0};
}
