/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The folder in which clients of one machine find each other, in a BPF file
 * system. In it is a folder for each group: clients that unwind in the same
 * way, by programs of the same build, and so may have each other's stacks.
 * What a group shares is pinned there, and each of its clients has a folder
 * with its number. Who holds the lock of such a folder lives: the kernel lets
 * it go with its process, however that ends.
 */
#ifndef SEAM_LIB_KERNEL_SHARE_H
#define SEAM_LIB_KERNEL_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire.h"
#include "kernel/share-way.h"
#include "seam/error.h"

#define SEAM_SHARE_MOUNT "/sys/fs/bpf"
#define SEAM_SHARE_FOLDER SEAM_SHARE_MOUNT "/seam"

struct seam_share {
	int dir_fd; /* locked while a client comes or goes */
	int group_fd;
	int own_fd; /* the client's own folder, locked as long as it lives */
	int tables_fd; /* that of the owner of the tables, if that is us */
	uint32_t number; /* of the client, below SEAM_MAX_CLIENTS */
	uint32_t others; /* bits of those that live */
	char group[32];
};

/* What clients are that do the same with what they share. */
extern const char seam_shares_as[];

/* Groups that are one but for want of room: so many times as many clients. */
#define SEAM_SHARE_PARTS 16
#define SEAM_SHARE_SOCKET "/run/seam/serve.socket"
/* The folder that who has the tables locks. */
#define SEAM_SHARE_OWNER "owner"
#define SEAM_SHARE_NONE                                                        \
	{                                                                      \
		.dir_fd = -1, .group_fd = -1, .own_fd = -1, .tables_fd = -1    \
	}

/* The counters that all cookies of the machine are made of, as long as it runs.
 * Return: a descriptor; or as seam_share_enter. */
int seam_share_cookies(struct seam_errinfo *reterr);
/* Has new counters begin anywhere, so that two sets of them, where one cannot
 * be shared, hardly ever give the same cookies. fd: of the map. */
int seam_share_cookies_begin(int fd);

/*
 * Comes in, with the folder's lock, so that nobody else comes meanwhile. What
 * groups without clients have left is removed, their own pins too.
 * -EPERM: the folder is another's, or open to others; -ENOSPC: there are
 * SEAM_MAX_CLIENTS in each of these parts, at most SEAM_SHARE_PARTS; -EBUSY:
 * somebody keeps the lock; another -errno.
 */
int seam_share_enter(uint64_t group, uint32_t parts, struct seam_share *ret,
		     struct seam_errinfo *reterr);
/* Whether what is pinned in a folder is root's alone, that of a group, or where
 * clients meet (""). -EPERM: it is not; or another -errno. */
int seam_share_check_pin(int dir_fd, const char *group, const char *pin,
			 struct seam_errinfo *reterr);
/* The path of what is pinned under that name. */
void seam_share_path(const struct seam_share *s, const char *name, char *ret,
		     size_t size);
/* Has systemd start who keeps the tables (seam-serve(1)), where it listens for
 * that. */
void seam_share_wake(void);
/* Whether nobody else of the group lives but those of these bits, and nobody
 * is coming. */
bool seam_share_is_last(const struct seam_share *s, uint32_t besides);
/* Whether others of the group live now. */
bool seam_share_has_others(const struct seam_share *s);
/* Calls fn for those of these clients that are dead, if there are any, while
 * nobody can get their numbers; not at all where somebody comes or goes just
 * now. */
void seam_share_bury(const struct seam_share *s, uint32_t clients,
		     void (*fn)(void *ctx, uint32_t dead), void *ctx);
/* Takes the lock of the group's tables. -EBUSY: another owns them. */
int seam_share_own(struct seam_share *s);
void seam_share_disown(struct seam_share *s);
/* What is pinned is all there: the next may come. */
void seam_share_ready(struct seam_share *s);
/* Gives the number back; who is the last removes what is pinned. */
void seam_share_leave(struct seam_share *s);

/* Who has the lock of an open folder; 0: nobody, or nobody that is seen. */
uint32_t seam_share_holder(int fd);
/* Whether a process is stopped, by a signal or a debugger. */
bool seam_share_is_stopped(uint32_t pid);

#define SEAM_SHARE_LISTED 256

/* What was lost for want of room in a client's rings. */
enum seam_share_lost {
	SEAM_SHARE_LOST_SAMPLES,
	SEAM_SHARE_LOST_STACKS,
	SEAM_SHARE_LOST_COPIES,
	SEAM_SHARE_LOST_REQUESTS,
	SEAM_SHARE_LOST_UNTOLD,
	SEAM_SHARE_LOST_MAX,
};

struct seam_share_client {
	uint32_t pid, group, number; /* group: 0, 1, ... */
	char name[16]; /* of its process, printable */
	char client[SEAM_CLIENT_NAME]; /* its own choice; may be empty */
	bool owns; /* the tables of its group */
	bool loads_own; /* since the owner does not answer */
	bool is_known; /* what follows could be read */
	uint64_t ring_bytes, ring_used; /* of all of its rings */
	uint64_t lost[SEAM_SHARE_LOST_MAX];
	uint64_t unwinds, by_others, again; /* as struct seam_counts has them */
	uint64_t made_bytes; /* of tables of made code, in the arena */
	uint64_t memory; /* of the maps that it alone has */
};

struct seam_share_group {
	char name[24];
	uint32_t owner; /* pid; 0: nobody, for the moment */
	struct seam_share_way way; /* it unwinds in */
	bool is_known;
	/* Files that have one, may get one, have a section of their own that
	 * will do, or have none. */
	uint32_t tables, asked, mapped, without;
	uint64_t table_bytes;
	uint64_t element_bytes; /* of tasks' states, as the kernel counts */
	uint64_t arena_bytes; /* that table_bytes and made_bytes lie in */
	uint64_t far; /* requests that were left, for files that are far */
	uint64_t memory; /* of all that is shared, the arena included */
};

/* Who has clients that share with nobody who can be seen. */
struct seam_share_alone {
	uint32_t pid;
	char name[16]; /* of its process, printable */
};

struct seam_share_list {
	uint32_t n, n_groups, n_alone;
	struct seam_share_client clients[SEAM_SHARE_LISTED];
	struct seam_share_group groups[SEAM_SHARE_LISTED];
	struct seam_share_alone alone[SEAM_SHARE_LISTED];
};

/* Which clients live. -ENOENT: there never was one; -EACCES: not for us. */
int seam_share_list(struct seam_share_list *ret);
/* Whether who comes now could share, as far as that may be seen: also with
 * these. -EPERM: something is not root's alone; or another -errno. */
int seam_share_judge(const struct seam_share_list *list,
		     struct seam_errinfo *reterr);
/* Says of the folder where clients meet why it is none: err, an errno. Return:
 * -err. */
int seam_share_unusable(int err, struct seam_errinfo *reterr);
/* What a process calls itself, as far as that is ASCII; else, ?. */
void seam_share_name_of(uint32_t pid, char ret[static 16]);
/* And what is pinned for them, as far as that may be seen. */
void seam_share_look(struct seam_share_list *list);
/* And who else there is. That takes root, or nobody is found. */
void seam_share_find_alone(struct seam_share_list *list);

#endif
