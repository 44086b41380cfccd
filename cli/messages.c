// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/messages.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/plain.h"

#define PIECE 1024
#define CHARACTER 4 /* bytes, at most */

static bool write_all(int fd, const char *s, size_t len)
{
	while (len) {
		ssize_t n = write(fd, s, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		s += n;
		len -= (size_t)n;
	}
	return true;
}

/* Of len bytes as many as are no part of a character that goes on behind. */
static size_t whole(const char *s, size_t len)
{
	size_t cut = len;

	while (cut && len - cut < CHARACTER - 1 && (s[cut] & 0xc0) == 0x80)
		cut--;
	return cut ? cut : len;
}

/* Whether a newline ends a line that seam says, and is no name's. */
static bool ends_line(int fd, bool is_last)
{
	return fd != STDERR_FILENO || is_last;
}

/* is_last: of what was said at once. */
static bool write_piece(int fd, const char *from, size_t len, bool is_last)
{
	char s[PIECE + 1], out[PIECE * SEAM_PLAIN_BYTE];
	size_t n_out = 0, n;

	memcpy(s, from, len);
	s[len] = '\0';
	for (size_t i = 0; i < len; i += n ? n : 1) {
		if (s[i] == '\t' ||
		    (s[i] == '\n' && ends_line(fd, is_last && i + 1 == len)))
			n = 1;
		else
			n = seam_plain_len(s + i);
		memcpy(out + n_out, s + i, n);
		if (!n)
			seam_plain_byte(s[i], out + n_out);
		n_out += n ? n : SEAM_PLAIN_BYTE;
	}
	return write_all(fd, out, n_out);
}

static ssize_t write_plain(void *cookie, const char *s, size_t len)
{
	const int fd = (int)(intptr_t)cookie;
	size_t done = 0;

	while (done < len) {
		size_t n = len - done;

		if (n > PIECE)
			n = whole(s + done, PIECE);
		if (!write_piece(fd, s + done, n, done + n == len))
			break;
		done += n;
	}
	return (ssize_t)done;
}

FILE *messages_plain(FILE *stream)
{
	const int fd = fileno(stream);
	FILE *plain =
		fopencookie((void *)(intptr_t)fd, "w",
			    (cookie_io_functions_t){.write = write_plain});

	/* A message is written when it is said, and so whole. */
	if (plain && stream == stderr)
		setvbuf(plain, NULL, _IONBF, 0);
	return plain ? plain : stream;
}
