/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Stacks as a tree: each is a node, its caller's stack another with a lower
 * number; number 0 is no stack. Equal ones are one node within a part, which is
 * as many nodes as are looked through for equal ones: so what is in memory is
 * that of a part, however many different stacks there are, and the rest is in a
 * file (base/spill.h).
 */
#ifndef SEAM_LIB_EXPORT_NODES_H
#define SEAM_LIB_EXPORT_NODES_H

#include "base/index.h"
#include "base/spill.h"

struct seam_model_node {
	uint32_t caller, spot;
	uint32_t track; /* + 1; 0: all have the same tree */
	uint32_t row; /* in its tree, of its outermost function, from 0 */
	uint32_t next; /* of its tree; 0: no more */
};

/* A power of two. For tests to change. */
extern uint32_t seam_nodes_part;

struct seam_nodes {
	struct seam_spill room;
	size_t n; /* with number 0 */
	struct seam_index index; /* of the last part */
	size_t part; /* the last one, and when all are in: the one looked at */
};

/* Before a stack's nodes are added. Return: whether a part begins, in which no
 * node of before has a place. */
bool seam_nodes_stack(struct seam_nodes *nodes);
/* node: but for next, which is 0. Return: its number, nodes->n of before if
 * there is no equal one; -ENOMEM; -EOVERFLOW. */
int64_t seam_nodes_add(struct seam_nodes *nodes,
		       const struct seam_model_node *node);
/* When all are in: valid until one of another part is wanted. */
const struct seam_model_node *seam_nodes_get(struct seam_nodes *nodes,
					     uint32_t i);
void seam_nodes_fini(struct seam_nodes *nodes);

static inline struct seam_model_node *seam_nodes_at(const struct seam_nodes *n,
						    uint32_t i)
{
	return (struct seam_model_node *)n->room.p + i;
}

#endif
