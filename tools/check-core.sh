#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Description: every header of core compiles alone, freestanding and without
# a warning, by gcc, by clang and by clang for BPF. env-user.h and env-bpf.h
# are halves of env.h and are compiled through it. What an includer of core
# has to define (step.h says so) is declared here. And the reader and the step
# of every architecture become BPF code: on its stack, with its arguments.
cd "$(dirname "$0")/.." || exit 1
. tools/tap.sh

clang=$(command -v clang-19 || command -v clang)
flags='-std=gnu17 -I. -Wall -Wextra -Werror -Wno-unused-parameter'
flags="$flags -ffreestanding -fsyntax-only -x c"

includer='#include "core/env.h"
struct seam_env;
bool seam_env_word(struct seam_env *env, uint64_t addr, uint64_t *ret);
bool seam_env_reg(struct seam_env *env, uint32_t regnum, uint64_t *ret);
bool seam_env_lose_fp(struct seam_env *env);
#define SEAM_ENTRY_HOOK extern
#define SEAM_SIGNAL_HOOK extern'

# each NAME COMPILER...: compiles every header with it.
each() {
	name=$1
	shift
	if ! command -v "$1" >/dev/null; then
		skip "core compiles with $name" "$name is missing"
		return
	fi
	errors=
	for header in $(tree_files 'core/*.h'); do
		case $header in
		core/env-user.h | core/env-bpf.h) continue ;;
		esac
		out=$(printf '%s\n#include "%s"\n' "$includer" "$header" |
			"$@" $flags - 2>&1) || errors="$errors
$header: $out"
	done
	if [ -z "$errors" ]; then
		ok "core compiles with $name"
	else
		not_ok "core compiles with $name" "$errors"
	fi
}

each gcc gcc -O2
each clang "${clang:-clang}" -O2
each 'clang -target bpf' "${clang:-clang}" -target bpf -mcpu=v4 -O2

users='#include "core/sframe-read.h"
#include "core/step.h"
int look(const uint8_t SEAM_TABLE *base, uint64_t size, uint64_t pc,
	 struct seam_rule *ret)
{
	struct seam_sframe sf;
	int err = seam_sframe_open(&sf, base, size);

	return err ? err : seam_sframe_find(&sf, pc, ret);
}
int step(struct seam_cursor *c, const struct seam_rule *rule,
	 struct seam_env *env, enum seam_arch arch)
{
	uint64_t sp = c->sp;
	int err = seam_step_arch(c, rule, env, arch, SEAM_AARCH64_PAC_MASK(48));

	return err ? err : !seam_step_signal(c, sp, env, arch);
}'
if [ -n "$clang" ]; then
	check 'the reader and the step become BPF code' sh -c \
		'printf "%s\n%s\n" "$1" "$2" | "$3" -target bpf -mcpu=v4 -O2 \
		-ffreestanding -std=gnu17 -I. -x c -c -o /dev/null -' \
		sh "$includer" "$users" "$clang"
else
	skip 'the reader and the step become BPF code' 'clang is missing'
fi
tap_done
