// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "base/grow.h"
#include "base/utf8.h"
#include "export/model.h"

/* Names are pointers into files: one that is a megabyte long and cut anew at
 * each address would fill the memory from a small file. */
#define MAX_NAME 16384

#define REPLACEMENT "\xef\xbf\xbd"

static void clean(struct seam_strbuf *b, const char *s)
{
	while (*s) {
		size_t n = seam_utf8_len(s);

		if (!n)
			seam_strbuf_puts(b, REPLACEMENT);
		else
			seam_strbuf_add(b, s, n);
		s += n ? n : 1;
		if (b->len >= MAX_NAME)
			return;
	}
}

int64_t seam_model_text(struct seam_model *m, const char *s)
{
	size_t n = m->texts.n;
	bool cut;
	int64_t i;

	seam_strbuf_reset(&m->text);
	clean(&m->text, s);
	cut = m->text.len >= MAX_NAME;
	if (cut)
		seam_strbuf_puts(&m->text, "...");
	if (m->text.err)
		return m->text.err;
	i = seam_texts_add(&m->texts, m->text.len ? m->text.s : "");
	if (cut && i == (int64_t)n)
		m->cut_names++;
	return i;
}

static int64_t build_id_of(struct seam_model *m,
			   const struct seam_stitch_map *map)
{
	char hex[2 * 255 + 1] = "";

	for (size_t i = 0; i < map->build_id_len && i < 255; i++) {
		hex[2 * i] = "0123456789abcdef"[map->build_id[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[map->build_id[i] & 15];
		hex[2 * i + 2] = '\0';
	}
	return seam_texts_add(&m->texts, hex);
}

static bool is_kernel_itself(const char *path)
{
	return !strncmp(path, "[kernel.kallsyms]", 17);
}

/* A module of the kernel may lie in the mapping of the kernel itself: then
 * of that mapping nothing holds for it. */
static bool is_map_of(const struct seam_stitch_map *map, const char *dso)
{
	return map && !map->symbol &&
	       is_kernel_itself(map->path) == is_kernel_itself(dso);
}

static bool is_file(const char *path)
{
	return path[0] == '/' && path[1] != '/'; /* not "//anon" */
}

static int64_t module_of(struct seam_model *m, const struct seam_frame *f,
			 const struct seam_name *name)
{
	const struct seam_stitch_map *map =
		name->dso && is_map_of(f->map, name->dso) ? f->map : NULL;
	struct seam_model_module mod = {.kernel = f->kernel};
	size_t n = m->modules.n;
	int64_t rc, i;

	if (!name->dso)
		return 0;
	rc = seam_model_text(m, name->dso);
	if (rc < 0)
		return rc;
	mod.path = (uint32_t)rc;
	if (map) {
		rc = build_id_of(m, map);
		if (rc < 0)
			return rc;
		mod.build_id = (uint32_t)rc;
		mod.len = map->end - map->start;
		mod.pgoff = map->pgoff;
		mod.place = is_file(map->path) ? 0 : map->start;
	}
	if (seam_grow(&m->module_start, n + 1, &m->cap_start,
		      sizeof(*m->module_start)))
		return -ENOMEM;
	i = seam_intern(&m->modules, &mod, sizeof(mod));
	if (i == (int64_t)n)
		m->module_start[n] = map ? map->start : 0;
	return i;
}

static int64_t func_of(struct seam_model *m, const struct seam_name *level,
		       uint32_t module)
{
	struct seam_model_func func = {.module = module};
	char text[1024];
	int64_t rc;

	func.flags = (level->kernel ? SEAM_FUNC_KERNEL : 0) |
		     (level->inlined ? SEAM_FUNC_INLINED : 0) |
		     (level->guessed ? SEAM_FUNC_GUESSED : 0);
	if (level->sym) {
		rc = seam_model_text(m, level->sym);
		if (rc < 0)
			return rc;
		func.name = func.symbol = (uint32_t)rc;
	}
	if (level->file) {
		rc = seam_model_text(m, level->file);
		if (rc < 0)
			return rc;
		func.file = (uint32_t)rc;
	}
	if (!level->sym || level->guessed) {
		struct seam_strbuf b = {0};

		/* Of what has a symbol only the mark is of use. */
		seam_name_format(level, text, sizeof(text));
		if (level->sym) {
			seam_strbuf_puts(&b, "? ");
			seam_strbuf_puts(&b, level->sym);
		} else {
			seam_strbuf_puts(&b, text);
		}
		rc = b.err ? b.err : seam_model_text(m, b.s);
		seam_strbuf_fini(&b);
		if (rc < 0)
			return rc;
		func.name = (uint32_t)rc;
	}
	return seam_intern(&m->funcs, &func, sizeof(func));
}

/* One function inside another's level. */
static int64_t level_of(struct seam_model *m, struct seam_model_frame frame,
			uint32_t outer)
{
	struct seam_model_levels level = {.outer = outer};
	int64_t rc = seam_intern(&m->frames, &frame, sizeof(frame));

	if (rc < 0)
		return rc;
	level.frame = (uint32_t)rc;
	return seam_intern(&m->levels, &level, sizeof(level));
}

static int64_t levels_of(struct seam_model *m, const struct seam_name *name,
			 uint32_t module)
{
	uint32_t outer = 0;
	int64_t rc = 0;

	for (size_t i = seam_name_levels(name); i-- > 0;) {
		struct seam_name one = seam_name_level(name, i);
		struct seam_model_frame frame = {.line = one.line};

		rc = func_of(m, &one, module);
		if (rc < 0)
			return rc;
		frame.func = (uint32_t)rc;
		rc = level_of(m, frame, outer);
		if (rc < 0)
			return rc;
		outer = (uint32_t)rc;
	}
	return rc;
}

static int64_t make_spot(struct seam_model *m, const struct seam_frame *f,
			 const struct seam_name *name)
{
	struct seam_model_spot spot = {.off = name->dso_off};
	int64_t rc = module_of(m, f, name);

	if (rc < 0)
		return rc;
	spot.module = (uint32_t)rc;
	rc = levels_of(m, name, spot.module);
	if (rc < 0)
		return rc;
	spot.levels = (uint32_t)rc;
	return seam_intern(&m->spots, &spot, sizeof(spot));
}

/* What a spot is made of. Names need not be compared where all that they point
 * to is the same, nor what processes have mapped at addresses of their own. */
struct spot_key {
	uint64_t off, len, pgoff, place;
	const void *sym, *source;
	uint32_t number, flags;
};

static struct spot_key key_of(const struct seam_frame *f,
			      const struct seam_name *name)
{
	const struct seam_stitch_map *map = f->map;
	struct spot_key key = {
		.off = name->dso_off,
		.sym = name->sym,
		.source = name->source,
		.flags = name->kernel + 2U * name->guessed,
	};

	if (!map)
		return key;
	key.len = map->end - map->start;
	key.pgoff = map->pgoff;
	key.place = is_file(map->path) ? 0 : map->start;
	key.number = map->number + 1;
	return key;
}

static int64_t spot_of(struct seam_model *m, const struct seam_frame *f,
		       const struct seam_name *name)
{
	const struct spot_key key = key_of(f, name);
	size_t n = m->seen.n;
	int64_t i, rc;

	if (seam_grow(&m->seen_spot, n + 1, &m->cap_seen,
		      sizeof(*m->seen_spot)))
		return -ENOMEM;
	i = seam_intern(&m->seen, &key, sizeof(key));
	if (i != (int64_t)n)
		return i < 0 ? i : m->seen_spot[i];
	rc = make_spot(m, f, name);
	/* After a failure it is known as a wrong one; nobody asks again. */
	m->seen_spot[n] = rc < 0 ? 0 : (uint32_t)rc;
	return rc;
}

/* Why a stack is not whole stands where its root is missing. */
static int64_t end_spot(struct seam_model *m, const char *missing)
{
	struct seam_model_func func = {.flags = SEAM_FUNC_END};
	struct seam_model_frame frame = {0};
	struct seam_model_spot spot = {0};
	struct seam_strbuf b = {0};
	int64_t rc;

	seam_strbuf_printf(&b, "[%s]", missing);
	rc = b.err ? b.err : seam_texts_add(&m->texts, b.s);
	seam_strbuf_fini(&b);
	if (rc < 0)
		return rc;
	func.name = func.symbol = (uint32_t)rc;
	rc = seam_intern(&m->funcs, &func, sizeof(func));
	if (rc < 0)
		return rc;
	frame.func = (uint32_t)rc;
	rc = level_of(m, frame, 0);
	if (rc < 0)
		return rc;
	spot.levels = (uint32_t)rc;
	return seam_intern(&m->spots, &spot, sizeof(spot));
}

/* A stack that no other was equal to. */
static void into_tree(struct seam_model *m, uint32_t track, uint32_t node,
		      uint32_t n_rows)
{
	struct seam_model_of_track *of = &m->of_track[track];

	if (!m->by_track) {
		m->n_rows += n_rows;
		return;
	}
	of->n_rows += n_rows;
	if (of->last_node)
		seam_nodes_at(&m->nodes, of->last_node)->next = node;
	else
		of->first_node = node;
	of->last_node = node;
}

static int64_t below(struct seam_model *m, uint32_t track, int64_t caller,
		     int64_t spot)
{
	struct seam_model_node node = {.caller = (uint32_t)caller,
				       .spot = (uint32_t)spot};
	size_t n = m->nodes.n;
	uint32_t n_rows;
	int64_t rc;

	if (spot < 0)
		return spot;
	node.track = m->by_track ? track + 1 : 0;
	node.row = m->by_track ? m->of_track[track].n_rows : m->n_rows;
	n_rows = seam_model_n_levels(m, node.spot);
	if (n_rows > UINT32_MAX - node.row - 1)
		return -EOVERFLOW;
	rc = seam_nodes_add(&m->nodes, &node);
	if (rc == (int64_t)n)
		into_tree(m, track, (uint32_t)n, n_rows);
	return rc;
}

/* --- what the last stack had --- */

/* Return: 0: it is like no other. */
static uint64_t name_key(const struct seam_name *name)
{
	return name->number ? name->number * 2 + name->guessed : 0;
}

/* Whole stacks and those that are not have few frames in common. */
static struct seam_model_last *last_of(struct seam_model *m, uint32_t track,
				       uint32_t root)
{
	const size_t n = sizeof(m->last) / sizeof(m->last[0]);
	struct seam_model_last *last = &m->last[(track * 2 + !root) % n];

	if (last->track != track + 1 || last->root != root) {
		last->track = track + 1;
		last->root = root;
		last->n = 0;
	}
	return last;
}

static void forget_last(struct seam_model *m)
{
	memset(m->last, 0, sizeof(m->last));
}

/* names: of n frames that are left. Return: how many of them it had, too, which
 * are all that it has from here on. */
static uint32_t in_common(struct seam_model_last *last,
			  const struct seam_name *names, size_t n)
{
	uint32_t i = 0;

	while (i < last->n && i < n &&
	       last->names[i] == name_key(&names[n - 1 - i]))
		i++;
	last->n = i;
	return i;
}

static void remember(struct seam_model_last *last, uint32_t depth,
		     const struct seam_name *name, uint32_t node)
{
	const uint64_t key = name_key(name);

	if (last->n != depth || depth >= SEAM_MODEL_LAST || !key)
		return;
	last->names[depth] = key;
	last->nodes[depth] = node;
	last->n = depth + 1;
}

int64_t seam_model_stack(struct seam_model *m, uint32_t track,
			 const struct seam_text *t)
{
	const struct seam_stitched *s = t->sample;
	const char *missing = seam_text_missing(s);
	struct seam_model_last *last;
	size_t n = s->n_frames;
	uint32_t depth;
	int64_t node = 0;

	if (n > t->opts.max_stack)
		n = t->opts.max_stack;
	if (seam_nodes_stack(&m->nodes))
		forget_last(m);
	if (missing)
		node = below(m, track, node, end_spot(m, missing));
	if (node < 0)
		return node;
	last = last_of(m, track, (uint32_t)node);
	depth = in_common(last, t->names, n);
	if (depth)
		node = last->nodes[depth - 1];
	for (n -= depth; node >= 0 && n-- > 0; depth++) {
		node = below(m, track, node,
			     spot_of(m, &s->frames[n], &t->names[n]));
		if (node >= 0)
			remember(last, depth, &t->names[n], (uint32_t)node);
	}
	return node;
}
