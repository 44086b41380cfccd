// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/summary.h"
#include "cli/json-summary.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <unistd.h>

/* Every place where something can be lost, by the name output gives it. */
static const struct place {
	const char *name;
	size_t offset;
	const char *text;
} places[] = {
#define PLACE(field, name, text)                                               \
	{                                                                      \
		name, offsetof(struct seam_summary, field), text               \
	}
	PLACE(counts.lost_samples, "samples", "samples, buffer full"),
	PLACE(counts.lost_sleeps, "sleeps",
	      "sleeps, not kept or their end unseen"),
	PLACE(counts.lost_stacks, "stacks", "user stacks, buffer full"),
	PLACE(counts.lost_copies, "copies", "stack copies, buffer full"),
	PLACE(counts.lost_sideband, "sideband",
	      "records of processes, buffer full"),
	PLACE(counts.lost_records, "records",
	      "records of processes or user stacks, buffer full"),
	PLACE(counts.no_element, "elements", "requests, no task element"),
	PLACE(counts.no_scratch, "scratch", "stacks, every buffer in use"),
	PLACE(counts.lost_tasks, "tasks",
	      "execs, ends or children of tasks, unseen"),
	PLACE(counts.watch_full, "watched",
	      "children, or threads in an exec, that could not be watched"),
	PLACE(counts.lost_requests, "requests",
	      "requests for tables, buffer full"),
	PLACE(counts.tables_gone, "tables",
	      "tables, their file was gone or closed to us"),
	PLACE(counts.files_stuck, "files",
	      "files, a daemon or server did not give them in time"),
	PLACE(counts.lost_payloads, "payloads", "tracepoints' payloads"),
	PLACE(counts.lost_made, "made", "tidings of code made at run time"),
	PLACE(counts.images_gone, "images",
	      "files to unwind copies, changed since"),
	PLACE(counts.lost_malformed, "malformed", "records, malformed"),
	PLACE(unwritten, "output", "records that were not written"),
#undef PLACE
};

static uint64_t place_count(const struct seam_summary *sum, size_t i)
{
	return *(const uint64_t *)(const void *)((const char *)sum +
						 places[i].offset);
}

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

static uint64_t served(const struct seam_summary *sum)
{
	return sum->wanted - sum->end[SEAM_LOST] - sum->end[SEAM_PENDING];
}

static void print_ends(struct message *to, const struct seam_summary *sum)
{
	message_add(to, "seam: user stacks: %" PRIu64 " wanted", sum->wanted);
	/* A share of nothing would be no praise. */
	if (sum->wanted)
		message_add(to, ", %" PRIu64 " complete (%.2f%%)",
			    sum->end[SEAM_OUTERMOST],
			    100.0 * (double)sum->end[SEAM_OUTERMOST] /
				    (double)sum->wanted);
	for (int i = SEAM_OUTERMOST + 1; i < SEAM_END_MAX; i++)
		if (sum->end[i] && i != SEAM_NO_USER)
			message_add(to, ", %" PRIu64 " %s", sum->end[i],
				    seam_err_name(i));
	if (sum->end[SEAM_NO_USER])
		message_add(to, "; %" PRIu64 " samples want none",
			    sum->end[SEAM_NO_USER]);
	message_add(to, "\n");
}

static void print_lost(struct message *to, const struct seam_summary *sum)
{
	const char *sep = " ";

	message_add(to, "seam: lost:");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!place_count(sum, i))
			continue;
		message_add(to, "%s%" PRIu64 " %s", sep, place_count(sum, i),
			    places[i].text);
		sep = ", ";
	}
	message_add(to, "%s", sep[0] == ' ' ? " nothing\n" : "\n");
}

/* Files that lie: what of them no stack was unwound by. */
static void print_refused(struct message *to, const struct seam_summary *sum)
{
	uint64_t named = sum->n_refused < SEAM_REFUSED_NAMED
				 ? sum->n_refused
				 : SEAM_REFUSED_NAMED;

	for (uint64_t i = 0; i < named; i++) {
		const struct seam_refused *r = &sum->refused[i];

		message_add(to, "seam: refused: %s: ", r->path);
		if (r->n_bad > 1)
			message_add(to, "%" PRIu64 " parts of its CFI, first ",
				    r->n_bad);
		message_add(to, "%s", r->why.where);
		if (r->why.offset)
			message_add(to, ", offset 0x%" PRIx64, r->why.offset);
		message_add(to, "%s%s\n", r->why.where[0] ? ": " : "",
			    r->why.reason);
	}
	if (named < sum->n_refused)
		message_add(to, "seam: refused: and %" PRIu64 " more files\n",
			    sum->n_refused - named);
	if (named)
		message_add(to,
			    "seam: refused: stacks that need it end with "
			    "no-table or no-rule ('man seam-record' says what "
			    "to do)\n");
}

