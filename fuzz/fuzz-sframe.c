// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Any bytes as an SFrame section of any version, for core's reader, the
 * verifier and the builder. The reader never touches what is not the
 * section's; in a section that the verifier accepts it never meets anything
 * malformed; and what it reads there the builder writes so that it is accepted
 * again and reads the same.
 *
 * The first byte has the flags of the verifier; the rest, copied so that it
 * ends where its allocation does, is the section.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/sframe-read.h"
#include "sframe/encode.h"
#include "sframe/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The reader's cost is bounded, but not this loop over all functions. */
#define MAX_PROBES 64

static int probe(const struct seam_sframe *sf, uint64_t pc, bool is_verified,
		 struct seam_rule *ret)
{
	int err = seam_sframe_find(sf, pc, ret);

	if (is_verified && err && err != SEAM_NO_RULE)
		abort();
	if (!err &&
	    (ret->cfa.kind > SEAM_REG_DEREF || ret->ra.kind > SEAM_REG_DEREF ||
	     ret->fp.kind > SEAM_REG_DEREF))
		abort();
	return err;
}

/* The addresses worth a look in a function. */
static uint64_t probe_pc(const struct seam_sframe_func *f, int i)
{
	const uint64_t pcs[] = {
		f->start - 1,		f->start,
		f->start + f->size / 2, f->start + f->size - 1,
		f->start + f->size,	f->start + f->rep_size,
	};

	return pcs[i];
}
#define PROBE_PCS 6

static void probe_all(const struct seam_sframe *sf, bool is_verified)
{
	struct seam_rule rule;

	for (uint32_t i = 0; i < sf->num_fdes && i < MAX_PROBES; i++) {
		struct seam_sframe_func func = {
			.start = seam_sframe_start(sf, i)};

		if (seam_sframe_func_at(sf, i, &func) && is_verified)
			abort();
		for (int j = 0; j < PROBE_PCS; j++)
			probe(sf, probe_pc(&func, j), is_verified, &rule);
	}
	probe(sf, 0, is_verified, &rule);
	probe(sf, UINT64_MAX, is_verified, &rule);
}

/* Return: whether the builder took the function. */
static bool build_func(const struct seam_sframe *sf, uint32_t i,
		       struct seam_sframe_builder *b)
{
	struct seam_sframe_builder_func in = {0};
	struct seam_sframe_row row = {0};
	struct seam_sframe_func f;
	struct seam_rule rule;

	if (seam_sframe_func_at(sf, i, &f))
		abort();
	in.start = f.start;
	in.signal = !!(f.info & SEAM_SFRAME_INFO_SIGNAL);
	in.pauth_b = !!(f.info & SEAM_SFRAME_INFO_PAUTH_B);
	in.rep_size = f.info & SEAM_SFRAME_INFO_PCMASK ? f.rep_size : 0;
	in.keep_empty = !f.num_rows && !seam_sframe_empty_rule(sf, &f, &rule);
	if (seam_sframe_builder_begin(b, &in))
		abort();
	row.next = f.rows;
	for (uint32_t j = 0; j < f.num_rows; j++) {
		if (seam_sframe_row_at(sf, &f, row.next, &row) ||
		    seam_sframe_rule(sf, &f, &row, &rule))
			abort();
		if (seam_sframe_builder_row(b, row.start, &rule))
			return false;
	}
	return !seam_sframe_builder_end(b, f.size);
}

/* Return: the section, or NULL if the builder does not take it. */
static uint8_t *build(const struct seam_sframe *sf, size_t *ret_size)
{
	bool has_add =
		sf->version == SEAM_SFRAME_V3 && sf->arch == SEAM_ARCH_AMD64;
	struct seam_sframe_builder *b;
	uint8_t *bytes = NULL;
	bool is_whole = true;

	if (seam_sframe_builder_new_for(sf->version, sf->abi,
					has_add ? SEAM_SFRAME_ALLOW_ADD : 0,
					&b))
		return NULL;
	for (uint32_t i = 0; i < sf->num_fdes && is_whole; i++)
		is_whole = build_func(sf, i, b);
	if (is_whole &&
	    seam_sframe_builder_finish(b, 0, &bytes, ret_size, NULL))
		bytes = NULL;
	if (!is_whole && !seam_sframe_builder_reason(b))
		abort();
	seam_sframe_builder_free(b);
	return bytes;
}

/*
 * The same rule at the same places, but that rules which mean the same are
 * written in one form; and where functions overlap they are told apart.
 */
static void compare(const struct seam_sframe *a, const struct seam_sframe *b)
{
	for (uint32_t i = 0; i < a->num_fdes && i < MAX_PROBES; i++) {
		struct seam_sframe_func f;

		if (seam_sframe_func_at(a, i, &f))
			abort();
		for (int j = 0; j < PROBE_PCS; j++) {
			struct seam_rule ra, rb;
			int ea = probe(a, probe_pc(&f, j), true, &ra);
			int eb = probe(b, probe_pc(&f, j), true, &rb);

			if (ea != eb || (!ea && ra.flags != rb.flags) ||
			    (!ea && memcmp(&ra.cfa, &rb.cfa, sizeof(ra.cfa))))
				abort();
		}
	}
}

static void build_again(const struct seam_sframe *sf)
{
	struct seam_sframe_limits limits = {
		.abi = sf->abi,
		.flags = SEAM_SFRAME_VERIFY_STRICT,
	};
	struct seam_sframe sf1, sf2;
	uint8_t *bytes1, *bytes2 = NULL;
	size_t size1, size2 = 0;

	bytes1 = build(sf, &size1);
	if (!bytes1)
		return;
	/* Seam's own rows have no place in a file. */
	if (sf->arch == SEAM_ARCH_AMD64 && sf->version == SEAM_SFRAME_V3)
		limits.flags |= SEAM_SFRAME_VERIFY_KERNEL;
	if (seam_sframe_verify(bytes1, size1, &limits, NULL) ||
	    seam_sframe_open(&sf1, bytes1, size1))
		abort();
	if (sf->is_sorted)
		compare(sf, &sf1);
	bytes2 = build(&sf1, &size2);
	if (!bytes2 || seam_sframe_open(&sf2, bytes2, size2))
		abort();
	compare(&sf1, &sf2);
	if (sf->is_sorted && (size1 != size2 || memcmp(bytes1, bytes2, size1)))
		abort();
	free(bytes1);
	free(bytes2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seam_sframe_limits limits = {0};
	struct seam_sframe sf;
	struct seam_errinfo err = {0};
	uint8_t *bytes;
	bool is_good;

	if (!size)
		return 0;
	limits.flags = data[0] & 0xf;
	if (limits.flags & SEAM_SFRAME_VERIFY_KERNEL)
		limits.text_end = 1 << 20;
	data++;
	size--;
	bytes = malloc(size ? size : 1);
	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	is_good = !seam_sframe_verify(bytes, size, &limits, &err);
	/* A reason, and an offset that can be pointed at. */
	if (!is_good && (!err.code || !err.reason[0] || err.offset > size))
		abort();
	if (!seam_sframe_open(&sf, bytes, size)) {
		if (limits.flags & SEAM_SFRAME_VERIFY_RELOCATABLE)
			seam_sframe_set_relocatable(&sf);
		probe_all(&sf, is_good);
		if (is_good)
			build_again(&sf);
	} else if (is_good) {
		abort();
	}
	free(bytes);
	return 0;
}
