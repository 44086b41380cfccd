/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* seam doctor: what this machine can run, and what would make it run more. */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/bad-option.h"
#include "cli/commands.h"
#include "cli/doctor-clients.h"
#include "cli/messages.h"
#include "kernel/probe.h"

static const char help[] =
	"usage: seam doctor [OPTIONS]\n\n"
	"Says which of seam's engines work on this machine, why the others\n"
	"do not, and the one step that would enable the next.\n\n"
	"      --clients       only who shares unwinds and tables now, with\n"
	"                      nothing tried; the exit status is 0\n"
	"      --json          one JSON object, for programs\n"
	"  -h, --help          this text\n\n"
	"The exit status is 0 if the best engine (deferred) works, else 1.\n";

enum { OPT_JSON = 256, OPT_CLIENTS };

static const struct option options[] = {
	{"clients", no_argument, NULL, OPT_CLIENTS},
	{"json", no_argument, NULL, OPT_JSON},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static void print_result(const struct seam_probe_result *r)
{
	printf("  %-4s  %-20s %s\n", seam_probe_word(r->state), r->name,
	       r->found);
	if (r->fix[0] && r->state != SEAM_PROBE_YES && !r->is_engine)
		printf("        %-20s try: %s\n", "", r->fix);
}

/* As it can be seen by us: who may not, is no client either. */
static void print_obstacle(const char *why)
{
	if (why[0])
		printf("Who comes now shares with nobody: %s.\n", why);
}

static void print_text(const struct seam_probe *probe,
		       const struct seam_share_list *clients, const char *why)
{
	puts("This machine:");
	for (size_t i = 0; i < probe->n; i++)
		if (!probe->results[i].is_engine)
			print_result(&probe->results[i]);
	if (clients->n || clients->n_alone || why[0])
		putchar('\n');
	doctor_print_clients(clients);
	print_obstacle(why);
	puts("\nEngines, best first:");
	for (size_t i = 0; i < probe->n; i++)
		if (probe->results[i].is_engine)
			print_result(&probe->results[i]);
	if (probe->engine)
		printf("\n'seam record' uses %s.\n", probe->engine);
	else
		puts("\n'seam record' cannot run here.");
	if (probe->next[0])
		printf("Next step: %s\n", probe->next);
}

static json_t *make_result(const struct seam_probe_result *r)
{
	json_t *o = json_pack("{s:s, s:s, s:s}", "name", r->name, "state",
			      seam_probe_word(r->state), "found", r->found);

	if (o && r->fix[0] && r->state != SEAM_PROBE_YES)
		json_object_set_new(o, "fix", json_string(r->fix));
	return o;
}

/* Takes all. Return: 0; negative: it could not be printed. */
static int put_json(json_t *all)
{
	int rc = all ? json_dumpf(all, stdout,
				  JSON_INDENT(2) | JSON_ENSURE_ASCII)
		     : -1;

	if (!rc)
		putchar('\n');
	json_decref(all);
	return rc;
}

static void put_obstacle(json_t *all, const char *why)
{
	if (all && why[0])
		json_object_set_new(all, "cannot_share", json_string(why));
}

static void put_alone(json_t *all, const struct seam_share_list *clients)
{
	if (all && clients->n_alone)
		json_object_set_new(all, "alone", doctor_alone_json(clients));
}

static int print_json(const struct seam_probe *probe,
		      const struct seam_share_list *clients, const char *why)
{
	json_t *checks = json_array(), *engines = json_array(), *all;

	for (size_t i = 0; i < probe->n; i++) {
		const struct seam_probe_result *r = &probe->results[i];

		json_array_append_new(r->is_engine ? engines : checks,
				      make_result(r));
	}
	all = json_pack("{s:o, s:o}", "checks", checks, "engines", engines);
	if (clients->n)
		json_object_set_new(all, "clients",
				    doctor_clients_json(clients));
	put_alone(all, clients);
	put_obstacle(all, why);
	if (probe->engine)
		json_object_set_new(all, "engine", json_string(probe->engine));
	if (probe->next[0])
		json_object_set_new(all, "next", json_string(probe->next));
	return put_json(all);
}

/* err: of looking for them. */
static int print_clients(const struct seam_share_list *clients, int err,
			 const char *why, bool json)
{
	json_t *all;

	if (err == -ENOENT)
		err = 0;
	if (json && err)
		return put_json(
			json_pack("{s:s}", "clients_error", strerror(-err)));
	if (json) {
		all = json_pack("{s:o}", "clients",
				doctor_clients_json(clients));
		put_alone(all, clients);
		put_obstacle(all, why);
		return put_json(all);
	}
	if (err)
		printf("Who shares unwinds and tables cannot be seen: %s\n",
		       strerror(-err));
	else if (!clients->n)
		puts("Nobody shares unwinds and tables.");
	doctor_print_clients(clients);
	print_obstacle(why);
	return 0;
}

int cmd_doctor(int argc, char **argv)
{
	struct seam_probe_facts facts;
	struct seam_share_list clients;
	struct seam_errinfo obstacle = {0};
	struct seam_probe probe;
	bool json = false, only_clients = false;
	int opt, rc, unseen;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case OPT_JSON:
			json = true;
			break;
		case OPT_CLIENTS:
			only_clients = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return bad_option("doctor", argv);
		}
	}
	if (optind < argc) {
		say("seam doctor: '%s' is not expected here\n", argv[optind]);
		return 2;
	}
	unseen = seam_share_list(&clients);
	seam_share_find_alone(&clients);
	if (!unseen) {
		seam_share_look(&clients);
		(void)seam_share_judge(&clients, &obstacle);
	} else if (unseen != -ENOENT && unseen != -EACCES) {
		seam_share_unusable(-unseen, &obstacle);
	}
	if (only_clients) {
		rc = print_clients(&clients, unseen, obstacle.reason, json);
	} else {
		seam_probe_gather(&facts);
		seam_probe_judge(&facts, &probe);
		rc = json ? print_json(&probe, &clients, obstacle.reason) : 0;
		if (!json)
			print_text(&probe, &clients, obstacle.reason);
	}
	if (rc) {
		say("seam doctor: out of memory\n");
		return 1;
	}
	if (fflush(stdout) || ferror(stdout)) {
		say("seam doctor: cannot write the answer: %s\n",
		    strerror(errno));
		return 1;
	}
	if (only_clients)
		return 0;
	return probe.engine && !strcmp(probe.engine, "deferred") ? 0 : 1;
}
