// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/bad-option.h"

#include <getopt.h>
#include <stdio.h>

#include "cli/messages.h"

int bad_option(const char *command, char **argv)
{
	struct message m = {0};

	/* The word it stumbled over; of a bunch of letters, the letter. */
	if (optopt && optopt < 128)
		message_add(&m, "seam %s: '-%c' is no option or needs a value",
			    command, optopt);
	else
		message_add(&m, "seam %s: '%s' is no option or needs a value",
			    command, argv[optind - 1]);
	message_add(&m, "; see 'seam %s --help'\n", command);
	message_say(&m);
	return 2;
}
