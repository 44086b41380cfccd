// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* seam sframe check: what is wrong with a section, and where. */
#include <getopt.h>
#include <stdio.h>

#include "cli/input.h"
#include "cli/sframe.h"
#include "report/text.h"
#include "sframe/check.h"

static const char help[] =
	"usage: seam sframe check [--json] FILE...\n\n"
	"Checks the SFrame sections of ELF files, or of files that are such\n"
	"sections: each byte that a reader would look at, how the file\n"
	"presents the section, and whether the loader that is proposed for\n"
	"Linux would take it.\n\n"
	"      --json          one JSON object a line and file\n"
	"  -h, --help          this text\n\n"
	"The exit status is 0 if all are well, 1 if one is malformed, has no\n"
	"section or cannot be read. That the section is not presented as it\n"
	"should be, or not what the kernel takes, is said, but no failure.\n";

static const struct option options[] = {
	{"json", no_argument, NULL, SFRAME_OPT_JSON},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const char *const severities[] = {
	[SEAM_SFRAME_MALFORMED] = "malformed",
	[SEAM_SFRAME_MISPLACED] = "misplaced",
	[SEAM_SFRAME_NO_LOADER] = "no-loader",
};

static void print_text(struct seam_strbuf *b, const char *path,
		       const struct seam_sframe_findings *found, bool is_well)
{
	for (size_t i = 0; i < found->n; i++) {
		const struct seam_sframe_finding *v = &found->v[i];

		seam_strbuf_plain(b, path);
		seam_strbuf_printf(b, ": %s: %s, offset 0x%llx: %s\n",
				   severities[v->severity], v->err.where,
				   (unsigned long long)v->err.offset,
				   v->err.reason);
	}
	if (is_well) {
		seam_strbuf_plain(b, path);
		seam_strbuf_puts(b, ": well\n");
	}
}

static void print_json(struct seam_strbuf *b, const char *path,
		       const struct seam_sframe_file *f,
		       const struct seam_sframe_findings *found, bool is_well)
{
	seam_strbuf_puts(b, "{\"file\":");
	seam_json_string(b, path);
	seam_strbuf_printf(
		b, ",\"well\":%s,\"section_offset\":%llu,\"findings\":[",
		is_well ? "true" : "false", (unsigned long long)f->off);
	for (size_t i = 0; i < found->n; i++) {
		const struct seam_sframe_finding *v = &found->v[i];

		seam_strbuf_printf(b,
				   "%s{\"severity\":\"%s\",\"code\":\"%s\","
				   "\"where\":\"%s\",\"offset\":%llu,"
				   "\"reason\":",
				   i ? "," : "", severities[v->severity],
				   seam_err_name(v->err.code), v->err.where,
				   (unsigned long long)v->err.offset);
		seam_json_string(b, v->err.reason);
		seam_strbuf_puts(b, "}");
	}
	seam_strbuf_puts(b, "]}\n");
}

static int check(const char *path, const struct seam_sframe_file *f, bool json)
{
	struct seam_sframe_findings found;
	struct seam_strbuf b = {0};
	bool is_well = true;
	int rc;

	seam_sframe_check(f, &found);
	for (size_t i = 0; i < found.n; i++)
		if (found.v[i].severity == SEAM_SFRAME_MALFORMED)
			is_well = false;
	if (json)
		print_json(&b, path, f, &found, is_well);
	else
		print_text(&b, path, &found, is_well);
	rc = input_emit(&b);
	seam_strbuf_fini(&b);
	return rc || !is_well ? -1 : 0;
}

static int check_file(const char *path, bool json)
{
	struct seam_sframe_file f;
	struct sframe_input in;
	int rc;

	if (sframe_input_open(&in, path, true))
		return -1;
	rc = sframe_input_section(&in, false, &f);
	if (!rc) {
		rc = check(path, &f, json);
		seam_sframe_file_fini(&f);
	}
	sframe_input_close(&in);
	return rc;
}

int sframe_check(int argc, char **argv)
{
	const struct sframe_options o = {
		.verb = "check", .help = help, .options = options};
	bool json = false, failed = false;
	int status = sframe_parse(&o, argc, argv, &json);

	if (status)
		return status < 0 ? 0 : status;
	for (int i = optind; i < argc; i++)
		failed |= check_file(argv[i], json) != 0;
	return input_finish() || failed ? 1 : 0;
}
