// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* seam: finds the sub-command in a table and runs it. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/messages.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{"record", cmd_record, "record whole stacks to perf.data"},
	{"report", cmd_report, "add a recording up: call tree and table"},
	{"script", cmd_script, "print every sample with its stack"},
	{"top", cmd_top, "show what runs now, by whole stacks"},
	{"export", cmd_export, "write a recording in other tools' formats"},
	{"inject", cmd_inject, "write whole stacks for tools that cannot join"},
	{"sframe", cmd_sframe, "print, check, measure or add SFrame tables"},
	{"serve", cmd_serve, "keep tables in the kernel for all recordings"},
	{"doctor", cmd_doctor, "say what this machine can run, and why"},
	{NULL, NULL, NULL},
};

static void usage(FILE *to)
{
	fputs("usage: seam COMMAND [OPTIONS]\n", to);
	fputs("\n", to);
	for (const struct command *c = commands; c->name; c++)
		fprintf(to, "  %-8s %s\n", c->name, c->help);
	fputs("\n", to);
	fputs("'seam COMMAND --help' and seam-COMMAND(1) say more.\n", to);
}

/* Return: the command; NULL: there is none, which is said. */
static const struct command *find(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (!strcmp(name, c->name))
			return c;
	say("seam: '%s' is not a command; see 'seam --help'\n", name);
	return NULL;
}

static int help(const char *name)
{
	char option[] = "--help", *argv[] = {NULL, option, NULL};
	const struct command *c = name ? find(name) : NULL;

	if (c) {
		argv[0] = (char *)c->name;
		return c->run(2, argv);
	}
	if (!name)
		usage(stdout);
	return name ? 2 : 0;
}

int main(int argc, char **argv)
{
	const struct command *c;

	stderr = messages_plain(stderr);
	opterr = 0; /* bad_option() says it */
	if (argc < 2) {
		usage(stderr);
		return 2;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return help(NULL);
	if (!strcmp(argv[1], "help"))
		return help(argv[2]);
	if (!strcmp(argv[1], "--version")) {
		puts("seam " SEAM_VERSION);
		return 0;
	}
	c = find(argv[1]);
	if (!c)
		return 2;
	if (c->run == cmd_doctor) /* it lists who else records */
		stdout = messages_plain(stdout);
	return c->run(argc - 1, argv + 1);
}
