// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/doubts.h"

#include <stdio.h>
#include <sys/stat.h>

#include "cli/messages.h"
#include "elf/doubt.h"

void doubts_say_file(const char *path, const char *doubted)
{
	char why[SEAM_DOUBT_SIZE];
	struct stat st;

	if (stat(doubted, &st))
		say("seam: %s: not taken for %s: it is gone\n", doubted, path);
	else if (!seam_is_doubted(&st))
		say("seam: %s: not taken for %s: it has another build-id "
		    "than its name says\n",
		    doubted, path);
	else {
		seam_doubt_say(&st, why);
		say("seam: %s: not taken for %s: %s\n", doubted, path, why);
	}
}

void doubts_say(const struct seam_symbolizer *syms)
{
	const char *path, *doubted;

	for (size_t at = 0;
	     (doubted = seam_symbolizer_doubted(syms, &at, &path)) != NULL;)
		doubts_say_file(path, doubted);
}

void doubts_say_stripped(const struct seam_symbolizer *syms)
{
	const char *path = NULL, *next;
	bool is_go = false, any_go = false;
	char others[40] = "";
	unsigned more = 0;

	for (size_t at = 0;
	     (next = seam_symbolizer_stripped(syms, &at, &is_go));) {
		more += path != NULL;
		path = path ? path : next;
		any_go |= is_go;
	}
	if (!path)
		return;
	if (more)
		snprintf(others, sizeof(others), " and %u more file%s", more,
			 more > 1 ? "s" : "");
	say("seam: %s%s: stripped, and no debug file is installed: "
	    "functions that are no dynamic symbols are [unknown]%s\n",
	    path, others,
	    any_go ? "; Go's own names (.gopclntab) are not read" : "");
}
