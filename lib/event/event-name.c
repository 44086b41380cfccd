// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "event/event-name.h"

#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "event/fail.h"
#include "seam/tracer.h"

#define PRECISE_MAX 3 /* of precise_ip: two bits */

/* A part of the text, as printf takes it. */
#define PART(part) (int)((part).len > 40 ? 40 : (part).len), (part).at

struct part {
	const char *at;
	size_t len;
};

static bool is(struct part p, const char *word)
{
	return strlen(word) == p.len && !memcmp(p.at, word, p.len);
}

/* The names perf uses, aliases included. */
static const struct seam_known_event known_events[] = {
	{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
	{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
	{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
	{"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
	{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
	{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	{"context-switches", PERF_TYPE_SOFTWARE,
	 PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
	{"migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
	{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
	{"cache-references", PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_CACHE_REFERENCES},
	{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
	{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
	{"branch-instructions", PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
	{"bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
	{"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
	{"stalled-cycles-frontend", PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
	{"stalled-cycles-backend", PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
	{SEAM_SLEEP_EVENT, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT},
	{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
};

static const struct seam_known_event *find_known(struct part name)
{
	for (size_t i = 0; i < sizeof(known_events) / sizeof(known_events[0]);
	     i++)
		if (is(name, known_events[i].name))
			return &known_events[i];
	return NULL;
}

static int parse_modifiers(struct part mods, struct seam_event_name *name,
			   struct seam_errinfo *reterr)
{
	for (size_t i = 0; i < mods.len; i++) {
		bool *to = mods.at[i] == 'u'   ? &name->user
			   : mods.at[i] == 'k' ? &name->kernel
					       : NULL;

		if (mods.at[i] == 'p' && name->precise < PRECISE_MAX) {
			name->precise++;
			continue;
		}
		if (mods.at[i] == 'P') {
			name->precise_max = true;
			continue;
		}
		if (!to || *to)
			return seam_fail(reterr, -EINVAL,
					 "':%.*s' is no modifier that seam "
					 "knows; there are u, k, p, pp, ppp "
					 "and P",
					 PART(mods));
		*to = true;
	}
	return 0;
}

static int parse_number(struct part key, struct part value, uint64_t max,
			uint64_t *ret, struct seam_errinfo *reterr)
{
	char digits[24] = "";
	char *end = digits;

	if (value.len && value.len < sizeof(digits) && value.at[0] >= '0' &&
	    value.at[0] <= '9') {
		memcpy(digits, value.at, value.len);
		errno = 0;
		*ret = strtoull(digits, &end, 10);
	}
	if (end == digits || *end || errno || *ret > max)
		return seam_fail(reterr, -EINVAL,
				 "'%.*s=%.*s': want a number up to %llu",
				 PART(key), PART(value),
				 (unsigned long long)max);
	return 0;
}

static int parse_max_stack(struct part key, struct part value,
			   struct seam_event_name *name,
			   struct seam_errinfo *reterr)
{
	uint64_t n = 0;
	int err = parse_number(key, value, SEAM_CLIENT_MAX_FRAMES, &n, reterr);

	name->has_max_stack = true;
	name->max_stack = (uint32_t)n;
	return err;
}

static const char *const own_terms[] = {
	"max-stack",	   "freq",
	"period",	   "name",
	"call-graph",	   "kernel-callchains",
	"user-callchains", "no-payload",
};

bool seam_event_name_owns(const char *key, size_t len)
{
	struct part p = {key, len};

	for (size_t i = 0; i < sizeof(own_terms) / sizeof(*own_terms); i++)
		if (is(p, own_terms[i]))
			return true;
	return false;
}

/* A term with a value. */
static int parse_value(struct part key, struct part value,
		       struct seam_event_name *name,
		       struct seam_errinfo *reterr)
{
	if (is(key, "max-stack"))
		return parse_max_stack(key, value, name, reterr);
	if (is(key, "freq"))
		return parse_number(key, value, 100000, &name->freq, reterr);
	if (is(key, "period"))
		return parse_number(key, value, INT64_MAX, &name->period,
				    reterr);
	if (is(key, "name") && value.len) {
		name->label = value.at;
		name->label_len = value.len;
		return 0;
	}
	if (is(key, "call-graph") && is(value, "no")) {
		name->halves = SEAM_HALVES_NONE;
		return 0;
	}
	if (is(key, "call-graph"))
		return seam_fail(reterr, -EINVAL,
				 "'call-graph=%.*s': seam has its own way to "
				 "take stacks; only 'no' can be asked for",
				 PART(value));
	if (name->pmu_len && !seam_event_name_owns(key.at, key.len))
		return 0; /* event/pmu.h knows */
	return seam_fail(reterr, -EINVAL,
			 "'%.*s' is no term that seam knows; there are "
			 "max-stack, freq, period, name, call-graph, "
			 "kernel-callchains, user-callchains and no-payload",
			 PART(key));
}

static int parse_term(struct part term, struct seam_event_name *name,
		      struct seam_errinfo *reterr)
{
	const char *equals = memchr(term.at, '=', term.len);

	if (equals) {
		struct part key = {term.at, (size_t)(equals - term.at)};
		struct part value = {equals + 1, term.len - key.len - 1};

		return parse_value(key, value, name, reterr);
	}
	if (is(term, "kernel-callchains"))
		name->halves |= SEAM_HALVES_KERNEL;
	else if (is(term, "user-callchains"))
		name->halves |= SEAM_HALVES_USER;
	else if (is(term, "no-payload"))
		name->no_payload = true;
	else
		return parse_value(term, (struct part){"", 0}, name, reterr);
	if (name->halves == SEAM_HALVES_NONE)
		return seam_fail(reterr, -EINVAL,
				 "kernel-callchains and user-callchains "
				 "exclude each other; call-graph=no takes no "
				 "stack");
	return 0;
}

static int parse_terms(struct part terms, struct seam_event_name *name,
		       struct seam_errinfo *reterr)
{
	int err = 0;

	while (!err && terms.len) {
		const char *comma = memchr(terms.at, ',', terms.len);
		struct part term = {terms.at, comma ? (size_t)(comma - terms.at)
						    : terms.len};

		err = parse_term(term, name, reterr);
		terms.at += term.len + (comma != NULL);
		terms.len -= term.len + (comma != NULL);
	}
	return err;
}

/* FILE and SYMBOL, in which all characters but these are the file's. */
static size_t probe_len(const char *text, size_t file_at,
			struct seam_event_name *name)
{
	const char *colon = strchr(text + file_at, ':');

	name->file_at = file_at;
	name->file_len = colon ? (size_t)(colon - text) - file_at
			       : strlen(text + file_at);
	if (!colon)
		return strlen(text);
	return (size_t)(colon + 1 - text) + strcspn(colon + 1, ":/,");
}

/* rHEX, as perf has it. */
static void parse_raw(struct part base, struct seam_event_name *name)
{
	if (base.len < 2 || base.len > 17 || *base.at != 'r')
		return;
	for (size_t i = 1; i < base.len; i++)
		if (!isxdigit((unsigned char)base.at[i]))
			return;
	name->raw = true;
	name->config = strtoull(base.at + 1, NULL, 16);
}

/* NAME, with which a text or list begins. */
static void parse_base(const char *text, struct seam_event_name *name)
{
	struct part base = {text, strcspn(text, ":/,")};

	name->known = find_known(base);
	if (!name->known)
		parse_raw(base, name);
	name->returns = is(base, "uretprobe");
	/* SUBSYSTEM:NAME; modifiers are behind a colon too. */
	if ((name->returns || is(base, "uprobe")) && text[base.len] == ':')
		base.len = probe_len(text, base.len + 1, name);
	else if (!name->known && !name->raw && text[base.len] == ':')
		base.len += 1 + strcspn(text + base.len + 1, ":/,");
	name->base_len = base.len;
}

/* PMU/TERM,TERM.../, with the terms of the PMU. */
static bool is_pmu(const char *text, const struct seam_event_name *name)
{
	return name->base_len && text[name->base_len] == '/' && !name->known &&
	       !name->raw && !memchr(text, ':', name->base_len);
}

static int parse_slashes(const char *text, const char **p,
			 struct seam_event_name *name,
			 struct seam_errinfo *reterr)
{
	struct part terms = {*p + 1, strcspn(*p + 1, "/")};

	*p = terms.at + terms.len;
	if (!**p)
		return seam_fail(reterr, -EINVAL,
				 "'%.40s': its terms end with a '/'", text);
	++*p;
	return parse_terms(terms, name, reterr);
}

int seam_event_name_parse(const char *text, struct seam_event_name *ret,
			  struct seam_errinfo *reterr)
{
	struct seam_event_name name = {0};
	const char *p;
	int err = 0;

	parse_base(text, &name);
	p = text + name.base_len;
	if (is_pmu(text, &name))
		name.pmu_len = name.base_len;
	if (*p == '/')
		err = parse_slashes(text, &p, &name, reterr);
	if (name.pmu_len)
		name.base_len = (size_t)(p - text);
	if (!err && *p == ':' && !p[1])
		return seam_fail(reterr, -EINVAL,
				 "'%.40s': modifiers are missing behind ':'",
				 text);
	if (!err)
		err = parse_modifiers(
			(struct part){p + (*p == ':'), strlen(p + (*p == ':'))},
			&name, reterr);
	if (!err)
		*ret = name;
	return err;
}

size_t seam_event_name_end(const char *list)
{
	struct seam_event_name name = {0};
	const char *p;

	parse_base(list, &name);
	p = list + name.base_len;
	if (*p == '/') {
		p += 1 + strcspn(p + 1, "/");
		p += *p == '/';
	}
	return (size_t)(p - list) + strcspn(p, ",");
}
