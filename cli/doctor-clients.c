// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/doctor-clients.h"

#include <inttypes.h>
#include <stdio.h>

#include "report/strbuf.h"

#define MIB (1024.0 * 1024.0)

static const char *const lost_names[SEAM_SHARE_LOST_MAX] = {
	[SEAM_SHARE_LOST_SAMPLES] = "samples",
	[SEAM_SHARE_LOST_STACKS] = "stacks",
	[SEAM_SHARE_LOST_COPIES] = "copies",
	[SEAM_SHARE_LOST_REQUESTS] = "requests",
	[SEAM_SHARE_LOST_UNTOLD] = "untold",
};

static void print_lost(const struct seam_share_client *c)
{
	const char *before = "; lost: ";

	for (size_t i = 0; i < SEAM_SHARE_LOST_MAX; i++) {
		if (!c->lost[i])
			continue;
		printf("%s%" PRIu64 " %s", before, c->lost[i], lost_names[i]);
		before = ", ";
	}
	puts(before[0] == ';' ? "; lost: nothing" : "");
}

/* Theirs to choose: without orders to the terminal, and one line. */
static void print_name(const char *name, int width)
{
	struct seam_strbuf b = {0};

	seam_strbuf_plain(&b, name);
	printf("%-*s", width, b.s ? b.s : "");
	seam_strbuf_fini(&b);
}

/* Those of the group: beyond SEAM_MAX_CLIENTS one is alone. */
static uint32_t n_clients(const struct seam_share_list *list, uint32_t group)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < list->n; i++)
		n += list->clients[i].group == group;
	return n;
}

static void print_client(const struct seam_share_client *c, bool is_ours)
{
	printf("    %7" PRIu32 "  ", c->pid);
	print_name(c->name, 15);
	printf(" ");
	print_name(c->client, 0);
	if (!is_ours) {
		puts(c->owns ? "owns the tables" : "");
		return;
	}
	printf("%s%s%s", c->client[0] ? "; " : "",
	       c->owns ? "owns the tables; " : "",
	       c->loads_own ? "loads tables itself, since who owns them does "
			      "not answer; "
			    : "");
	if (!c->is_known) {
		puts("rings cannot be seen");
		return;
	}
	printf("rings %.1f MiB, %.1f MiB unread; made code %.1f MiB; %.1f MiB "
	       "in all; %" PRIu64 " unwinds, %" PRIu64 " by others",
	       (double)c->ring_bytes / MIB, (double)c->ring_used / MIB,
	       (double)c->made_bytes / MIB, (double)c->memory / MIB, c->unwinds,
	       c->by_others);
	print_lost(c);
}

static const char *const tables_from[] = {
	[SEAM_TABLES_AUTO] = "auto",
	[SEAM_TABLES_KERNEL] = "kernel",
	[SEAM_TABLES_MAPPED] = "mapped",
};

/* Also why it is a group, with the options that make it one. */
static void print_group(const struct seam_share_group *g, uint32_t n)
{
	if (!g->way.order) {
		puts("of another build of seam, whose own 'seam doctor' says "
		     "the rest");
		return;
	}
	if (g->is_known)
		printf("%" PRIu32 " tables, %.1f MiB; %" PRIu32
		       " asked for, %" PRIu32
		       " read where they are mapped, %" PRIu32
		       " files have none; %" PRIu64
		       " requests refused, of file systems that others serve; "
		       "tasks %.1f MiB, arena %.1f MiB, %.1f MiB in all; "
		       "%" PRIu32 " of %d clients\n",
		       g->tables, (double)g->table_bytes / MIB, g->asked,
		       g->mapped, g->without, g->far,
		       (double)g->element_bytes / MIB,
		       (double)g->arena_bytes / MIB, (double)g->memory / MIB, n,
		       SEAM_MAX_CLIENTS);
	else
		puts("its tables cannot be seen");
	printf("    --unwind %s --stack-copy %" PRIu32 " --tables %s\n",
	       g->way.order, g->way.stack_copy,
	       tables_from[g->way.tables_from]);
}

static void print_alone(const struct seam_share_list *list)
{
	if (list->n_alone)
		puts("Who shares with nobody that is seen from here:");
	for (uint32_t i = 0; i < list->n_alone; i++) {
		printf("    %7" PRIu32 "  ", list->alone[i].pid);
		print_name(list->alone[i].name, 0);
		putchar('\n');
	}
}

