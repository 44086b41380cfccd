// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "export/nodes.h"

#include <errno.h>

#define FROM (4 << 20) /* bytes in memory, before there is a file */

uint32_t seam_nodes_part = 1 << 19;

/* The last part is let go with its index, and what follows is the next: but for
 * a stack that is in both, no node has its caller in another part. */
bool seam_nodes_stack(struct seam_nodes *nodes)
{
	if (nodes->n / seam_nodes_part == nodes->part)
		return false;
	nodes->part = nodes->n / seam_nodes_part;
	seam_index_fini(&nodes->index);
	seam_spill_let_go(&nodes->room);
	return true;
}

static uint64_t hash_of(const struct seam_model_node *node)
{
	const uint32_t key[] = {node->caller, node->spot, node->track};

	return seam_hash(SEAM_HASH_START, key, sizeof(key));
}

int64_t seam_nodes_add(struct seam_nodes *nodes,
		       const struct seam_model_node *node)
{
	uint64_t hash = hash_of(node);
	uint32_t i;
	int err;

	for (size_t at = 0; seam_index_next(&nodes->index, hash, &at, &i);) {
		const struct seam_model_node *other = seam_nodes_at(nodes, i);

		if (other->caller == node->caller &&
		    other->spot == node->spot && other->track == node->track)
			return i;
	}
	nodes->room.from = FROM;
	if (seam_spill_grow(&nodes->room, nodes->n + 1, sizeof(*node)))
		return -ENOMEM;
	err = seam_index_add(&nodes->index, hash, nodes->n);
	if (err)
		return err;
	*seam_nodes_at(nodes, (uint32_t)nodes->n) = *node;
	return (int64_t)nodes->n++;
}

/* Whoever asks does so by the time of samples, and so part by part. */
const struct seam_model_node *seam_nodes_get(struct seam_nodes *nodes,
					     uint32_t i)
{
	if (i / seam_nodes_part != nodes->part) {
		nodes->part = i / seam_nodes_part;
		seam_spill_let_go(&nodes->room);
	}
	return seam_nodes_at(nodes, i);
}

void seam_nodes_fini(struct seam_nodes *nodes)
{
	seam_spill_fini(&nodes->room);
	seam_index_fini(&nodes->index);
	*nodes = (struct seam_nodes){0};
}
