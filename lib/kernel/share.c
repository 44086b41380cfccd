// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "event/fail.h"
#include "kernel/share-priv.h"

#define BPF_FS 0xcafe4a11
#define OPEN_FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
/* Who is the first loads its programs with the lock, which takes a second. */
#define LOCK_TRIES 3000
#define LEAVE_TRIES 10
#define LOCK_WAIT_NS 10000000
#define LOOK_TRIES 100
/* Whoever looks whether a client lives holds its lock for a moment. */
#define OWN_TRIES 10
#define ALL_CLIENTS (UINT32_MAX >> (32 - SEAM_MAX_CLIENTS))

static bool is_bpf_fs(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && (uint32_t)fs.f_type == BPF_FS;
}

/* As systemd does at boot, and tc and bpftool where nobody has. */
static int mount_bpf_fs(struct seam_errinfo *reterr)
{
	int fd = open(SEAM_SHARE_MOUNT, OPEN_FOLDER);
	bool is_there = fd >= 0 && is_bpf_fs(fd);

	if (fd >= 0)
		close(fd);
	if (is_there || !mount("bpf", SEAM_SHARE_MOUNT, "bpf",
			       MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700"))
		return 0;
	return seam_fail(reterr, -errno,
			 SEAM_SHARE_MOUNT
			 " is no BPF file system, and none can be mounted "
			 "(%s): see to 'mount -t bpf bpf " SEAM_SHARE_MOUNT "'",
			 strerror(errno));
}

static int open_folder(int at, const char *name)
{
	int fd;

	if (mkdirat(at, name, 0700) && errno != EEXIST)
		return -errno;
	fd = openat(at, name, OPEN_FOLDER);
	return fd < 0 ? -errno : fd;
}

static int check_folder(int fd, struct seam_errinfo *reterr)
{
	if (!is_bpf_fs(fd))
		return seam_fail(reterr, -ENOTSUP,
				 SEAM_SHARE_FOLDER
				 " is not in a BPF file system: unmount what "
				 "is there");
	return seam_share_check_folder(fd, "", reterr);
}

static int lock_folder(int fd, int tries)
{
	const struct timespec wait = {.tv_nsec = LOCK_WAIT_NS};

	for (int i = 0; i < tries; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		/* Nobody knows when it goes on. */
		if (i % LOOK_TRIES == LOOK_TRIES - 1 &&
		    seam_share_is_stopped(seam_share_holder(fd)))
			return -EBUSY;
		if (i + 1 < tries)
			nanosleep(&wait, NULL);
	}
	return -EBUSY;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void name_client(uint32_t number, char ret[static 16])
{
	snprintf(ret, 16, "%" PRIu32, number);
}

/* Whether the client of that number lives, in a group's folder. Return: 1, 0,
 * or -errno where that could not be seen, as for want of descriptors. */
static int look_at(int group_fd, uint32_t number)
{
	char name[16];
	int fd, err;

	name_client(number, name);
	fd = openat(group_fd, name, OPEN_FOLDER);
	/* No folder, or what is none: no client has that. */
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP
			       ? 0
			       : -errno;
	/* Shared: two that look at once do not take each other for it. */
	err = flock(fd, LOCK_SH | LOCK_NB) ? -errno : 0;
	close(fd);
	return err == -EWOULDBLOCK ? 1 : err;
}

/* Who cannot be seen may live: nothing is taken from it. */
static bool lives(int group_fd, uint32_t number)
{
	return look_at(group_fd, number) != 0;
}

/* Of these clients, those that live. */
static uint32_t living(int group_fd, uint32_t clients)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < SEAM_MAX_CLIENTS; i++)
		if (clients >> i & 1)
			bits |= (uint32_t)lives(group_fd, i) << i;
	return bits;
}

static uint32_t all_living(int group_fd)
{
	return living(group_fd, ALL_CLIENTS);
}

/* Calls fn for all that is in a folder. */
static int each_name(int dir_fd,
		     void (*fn)(void *ctx, int dir_fd, const char *), void *ctx)
{
	int copy = openat(dir_fd, ".", OPEN_FOLDER);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	if (!dir) {
		int err = -errno;

		if (copy >= 0)
			close(copy);
		return err;
	}
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			fn(ctx, dir_fd, entry->d_name);
	closedir(dir);
	return 0;
}

/* name: of a group, or a client's below it. err: an errno. */
static int no_folder(const char *group, const char *name, int err,
		     struct seam_errinfo *reterr)
{
	return seam_fail(reterr, -err, SEAM_SHARE_FOLDER "/%s%s%s %s (%s)%s",
			 group, *name ? "/" : "", name,
			 err == EBUSY ? "is locked by somebody"
				      : "cannot be had",
			 strerror(err),
			 err == ENOTDIR || err == ELOOP ? ": remove it" : "");
}

/* A pin, or an empty folder. */
static void remove_one(void *ctx, int dir_fd, const char *name)
{
	(void)ctx;
	if (unlinkat(dir_fd, name, 0))
		unlinkat(dir_fd, name, AT_REMOVEDIR);
}

/* What nobody uses any more: of groups, another build's too. ctx: the group
 * that is to stay. */
static void remove_dead(void *ctx, int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, OPEN_FOLDER);

	if (fd < 0)
		return;
	if (!all_living(fd)) {
		each_name(fd, remove_one, NULL);
		if (strcmp(name, ctx))
			unlinkat(dir_fd, name, AT_REMOVEDIR);
	}
	close(fd);
}

