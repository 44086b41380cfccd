// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* seam serve: keeps tables in the kernel, so that they outlive recordings. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/serve.h"
#include "cli/bad-option.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/number.h"
#include "cli/serve-rights.h"
#include "cli/serve-socket.h"

static const char help[] =
	"usage: seam serve [OPTIONS]\n\n"
	"Loads tables into the kernel for all recordings of this machine, and\n"
	"keeps them there while none runs: the next has whole stacks from its\n"
	"first sample on. It takes no samples. systemd starts it when the "
	"first\n"
	"recording comes, with seam-serve.socket enabled.\n\n"
	"      --idle S        ends when nobody has recorded for S seconds; "
	"0:\n"
	"                      never (default: 0; where systemd has started "
	"it\n"
	"                      for a recording, 300)\n"
	"      --table-memory B  for tables in the kernel; K, M, G (512M)\n"
	"      --unwind ORDER  serves recordings with this --unwind\n"
	"      --stack-copy BYTES  and with this --stack-copy\n"
	"  -q, --quiet         says nothing but errors\n"
	"  -h, --help          this text\n\n"
	"Ends at SIGTERM, SIGINT and SIGHUP. The exit status is 0 then and "
	"when idle,\n"
	"1 where nothing can be shared, 2 for a wrong command line.\n";

enum { OPT_IDLE = 256, OPT_TABLE_MEMORY, OPT_UNWIND, OPT_STACK_COPY };

