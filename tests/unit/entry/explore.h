/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Searches every way that a program can go which asks choose() where there is
 * more than one. A way is found again by running from the start with the same
 * answers. Where the program stands is told by a hash of all that its future
 * depends on; a state that was met before is not gone on from.
 */
#ifndef SEAM_TEST_EXPLORE_H
#define SEAM_TEST_EXPLORE_H

#include <stdbool.h>
#include <stdint.h>

struct search {
	/* The program, from its start to its end. */
	void (*run)(void *arg);
	/* What its future depends on, besides the answers to come. */
	uint64_t (*hash)(void *arg);
	void *arg;
	uint64_t max_states; /* 0: as many as there are */

	uint64_t states, runs;
	uint32_t deepest; /* choices in one run */
	bool failed, tracing; /* the run is done once more, to be told */
	char why[256];
};

/* Return: 0 to n - 1. May not come back: the run is given up. */
uint32_t choose(struct search *s, uint32_t n);
/* The run has gone wrong. Does not come back. */
void search_fail(struct search *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));
/* Return: whether all ways went well. If not, the one that did not is run
 * again with .tracing set. */
bool search(struct search *s);

/* Mixes a word into a hash. */
static inline uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

#endif
