// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Core's SFrame reader in BPF: the rule for a pc, by the section that lies in
 * a map, an array or with READ_IN_ARENA an arena. For test-read-bpf.c; seam's
 * own programs find rules by lookup.h.
 */
#include <linux/bpf.h>
#include <stdint.h>

#include "tests/unit/core/read-bpf.h"

#ifndef READ_IN_ARENA
#define SEAM_TABLE_MAP_SIZE READ_MAX_SIZE
#endif

#include "core/sframe-read.h"

#include <bpf/bpf_helpers.h>

#define ARG_NONNULL __attribute__((btf_decl_tag("arg:nonnull")))

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#ifdef READ_IN_ARENA
struct {
	__uint(type, 33); /* BPF_MAP_TYPE_ARENA; Debian 12 lacks the name */
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, (READ_ARENA_AT + READ_MAP_SIZE) / 4096 + 1);
} sections SEC(".maps");

static __always_inline const uint8_t SEAM_TABLE *section(void)
{
	/* A program that touches the arena must name it. */
	asm volatile("" ::"r"(&sections));
	return (const uint8_t SEAM_TABLE *)(uint64_t)READ_ARENA_AT;
}
#else
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint8_t[READ_MAP_SIZE]);
} sections SEC(".maps");

static __always_inline const uint8_t *section(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&sections, &zero);
}
#endif

/*
 * These are global functions: the verifier walks each once, and knows nothing
 * in it of what the other found. It would follow every version and ABI through
 * all of the search otherwise.
 */
__noinline int read_open(struct seam_sframe *ret ARG_NONNULL, uint32_t size)
{
	const uint8_t SEAM_TABLE *bytes = section();
	struct seam_sframe sf;
	int err;

	if (!bytes || size > READ_MAX_SIZE)
		return SEAM_SFRAME_SHORT;
	err = seam_sframe_open(&sf, bytes, size);
	/* A pointer that goes through memory is one no more. */
	sf.base = NULL;
	*ret = sf;
	return err;
}

__noinline int read_find(const struct seam_sframe *opened ARG_NONNULL,
			 uint64_t pc, struct seam_rule *ret ARG_NONNULL)
{
	struct seam_sframe sf = *opened;
	struct seam_rule rule;
	int err;

	sf.base = section();
	if (!sf.base)
		return SEAM_SFRAME_SHORT;
	err = seam_sframe_find(&sf, pc, &rule);
	if (!err)
		*ret = rule;
	return err;
}

SEC("syscall")
int read_rule(struct read_args *args)
{
	struct seam_sframe sf = {0};
	struct seam_rule rule = {0};

	args->open_err = read_open(&sf, args->size);
	if (args->open_err)
		return 0;
	if (args->is_relocatable)
		seam_sframe_set_relocatable(&sf);
	args->err = read_find(&sf, args->pc, &rule);
	args->rule = rule;
	return 0;
}
