// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* seam sframe make: a file with a section made of its CFI. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/messages.h"
#include "cli/replaced.h"
#include "cli/sframe.h"
#include "report/strbuf.h"
#include "table/into-elf.h"

static const char help[] =
	"usage: seam sframe make FILE -o OUT\n"
	"       seam sframe make FILE --in-place\n"
	"       seam sframe make FILE --detached -o OUT\n\n"
	"Makes SFrame of the CFI of an executable or a shared library, and\n"
	"writes the file with it: a section .sframe, loaded, with a program\n"
	"header PT_GNU_SFRAME. One that is there is replaced.\n\n"
	"  -o, --output OUT    where to; not FILE itself\n"
	"      --in-place      write over FILE\n"
	"      --detached      the section alone, as it would be at address 0\n"
	"      --format N      version 3 (default), or 2 for what reads only "
	"that\n"
	"      --json          what was made, as one JSON object\n"
	"  -h, --help          this text\n\n"
	"OUT is there whole or not at all, with FILE's permissions.\n";

enum { OPT_IN_PLACE = 256, OPT_DETACHED, OPT_FORMAT };

static const struct option options[] = {
	{"output", required_argument, NULL, 'o'},
	{"in-place", no_argument, NULL, OPT_IN_PLACE},
	{"detached", no_argument, NULL, OPT_DETACHED},
	{"format", required_argument, NULL, OPT_FORMAT},
	{"json", no_argument, NULL, SFRAME_OPT_JSON},
	{"help", no_argument, NULL, 'h'},
	{0},
};

struct make {
	const char *out;
	uint8_t version;
	bool in_place, detached, json;
	const struct sframe_input *in;
	struct seam_table_in_elf made;
	bool told; /* why it cannot be made */
};

static int take_format(struct make *m, const char *text)
{
	if (strcmp(text, "2") != 0 && strcmp(text, "3") != 0) {
		say("seam sframe make: --format takes 2 or 3, not '%s'\n",
		    text);
		return -1;
	}
	m->version = (uint8_t)(*text - '0');
	return 0;
}

static int take(void *ctx, int option)
{
	struct make *m = ctx;

	if (option == OPT_FORMAT)
		return take_format(m, optarg);
	if (option == 'o')
		m->out = optarg;
	else if (option == OPT_IN_PLACE)
		m->in_place = true;
	else
		m->detached = true;
	return 0;
}

/* Said on stderr. */
static int check_usage(const struct make *m)
{
	if (m->in_place && (m->out || m->detached)) {
		say("seam sframe make: --in-place goes with neither -o nor "
		    "--detached\n");
		return -1;
	}
	if (!m->in_place && !m->out) {
		say("seam sframe make: where to? -o OUT, or --in-place\n");
		return -1;
	}
	return 0;
}

static bool is_same(int fd, const char *path)
{
	struct stat a, b;

	return !fstat(fd, &a) && !stat(path, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

static int write_detached(const struct seam_elf *elf, uint8_t version, int fd,
			  struct seam_table_in_elf *ret,
			  struct seam_errinfo *err)
{
	uint8_t *bytes;
	size_t size, done = 0;
	int rc = seam_table_of_elf(elf, version, &bytes, &size, &ret->stats,
				   err);

	if (rc)
		return rc;
	while (!rc && done < size) {
		ssize_t n = write(fd, bytes + done, size - done);

		if (n < 0)
			rc = -errno;
		else
			done += (size_t)n;
	}
	ret->size = size;
	free(bytes);
	return rc;
}

static int print_made(const struct make *m, const char *path,
		      const struct seam_table_in_elf *in)
{
	const struct seam_table_stats *s = &in->stats;
	struct seam_strbuf b = {0};
	int rc;

	if (m->json) {
		seam_strbuf_printf(
			&b,
			"{\"address\":%llu,\"size\":%llu,\"in_place\":%s,"
			"\"functions\":%llu,\"rows\":%llu,\"code_bytes\":%llu,"
			"\"hole_bytes\":%llu}\n",
			(unsigned long long)in->svma,
			(unsigned long long)in->size,
			in->in_place ? "true" : "false",
			(unsigned long long)s->functions,
			(unsigned long long)s->rows,
			(unsigned long long)s->code_bytes,
			(unsigned long long)s->hole_bytes);
	} else {
		seam_strbuf_plain(&b, path);
		seam_strbuf_printf(
			&b,
			": %llu functions, %llu rows, %llu bytes at 0x%llx\n",
			(unsigned long long)s->functions,
			(unsigned long long)s->rows,
			(unsigned long long)in->size,
			(unsigned long long)in->svma);
	}
	rc = input_emit(&b);
	seam_strbuf_fini(&b);
	return rc;
}

static void say_lost(void *ctx, const char *name, int rc)
{
	const struct make *m = ctx;

	say("seam sframe make: %s: %s was not kept: %s\n", m->out, name,
	    strerror(-rc));
}

/* Return: 0 or -1, said on stderr. */
static int write_to(void *ctx, int fd)
{
	struct make *m = ctx;
	struct seam_errinfo err = {0};
	int rc = m->detached ? write_detached(m->in->elf, m->version, fd,
					      &m->made, &err)
			     : seam_table_into_elf(m->in->elf, m->version, fd,
						   &m->made, &err);

	if (!rc)
		return 0;
	m->told = true;
	return sframe_complain(m->in->path, rc, &err);
}

static int complain(const struct make *m, int rc)
{
	struct seam_errinfo err = {.reason = "it is no regular file"};

	return sframe_complain(m->out, rc, rc == -EINVAL ? &err : NULL);
}

static int make(struct make *m, const struct sframe_input *in)
{
	const struct replaced r = {.path = m->out,
				   .like_fd = m->detached ? -1 : in->fd,
				   .lost = say_lost,
				   .make = write_to,
				   .ctx = m};
	int rc;

	m->in = in;
	rc = replaced(&r);
	if (rc)
		return m->told ? rc : complain(m, rc);
	return print_made(m, m->in_place ? in->path : m->out, &m->made);
}

int sframe_make(int argc, char **argv)
{
	struct make m = {.version = 3};
	const struct sframe_options o = {.verb = "make",
					 .help = help,
					 .options = options,
					 .take = take,
					 .ctx = &m,
					 .one_file = true,
					 .has_out = true};
	struct sframe_input in;
	char *real = NULL;
	int status = sframe_parse(&o, argc, argv, &m.json), rc;

	if (status)
		return status < 0 ? 0 : status;
	if (check_usage(&m))
		return 2;
	if (sframe_input_open(&in, argv[optind], false))
		return 1;
	/* Of a symbolic link the file that it leads to is meant. */
	if (m.in_place)
		m.out = real = realpath(argv[optind], NULL);
	if (!m.out) {
		rc = sframe_complain(argv[optind], -errno, NULL);
	} else if (!m.in_place && is_same(in.fd, m.out)) {
		say("seam: %s: the same file as %s; --in-place writes "
		    "over it\n",
		    m.out, in.path);
		rc = -1;
	} else {
		rc = make(&m, &in);
	}
	free(real);
	sframe_input_close(&in);
	return input_finish() || rc ? 1 : 0;
}
