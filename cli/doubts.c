// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/doubts.h"

#include <stdio.h>
#include <sys/stat.h>

#include "elf/doubt.h"

static void say(const char *path, const char *doubted)
{
	struct stat st;

	if (stat(doubted, &st))
		fprintf(stderr, "seam: %s: not taken for %s: it is gone\n",
			doubted, path);
	else if (!seam_is_doubted(&st))
		fprintf(stderr,
			"seam: %s: not taken for %s: it has another build-id "
			"than its name says\n",
			doubted, path);
	else if (st.st_mode & S_IWOTH)
		fprintf(stderr,
			"seam: %s: not taken for %s: everybody may write it "
			"(chmod o-w, or SEAM_TRUST=all)\n",
			doubted, path);
	else
		fprintf(stderr,
			"seam: %s: not taken for %s: it is user %u's, who is "
			"neither root nor you (SEAM_TRUST=%u takes it)\n",
			doubted, path, st.st_uid, st.st_uid);
}

void doubts_say(const struct seam_symbolizer *syms)
{
	const char *path, *doubted;

	for (size_t at = 0;
	     (doubted = seam_symbolizer_doubted(syms, &at, &path)) != NULL;)
		say(path, doubted);
}
