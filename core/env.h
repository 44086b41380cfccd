/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The one seam between core and the world it is compiled for. Core includes
 * this file and nothing else of its surroundings:
 *
 *   SEAM_TABLE              qualifier of pointers into a table (BPF: arena)
 *   seam_load_u8..u64(p)    unaligned little-endian loads from a table
 *   seam_table_off(off)     off, which has been compared with the table's
 *                           size; to be added to its address (BPF: bounded)
 *   SEAM_LOOP_GUARD         first statement of a loop that the verifier
 *                           cannot bound; leaves the loop when it must
 *   seam_unknown(v)         v, of which the verifier is to know nothing: what
 *                           counts in a loop would make each round a state
 *   SEAM_FORGET             between stages of work on memory: what follows
 *                           depends on memory alone
 *   SEAM_INLINE             static inline, forced
 */
#ifndef SEAM_CORE_ENV_H
#define SEAM_CORE_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEAM_INLINE static inline __attribute__((always_inline, unused))

#ifdef __bpf__
#include "core/env-bpf.h"
#else
#include "core/env-user.h"
#endif

#endif
