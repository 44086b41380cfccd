/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the two halves of request-cost have in common. */
#ifndef BENCH_REQUEST_COST_H
#define BENCH_REQUEST_COST_H

#define COST_MAX_NS 65536

#endif
