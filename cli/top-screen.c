// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/top-screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

#define ALTERNATE "\033[?1049h\033[?25l"
#define ORDINARY "\033[?25h\033[?1049l"
#define HOME "\033[H"
#define END_LINE "\033[0m\033[K"
#define END_SCREEN "\033[J"

/* The one that is open, for who stops the program. */
static struct top_screen *volatile shown;
static volatile sig_atomic_t resumed;

static void read_keys(struct top_screen *s)
{
	s->keys = open("/dev/tty", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (s->keys < 0 || tcgetattr(s->keys, &s->was)) {
		if (s->keys >= 0)
			close(s->keys);
		s->keys = -1;
		return;
	}
	s->raw = s->was;
	s->raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
}

/* A signal handler calls these two as well. */
static void put(const char *order)
{
	size_t n = strlen(order);
	ssize_t done;

	while (n && (done = write(STDOUT_FILENO, order, n)) != 0) {
		if (done < 0 && errno != EINTR)
			return;
		if (done < 0)
			continue;
		order += done;
		n -= (size_t)done;
	}
}

static void set_keys(const struct top_screen *s, const struct termios *to)
{
	if (s->keys >= 0)
		tcsetattr(s->keys, TCSANOW, to);
}

static void on_stop(int signal)
{
	const struct sigaction stop = {.sa_handler = SIG_DFL};
	const struct top_screen *s = shown;
	int saved_errno = errno;
	struct sigaction mine;
	sigset_t set, was;

	put(ORDINARY);
	set_keys(s, &s->was);
	sigaction(signal, &stop, &mine);
	raise(signal);
	sigemptyset(&set);
	sigaddset(&set, signal);
	sigprocmask(SIG_UNBLOCK, &set, &was); /* until it is continued */
	sigprocmask(SIG_SETMASK, &was, NULL);
	sigaction(signal, &mine, NULL);
	set_keys(s, &s->raw);
	put(ALTERNATE);
	resumed = 1;
	errno = saved_errno;
}

bool top_screen_resumed(void)
{
	bool was = resumed;

	resumed = 0;
	return was;
}

/* Where the shell has it ignored, it stays so. */
static void catch_stops(struct top_screen *s)
{
	/* To write goes on; to wait, which is never restarted, does not. */
	const struct sigaction act = {.sa_handler = on_stop,
				      .sa_flags = SA_RESTART};
	struct sigaction was;

	shown = s;
	if (!sigaction(SIGTSTP, NULL, &was) && was.sa_handler != SIG_IGN)
		sigaction(SIGTSTP, &act, NULL);
}

static void leave_stops(void)
{
	const struct sigaction stop = {.sa_handler = SIG_DFL};
	struct sigaction was;

	if (!sigaction(SIGTSTP, NULL, &was) && was.sa_handler == on_stop)
		sigaction(SIGTSTP, &stop, NULL);
	shown = NULL;
}

void top_screen_open(struct top_screen *s)
{
	s->keys = -1;
	s->is_terminal = isatty(STDOUT_FILENO);
	if (!s->is_terminal)
		return;
	read_keys(s);
	catch_stops(s);
	set_keys(s, &s->raw);
	put(ALTERNATE);
}

void top_screen_close(struct top_screen *s)
{
	if (!s->is_terminal)
		return;
	leave_stops();
	fflush(stdout);
	put(ORDINARY);
	set_keys(s, &s->was);
	if (s->keys >= 0)
		close(s->keys);
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
