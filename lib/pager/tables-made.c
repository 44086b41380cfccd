// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Tables of code that programs made while they ran: of one process each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/code-spans.h"
#include "core/sframe-read.h"
#include "pager/tables-priv.h"
#include "table/lookup.h"

/* Earlier tables of the same addresses, when they had other bounds or other
 * code: BPF asks for them no more. */
static void drop_earlier(struct seam_tables *t, const struct seam_file_key *key)
{
	struct seam_tables_part *p = &t->made;
	size_t to = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct seam_file_key *k = &p->loaded[i].key;

		if (k->kind == SEAM_KEY_MEMORY && k->ino == key->ino &&
		    k->ctime_nsec == key->ctime_nsec) {
			seam_kernel_table_drop(t->kernel, k);
			t->stats.bytes -= p->loaded[i].size;
			t->stats.loaded--;
		} else {
			p->loaded[to++] = p->loaded[i];
		}
	}
	/* Unwinds under way see the generation move, and begin again. */
	if (to != p->n)
		seam_kernel_tables_changed(t->kernel);
	p->n = to;
}

/* The table of what the process says of the mapping's code. */
static int lay_out_made(struct seam_tables *t, const struct seam_jit *jit,
			const struct seam_wire_miss *miss,
			struct seam_lookup *ret, uint8_t **ret_bytes)
{
	uint64_t left_out;
	struct seam_sframe sf;
	uint8_t *bytes;
	size_t size;
	int err = seam_jit_join(jit, miss->start, miss->end, &bytes, &size);

	if (err)
		return err;
	err = seam_sframe_open(&sf, bytes, size) ? -EINVAL : 0;
	if (!err)
		err = seam_lookup_build(&sf,
					LAY_OUT_FREE + size * LAY_OUT_GROWTH,
					ret, ret_bytes, &left_out);
	if (!err)
		t->stats.left_out += left_out;
	free(bytes);
	return err;
}

/* The table that answers the key already, if nothing has changed since. */
static bool is_loaded(const struct seam_tables *t,
		      const struct seam_file_key *key, uint64_t edits)
{
	const struct seam_tables_part *p = &t->made;

	for (size_t i = 0; i < p->n; i++)
		if (p->loaded[i].edits == edits &&
		    !memcmp(&p->loaded[i].key, key, sizeof(*key)))
			return true;
	return false;
}

static int load_made(struct seam_tables *t, const struct seam_jit *jit,
		     const struct seam_wire_miss *miss)
{
	struct seam_tables_part *p = &t->made;
	struct seam_lookup lookup;
	uint8_t *bytes;
	int err = lay_out_made(t, jit, miss, &lookup, &bytes);

	if (err == -ENOMEM)
		return err;
	drop_earlier(t, &miss->key);
	if (err)
		return seam_tables_without(t, &miss->key, SEAM_TABLE_NONE,
					   SEAM_ABSENT_REFUSED);
	err = seam_tables_put(t, &miss->key, &lookup, bytes);
	free(bytes);
	for (size_t i = 0; !err && i < p->n; i++)
		if (!memcmp(&p->loaded[i].key, &miss->key, sizeof(miss->key)))
			p->loaded[i].edits = jit->edits;
	return err;
}

/* So that what was added since is asked for, and what could not be read. */
static int note_adds(struct seam_tables *t, const struct seam_wire_miss *miss,
		     const struct seam_jit *jit)
{
	struct seam_table_ref ref;

	if (seam_kernel_table_get(t->kernel, &miss->key, &ref))
		return 0;
	ref.adds = miss->adds - (!jit->was_scanned && !jit->is_slow);
	return seam_kernel_table_put(t->kernel, &miss->key, &ref);
}

/* Code that the process had made before it was watched: as few spans. */
static void tell_spans(struct seam_tables *t, struct seam_process *p)
{
	struct seam_code_spans spans = {0};
	struct seam_jit *j = &p->jit;

	for (size_t i = 0; i < j->n; i++)
		if (j->v[i]->size) /* else it has ended */
			seam_code_spans_add(&spans, j->v[i]->code,
					    j->v[i]->end);
	for (size_t i = 0; i < spans.n; i++)
		seam_kernel_span(t->kernel, p->pid, spans.v[i].start,
				 spans.v[i].end - spans.v[i].start);
	j->is_told = j->was_scanned;
	__atomic_store_n(&t->processes->has_made, true, __ATOMIC_RELAXED);
}

/* Where nobody tells of ends a table would outlive its code: asked for ever,
 * its stacks come as copies, for which the program's list is looked at. Where
 * it keeps none there is nothing to look at: they go on without a table. */
static int answer_unheard(struct seam_tables *t,
			  const struct seam_file_key *key,
			  const struct seam_jit *jit)
{
	const bool has_none = jit->was_scanned && !jit->list;

	return seam_tables_without(
		t, key, has_none ? SEAM_TABLE_NONE : SEAM_TABLE_ASKED,
		SEAM_ABSENT_NO_CFI);
}

int seam_tables_answer_made(struct seam_tables *t,
			    const struct seam_wire_miss *miss)
{
	struct seam_process *p = seam_process_get(t->processes, miss->head.pid);
	int err = p ? seam_jit_scan(&p->jit, p->pid) : -ENOMEM;

	if (!err && p->jit.n && !p->jit.is_told)
		tell_spans(t, p);
	if (!err && !seam_kernel_hears_made(t->kernel))
		return answer_unheard(t, &miss->key, &p->jit);
	if (!err && !is_loaded(t, &miss->key, p->jit.edits))
		err = load_made(t, &p->jit, miss);
	return err ? err : note_adds(t, miss, &p->jit);
}