void doctor_print_clients(const struct seam_share_list *list)
{
	for (uint32_t i = 0; i < list->n_groups; i++) {
		const struct seam_share_group *g = &list->groups[i];

		if (!i)
			puts("Who shares unwinds and tables:");
		printf("  group ");
		print_name(g->name, 0);
		printf(": ");
		print_group(g, n_clients(list, i));
		for (uint32_t j = 0; j < list->n; j++)
			if (list->clients[j].group == i)
				print_client(&list->clients[j], g->way.order);
	}
	print_alone(list);
}

json_t *doctor_alone_json(const struct seam_share_list *list)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < list->n_alone; i++)
		json_array_append_new(all,
				      json_pack("{s:I, s:s}", "pid",
						(json_int_t)list->alone[i].pid,
						"name", list->alone[i].name));
	return all;
}

static json_t *client_json(const struct seam_share_client *c)
{
	json_t *o = json_pack("{s:I, s:s, s:s, s:b}", "pid", (json_int_t)c->pid,
			      "name", c->name, "client", c->client,
			      "owns_tables", c->owns);

	if (!o || !c->is_known)
		return o;
	json_object_set_new(o, "loads_own", json_boolean(c->loads_own));
	json_object_set_new(o, "ring_bytes",
			    json_integer((json_int_t)c->ring_bytes));
	json_object_set_new(o, "ring_used",
			    json_integer((json_int_t)c->ring_used));
	json_object_set_new(o, "made_bytes",
			    json_integer((json_int_t)c->made_bytes));
	json_object_set_new(o, "memory", json_integer((json_int_t)c->memory));
	json_object_set_new(o, "unwinds", json_integer((json_int_t)c->unwinds));
	json_object_set_new(o, "by_others",
			    json_integer((json_int_t)c->by_others));
	json_object_set_new(o, "again", json_integer((json_int_t)c->again));
	for (size_t i = 0; i < SEAM_SHARE_LOST_MAX; i++) {
		char name[32];

		snprintf(name, sizeof(name), "lost_%s", lost_names[i]);
		json_object_set_new(o, name,
				    json_integer((json_int_t)c->lost[i]));
	}
	return o;
}

static json_t *group_json(const struct seam_share_list *list, uint32_t at)
{
	const struct seam_share_group *g = &list->groups[at];
	json_t *o = json_pack("{s:s, s:I}", "group", g->name, "owner",
			      (json_int_t)g->owner);
	json_t *clients = json_array();

	for (uint32_t i = 0; i < list->n; i++)
		if (list->clients[i].group == at)
			json_array_append_new(clients,
					      client_json(&list->clients[i]));
	json_object_set_new(o, "clients", clients);
	json_object_set_new(o, "same_build", json_boolean(g->way.order));
	if (g->way.order) {
		json_object_set_new(o, "unwind", json_string(g->way.order));
		json_object_set_new(o, "stack_copy",
				    json_integer(g->way.stack_copy));
		json_object_set_new(
			o, "tables_from",
			json_string(tables_from[g->way.tables_from]));
	}
	if (!g->is_known)
		return o;
	json_object_set_new(o, "tables", json_integer(g->tables));
	json_object_set_new(o, "tables_asked", json_integer(g->asked));
	json_object_set_new(o, "tables_mapped", json_integer(g->mapped));
	json_object_set_new(o, "tables_none", json_integer(g->without));
	json_object_set_new(o, "table_bytes",
			    json_integer((json_int_t)g->table_bytes));
	json_object_set_new(o, "element_bytes",
			    json_integer((json_int_t)g->element_bytes));
	json_object_set_new(o, "arena_bytes",
			    json_integer((json_int_t)g->arena_bytes));
	json_object_set_new(o, "memory", json_integer((json_int_t)g->memory));
	json_object_set_new(o, "tables_far", json_integer((json_int_t)g->far));
	return o;
}

json_t *doctor_clients_json(const struct seam_share_list *list)
{
	json_t *groups = json_array();

	for (uint32_t i = 0; i < list->n_groups; i++)
		json_array_append_new(groups, group_json(list, i));
	return groups;
}
