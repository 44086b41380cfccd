// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* seam inject: a recording whose samples hold their whole stacks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/input-kernel.h"
#include "cli/input.h"
#include "cli/json-summary.h"
#include "cli/merge.h"
#include "cli/messages.h"
#include "inject/unmerge.h"
#include "perfdata/copy.h"
#include "seam/tracer.h"
#include "symbol/kernel-code.h"

static const char help[] =
	"usage: seam inject [--unmerge] [-i FILE] -o FILE\n\n"
	"Writes a recording in which each sample holds its whole stack, for\n"
	"tools that do not join user stacks to samples.\n\n"
	"      --unmerge       the reverse: user stacks in records of their "
	"own\n"
	"  -i, --input FILE    the recording, '-' for standard input\n"
	"                      (default: perf.data)\n"
	"  -o, --output FILE   what to write, a perf.data; '-' for standard\n"
	"                      output, of a pipe's recording\n"
	"      --kallsyms FILE kernel symbols (default: this kernel's)\n"
	"  -f, --force         does nothing: whose the recording is is not\n"
	"                      asked\n"
	"      --json-summary FILE\n"
	"                      what was counted, as JSON\n"
	"  -h, --help          this text\n\n"
	"What the merged form cannot hold: see seam-inject(1).\n";

enum { OPT_UNMERGE = 256 };

static const struct option options[] = {
	{"unmerge", no_argument, NULL, OPT_UNMERGE},
	{"input", required_argument, NULL, 'i'},
	{"output", required_argument, NULL, 'o'},
	{"force", no_argument, NULL, 'f'},
	{"json-summary", required_argument, NULL, INPUT_OPT_SUMMARY},
	{"kallsyms", required_argument, NULL, INPUT_OPT_KSYMS},
	{"help", no_argument, NULL, 'h'},
	{0},
};

struct inject {
	struct input in;
	const char *output;
	bool unmerge, piped;
	uint64_t attrs_cut; /* of what is copied as it is */
	bool inflated, filed; /* the same */
	int made; /* what writing it came to */
	struct seam_injected done;
	struct seam_unmerged undone;
};

static int take_option(void *ctx, int option)
{
	struct inject *inject = ctx;

	if (option == 'o')
		inject->output = optarg;
	if (option == OPT_UNMERGE)
		inject->unmerge = true;
	return 0;
}

/* What the output's file cannot fail with; NULL: it has. */
static const char *input_problem(int rc)
{
	switch (rc) {
	case -ENOMEM:
		return strerror(ENOMEM);
	case -E2BIG:
		return "the recording has too many records";
	case -EOVERFLOW:
		return "its copies of stacks have too many frames";
	case -EOPNOTSUPP:
		return "not written: an event's attribute says something "
		       "beyond its 128th byte, and perf 6.1 opens no longer "
		       "ones";
	}
	return NULL;
}

static int fail(const struct inject *inject, int rc)
{
	const char *why = inject->made == rc ? input_problem(rc) : NULL;
	const char *path = why ? inject->in.path : inject->output;

	if (!why)
		why = rc == -EINVAL ? "it is no regular file" : strerror(-rc);
	say("seam: %s: %s\n", path, why);
	return 1;
}

static void tell(const struct inject *inject)
{
	const struct seam_injected *n = &inject->done;
	const struct seam_stitch_stats *joins = &n->joins;
	static const int ends[] = {SEAM_LOST, SEAM_PENDING, SEAM_NO_TABLE};
	const struct {
		uint64_t n;
		const char *what;
	} v[] = {
		{n->cut, "stacks cut: a record has no room for all frames"},
		{joins->stacks_unused,
		 "user stacks left out: they serve no sample"},
		{joins->end[SEAM_GUESSED],
		 "stacks with guessed frames, which seam alone shows as such"},
	};

	say("seam: %s: %llu samples, %llu got their user stack, %llu "
	    "did not\n",
	    inject->output, (unsigned long long)joins->samples,
	    (unsigned long long)n->merged, (unsigned long long)n->missing);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (joins->end[ends[i]])
			say("seam: %s: %llu %s: %s\n", inject->output,
			    (unsigned long long)joins->end[ends[i]],
			    seam_err_name(ends[i]), seam_err_text(ends[i]));
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++)
		if (v[i].n)
			say("seam: %s: %llu %s\n", inject->output,
			    (unsigned long long)v[i].n, v[i].what);
}

