// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/json-summary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/messages.h"
#include "report/render.h"

static void add_passed(struct seam_strbuf *b, const struct input *in)
{
	const char *comma = "", *name;
	uint64_t n;

	for (size_t i = 0;
	     (name = seam_pd_passed_over(in->reader, i, &n)) != NULL; i++) {
		if (!n)
			continue;
		seam_strbuf_printf(b, "%s\"%s\":%llu", comma, name,
				   (unsigned long long)n);
		comma = ",";
	}
}

/* Where reading stopped and why; where the first record is that was left out.
 */
static void add_damage(struct seam_strbuf *b, const struct seam_pd_damage *d)
{
	seam_strbuf_printf(b, "\"damaged\":%s,\"malformed_records\":%llu,",
			   d->damaged ? "true" : "false",
			   (unsigned long long)d->n_malformed);
	if (d->damaged) {
		seam_strbuf_puts(b, "\"damage\":{\"file\":");
		seam_json_string(b, d->err.where);
		seam_strbuf_printf(b, ",\"offset\":%llu,\"reason\":",
				   (unsigned long long)d->err.offset);
		seam_json_string(b, d->err.reason);
		seam_strbuf_printf(b, ",\"files\":%llu},",
				   (unsigned long long)d->n_files);
	}
	if (d->n_malformed) {
		seam_strbuf_puts(b, "\"malformed\":{\"file\":");
		seam_json_string(b, d->malformed_where);
		seam_strbuf_printf(b, ",\"offset\":%llu},",
				   (unsigned long long)d->malformed_offset);
	}
}

void json_summary_head(struct seam_strbuf *b, const struct input *in,
		       const struct seam_stitch_stats *joins)
{
	seam_strbuf_puts(b, "\"file\":");
	seam_json_string(b, in->path);
	seam_strbuf_puts(b, ",");
	if (joins) {
		seam_json_counts(b, joins);
		seam_strbuf_puts(b, ",");
	}
	add_damage(b, seam_pd_damage(in->reader));
	seam_strbuf_puts(b, "\"passed_over\":{");
	add_passed(b, in);
	seam_strbuf_puts(b, "}");
}

int json_summary_open(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

static int write_file(const char *path, const struct seam_strbuf *b)
{
	int fd = b->err ? b->err : json_summary_open(path), rc;
	FILE *f;

	if (fd < 0)
		return fd;
	f = fdopen(fd, "w");
	if (!f) {
		rc = -errno;
		close(fd);
		return rc;
	}
	rc = fwrite(b->s, 1, b->len, f) == b->len ? 0 : -errno;
	if (fclose(f) && !rc)
		rc = -errno;
	return rc;
}

int json_summary_write(const struct input *in,
		       const struct seam_stitch_stats *joins, const char *more)
{
	const char *path = in->json_summary;
	struct seam_strbuf b = {0};
	int rc;

	if (!path)
		return 0;
	if (input_is(in, path)) {
		say("seam: %s: that is the recording itself\n", path);
		return -1;
	}
	seam_strbuf_puts(&b, "{");
	json_summary_head(&b, in, joins);
	if (more)
		seam_strbuf_printf(&b, ",%s", more);
	seam_strbuf_puts(&b, "}\n");
	rc = write_file(path, &b);
	seam_strbuf_fini(&b);
	if (rc)
		say("seam: %s: %s\n", path, strerror(-rc));
	return rc ? -1 : 0;
}
