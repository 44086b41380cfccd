// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/bad-option.h"

#include <getopt.h>
#include <stdio.h>

int bad_option(const char *command, char **argv)
{
	/* The word it stumbled over; of a bunch of letters, the letter. */
	if (optopt && optopt < 128)
		fprintf(stderr, "seam %s: '-%c' is no option or needs a value",
			command, optopt);
	else
		fprintf(stderr, "seam %s: '%s' is no option or needs a value",
			command, argv[optind - 1]);
	fprintf(stderr, "; see 'seam %s --help'\n", command);
	return 2;
}