static void tell_unmerged(const struct inject *inject)
{
	const struct seam_unmerged *n = &inject->undone;

	say("seam: %s: %llu samples, %llu have a record for their user "
	    "stack\n",
	    inject->output, (unsigned long long)n->samples,
	    (unsigned long long)n->stacks);
	if (n->kept)
		say("seam: %s: %llu samples keep their user stack: a "
		    "record cannot hold it\n",
		    inject->output, (unsigned long long)n->kept);
}

static void tell_copied(const struct inject *inject)
{
	const char *cut = inject->inflated ? " and without zeros at the end of "
					     "attributes"
					   : ", but for zeros at the end of "
					     "attributes";
	bool changed = inject->inflated || inject->attrs_cut;

	say("seam: %s: %s: copied as it is%s%s%s%s\n", inject->in.path,
	    inject->unmerge ? "no user stacks are in samples alone"
			    : "no sample waits for a user stack",
	    inject->inflated ? ", but not compressed" : "",
	    inject->attrs_cut ? cut : "",
	    changed && !inject->filed ? ", for perf 6.1" : "",
	    inject->filed ? ", in the form for files" : "");
}

/* The same for programs. rc: of write_to. */
static int write_counts(const struct inject *inject, int rc)
{
	const struct seam_stitch_stats *joins = NULL;
	char more[160];

	if (!rc) {
		snprintf(more, sizeof(more), "\"copied\":{\"samples\":%llu}",
			 (unsigned long long)seam_pd_count(inject->in.reader,
							   PERF_RECORD_SAMPLE));
	} else if (inject->unmerge) {
		snprintf(more, sizeof(more),
			 "\"unmerged\":{\"samples\":%llu,\"stacks\":%llu,"
			 "\"kept\":%llu}",
			 (unsigned long long)inject->undone.samples,
			 (unsigned long long)inject->undone.stacks,
			 (unsigned long long)inject->undone.kept);
	} else {
		joins = &inject->done.joins;
		snprintf(more, sizeof(more),
			 "\"merged\":{\"stacks\":%llu,\"missing\":%llu,"
			 "\"cut\":%llu}",
			 (unsigned long long)inject->done.merged,
			 (unsigned long long)inject->done.missing,
			 (unsigned long long)inject->done.cut);
	}
	return json_summary_write(&inject->in, joins, more);
}

/* What perf 6.1 cannot decompress it gets decompressed, and so is what becomes
 * a file. */
static int copy_to(struct inject *inject, int fd)
{
	struct seam_pd_reader *r = inject->in.reader;
	const struct seam_pd_info *info = seam_pd_info(r);

	inject->filed = info->pipe && !inject->piped && seam_pd_n_events(r);
	inject->inflated = inject->filed
				   ? info->compressed
				   : !inject->unmerge && info->newly_compressed;
	if (inject->filed || inject->inflated)
		return seam_pd_copy_plain(r, fd, inject->filed, inject->unmerge,
					  &inject->attrs_cut);
	return seam_pd_copy_bytes(r, fd, !inject->unmerge, &inject->attrs_cut);
}

/* Where nothing is to be done every byte stays; but one file is written,
 * also of a folder. Return: 1 if it was merged, 0 if copied, -errno. */
