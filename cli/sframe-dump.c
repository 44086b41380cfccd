// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* seam sframe dump: a section as objdump --sframe prints it, or as JSON. */
#include <getopt.h>
#include <stdio.h>

#include "cli/input.h"
#include "cli/messages.h"
#include "cli/sframe.h"
#include "report/sframe-text.h"

static const char help[] =
	"usage: seam sframe dump [--json] FILE\n\n"
	"Prints the SFrame section of an ELF file, or of a file that is such "
	"a\n"
	"section, in the layout of binutils' objdump. Versions 1 to 3, of\n"
	"x86-64, aarch64 and s390x.\n\n"
	"      --json          one JSON object with every field\n"
	"  -h, --help          this text\n\n"
	"The exit status is 1 if anything is malformed; 'seam sframe check'\n"
	"says what.\n";

static const struct option options[] = {
	{"json", no_argument, NULL, SFRAME_OPT_JSON},
	{"help", no_argument, NULL, 'h'},
	{0},
};

/* Return: how many functions are malformed, or -1. */
static int print_functions(const struct seam_sframe_file *f,
			   const struct seam_sframe *sf, bool json,
			   struct seam_strbuf *b)
{
	int malformed = 0;

	for (uint32_t i = 0; i < sf->num_fdes; i++) {
		malformed |= json ? seam_sframe_json_func(b, f, sf, i)
				  : seam_sframe_text_func(b, f, sf, i);
		if (b->len >= 1 << 16 && input_emit(b))
			return -1;
	}
	return malformed;
}

static int dump(const char *path, const struct seam_sframe_file *f, bool json)
{
	struct seam_errinfo err = {0};
	struct seam_strbuf b = {0};
	struct seam_sframe sf;
	int rc = seam_sframe_file_open(f, &sf, &err);
	int malformed;

	if (rc)
		return sframe_complain(path, rc, &err);
	if (json)
		seam_sframe_json_head(&b, path, f, &sf);
	else
		seam_sframe_text_head(&b, path, f, &sf);
	malformed = print_functions(f, &sf, json, &b);
	if (json)
		seam_sframe_json_tail(&b);
	rc = malformed < 0 || input_emit(&b) ? -1 : 0;
	seam_strbuf_fini(&b);
	if (!rc && malformed)
		say("seam: %s: parts of the section are malformed\n", path);
	return malformed ? -1 : rc;
}

int sframe_dump(int argc, char **argv)
{
	const struct sframe_options o = {.verb = "dump",
					 .help = help,
					 .options = options,
					 .one_file = true};
	struct seam_sframe_file f;
	struct sframe_input in;
	bool json = false;
	int status = sframe_parse(&o, argc, argv, &json), rc;

	if (status)
		return status < 0 ? 0 : status;
	if (sframe_input_open(&in, argv[optind], true))
		return 1;
	rc = sframe_input_section(&in, false, &f);
	if (!rc) {
		rc = dump(in.path, &f, json);
		seam_sframe_file_fini(&f);
	}
	sframe_input_close(&in);
	return input_finish() || rc ? 1 : 0;
}