/* Return: the lowest number that is free, or -errno. */
static int find_number(const struct seam_share *s, struct seam_errinfo *reterr)
{
	for (uint32_t i = 0; i < SEAM_MAX_CLIENTS; i++) {
		int lives = look_at(s->group_fd, i);

		if (lives < 0)
			return lives;
		if (!lives)
			return (int)i;
	}
	return seam_fail(reterr, -ENOSPC,
			 "there is room for no more: end one, 'seam doctor' "
			 "lists them");
}

static int take_number(struct seam_share *s, struct seam_errinfo *reterr)
{
	char name[16];
	int number;

	s->others = all_living(s->group_fd);
	/* The last of them may have ended since what is dead was removed. */
	if (!s->others)
		each_name(s->group_fd, remove_one, NULL);
	number = find_number(s, reterr);
	if (number < 0)
		return number;
	s->number = (uint32_t)number;
	/* That one may have ended since. */
	s->others &= ~(1U << s->number);
	name_client(s->number, name);
	s->own_fd = open_folder(s->group_fd, name);
	number = s->own_fd < 0 ? s->own_fd : lock_folder(s->own_fd, OWN_TRIES);
	return number < 0 ? no_folder(s->group, name, -number, reterr) : 0;
}

int seam_share_unusable(int err, struct seam_errinfo *reterr)
{
	return seam_fail(
		reterr, -err, SEAM_SHARE_FOLDER " cannot be had (%s)%s",
		strerror(err),
		err == ENOTDIR || err == ELOOP ? ": remove what is there" : "");
}

