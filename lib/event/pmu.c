// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "event/pmu.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event/event-name.h"
#include "event/fail.h"

#define NAME_SIZE 64
#define TEXT_SIZE 1024
#define LIST_SIZE 90 /* what a reason has room for */
#define FIELDS 3 /* config, config1, config2 */

/* A part of the text, as printf takes it. */
#define PART(part) (int)((part).len > 40 ? 40 : (part).len), (part).at

struct part {
	const char *at;
	size_t len;
};

struct pmu {
	struct part name;
	int folder;
	uint64_t fields[FIELDS];
	bool is_given; /* any of them */
	struct seam_errinfo *reterr;
};

static const char *const field_names[FIELDS] = {"config", "config1", "config2"};

/* Return: which field that is, or -1. */
static int field_of(struct part name)
{
	for (int i = 0; i < FIELDS; i++)
		if (strlen(field_names[i]) == name.len &&
		    !memcmp(field_names[i], name.at, name.len))
			return i;
	return -1;
}

/* The part up to a character, which is taken too. */
static struct part take(struct part *from, char end)
{
	const char *at = memchr(from->at, end, from->len);
	struct part p = {from->at, at ? (size_t)(at - from->at) : from->len};

	from->at += p.len + (at != NULL);
	from->len -= p.len + (at != NULL);
	return p;
}

/* --- sysfs --- */

/* What can be a name there, and nowhere else. */
static bool is_name(struct part p)
{
	if (!p.len || p.len >= NAME_SIZE || *p.at == '.')
		return false;
	for (size_t i = 0; i < p.len; i++)
		if (!isalnum((unsigned char)p.at[i]) && !strchr("_-.", p.at[i]))
			return false;
	return true;
}

/* A file's first line. Return: whether there is one. */
static bool read_line(const struct pmu *pmu, const char *folder,
		      struct part name, char to[static TEXT_SIZE])
{
	char path[2 * NAME_SIZE];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "%s%.*s", folder, (int)name.len, name.at);
	fd = openat(pmu->folder, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, to, TEXT_SIZE - 1);
		close(fd);
	}
	to[n > 0 ? n : 0] = 0;
	to[strcspn(to, "\n")] = 0;
	return *to;
}

static int is_shown(const struct dirent *d)
{
	/* Units and scales of events are beside them. */
	return !strchr(d->d_name, '.');
}

