// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/messages.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plain.h"

#define PIECE 1024
#define CHARACTER 4 /* bytes, at most */

static bool wait_for_room(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, -1) >= 0 || errno == EINTR;
}

static bool write_all(int fd, const char *s, size_t len)
{
	while (len) {
		ssize_t n = write(fd, s, len);

		if (n < 0 && errno == EINTR)
			continue;
		/* Who shares the terminal or pipe may have asked for that. */
		if (n < 0 && errno == EAGAIN && wait_for_room(fd))
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

/* s ends with '\0'. Newlines from that place on end lines that seam says; those
 * before are names'. Return: how many bytes were made. */
static size_t make_plain(const char *s, size_t len, size_t lines_from,
			 char *out)
{
	size_t n_out = 0, n;

	for (size_t i = 0; i < len; i += n ? n : 1) {
		if (s[i] == '\t' || (s[i] == '\n' && i >= lines_from))
			n = 1;
		else
			n = seam_plain_len(s + i);
		memcpy(out + n_out, s + i, n);
		if (!n)
			seam_plain_byte(s[i], out + n_out);
		n_out += n ? n : SEAM_PLAIN_BYTE;
	}
	return n_out;
}

/* is_last: of what was said at once. */
static bool write_piece(int fd, const char *from, size_t len, bool is_last)
{
	char s[PIECE + 1], out[PIECE * SEAM_PLAIN_BYTE];
	size_t lines_from = fd == STDERR_FILENO ? len - is_last : 0;

	memcpy(s, from, len);
	s[len] = '\0';
	return write_all(fd, out, make_plain(s, len, lines_from, out));
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

	/* What libraries say is written when they say it. */
	if (plain && stream == stderr)
		setvbuf(plain, NULL, _IONBF, 0);
	return plain ? plain : stream;
}

static void add(struct message *m, const char *format, va_list ap)
{
	char *text = NULL, *more;
	int n = vasprintf(&text, format, ap);
	size_t len = n < 0 ? 0 : (size_t)n;

	more = n < 0 ? NULL
		     : realloc(m->text, m->len + len * SEAM_PLAIN_BYTE + 1);
	if (more) {
		m->text = more;
		m->len +=
			make_plain(text, len, len ? len - 1 : 0, more + m->len);
	}
	m->is_cut |= !more;
	free(n < 0 ? NULL : text);
}

void message_add(struct message *m, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	add(m, format, ap);
	va_end(ap);
}

void message_say(struct message *m)
{
	static const char cut[] = "seam: no memory for this message\n";

	write_all(STDERR_FILENO, m->text, m->len);
	if (m->is_cut)
		write_all(STDERR_FILENO, cut, sizeof(cut) - 1);
	free(m->text);
	*m = (struct message){0};
}

void say(const char *format, ...)
{
	struct message m = {0};
	va_list ap;

	va_start(ap, format);
	add(&m, format, ap);
	va_end(ap);
	message_say(&m);
}
