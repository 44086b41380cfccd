// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* seam sframe stat: how much code a table covers, and how well. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/input.h"
#include "cli/sframe.h"
#include "report/sframe-stat.h"
#include "table/coverage.h"
#include "table/table.h"

static const char help[] =
	"usage: seam sframe stat [--json] [--made] [--known-bad] FILE...\n\n"
	"Says of how much of the code that a file's CFI covers its SFrame\n"
	"section has a rule, whether the rules agree with the CFI, at each\n"
	"boundary of a row of either, and why there is none. Of a file "
	"without\n"
	"a section, what 'seam sframe make' would make is measured.\n\n"
	"      --made          measure what make would make in any case\n"
	"      --known-bad     say where its CFI is known to be wrong\n"
	"      --json          one JSON object a line and file\n"
	"  -h, --help          this text\n\n"
	"The exit status is 0 if all files could be measured.\n";

enum { OPT_MADE = 256, OPT_KNOWN_BAD };

static const struct option options[] = {
	{"made", no_argument, NULL, OPT_MADE},
	{"known-bad", no_argument, NULL, OPT_KNOWN_BAD},
	{"json", no_argument, NULL, SFRAME_OPT_JSON},
	{"help", no_argument, NULL, 'h'},
	{0},
};

struct wanted {
	bool made_only, known_bad, json;
};

static int take(void *ctx, int option)
{
	struct wanted *w = ctx;

	*(option == OPT_MADE ? &w->made_only : &w->known_bad) = true;
	return 0;
}

static int find_known_bad(struct sframe_input *in, struct seam_sframe_stat *s)
{
	struct seam_errinfo err = {0};
	struct seam_cfi *cfi = NULL;
	int rc = seam_cfi_open(in->elf, &cfi, &err);

	/* Without any CFI that much is known. */
	if (!rc || rc == -ENOENT)
		rc = seam_known_bad_list(in->elf, cfi, in->path, &s->known_bad,
					 &s->num_known_bad);
	seam_cfi_close(cfi);
	s->has_known_bad = true;
	return rc ? sframe_complain(in->path, rc, &err) : 0;
}

/* What was made is only needed for its size where there is a section. */
static int measure(struct sframe_input *in, bool made_only,
		   struct seam_sframe_stat *s)
{
	struct seam_errinfo err = {0};
	struct seam_sframe_file f = {0};
	struct seam_sframe sf;
	uint8_t *made = NULL;
	int rc, section = 1;

	if (!made_only) {
		section = sframe_input_section(in, true, &f);
		if (section < 0)
			return -1;
	}
	rc = seam_table_build(in->elf, &made, &s->made_size, &s->made, &err);
	if (rc)
		goto out;
	if (section)
		seam_sframe_file_raw(made, s->made_size, &f);
	s->is_made = section;
	s->section_size = f.size;
	rc = seam_sframe_file_open(&f, &sf, &err);
	if (!rc) {
		s->version = sf.version;
		rc = seam_coverage(in->elf, &sf, f.svma, &s->coverage, &err);
	}
out:
	seam_sframe_file_fini(&f);
	free(made);
	return rc ? sframe_complain(in->path, rc, &err) : 0;
}

static int stat_file(const char *path, const struct wanted *w)
{
	struct seam_sframe_stat s = {.path = path};
	struct seam_strbuf b = {0};
	struct sframe_input in;
	int rc;

	if (sframe_input_open(&in, path, false))
		return -1;
	rc = measure(&in, w->made_only, &s);
	if (!rc && w->known_bad)
		rc = find_known_bad(&in, &s);
	if (!rc) {
		seam_sframe_stat_sizes(in.elf, &s);
		if (w->json)
			seam_sframe_stat_json(&b, &s);
		else
			seam_sframe_stat_text(&b, &s);
		rc = input_emit(&b);
	}
	seam_strbuf_fini(&b);
	free(s.known_bad);
	sframe_input_close(&in);
	return rc;
}

int sframe_stat(int argc, char **argv)
{
	struct wanted w = {0};
	bool failed = false;
	const struct sframe_options o = {.verb = "stat",
					 .help = help,
					 .options = options,
					 .take = take,
					 .ctx = &w};
	int status = sframe_parse(&o, argc, argv, &w.json);

	if (status)
		return status < 0 ? 0 : status;
	for (int i = optind; i < argc; i++)
		failed |= stat_file(argv[i], &w) != 0;
	return input_finish() || failed ? 1 : 0;
}