/* Sections for code that was made at run time, and those not believed. */
static void print_made(struct message *to, const struct seam_counts *c)
{
	const struct {
		const char *why;
		uint64_t n;
	} refused[] = {
		{"with a bad range", c->made_bad_range},
		{"overlapping", c->made_overlap},
		{"malformed", c->made_malformed},
		{"unreadable", c->made_unreadable},
		{"too large or too many", c->made_too_much},
		{"removed but never added", c->made_unknown},
	};
	const char *sep = "; refused: ";
	bool any = c->made;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		any |= refused[i].n;
	if (!any)
		return;
	message_add(to, "seam: %" PRIu64 " sections of code made at run time",
		    c->made);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (!refused[i].n)
			continue;
		message_add(to, "%s%" PRIu64 " %s", sep, refused[i].n,
			    refused[i].why);
		sep = ", ";
	}
	if (c->made_unmapped)
		message_add(to, "; %" PRIu64 " ended with their code unmapped",
			    c->made_unmapped);
	if (c->made_unseen)
		message_add(to,
			    "; %" PRIu64 " perhaps of other code by then, "
			    "unmapped unseen",
			    c->made_unseen);
	if (c->made_unlooked)
		message_add(to,
			    "; up to %" PRIu64 " system calls were not looked "
			    "at for that",
			    c->made_unlooked);
	if (c->made_untold)
		message_add(to,
			    "; %" PRIu64
			    " ended since tidings of their end may "
			    "be lost",
			    c->made_untold);
	message_add(to, "\n");
}

static void print_engine(struct message *to, const struct seam_summary *sum)
{
	const struct seam_counts *c = &sum->counts;
	/* An engine that has all from copies has its frames from there. */
	uint64_t stacks =
		c->unwinds == c->copies ? c->copies : c->unwinds - c->copies;

	message_add(to, "seam: engine %s", sum->engine);
	if (sum->why[0])
		message_add(to, " (%s; see 'seam doctor')", sum->why);
	/* Where all are of others' unwinds, there is nothing to divide. */
	if (c->unwind_ns != SEAM_UNKNOWN && c->frames)
		message_add(to, ", %.0f ns a frame",
			    ratio(c->unwind_ns, c->frames));
	message_add(to,
		    ", %.1f frames a stack; "
		    "%" PRIu64 " tables, %.1f MiB",
		    ratio(c->frames, stacks), c->tables,
		    (double)c->table_bytes / (1 << 20));
	if (c->tables_evicted)
		message_add(to, ", %" PRIu64 " taken out for the budget",
			    c->tables_evicted);
	message_add(to, "\n");
}

/* Other clients, as far as there were any. */
static void print_others(struct message *to, const struct seam_summary *sum)
{
	const struct seam_counts *c = &sum->counts;

	if (sum->alone[0])
		message_add(to, "seam: shared with no other recording: %s\n",
			    sum->alone);
	else if (c->clients || c->by_others)
		message_add(to,
			    "seam: shared with other clients, %" PRIu64
			    " when it began%s%s%s: %" PRIu64
			    " user stacks and copies are of their unwinds\n",
			    c->clients, sum->others[0] ? " (" : "", sum->others,
			    sum->others[0] ? ")" : "", c->by_others);
}

static void print_events(struct message *to, const struct seam_summary *sum)
{
	message_add(to, "seam: %" PRIu64 " samples of ", sum->samples);
	for (uint32_t i = 0; i < sum->n_events; i++) {
		if (i)
			message_add(to, "%s",
				    i + 1 < sum->n_events ? ", " : " and ");
		message_add(to, "%s", sum->events[i]);
	}
	if (sum->why_clock)
		message_add(to, " (%s)", sum->why_clock);
}

/* How often the event program saw it, and how often it must have. */
struct fired {
	uint64_t seen, expected, withheld;
};

static void print_fired(struct message *to, const char *what,
			const struct fired *n)
{
	message_add(to, "%s %" PRIu64 " times", what, n->seen);
	if (n->expected == SEAM_UNKNOWN)
		message_add(to, ", expected unknown");
	else
		message_add(to, ", expected %" PRIu64, n->expected);
	if (n->withheld)
		message_add(to, ", of which the kernel withheld %" PRIu64,
			    n->withheld);
}

