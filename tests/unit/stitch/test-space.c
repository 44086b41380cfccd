// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: mappings over time, against a plain array of pages: new ones
 * cover, split and trim old ones; a fork copies, an exec drops. Without
 * data, all code is where it was with it, and no other. */
#include "../perfdata/recording.h"
#include "stitch/space.h"

#define PAGES 64
#define STEPS 4000

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

struct model {
	char path[3][PAGES][8]; /* of process 5, 6 and 7; "": nothing */
};

/* A stack of three addresses, one a page, and what the model says of them,
 * kept for later in order. */
struct wanted {
	char path[3][8];
};

static void probe(struct seam_pd_writer *w, const struct model *m, unsigned p,
		  uint64_t time_ns, uint64_t r, struct wanted *want)
{
	uint64_t page = r % (PAGES - 2);
	const uint64_t ips[] = {page << 12, (page + 1) << 12 | 0xfff,
				(page + 2) << 12 | 0x800};
	struct seam_pd_stack s = {
		.id = id_of(5 + p, time_ns + 1),
		.cookie = time_ns,
		.ips = ips,
		.n_ips = 3,
	};

	assert_int_equal(put_sample(w, 5 + p, time_ns, time_ns), 0);
	assert_int_equal(seam_pd_write_stack(w, &s), 0);
	for (int i = 0; i < 3; i++)
		memcpy(want->path[i], m->path[p][page + i], 8);
}

static void map(struct seam_pd_writer *w, struct model *m, unsigned p,
		uint64_t time_ns, uint64_t r)
{
	uint64_t start = r % PAGES, len = 1 + (r >> 8) % (PAGES / 4);
	char path[8];

	if (len > PAGES - start)
		len = PAGES - start;
	snprintf(path, sizeof(path), "/f%u", (unsigned)(r >> 16) % 10000);
	assert_int_equal(
		put_map(w, 5 + p, time_ns, start << 12, len << 12, path), 0);
	for (uint64_t i = start; i < start + len; i++)
		memcpy(m->path[p][i], path, 8);
}

static void fork_or_exec(struct seam_pd_writer *w, struct model *m, unsigned p,
			 uint64_t time_ns, uint64_t r)
{
	unsigned child = (p + 1 + r % 2) % 3;

	if (r & 4) {
		assert_int_equal(put_comm(w, 5 + p, time_ns, "x", true), 0);
		memset(m->path[p], 0, sizeof(m->path[p]));
	} else if (r & 8) { /* as perf says of one that was there before */
		assert_int_equal(put_task(w, 5 + p, 5 + child, time_ns,
					  PERF_RECORD_FORK, 1 << 13),
				 0);
		memset(m->path[child], 0, sizeof(m->path[child]));
	} else {
		assert_int_equal(put_fork(w, 5 + p, 5 + child, time_ns, false),
				 0);
		memcpy(m->path[child], m->path[p], sizeof(m->path[p]));
	}
}

static size_t write_steps(struct seam_pd_writer *w, struct wanted *want)
{
	static struct model m;
	uint64_t seed = 0x2545f4914f6cdd1d;
	size_t n = 0;

	for (uint64_t i = 1; i <= STEPS; i++) {
		uint64_t r = next(&seed), time_ns = 1000 * i;
		unsigned p = (unsigned)(r >> 40) % 3;

		if (r >> 50 & 1)
			probe(w, &m, p, time_ns, r, &want[n++]);
		else if ((r >> 51 & 15) == 0)
			fork_or_exec(w, &m, p, time_ns, r);
		else
			map(w, &m, p, time_ns, r);
	}
	return n;
}

static void test_model(void **state)
{
	struct wanted *want = calloc(STEPS, sizeof(*want));
	struct seam_stitched out;
	struct seam_pd_writer *w;
	struct seam_pd_reader *r;
	struct seam_stitch *s;
	struct folder f;
	size_t n, mapped = 0;

	(void)state;
	assert_non_null(want);
	folder_make(&f);
	w = open_writer(f.file, 0);
	n = write_steps(w, want);
	assert_int_equal(seam_pd_writer_close(w), 0);
	r = open_reader(f.file);
	assert_int_equal(seam_stitch_new(r, &s), 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(seam_stitch_next(s, &out), 1);
		assert_int_equal(out.n_frames, 5);
		for (int k = 0; k < 3; k++) {
			const struct seam_stitch_map *map =
				out.frames[2 + k].map;

			assert_string_equal(map ? map->path : "",
					    want[i].path[k]);
			mapped += map != NULL;
		}
	}
	assert_true(mapped > n);
	seam_stitch_free(s);
	seam_pd_close(r);
	folder_remove(&f);
	free(want);
}

