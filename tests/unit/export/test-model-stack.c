// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a stack is found the same whether what it has in common with the
 * last ones is known by its names' numbers or looked for anew: stacks deeper
 * than is kept, of tracks that share a place, whole or not, in parts. */
#include "export/model.h"
#include "made.h"
#include "tests/unit/random.h"

#define TRACKS 35
#define DEPTH (SEAM_MODEL_LAST + 40)
#define NAMES 5
#define STACKS 20000

struct stack {
	struct seam_frame frames[DEPTH];
	struct seam_name names[DEPTH], no_numbers[DEPTH];
	size_t n;
};

static void push(struct stack *s, size_t i)
{
	const size_t at = DEPTH - ++s->n; /* the leaf comes first */

	s->frames[at] = made_frames[i];
	s->names[at] = s->no_numbers[at] = made_names[i];
	/* One has none, and two differ in being guessed alone. */
	s->names[at].number = i == 1 ? 2 : i;
}

/* Some of its frames return, and others are called. */
static void change(struct stack *s, struct random *random)
{
	size_t n = next(random, 4) ? s->n : DEPTH;

	s->n -= next(random, (uint32_t)(s->n < 9 ? s->n : 9) + 1);
	if (!next(random, 50))
		s->n = 0;
	n = s->n + next(random, (uint32_t)(n - s->n) + 1);
	while (s->n < n || !s->n)
		push(s, next(random, NAMES));
}

static int64_t stack_of(struct seam_model *m, uint32_t track,
			const struct stack *s, const struct seam_name *names,
			int end)
{
	const struct seam_stitched stitched = {.frames =
						       s->frames + DEPTH - s->n,
					       .n_frames = s->n,
					       .end = end};
	const struct seam_text t = {.sample = &stitched,
				    .names = names + DEPTH - s->n,
				    .opts = {.max_stack = DEPTH - 10}};

	return seam_model_stack(m, track, &t);
}

static void begin_model(struct seam_model *m, struct seam_pd_reader *r,
			bool by_track)
{
	assert_int_equal(seam_model_init(m, r), 0);
	m->by_track = by_track;
	m->of_track = calloc(TRACKS, sizeof(*m->of_track));
	assert_non_null(m->of_track);
}

static void as_looked_for(uint32_t part, bool by_track)
{
	static const int ends[] = {SEAM_OUTERMOST, SEAM_OUTERMOST,
				   SEAM_NO_TABLE, SEAM_UNREADABLE};
	static struct stack stacks[TRACKS];
	static struct image image;
	static struct seam_model kept, anew;
	struct random random = {part};
	struct seam_pd_reader *r;
	bool is_kept = false;

	memset(&image, 0, sizeof(image));
	memset(stacks, 0, sizeof(stacks));
	r = made_reader(&image);
	seam_nodes_part = part;
	begin_model(&kept, r, by_track);
	begin_model(&anew, r, by_track);
	for (int i = 0; i < STACKS; i++) {
		const uint32_t track = next(&random, TRACKS);
		const int end = ends[next(&random, 4)];
		struct stack *s = &stacks[track];
		int64_t node;

		change(s, &random);
		node = stack_of(&anew, track, s, s->no_numbers, end);
		assert_true(node > 0);
		assert_int_equal(stack_of(&kept, track, s, s->names, end),
				 node);
		is_kept |= kept.last[0].n > 0;
		assert_int_equal(anew.last[0].n, 0);
	}
	assert_true(kept.nodes.n > STACKS / 10);
	assert_int_equal(kept.nodes.n, anew.nodes.n);
	assert_true(is_kept);
	seam_model_fini(&kept);
	seam_model_fini(&anew);
	seam_pd_close(r);
}

static void in_one_part(void **state)
{
	(void)state;
	as_looked_for(1U << 30, true);
	as_looked_for(1U << 30, false);
}

static void in_parts(void **state)
{
	(void)state;
	as_looked_for(64, true);
	as_looked_for(4096, true);
	as_looked_for(4096, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_one_part),
		cmocka_unit_test(in_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