/* Adds the names in a folder to a list, as far as it has room. */
static void list(int folder, const char *path, char to[static LIST_SIZE])
{
	struct dirent **names;
	int n = scandirat(folder, path, &names, is_shown, alphasort);

	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;
		size_t len = strlen(to), need = strlen(name) + 2;

		if (len + need + sizeof(", ...") < LIST_SIZE)
			snprintf(to + len, LIST_SIZE - len, "%s%s",
				 len ? ", " : "", name);
		else if (len < sizeof("...") ||
			 strcmp(to + len - 3, "...") != 0)
			strcpy(to + len, len ? ", ..." : "...");
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

static int no_pmu(const char *devices, struct part name,
		  struct seam_errinfo *reterr)
{
	char there[LIST_SIZE] = "";

	list(AT_FDCWD, devices, there);
	return seam_fail(reterr, -EINVAL,
			 "'%.*s' is no PMU of this machine; there are %s",
			 PART(name), *there ? there : "none");
}

static int no_term(const struct pmu *pmu, struct part key)
{
	char there[LIST_SIZE] = "";

	list(pmu->folder, "events", there);
	list(pmu->folder, "format", there);
	return seam_fail(pmu->reterr, -EINVAL,
			 "'%.*s' is no event or term of %.*s; there are %s",
			 PART(key), PART(pmu->name), *there ? there : "none");
}

/* --- terms --- */

static bool read_number(struct part p, uint64_t *ret)
{
	char digits[24];
	char *end;

	if (!p.len || p.len >= sizeof(digits) || !isdigit((unsigned char)*p.at))
		return false;
	memcpy(digits, p.at, p.len);
	digits[p.len] = 0;
	errno = 0;
	*ret = strtoull(digits, &end, 0);
	return !*end && !errno;
}

/* FIELD:FIRST[-LAST],... */
static bool read_format(const char *text, int *ret_field, uint64_t *ret_mask)
{
	struct part rest = {text, strlen(text)};
	uint64_t mask = 0, first, last;

	*ret_field = field_of(take(&rest, ':'));
	while (rest.len) {
		struct part to = take(&rest, ','), from = take(&to, '-');

		if (!read_number(from, &first))
			return false;
		last = first;
		if ((to.len && !read_number(to, &last)) || first > last ||
		    last > 63)
			return false;
		mask |= (UINT64_MAX >> (63 - (last - first))) << first;
	}
	*ret_mask = mask;
	return *ret_field >= 0 && mask;
}

/* A value's lowest bit is the mask's lowest one. Return: whether it fits. */
static bool set_bits(uint64_t *field, uint64_t mask, uint64_t value)
{
	uint64_t to = 0;

	for (uint64_t left = mask; left; left &= left - 1) {
		if (value & 1)
			to |= left & -left;
		value >>= 1;
	}
	if (value)
		return false;
	*field = (*field & ~mask) | to;
	return true;
}

static int set_term(struct pmu *pmu, struct part key, struct part value,
		    int field, uint64_t mask)
{
	int bits = __builtin_popcountll(mask);
	uint64_t n;

	if (!read_number(value, &n) || !set_bits(&pmu->fields[field], mask, n))
		return seam_fail(
			pmu->reterr, -EINVAL,
			"'%.*s=%.*s': want a number up to 0x%llx", PART(key),
			PART(value),
			(unsigned long long)(UINT64_MAX >> (64 - bits)));
	pmu->is_given = true;
	return 0;
}

static int read_terms(struct pmu *pmu, struct part terms, bool is_event);

static int read_term(struct pmu *pmu, struct part term, bool is_event)
{
	struct part value = term, key = take(&value, '=');
	const bool has_value = key.len < term.len;
	char text[TEXT_SIZE];
	int field = field_of(key);
	uint64_t mask = UINT64_MAX;

	if (!has_value)
		value = (struct part){"1", 1};
	if (field >= 0 && has_value)
		return set_term(pmu, key, value, field, mask);
	if (!is_name(key))
		return no_term(pmu, key);
	if (read_line(pmu, "format/", key, text)) {
		if (!read_format(text, &field, &mask))
			return seam_fail(pmu->reterr, -EINVAL,
					 "'%.*s' is a term that seam cannot "
					 "set: %.60s",
					 PART(key), text);
		return set_term(pmu, key, value, field, mask);
	}
	if (!has_value && !is_event && read_line(pmu, "events/", key, text))
		return read_terms(pmu, (struct part){text, strlen(text)}, true);
	return no_term(pmu, key);
}

/* is_event: what an event stands for, which is no event again. */
static int read_terms(struct pmu *pmu, struct part terms, bool is_event)
{
	int err = 0;

	while (!err && terms.len) {
		struct part term = take(&terms, ','), value = term;
		struct part key = take(&value, '=');

		if (is_event || !seam_event_name_owns(key.at, key.len))
			err = read_term(pmu, term, is_event);
	}
	return err;
}

/* Of these what is counted is not in the attribute's config alone, or seam has
 * names for it. */
static const char *other_spelling(struct part name, uint32_t type)
{
	if (type == PERF_TYPE_TRACEPOINT)
		return "SUBSYSTEM:NAME";
	if (type == PERF_TYPE_SOFTWARE)
		return "the event's name, as cpu-clock";
	if (name.len == 6 && !memcmp(name.at, "uprobe", 6))
		return "uprobe:FILE:FUNCTION";
	return NULL;
}

static int read_pmu(struct pmu *pmu, struct part terms, const char *text,
		    uint32_t *ret_type)
{
	const char *instead;
	char line[TEXT_SIZE];
	uint64_t type;
	int err;

	if (!read_line(pmu, "", (struct part){"type", 4}, line) ||
	    !read_number((struct part){line, strlen(line)}, &type) ||
	    type > UINT32_MAX)
		return seam_fail(pmu->reterr, -EINVAL,
				 "'%.*s' has no type that could be read",
				 PART(pmu->name));
	*ret_type = (uint32_t)type;
	instead = other_spelling(pmu->name, *ret_type);
	if (instead)
		return seam_fail(pmu->reterr, -EINVAL,
				 "'%.60s' is not read so: write %s", text,
				 instead);
	err = read_terms(pmu, terms, false);
	return err || pmu->is_given ? err : no_term(pmu, (struct part){"", 0});
}

int seam_pmu_read(const char *devices, const char *text, size_t pmu_len,
		  struct perf_event_attr *attr, struct seam_errinfo *reterr)
{
	struct pmu pmu = {.name = {text, pmu_len}, .reterr = reterr};
	struct part terms = {text + pmu_len + 1, strlen(text) - pmu_len - 2};
	char path[NAME_SIZE + 256];
	uint32_t type = 0;
	int err;

	if (!is_name(pmu.name))
		return no_pmu(devices, pmu.name, reterr);
	snprintf(path, sizeof(path), "%.255s/%.*s", devices, (int)pmu_len,
		 text);
	pmu.folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (pmu.folder < 0)
		return no_pmu(devices, pmu.name, reterr);
	err = read_pmu(&pmu, terms, text, &type);
	close(pmu.folder);
	if (err)
		return err;
	attr->type = type;
	attr->config = pmu.fields[0];
	attr->config1 = pmu.fields[1];
	attr->config2 = pmu.fields[2];
	return 0;
}
