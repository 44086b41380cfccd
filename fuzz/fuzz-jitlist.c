/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Any bytes as the list that a process keeps of its sections, and as these
 * sections: they are put where this process has its list, read as another's
 * would be, changed, and read again. Tables that are kept do not overlap, are
 * those that the verifier accepts, joined they say what each says, and none is
 * left over in the end.
 *
 * The first two bytes say how many of the rest are the list's mapping; behind
 * them are changes, each an offset, a length and so many bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/jit-registry.h"
#include "process/jit.h"
#include "sframe/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Addresses in the inputs are of this place, which nothing else is at. */
#define PLACE ((uint8_t *)0x200000000000)
#define PLACE_SIZE (64 << 10)
#define MAX_PROBES 16

struct input {
	const uint8_t *data;
	size_t size;
};

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void map_place(void)
{
	int fd = memfd_create(SEAM_JIT_NAME, MFD_CLOEXEC);

	check(fd >= 0 && !ftruncate(fd, PLACE_SIZE));
	check(mmap(PLACE, PLACE_SIZE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) == PLACE);
	close(fd);
}

/* Return: the next word of the input, 0 behind its end. */
static size_t take_word(struct input *in)
{
	size_t word;

	if (in->size < 2) {
		in->size = 0;
		return 0;
	}
	word = in->data[0] | (size_t)in->data[1] << 8;
	in->data += 2;
	in->size -= 2;
	return word;
}

/* So many bytes of the input, as far as there are any and the place goes. */
static void put_bytes(struct input *in, size_t off, size_t size)
{
	if (size > in->size)
		size = in->size;
	if (off < PLACE_SIZE)
		memcpy(PLACE + off, in->data,
		       size < PLACE_SIZE - off ? size : PLACE_SIZE - off);
	in->data += size;
	in->size -= size;
}

static void check_table(const struct seam_jit *j,
			const struct seam_jit_table *t)
{
	const struct seam_sframe_limits limits = {
		.abi = SEAM_SFRAME_ABI_AMD64,
		.section_addr = t->sframe,
		.text_start = t->code,
		.text_end = t->end,
	};

	check(t->code < t->end && t->refs);
	check(seam_jit_find(j, t->code) == t);
	check(seam_jit_find(j, t->end - 1) == t);
	if (t->size)
		check(!seam_sframe_verify(t->bytes, t->size, &limits, NULL));
}

static void check_tables(const struct seam_jit *j)
{
	size_t bytes = 0;

	for (size_t i = 0; i < j->n; i++) {
		check_table(j, j->v[i]);
		check(!i || j->v[i - 1]->end <= j->v[i]->code);
		bytes += j->v[i]->size;
	}
	check(bytes == j->bytes && bytes <= SEAM_JIT_MAX_PROCESS);
}

/* The joined section's rule for an address is that of the table there. */
static void compare(const struct seam_jit *j, const struct seam_sframe *sf,
		    uint64_t start, uint64_t pc)
{
	const struct seam_jit_table *t;
	struct seam_rule ours, its;

	if (seam_sframe_find(sf, pc, &ours))
		return;
	t = seam_jit_find(j, start + pc);
	check(t && t->size);
	check(!seam_sframe_find(&t->sf, start + pc - t->sframe, &its));
	check(ours.flags == its.flags);
	if (!(ours.flags & SEAM_RULE_OUTERMOST))
		check(!memcmp(&ours.cfa, &its.cfa, sizeof(ours.cfa)));
}

static void join(const struct seam_jit *j, uint64_t start, uint64_t end)
{
	struct seam_sframe_func func;
	struct seam_sframe sf;
	uint8_t *bytes;
	size_t size;

	if (seam_jit_join(j, start, end, &bytes, &size))
		return;
	check(!seam_sframe_verify(bytes, size, NULL, NULL));
	check(!seam_sframe_open(&sf, bytes, size) && sf.num_fdes);
	for (uint32_t i = 0; i < sf.num_fdes && i < MAX_PROBES; i++) {
		check(!seam_sframe_func_at(&sf, i, &func));
		check(start + func.start < end);
		compare(j, &sf, start, func.start);
		compare(j, &sf, start, func.start + func.size / 2);
		compare(j, &sf, start, func.start + func.size - 1);
	}
	free(bytes);
}

static void look_at(const struct seam_jit *j)
{
	check_tables(j);
	if (!j->n)
		return;
	join(j, j->v[0]->code, j->v[j->n - 1]->end);
	join(j, j->v[0]->code + 1, j->v[j->n - 1]->end - 1);
}

static void read_changes(struct seam_jit *j, struct input *in)
{
	uint32_t pid = (uint32_t)getpid();
	bool has_changed;

	while (in->size) {
		size_t off = take_word(in), size = take_word(in);

		put_bytes(in, off, size);
		check(!seam_jit_rescan(j, pid, &has_changed));
		look_at(j);
	}
}

static void end_first(struct seam_jit *j)
{
	uint64_t code;

	if (!j->n)
		return;
	code = j->v[0]->code;
	seam_jit_end(j, code, 1, UINT64_MAX);
	check(!seam_jit_find(j, code));
	check_tables(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct seam_jit_reader reader; /* its thread goes on */
	static bool is_mapped;
	struct seam_jit parent = {.reader = &reader};
	struct seam_jit child = {.reader = &reader};
	struct input in = {data, size};
	size_t first = take_word(&in);

	if (!is_mapped)
		map_place();
	is_mapped = true;
	put_bytes(&in, 0, first);
	check(!seam_jit_scan(&parent, (uint32_t)getpid()));
	look_at(&parent);
	check(!seam_jit_copy(&child, &parent));
	read_changes(&parent, &in);
	look_at(&child);
	end_first(&child);
	seam_jit_fini(&parent);
	check_tables(&child);
	seam_jit_fini(&child);
	check(!reader.stats.bytes);
	/* All zero again. */
	check(!madvise(PLACE, PLACE_SIZE, MADV_DONTNEED));
	return 0;
}
