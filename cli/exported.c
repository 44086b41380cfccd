// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/exported.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/messages.h"

static int write_to(void *ctx, const void *bytes, size_t len)
{
	struct exported_to *to = ctx;

	while (len) {
		ssize_t n = write(to->fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return to->err = -errno;
		bytes = (const char *)bytes + n;
		len -= (size_t)n;
	}
	return 0;
}

static int complain(const struct input *in, const struct exported_to *to,
		    int rc)
{
	if (!to->err)
		say("seam: %s: %s\n", in->path, strerror(-rc));
	else if (to->path)
		say("seam: %s: %s\n", to->path, strerror(-rc));
	/* A reader that has seen enough, like head, is no failure to tell. */
	else if (rc != -EPIPE)
		say("seam: writing the output: %s\n", strerror(-rc));
	return -1;
}

struct exporting {
	struct seam_export *e;
	const char *event; /* of the last sample */
	bool mixed;
};

/* Return: 0; -1: said on stderr; or -errno. */
static int add_all(struct input *in, struct exporting *x, bool *ret_said)
{
	struct seam_stitched s;
	struct seam_text t;
	int rc;

	while ((rc = input_next(in, &s, &t)) > 0) {
		x->mixed |= x->event && x->event != s.event;
		x->event = s.event;
		rc = seam_export_add(x->e, &t);
		if (rc) {
			input_stop(in);
			return rc;
		}
	}
	*ret_said = rc < 0;
	return rc;
}

int exported_write(struct input *in, enum seam_export_format format,
		   struct exported_to *to, struct seam_export_counts *ret)
{
	struct exporting x = {0};
	bool said = false;
	int rc = seam_export_new(format, in->reader, &x.e);

	if (rc)
		return complain(in, to, rc);
	rc = add_all(in, &x, &said);
	if (!rc)
		rc = seam_export_finish(x.e, in->path, write_to, to);
	if (!rc && x.mixed && format == SEAM_EXPORT_FOLDED)
		say("seam: %s: samples of several events are counted "
		    "together; --event picks one\n",
		    in->path);
	if (!rc && ret)
		*ret = *seam_export_counts(x.e);
	seam_export_free(x.e);
	if (rc && !said)
		complain(in, to, rc);
	return rc ? -1 : 0;
}