static int make(struct inject *inject, int fd)
{
	const struct seam_inject_opts opts = {.kallsyms = inject->in.kallsyms,
					      .to_file = !inject->piped};
	struct seam_pd_reader *r = inject->in.reader;
	int rc = -EISDIR;

	if (inject->unmerge ? !seam_unmerge_needed(r) : !seam_inject_needed(r))
		rc = copy_to(inject, fd);
	if (rc != -EISDIR)
		return rc;
	if (inject->unmerge)
		rc = seam_unmerge(r, fd, !inject->piped, &inject->undone);
	else
		rc = merge_into(r, inject->in.path, fd, opts, &inject->done);
	return rc ? rc : 1;
}

static int write_to(void *ctx, int fd)
{
	struct inject *inject = ctx;

	return inject->made = make(inject, fd);
}

/* What a pipe's reader reads: a file's recording would have to become another.
 */
static int check_pipe(const struct inject *inject)
{
	if (!inject->piped || seam_pd_info(inject->in.reader)->pipe)
		return 0;
	say("seam: %s: it is in the form for files, which perf reads from "
	    "no pipe; name a file with -o\n",
	    inject->in.path);
	return 1;
}

static const char *kallsyms_problem(const char *path, int rc)
{
	if (rc == -EACCES && !access(path, R_OK))
		return "it has no addresses: copy /proc/kallsyms as root";
	if (rc == -ENOENT && !access(path, R_OK))
		return "it is no kernel's /proc/kallsyms";
	if (rc == -E2BIG)
		return "it has too many functions that save registers";
	return rc == -ESPIPE ? "it is no regular file" : strerror(-rc);
}

/* Of a file that was given all that it has is expected. */
static int check_kallsyms(const char *path)
{
	struct seam_kernel_entry entry;
	struct seam_kernel_doors doors;
	struct stat st;
	int rc;

	if (!path)
		return 0;
	rc = stat(path, &st) ? -errno : 0;
	if (!rc && !S_ISREG(st.st_mode))
		rc = -ESPIPE;
	if (!rc)
		rc = seam_kernel_code_read(path, &entry, &doors);
	if (!rc)
		return 0;
	say("seam: %s: %s\n", path, kallsyms_problem(path, rc));
	return 1;
}

static int run(struct inject *inject)
{
	struct input *in = &inject->in;
	int rc;

	if (check_kallsyms(in->kallsyms) || input_open_reader(in) ||
	    input_find_kallsyms(in) || check_pipe(inject))
		return 1;
	if (!inject->piped && input_is(&inject->in, inject->output)) {
		say("seam: %s: it is the recording that is read; give "
		    "another name with -o\n",
		    inject->output);
		return 1;
	}
	rc = inject->piped ? merge_pipe(STDOUT_FILENO, write_to, inject)
			   : merge_replace(inject->output, write_to, inject);
	if (rc < 0)
		return fail(inject, rc);
	if (!rc)
		tell_copied(inject);
	else if (inject->unmerge)
		tell_unmerged(inject);
	else
		tell(inject);
	input_warn_joins(in, &inject->done.joins);
	input_warn_copies(in, &inject->done.joins);
	input_warn_reader(in);
	return write_counts(inject, rc) ? 1 : 0;
}

int cmd_inject(int argc, char **argv)
{
	struct inject inject = {.in = INPUT_INIT};
	const struct input_command command = {.name = "inject",
					      .help = help,
					      .options = options,
					      .letters = "i:o:fh",
					      .take = take_option,
					      .ctx = &inject};
	int status = input_parse(&inject.in, &command, argc, argv);

	if (status)
		return status < 0 ? 0 : status;
	inject.piped = inject.output && !strcmp(inject.output, "-");
	if (!inject.output || (inject.piped && isatty(STDOUT_FILENO))) {
		say("seam inject: %s; name a file with -o\n",
		    inject.output ? "standard output is a terminal"
				  : "where to write is not said");
		return 2;
	}
	if (inject.piped)
		inject.output = "standard output";
	status = run(&inject);
	input_close(&inject.in);
	return status;
}