/* Of the recorded tasks alone, where the machine has others. */
static void print_watched(struct message *to, const struct seam_counts *c)
{
	if (c->watched == c->events && c->expected_watched == c->expected &&
	    c->withheld_watched == c->withheld)
		return;
	print_fired(to, "seam: of these, in the tasks recorded:",
		    &(struct fired){c->watched, c->expected_watched,
				    c->withheld_watched});
	message_add(to, "\n");
}

void summary_print(struct message *to, const struct seam_summary *sum,
		   const char *output)
{
	const struct seam_counts *c = &sum->counts;

	print_events(to, sum);
	if (sum->left_out)
		message_add(to,
			    ", %" PRIu64
			    " more left out, which have no stack of "
			    "their own",
			    sum->left_out);
	if (sum->idle)
		message_add(to, " (%" PRIu64 " in the idle task)", sum->idle);
	print_fired(to, "; the event fired",
		    &(struct fired){c->events, c->expected, c->withheld});
	if (c->excluded)
		message_add(to, "; %" PRIu64 " in the mode that it excludes",
			    c->excluded);
	message_add(to, "\n");
	print_watched(to, c);
	print_ends(to, sum);
	message_add(to,
		    "seam: %" PRIu64 " unwinds, %" PRIu64
		    " served samples: %.2f each, %" PRIu64 " at most; %" PRIu64
		    " by the library from %.1f MiB of copies\n",
		    c->unwinds, sum->stacks, ratio(served(sum), sum->stacks),
		    sum->max_served, c->copies,
		    (double)c->copy_bytes / (1 << 20));
	if (c->again)
		message_add(to,
			    "seam: %" PRIu64
			    " of the unwinds again, before user "
			    "space was reached\n",
			    c->again);
	print_others(to, sum);
	if (c->tables_own)
		message_add(to,
			    "seam: %" PRIu64
			    " tables loaded for this recording alone, while "
			    "who has those of all did not answer\n",
			    c->tables_own);
	print_made(to, c);
	if (sum->no_payload)
		message_add(to,
			    "seam: %" PRIu32 " of the events without payload: "
			    "that takes more rights ('man seam-record' says "
			    "which)\n",
			    sum->no_payload);
	if (c->payload_addresses)
		message_add(to,
			    "seam: %" PRIu64
			    " addresses of the kernel taken out of "
			    "payloads, for :u\n",
			    c->payload_addresses);
	print_lost(to, sum);
	print_refused(to, sum);
	print_engine(to, sum);
	message_add(to, "seam: wrote %.2f MiB to %s\n",
		    (double)sum->bytes / (1 << 20), output);
}

static json_t *json_ends(const struct seam_summary *sum)
{
	json_t *ends = json_object();

	for (int i = SEAM_OUTERMOST; i <= SEAM_END_LAST; i++)
		json_object_set_new(ends, seam_err_name(i),
				    json_integer((json_int_t)sum->end[i]));
	return ends;
}

static json_t *json_lost(const struct seam_summary *sum)
{
	json_t *lost = json_object();

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		json_object_set_new(
			lost, places[i].name,
			json_integer((json_int_t)place_count(sum, i)));
	return lost;
}

static void set_count(json_t *to, const char *name, uint64_t n)
{
	json_object_set_new(to, name,
			    n == SEAM_UNKNOWN ? json_null()
					      : json_integer((json_int_t)n));
}

/* What else is counted, by the same names. */
static const struct {
	const char *name;
	size_t offset;
} counts_said[] = {
#define COUNT(field)                                                           \
	{                                                                      \
#field, offsetof(struct seam_counts, field)                    \
	}
	COUNT(blocked),
	COUNT(moved),
	COUNT(own),
	COUNT(excluded),
	COUNT(refused),
	COUNT(closed),
	COUNT(stale),
	COUNT(again),
	COUNT(by_others),
	COUNT(clients),
	COUNT(skipped),
	COUNT(redo),
	COUNT(copies),
	COUNT(copy_bytes),
	COUNT(frames),
	COUNT(fp_frames),
	COUNT(mapped_frames),
	COUNT(guessed_frames),
	COUNT(code_gone),
	COUNT(unwind_ns),
	COUNT(windows),
	COUNT(faulted),
	COUNT(last_hits),
	COUNT(map_walks),
	COUNT(map_retries),
	COUNT(tables),
	COUNT(table_bytes),
	COUNT(table_bytes_max),
	COUNT(tables_asked),
	COUNT(tables_evicted),
	COUNT(tables_gone),
	COUNT(tables_none),
	COUNT(tables_too_big),
	COUNT(tables_left_out),
	COUNT(tables_mapped),
	COUNT(tables_forgotten),
	COUNT(tables_own),
	COUNT(made),
	COUNT(made_bytes),
	COUNT(made_bad_range),
	COUNT(made_overlap),
	COUNT(made_malformed),
	COUNT(made_unreadable),
	COUNT(made_too_much),
	COUNT(made_unknown),
	COUNT(made_unmapped),
	COUNT(made_unseen),
	COUNT(made_unlooked),
	COUNT(made_vain),
	COUNT(made_untold),
	COUNT(images),
	COUNT(image_bytes),
	COUNT(image_bytes_max),
	COUNT(images_evicted),
	COUNT(images_gone),
	COUNT(files_stuck),
	COUNT(payload_addresses),
	COUNT(processes_left),
	COUNT(followed_again),
#undef COUNT
};

