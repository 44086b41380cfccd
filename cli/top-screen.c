// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/top-screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

#define ALTERNATE "\033[?1049h\033[?25l"
#define ORDINARY "\033[?25h\033[?1049l"
#define HOME "\033[H"
#define END_LINE "\033[0m\033[K"
#define END_SCREEN "\033[J"

static void read_keys(struct top_screen *s)
{
	struct termios raw;

	s->keys = open("/dev/tty", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (s->keys < 0 || tcgetattr(s->keys, &s->was)) {
		if (s->keys >= 0)
			close(s->keys);
		s->keys = -1;
		return;
	}
	raw = s->was;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(s->keys, TCSANOW, &raw);
}

void top_screen_open(struct top_screen *s)
{
	s->keys = -1;
	s->is_terminal = isatty(STDOUT_FILENO);
	if (!s->is_terminal)
		return;
	read_keys(s);
	fputs(ALTERNATE, stdout);
	fflush(stdout);
}

void top_screen_close(struct top_screen *s)
{
	if (!s->is_terminal)
		return;
	fputs(ORDINARY, stdout);
	fflush(stdout);
	if (s->keys >= 0) {
		tcsetattr(s->keys, TCSANOW, &s->was);
		close(s->keys);
	}
	s->is_terminal = false;
}

/* Bytes of the line's part that takes no more than so many columns. Colours
 * take none, and of a character the first byte alone. */
static size_t fitting(const char *s, size_t len, unsigned columns)
{
	unsigned n = 0;
	size_t i = 0;

	while (i < len) {
		if (s[i] == '\033') {
			while (i < len && s[i] != 'm')
				i++;
			i += i < len;
			continue;
		}
		if (((unsigned char)s[i] & 0xc0) != 0x80 && n++ == columns)
			break;
		i++;
	}
	return i;
}

static void fill(const struct seam_strbuf *text, const struct winsize *size)
{
	const char *at = text->s, *end = at + text->len;

	fputs(HOME, stdout);
	for (unsigned row = 1; at < end && row < size->ws_row; row++) {
		const char *line = at;

		while (at < end && *at != '\n')
			at++;
		fwrite(line, 1,
		       fitting(line, (size_t)(at - line), size->ws_col),
		       stdout);
		fputs(END_LINE "\n", stdout);
		at += at < end;
	}
	fputs(END_SCREEN, stdout);
}

int top_screen_show(const struct top_screen *s, const struct seam_strbuf *text)
{
	struct winsize size;

	if (!s->is_terminal) {
		fwrite(text->s, 1, text->len, stdout);
		fputs("\n", stdout);
	} else {
		if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row ||
		    !size.ws_col)
			size = (struct winsize){.ws_row = 24, .ws_col = 80};
		fill(text, &size);
	}
	return fflush(stdout) || ferror(stdout) ? -1 : 0;
}

int top_screen_wait(const struct top_screen *s, uint64_t until_ns)
{
	struct pollfd fds[2] = {
		{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = s->keys, .events = POLLIN},
	};
	uint64_t now_ns = seam_now_ns();
	unsigned char key;
	int ms = 0;

	if (until_ns > now_ns)
		ms = (int)((until_ns - now_ns) / 1000000 + 1);
	if (poll(fds, 2, ms) <= 0)
		return TOP_TIME;
	if (fds[1].revents && read(s->keys, &key, 1) == 1)
		return key;
	return fds[0].revents ? TOP_INPUT : TOP_TIME;
}