/* Mappings that no address space has room for: what fits of them is there,
 * and the file is read. */
static void test_top(void **state)
{
	static const struct wanted want = {{"/all", "/cut", "/all"}};
	const uint64_t ips[] = {0x1000, UINT64_MAX - 0x800, UINT64_MAX - 1};
	struct seam_pd_stack stack = {
		.id = id_of(5, 2001),
		.cookie = 1,
		.ips = ips,
		.n_ips = 3,
	};
	struct seam_stitched out;
	struct seam_pd_writer *w;
	struct seam_pd_reader *r;
	struct seam_stitch *s;
	struct folder f;

	(void)state;
	folder_make(&f);
	w = open_writer(f.file, 0);
	assert_int_equal(put_map(w, 5, 1000, 0, UINT64_MAX, "/all"), 0);
	assert_int_equal(put_map(w, 5, 1001, UINT64_MAX, 5, "/none"), 0);
	assert_int_equal(put_map(w, 5, 1002, UINT64_MAX - 0xfff, 0xff0, "/cut"),
			 0);
	assert_int_equal(put_sample(w, 5, 2000, 1), 0);
	assert_int_equal(seam_pd_write_stack(w, &stack), 0);
	assert_int_equal(seam_pd_writer_close(w), 0);
	r = open_reader(f.file);
	assert_int_equal(seam_stitch_new(r, &s), 0);
	assert_int_equal(seam_stitch_next(s, &out), 1);
	assert_int_equal(out.n_frames, 5);
	for (int k = 0; k < 3; k++)
		assert_string_equal(out.frames[2 + k].map->path, want.path[k]);
	seam_stitch_free(s);
	seam_pd_close(r);
	folder_remove(&f);
}

#define MISC_MMAP_DATA (1 << 13)

static struct seam_pd_rec some_map(uint64_t r)
{
	uint64_t start = r % PAGES;
	struct seam_pd_rec rec = {
		.type = PERF_RECORD_MMAP2,
		.misc = PERF_RECORD_MISC_USER,
		.pid = 5,
		.map = {.start = start << 12, .len = (1 + (r >> 8) % 8) << 12},
	};

	if (r >> 20 & 3)
		rec.misc |= MISC_MMAP_DATA;
	rec.map.path = rec.misc & MISC_MMAP_DATA ? "data" : "code";
	return rec;
}

/* The places of code, most of which data comes to lie on. */
static size_t same_code(struct world *all, struct world *code)
{
	const struct space *x = seam_world_process(all, 5)->space;
	const struct space *y = seam_world_process(code, 5)->space;
	size_t n = 0;

	for (uint64_t page = 0; page < PAGES + 8; page++) {
		const struct seam_stitch_map *a =
			seam_space_find(x, page << 12);
		const struct seam_stitch_map *b =
			seam_space_find(y, page << 12);

		if (!a || strcmp(a->path, "code") != 0) {
			assert_true(!b || !strcmp(b->path, "data"));
			continue;
		}
		assert_non_null(b);
		assert_string_equal(b->path, "code");
		assert_int_equal(b->start, a->start);
		n++;
	}
	return n;
}

static void test_code_only(void **state)
{
	struct world all, code;
	struct seam_pd_reader *r;
	uint64_t seed = 0x2545f4914f6cdd1d;
	size_t n = 0;
	struct folder f;

	(void)state;
	folder_make(&f);
	assert_int_equal(seam_pd_writer_close(open_writer(f.file, 0)), 0);
	r = open_reader(f.file);
	seam_world_init(&all, STEPS);
	seam_world_init(&code, STEPS);
	code.is_of_code = true;
	for (size_t i = 0; i < STEPS; i++) {
		struct seam_pd_rec rec = some_map(next(&seed));

		assert_int_equal(seam_world_apply(&all, r, &rec), 0);
		assert_int_equal(seam_world_apply(&code, r, &rec), 0);
		n += same_code(&all, &code);
	}
	assert_true(n > STEPS);
	assert_true(code.numbers->n_ids < all.numbers->n_ids);
	seam_world_fini(&all);
	seam_world_fini(&code);
	seam_pd_close(r);
	folder_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_code_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