static const struct option options[] = {
	{"idle", required_argument, NULL, OPT_IDLE},
	{"table-memory", required_argument, NULL, OPT_TABLE_MEMORY},
	{"unwind", required_argument, NULL, OPT_UNWIND},
	{"stack-copy", required_argument, NULL, OPT_STACK_COPY},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

#define IDLE_BY_SOCKET 300
#define NS_PER_S 1000000000ULL
/* From a knock until who knocked is there, and how much longer than is idle
 * anybody's knocks are waited for. */
#define COMING_NS (2 * NS_PER_S)
#define MAX_COMING_NS (5 * NS_PER_S)
#define MAX_IDLE 86400
/* Less holds not even the C library's. */
#define MIN_TABLE_MEMORY (1ULL << 20)
#define MAX_TABLE_MEMORY (1ULL << 30)

struct serve {
	struct seam_serve_opts opts;
	long idle_s; /* negative: nobody said */
	bool quiet;
	int socket;
};

static volatile sig_atomic_t ended, is_open;

/* Until it is open, which may wait for another, there is nothing that the
 * kernel does not take back by itself. */
static const int ends[] = {SIGTERM, SIGINT, SIGHUP};

static void on_signal(int signo)
{
	(void)signo;
	if (!is_open)
		_exit(0);
	ended = 1;
}

static int bad(const char *option, const char *value, const char *want)
{
	say("seam: serve: --%s '%s': %s\n", option, value, want);
	return 2;
}

/* As seam record takes them. Return: -1 to go on; else the exit status. */
static int on_number(struct serve *s, int opt)
{
	uint64_t v = 0;
	int err = cli_number(optarg, opt != OPT_IDLE, &v);

	switch (opt) {
	case OPT_IDLE:
		s->idle_s = (long)v;
		return err || v > MAX_IDLE
			       ? bad("idle", optarg, "want 0 to 86400 seconds")
			       : -1;
	case OPT_TABLE_MEMORY:
		s->opts.table_memory = v;
		return err || v < MIN_TABLE_MEMORY || v > MAX_TABLE_MEMORY
			       ? bad("table-memory", optarg,
				     "want 1M to 1G, as in 512M")
			       : -1;
	default:
		s->opts.stack_copy = (uint32_t)v;
		return err || v < 256 || v > 65536
			       ? bad("stack-copy", optarg, "want 256 to 65536")
			       : -1;
	}
}

/* Return: as on_number. */
static int on_option(struct serve *s, int opt)
{
	switch (opt) {
	case OPT_UNWIND:
		s->opts.unwind = optarg;
		return -1;
	case 'q':
		s->quiet = true;
		return -1;
	case 'h':
		fputs(help, stdout);
		return 0;
	default:
		return on_number(s, opt);
	}
}

static int parse(struct serve *s, int argc, char **argv)
{
	int opt, status = -1;

	optind = 1;
	while (status < 0 &&
	       (opt = getopt_long(argc, argv, "qh", options, NULL)) != -1)
		status = opt == '?' ? bad_option("serve", argv)
				    : on_option(s, opt);
	if (status < 0 && optind < argc) {
		say("seam: serve: '%s' is not expected here\n", argv[optind]);
		status = 2;
	}
	if (s->idle_s < 0)
		s->idle_s = s->socket >= 0 ? IDLE_BY_SOCKET : 0;
	return status;
}

/* Until there is something to do. Signals come here alone: none is lost
 * between looking for one and waiting. Return: 1: somebody knocked; 0; else
 * -errno. */
static int await(const struct serve *s, const struct seam_serve *serve)
{
	const struct timespec tend = {.tv_nsec = SEAM_SERVE_TEND_MS * 1000000L};
	struct pollfd fds[] = {
		{.fd = seam_serve_fd(serve), .events = POLLIN},
		{.fd = s->socket, .events = POLLIN},
		{.fd = s->opts.opener->socket}, /* tells of its end */
	};
	sigset_t none;

	sigemptyset(&none);
	if (ppoll(fds, 3, &tend, &none) < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[2].revents)
		return -ESHUTDOWN;
	if (!(fds[1].revents & POLLIN))
		return 0;
	serve_accept(s->socket);
	return 1;
}

/* Recordings of other builds and ways to unwind knock too, and are not served
 * here: a knock is nobody's use until a client comes. But one that has just
 * knocked may be about to. */
static bool is_idle(const struct serve *s, uint64_t used_ns,
		    uint64_t knocked_ns)
{
	const uint64_t now = seam_now_ns();
	const uint64_t end = used_ns + (uint64_t)s->idle_s * NS_PER_S;

	return s->idle_s && now > end &&
	       (now > knocked_ns + COMING_NS || now > end + MAX_COMING_NS);
}

static int work(const struct serve *s, struct seam_serve *serve)
{
	uint64_t used_ns = seam_now_ns(), knocked_ns = 0;
	int err = 0;

	while (!err && !ended) {
		int came = await(s, serve);

		err = came < 0 ? came : seam_serve_work(serve);
		if (came > 0)
			knocked_ns = seam_now_ns();
		if (seam_serve_has_clients(serve))
			used_ns = seam_now_ns();
		if (is_idle(s, used_ns, knocked_ns))
			break;
	}
	return err;
}

static void take_signals(void)
{
	const struct sigaction action = {.sa_handler = on_signal};
	struct sigaction was;

	/* An ignored one, as by nohup, stays so. */
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (!sigaction(ends[i], NULL, &was) &&
		    was.sa_handler != SIG_IGN)
			sigaction(ends[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN); /* nobody may be there to be told anything */
}

static void hold_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaddset(&set, ends[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	is_open = 1;
}

static int fail(int err, const char *what, const char *reason)
{
	say("seam: serve: %s%s%s\n", what, *what ? ": " : "",
	    reason && *reason ? reason : strerror(-err));
	return 1;
}

/* From the first moment on: what is opened later it does not have. */
static int begin_opener(struct seam_opener *ret)
{
	int err = seam_opener_begin(serve_confine_opener, ret);

	return err ? fail(err, "no process to open files", NULL) : 0;
}

static int serve_till_end(const struct serve *s, struct seam_serve *serve)
{
	bool has_files;
	int err = serve_confine(&has_files);

	if (!err) {
		serve_notify("READY=1");
		if (!s->quiet)
			say("seam: serve: at work%s\n",
			    has_files ? "; this kernel has no Landlock: root's "
					"files are open to it"
				      : "");
		err = work(s, serve);
	}
	serve_notify("STOPPING=1");
	if (!err)
		return 0;
	return fail(err, "cannot go on",
		    err == -ESHUTDOWN ? "what opens its files has ended" : "");
}

int cmd_serve(int argc, char **argv)
{
	struct serve s = {.opts = {.table_memory = 512ULL << 20},
			  .idle_s = -1,
			  .socket = serve_socket()};
	struct seam_errinfo why = {0};
	struct seam_opener opener;
	struct seam_serve *serve;
	int status = parse(&s, argc, argv), err;

	if (status >= 0)
		return status;
	take_signals();
	/* Now, or who cannot begin is started for the same knock again. */
	if (s.socket >= 0)
		serve_accept(s.socket);
	status = begin_opener(&opener);
	if (status)
		return status;
	s.opts.opener = &opener;
	err = seam_serve_open(&s.opts, &serve, &why);
	if (err)
		return fail(err, "", why.reason);
	hold_signals();
	status = serve_till_end(&s, serve);
	seam_serve_close(serve);
	seam_opener_end(&opener);
	return status;
}