static void set_counts(json_t *root, const struct seam_counts *c)
{
	for (size_t i = 0; i < sizeof(counts_said) / sizeof(counts_said[0]);
	     i++)
		set_count(root, counts_said[i].name,
			  *(const uint64_t *)(const void *)((const char *)c +
							    counts_said[i]
								    .offset));
}

static json_t *json_name(const char *name)
{
	json_t *string = json_string(name);

	return string ? string : json_string("");
}

static json_t *json_refused(const struct seam_summary *sum)
{
	json_t *files = json_array();

	for (uint64_t i = 0; i < sum->n_refused && i < SEAM_REFUSED_NAMED;
	     i++) {
		const struct seam_refused *r = &sum->refused[i];
		json_t *file = json_object();

		json_object_set_new(file, "file", json_name(r->path));
		set_count(file, "parts", r->n_bad);
		json_object_set_new(file, "where", json_name(r->why.where));
		set_count(file, "offset", r->why.offset);
		json_object_set_new(file, "reason", json_name(r->why.reason));
		json_array_append_new(files, file);
	}
	return files;
}

static json_t *json_events(const struct seam_summary *sum)
{
	json_t *names = json_array();

	for (uint32_t i = 0; i < sum->n_events; i++)
		json_array_append_new(names, json_name(sum->events[i]));
	return names;
}

static json_t *json_frame_ns(const struct seam_counts *c)
{
	return c->unwind_ns == SEAM_UNKNOWN
		       ? json_null()
		       : json_real(ratio(c->unwind_ns, c->frames));
}

static json_t *json_summary(const struct seam_summary *sum)
{
	const struct seam_counts *c = &sum->counts;
	json_t *root = json_object();

	set_count(root, "samples", sum->samples);
	set_count(root, "left_out", sum->left_out);
	/* Names may be of any bytes: an empty string where JSON cannot. */
	json_object_set_new(root, "event", json_name(sum->events[0]));
	json_object_set_new(root, "event_names", json_events(sum));
	json_object_set_new(root, "event_why",
			    json_name(sum->why_clock ? sum->why_clock : ""));
	set_count(root, "no_payload", sum->no_payload);
	set_count(root, "idle", sum->idle);
	set_count(root, "events", c->events);
	set_count(root, "expected", c->expected);
	set_count(root, "watched", c->watched);
	set_count(root, "expected_watched", c->expected_watched);
	set_count(root, "withheld", c->withheld);
	set_count(root, "withheld_watched", c->withheld_watched);
	set_count(root, "wanted", sum->wanted);
	json_object_set_new(root, "end", json_ends(sum));
	set_count(root, "unwinds", c->unwinds);
	set_count(root, "stacks", sum->stacks);
	set_count(root, "unused", sum->unused);
	json_object_set_new(root, "served_per_unwind",
			    json_real(ratio(served(sum), sum->stacks)));
	set_count(root, "served_most", sum->max_served);
	json_object_set_new(root, "lost", json_lost(sum));
	set_count(root, "files_refused", sum->n_refused);
	json_object_set_new(root, "refused_files", json_refused(sum));
	json_object_set_new(root, "engine", json_string(sum->engine));
	json_object_set_new(root, "others", json_string(sum->others));
	json_object_set_new(root, "alone", json_string(sum->alone));
	json_object_set_new(root, "engine_why", json_string(sum->why));
	json_object_set_new(root, "ns_per_frame", json_frame_ns(c));
	set_counts(root, c);
	set_count(root, "bytes", sum->bytes);
	return root;
}

int summary_write_json(const char *path, const struct seam_summary *sum)
{
	json_t *root = json_summary(sum);
	int fd, err = 0;

	if (!root)
		return -ENOMEM;
	fd = json_summary_open(path);
	if (fd < 0)
		err = fd;
	else if (json_dumpfd(root, fd,
			     JSON_INDENT(2) | JSON_PRESERVE_ORDER |
				     JSON_REAL_PRECISION(6)))
		err = errno ? -errno : -EIO;
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	json_decref(root);
	return err;
}
