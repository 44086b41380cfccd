/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the programs have in common that search worlds. */
#ifndef SEAM_TESTS_ENTRY_WORLDS_H
#define SEAM_TESTS_ENTRY_WORLDS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "world.h"

/* Whole, and not cut short by a step that asks no more. */
#define AT_LEAST(states, ...)                                                  \
	assert_in_range(__VA_ARGS__, least(states), UINT64_MAX)

/* Of a search that has so many, and may be cut short. */
static uint64_t least(uint64_t states)
{
	return WORLD_STATES && states > WORLD_STATES ? WORLD_STATES : states;
}

/* One of them alone, if SEAM_WORLD names it: mutants.sh. */
#define RUN_WORLDS(tests)                                                      \
	(cmocka_set_test_filter(getenv("SEAM_WORLD")),                         \
	 cmocka_run_group_tests(tests, NULL, NULL))

#endif
