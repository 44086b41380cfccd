// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "elf/doubt.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIGITS "0123456789"

/* Whether it is one of the numbers, with commas between them. */
static bool is_listed(const char *list, uid_t uid)
{
	while (list && *list) {
		char *end;
		unsigned long long n;

		/* Longer ones are no numbers of users. */
		if (!isdigit((unsigned char)*list) || strspn(list, DIGITS) > 10)
			return false;
		n = strtoull(list, &end, 10);
		if (*end && *end != ',')
			return false;
		if (n == uid)
			return true;
		list = *end ? end + 1 : end;
	}
	return false;
}

bool seam_trusts_all(void)
{
	const char *trust = getenv("SEAM_TRUST");

	return trust && !strcmp(trust, "all");
}

bool seam_is_doubted(const struct stat *st)
{
	const char *trust = getenv("SEAM_TRUST");
	const uid_t user = geteuid();

	if (seam_trusts_all())
		return false;
	if (st->st_mode & S_IWOTH)
		return true;
	if (st->st_uid == 0 || st->st_uid == user ||
	    is_listed(trust, st->st_uid))
		return false;
	return user != 0 || !is_listed(getenv("SUDO_UID"), st->st_uid);
}

int seam_doubt_open(const char *path, int flags, bool may_doubt,
		    struct stat *ret_st)
{
	int rc = 0, fd = open(path, flags | O_RDONLY | O_CLOEXEC | O_NONBLOCK |
					    O_NOCTTY);

	if (fd < 0)
		return -errno;
	if (fstat(fd, ret_st))
		rc = -errno;
	else if (!S_ISREG(ret_st->st_mode))
		rc = -EINVAL;
	else if (may_doubt && seam_is_doubted(ret_st))
		rc = SEAM_DOUBTED;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

void seam_doubt_say(const struct stat *st, char ret[static SEAM_DOUBT_SIZE])
{
	if (st->st_mode & S_IWOTH)
		snprintf(ret, SEAM_DOUBT_SIZE,
			 "everybody may write it (chmod o-w, or "
			 "SEAM_TRUST=all)");
	else
		snprintf(ret, SEAM_DOUBT_SIZE,
			 "it is user %u's, who is neither root nor you "
			 "(SEAM_TRUST=%u takes it)",
			 st->st_uid, st->st_uid);
}
