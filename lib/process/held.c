// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "process/held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"

void seam_held_add(struct seam_held *h, const struct seam_file_key *key, int fd)
{
	if (seam_grow(&h->files, h->n + 1, &h->max, sizeof(*h->files))) {
		close(fd);
		return;
	}
	h->files[h->n].key = *key;
	h->files[h->n].fd = fd;
	h->n++;
}

int seam_held_take(struct seam_held *h, const struct seam_file_key *key)
{
	for (size_t i = 0; i < h->n; i++) {
		int fd = h->files[i].fd;

		if (memcmp(&h->files[i].key, key, sizeof(*key)))
			continue;
		h->files[i] = h->files[--h->n];
		return fd;
	}
	return -ENOENT;
}

void seam_held_fini(struct seam_held *h)
{
	for (size_t i = 0; i < h->n; i++)
		close(h->files[i].fd);
	free(h->files);
	*h = (struct seam_held){0};
}