int seam_share_meet(struct seam_errinfo *reterr)
{
	int err = mount_bpf_fs(reterr), fd;

	if (err)
		return err;
	fd = open_folder(AT_FDCWD, SEAM_SHARE_FOLDER);
	if (fd < 0)
		return seam_share_unusable(-fd, reterr);
	err = check_folder(fd, reterr);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int seam_share_lock(int dir_fd, struct seam_errinfo *reterr)
{
	int err = lock_folder(dir_fd, LOCK_TRIES);

	if (err)
		return seam_fail(reterr, err,
				 SEAM_SHARE_FOLDER
				 " is locked by process %" PRIu32
				 ", which does not go on: let it, or end it",
				 seam_share_holder(dir_fd));
	return 0;
}

/* A group of its own, of those for whom there was no room before. */
static int enter_part(struct seam_share *s, uint64_t group, uint32_t part,
		      struct seam_errinfo *reterr)
{
	int err;

	close_fd(&s->group_fd);
	snprintf(s->group, sizeof(s->group), "%016" PRIx64, group);
	if (part)
		snprintf(s->group, sizeof(s->group), "%016" PRIx64 "-%" PRIu32,
			 group, part + 1);
	s->group_fd = open_folder(s->dir_fd, s->group);
	if (s->group_fd < 0)
		return no_folder(s->group, "", -s->group_fd, reterr);
	err = seam_share_check_folder(s->group_fd, s->group, reterr);
	if (err)
		return err;
	err = each_name(s->dir_fd, remove_dead, s->group);
	return err ? err : take_number(s, reterr);
}

static int enter(struct seam_share *s, uint64_t group, uint32_t parts,
		 struct seam_errinfo *reterr)
{
	int err;

	s->dir_fd = seam_share_meet(reterr);
	if (s->dir_fd < 0)
		return s->dir_fd;
	err = seam_share_lock(s->dir_fd, reterr);
	if (err)
		return err;
	for (uint32_t part = 0; part < parts; part++) {
		/* Of one that is full there is nothing to say. */
		if (reterr)
			*reterr = (struct seam_errinfo){0};
		err = enter_part(s, group, part, reterr);
		if (err != -ENOSPC)
			break;
	}
	return err;
}

int seam_share_enter(uint64_t group, uint32_t parts, struct seam_share *ret,
		     struct seam_errinfo *reterr)
{
	int err;

	*ret = (struct seam_share)SEAM_SHARE_NONE;
	err = enter(ret, group, parts, reterr);
	if (err)
		seam_share_leave(ret);
	return err;
}

void seam_share_path(const struct seam_share *s, const char *name, char *ret,
		     size_t size)
{
	/* The folder that was checked, whatever its name leads to by now. */
	snprintf(ret, size, "/proc/self/fd/%d/%s", s->group_fd, name);
}

/* A child that was forked meanwhile may have the descriptor too. */
static void unlock_fd(int *fd)
{
	if (*fd >= 0)
		flock(*fd, LOCK_UN);
	close_fd(fd);
}

static uint32_t others(const struct seam_share *s)
{
	return all_living(s->group_fd) & ~(1U << s->number);
}

bool seam_share_has_others(const struct seam_share *s)
{
	return others(s);
}

/* With the lock, since looking whether a number is taken takes it. */
bool seam_share_is_last(const struct seam_share *s, uint32_t besides)
{
	int fd = open(SEAM_SHARE_FOLDER, OPEN_FOLDER);
	bool is_last =
		fd >= 0 && !lock_folder(fd, 1) && !(others(s) & ~besides);

	unlock_fd(&fd);
	return is_last;
}

void seam_share_bury(const struct seam_share *s, uint32_t clients,
		     void (*fn)(void *ctx, uint32_t dead), void *ctx)
{
	uint32_t dead = clients & ~living(s->group_fd, clients);
	int fd = dead ? open(SEAM_SHARE_FOLDER, OPEN_FOLDER) : -1;

	/* Without the lock another may have the number by now. */
	if (fd >= 0 && !lock_folder(fd, 1)) {
		dead &= ~living(s->group_fd, dead);
		if (dead)
			fn(ctx, dead);
	}
	unlock_fd(&fd);
}

void seam_share_wake(void)
{
	const struct sockaddr_un to = {.sun_family = AF_UNIX,
				       .sun_path = SEAM_SHARE_SOCKET};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	/* Mostly nobody is there. */
	(void)!connect(fd, (const void *)&to, sizeof(to));
	close(fd);
}

/* A folder and not the number's, since others may come to own them. */
int seam_share_own(struct seam_share *s)
{
	int fd, err;

	if (s->tables_fd >= 0)
		return 0;
	fd = open_folder(s->group_fd, SEAM_SHARE_OWNER);
	if (fd < 0)
		return fd;
	err = lock_folder(fd, 1);
	if (err)
		close(fd);
	else
		s->tables_fd = fd;
	return err;
}

void seam_share_disown(struct seam_share *s)
{
	unlock_fd(&s->tables_fd);
}

void seam_share_ready(struct seam_share *s)
{
	unlock_fd(&s->dir_fd);
}

void seam_share_leave(struct seam_share *s)
{
	seam_share_disown(s);
	unlock_fd(&s->own_fd);
	if (s->group_fd < 0) {
		seam_share_ready(s);
		return;
	}
	if (s->dir_fd < 0) {
		s->dir_fd = open(SEAM_SHARE_FOLDER, OPEN_FOLDER);
		/* Else the next that comes does it. */
		if (s->dir_fd >= 0 && (check_folder(s->dir_fd, NULL) ||
				       lock_folder(s->dir_fd, LEAVE_TRIES)))
			seam_share_ready(s);
	}
	close_fd(&s->group_fd);
	if (s->dir_fd >= 0)
		each_name(s->dir_fd, remove_dead, "");
	seam_share_ready(s);
}
