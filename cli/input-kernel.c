// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/input-kernel.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "cli/doubts.h"
#include "cli/messages.h"
#include "elf/doubt.h"
#include "stitch/here.h"

/* It is opened more than once. */
static bool is_no_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode);
}

int input_find_kallsyms(struct input *in)
{
	int rc;

	if (in->kallsyms && is_no_file(in->kallsyms)) {
		say("seam: %s: it is no regular file: copy it to one\n",
		    in->kallsyms);
		return -1;
	}
	rc = in->kallsyms ? 0
			  : seam_kernel_kept(in->reader, &in->kept_kallsyms);

	if (rc == SEAM_DOUBTED)
		doubts_say_file("[kernel.kallsyms]", in->kept_kallsyms);
	else if (rc)
		return input_failed(in, rc);
	else if (in->kept_kallsyms)
		in->kallsyms = in->kept_kallsyms;
	return 0;
}

/* Of a file that was given all that it has is expected. */
static int check_given(struct input *in)
{
	const char *why;

	if (!in->kallsyms || in->kallsyms == in->kept_kallsyms)
		return 0;
	why = seam_symbolizer_kernel_problem(
		seam_resolver_symbolizer(in->resolver));
	if (why)
		say("seam: %s\n", why);
	return why ? -1 : 0;
}

/* Names of another kernel would be wrong ones. */
int input_fit_kernel(struct input *in)
{
	const char *release = seam_pd_info(in->reader)->osrelease;
	struct seam_kernel_fit fit;

	seam_kernel_fit(in->reader, in->kallsyms, &fit);
	seam_resolver_kernel(in->resolver, &fit);
	if (fit.other && !release)
		say("seam: %s: the kernel's release is not in it, and nothing "
		    "shows that it was recorded on the kernel that runs here: "
		    "kernel addresses have no names; give its /proc/kallsyms "
		    "with --kallsyms\n",
		    in->path);
	else if (fit.other)
		say("seam: %s: recorded on %sLinux %s, which does not run "
		    "here: kernel addresses have no names; give its "
		    "/proc/kallsyms with --kallsyms\n",
		    in->path,
		    seam_same_release_runs(in->reader) ? "another build of "
						       : "",
		    release);
	return check_given(in);
}
