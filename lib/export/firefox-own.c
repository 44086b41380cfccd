// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What of the model a thread has, and by which numbers. */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "export/firefox.h"

static int own_begin(struct seam_firefox_own *own, size_t n)
{
	own->n_model = n;
	own->row = calloc(n + 1, sizeof(*own->row));
	own->of = calloc(n + 1, sizeof(*own->of));
	return own->row && own->of ? 0 : -ENOMEM;
}

static void own_end(struct seam_firefox_own *own)
{
	free(own->row);
	free(own->of);
	free(own->v);
}

int seam_firefox_begin(struct seam_firefox *p)
{
	const struct seam_model *m = p->m;
	int rc = own_begin(&p->spots, m->spots.n);

	if (!rc)
		rc = own_begin(&p->funcs, m->funcs.n);
	if (!rc)
		rc = own_begin(&p->texts, m->texts.n);
	if (!rc)
		rc = own_begin(&p->modules, m->modules.n);
	return rc;
}

void seam_firefox_end(struct seam_firefox *p)
{
	own_end(&p->spots);
	own_end(&p->funcs);
	own_end(&p->texts);
	own_end(&p->modules);
	free(p->path);
}

static bool has(const struct seam_firefox *p,
		const struct seam_firefox_own *own, uint32_t i)
{
	return own->of[i] == p->thread;
}

/* Gives it the next rows. */
static int take(struct seam_firefox *p, struct seam_firefox_own *own,
		uint32_t i, uint32_t n_rows)
{
	if (n_rows > UINT32_MAX - own->n_rows)
		return -EOVERFLOW;
	if (seam_grow(&own->v, own->n + 1, &own->cap, sizeof(*own->v)))
		return -ENOMEM;
	own->v[own->n++] = i;
	own->row[i] = own->n_rows;
	own->of[i] = p->thread;
	own->n_rows += n_rows;
	return 0;
}

static int take_one(struct seam_firefox *p, struct seam_firefox_own *own,
		    uint32_t i)
{
	return has(p, own, i) ? 0 : take(p, own, i, 1);
}

static int take_func(struct seam_firefox *p, uint32_t number)
{
	const struct seam_model_func *f =
		&SEAM_MODEL_GET(func, p->m->funcs, number);
	int rc;

	if (has(p, &p->funcs, number))
		return 0;
	rc = take(p, &p->funcs, number, 1);
	if (!rc)
		rc = take_one(p, &p->texts, f->name);
	if (!rc && f->file)
		rc = take_one(p, &p->texts, f->file);
	if (!rc && f->module) {
		rc = take_one(p, &p->modules, f->module);
		if (!rc)
			rc = take_one(
				p, &p->texts,
				SEAM_MODEL_GET(module, p->m->modules, f->module)
					.path);
	}
	return rc;
}

/* Functions of a spot have their rows one behind the other, the outermost
 * first. */
static int take_spot(struct seam_firefox *p, uint32_t spot)
{
	int rc;

	if (has(p, &p->spots, spot))
		return 0;
	rc = take(p, &p->spots, spot, seam_model_n_levels(p->m, spot));
	for (uint32_t at = SEAM_MODEL_GET(spot, p->m->spots, spot).levels;
	     !rc && at; at = seam_firefox_level(p, at)->outer)
		rc = take_func(p, seam_firefox_func(p, at));
	return rc;
}

static void empty(struct seam_firefox_own *own)
{
	own->n = 0;
	own->n_rows = 0;
}

int seam_firefox_take(struct seam_firefox *p, size_t track)
{
	struct seam_model *m = p->m;
	const struct seam_model_node *node;
	int rc;

	p->thread = (uint32_t)track + 1;
	empty(&p->spots);
	empty(&p->funcs);
	empty(&p->texts);
	empty(&p->modules);
	rc = take_one(p, &p->texts, p->lost);
	for (uint32_t i = m->of_track[track].first_node; !rc && i;
	     i = node->next) {
		node = seam_model_node(m, i);
		rc = take_spot(p, node->spot);
	}
	return rc;
}
