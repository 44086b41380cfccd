// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* seam sframe: finds the verb and runs it. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/bad-option.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/sframe.h"

/* A section by itself is smaller: offsets in it have 32 bits. */
#define RAW_MAX (UINT64_C(1) << 32)

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} verbs[] = {
	{"dump", sframe_dump, "print a file's SFrame section"},
	{"check", sframe_check, "say what is wrong with it, and where"},
	{"stat", sframe_stat, "say how much code it covers, and how well"},
	{"make", sframe_make, "give a file a section made of its CFI"},
	{NULL, NULL, NULL},
};

static void usage(FILE *to)
{
	fputs("usage: seam sframe VERB [OPTIONS] FILE\n", to);
	fputs("\n", to);
	for (const struct verb *v = verbs; v->name; v++)
		fprintf(to, "  %-8s %s\n", v->name, v->help);
	fputs("\n", to);
	fputs("'seam sframe VERB --help' and seam-sframe(1) say more.\n", to);
}

int cmd_sframe(int argc, char **argv)
{
	if (argc < 2) {
		say("seam sframe: which verb? dump, check, stat and make "
		    "are\n");
		return 2;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		usage(stdout);
		return 0;
	}
	for (const struct verb *v = verbs; v->name; v++)
		if (!strcmp(argv[1], v->name))
			return v->run(argc - 1, argv + 1);
	say("seam sframe: '%s' is no verb; dump, check, stat and make "
	    "are\n",
	    argv[1]);
	return 2;
}

static int bad_verb_option(const struct sframe_options *o, char **argv)
{
	char command[32];

	snprintf(command, sizeof(command), "sframe %s", o->verb);
	return bad_option(command, argv);
}

int sframe_parse(const struct sframe_options *o, int argc, char **argv,
		 bool *ret_json)
{
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, o->has_out ? "o:h" : "h",
				o->options, NULL)) != -1) {
		if (c == 'h') {
			fputs(o->help, stdout);
			return -1;
		}
		if (c == SFRAME_OPT_JSON)
			*ret_json = true;
		else if (c == '?' || !o->take || o->take(o->ctx, c))
			return bad_verb_option(o, argv);
	}
	if (optind == argc) {
		say("seam sframe %s: which file?\n", o->verb);
		return 2;
	}
	if (o->one_file && optind + 1 < argc) {
		say("seam sframe %s: one file, not '%s' as well\n", o->verb,
		    argv[optind + 1]);
		return 2;
	}
	return 0;
}

int sframe_complain(const char *path, int rc, const struct seam_errinfo *err)
{
	if (!err || !err->reason[0])
		say("seam: %s: %s\n", path, strerror(-rc));
	else if (err->where[0])
		say("seam: %s: %s, offset 0x%llx: %s\n", path, err->where,
		    (unsigned long long)err->offset, err->reason);
	else
		say("seam: %s: %s\n", path, err->reason);
	return -1;
}

/* Whether the file begins as a section does, in either byte order. */
static bool is_raw(int fd)
{
	uint8_t m[2];

	return pread(fd, m, sizeof(m), 0) == sizeof(m) &&
	       ((m[0] == 0xe2 && m[1] == 0xde) ||
		(m[0] == 0xde && m[1] == 0xe2));
}

static int read_raw(struct sframe_input *in)
{
	struct stat st;
	size_t have = 0;
	ssize_t n = 1;

	if (fstat(in->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size >= RAW_MAX)
		return -EFBIG;
	in->raw_size = (size_t)st.st_size;
	in->raw = malloc(in->raw_size);
	if (!in->raw)
		return -ENOMEM;
	while (have < in->raw_size && n > 0) {
		n = pread(in->fd, (char *)in->raw + have, in->raw_size - have,
			  (off_t)have);
		if (n < 0)
			return -errno;
		have += (size_t)n;
	}
	in->raw_size = have;
	return 0;
}

int sframe_input_open(struct sframe_input *in, const char *path, bool raw_too)
{
	struct seam_errinfo err = {0};
	int rc;

	*in = (struct sframe_input){.path = path};
	in->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (in->fd < 0)
		return sframe_complain(path, -errno, NULL);
	if (raw_too && is_raw(in->fd))
		rc = read_raw(in);
	else
		rc = seam_elf_open_fd(in->fd, SEAM_ELF_COPY, &in->elf, &err);
	if (!rc)
		return 0;
	sframe_complain(path, rc, &err);
	sframe_input_close(in);
	return -1;
}

void sframe_input_close(struct sframe_input *in)
{
	seam_elf_close(in->elf);
	free(in->raw);
	if (in->fd >= 0)
		close(in->fd);
	*in = (struct sframe_input){.fd = -1};
}

int sframe_input_section(struct sframe_input *in, bool quiet,
			 struct seam_sframe_file *ret)
{
	struct seam_errinfo err = {0};
	int rc;

	if (!in->elf) {
		seam_sframe_file_raw(in->raw, in->raw_size, ret);
		return 0;
	}
	rc = seam_sframe_file_find(in->elf, ret, &err);
	if (!rc)
		return 0;
	if (rc != -ENOENT)
		return sframe_complain(in->path, rc, &err);
	if (!quiet)
		say("seam: %s: it has no SFrame section; 'seam sframe "
		    "make' adds one\n",
		    in->path);
	return 1;
}
