// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "truth/skid.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "truth/private.h"

/* So many of those that nothing excuses are printed. */
#define SHOWN 20

struct pair {
	uint64_t ip, next; /* of the instruction; of the registers behind it */
	enum seam_pair_mode mode;
	size_t n; /* ips unwound */
	int end;
	struct seam_skid_outcome skid;
	bool is_there; /* what is needed, in the copy */
};

int seam_pairs_init(struct seam_pairs *p, struct seam_check *c)
{
	*p = (struct seam_pairs){.check = c};
	p->is = calloc(SEAM_CHECK_MAX_FRAMES, sizeof(*p->is));
	p->is_signal = calloc(SEAM_CHECK_MAX_FRAMES, sizeof(*p->is_signal));
	return p->is && p->is_signal ? seam_precise_init(&p->precise) : -ENOMEM;
}

void seam_pairs_fini(struct seam_pairs *p)
{
	seam_precise_fini(&p->precise);
	free(p->is);
	free(p->is_signal);
}

static void note_truth(struct seam_pairs *p)
{
	struct seam_shadow_iter it = seam_shadow_begin(&p->check->shadow);
	const struct seam_shadow_frame *f;

	p->slot = 0;
	for (p->n_is = 0; (f = seam_shadow_next(&it)); p->n_is++) {
		if (!p->n_is)
			p->slot = f->slot;
		if (p->n_is == SEAM_CHECK_MAX_FRAMES)
			break;
		p->is[p->n_is] = f->ip;
		p->is_signal[p->n_is] = f->signal;
	}
}

/* How many of the ips are true, the first included. */
static size_t count_true(const struct seam_pairs *p, const struct pair *pair)
{
	const uint64_t *ips = p->check->ips;
	size_t i = 1;

	while (i < pair->n && i <= p->n_is && ips[i] == p->is[i - 1])
		i++;
	return i;
}

/* Where the frame was looked up whose caller is the i-th ip. */
static uint64_t looked_up(const struct seam_pairs *p, const struct pair *pair,
			  size_t i)
{
	if (i == 0)
		return pair->ip;
	return p->check->ips[i] - !p->is_signal[i - 1];
}

/* By the frame that was left wrongly, what it called, or what runs next where
 * that is unwound. */
static bool is_known(const struct seam_pairs *p, const struct pair *pair,
		     size_t n_true)
{
	struct seam_check *c = p->check;
	size_t last = n_true - 1;

	return seam_check_known_at(c, looked_up(p, pair, last)) ||
	       (last && seam_check_known_at(c, looked_up(p, pair, last - 1))) ||
	       (last <= 1 && seam_check_known_at(c, pair->next));
}

static void print_wrong(const struct seam_pairs *p, const struct pair *pair,
			size_t n_true)
{
	struct seam_check *c = p->check;
	uint64_t off = 0, at = looked_up(p, pair, n_true - 1);
	char *symbol =
		seam_confirm_symbol(&c->confirm, c->stepper->pid, at, &off);
	uint8_t code[15] = {0};

	seam_stepper_read(c->stepper, pair->ip, code, sizeof(code));
	printf("# %s: ip %#" PRIx64 ", next %#" PRIx64 ": of %zu frames %zu "
	       "are true of %zu, end %s; left wrongly in %s+%#" PRIx64 "; code",
	       pair->mode == SEAM_PAIR_KNOWN ? "wrong" : "wrong, ip lost",
	       pair->ip, pair->next, pair->n, n_true, p->n_is + 1,
	       seam_err_name(pair->end), symbol ? symbol : "?", off);
	for (size_t i = 0; i < sizeof(code); i++)
		printf(" %02x", code[i]);
	printf("\n");
	free(symbol);
}

static void judge(struct seam_pairs *p, const struct pair *pair)
{
	struct seam_pair_counts *n = &p->counts[pair->mode];
	size_t n_true = count_true(p, pair);
	bool is_prefix = n_true == pair->n;
	bool is_right = is_prefix && pair->end == SEAM_OUTERMOST &&
			n_true == p->n_is + 1;

	n->pairs++;
	n->pairs_by[p->kind]++;
	n->right_by[p->kind] += is_right;
	n->there += pair->is_there;
	n->there_right += pair->is_there && is_right;
	if (is_right)
		n->right++;
	else if (is_prefix && pair->end == SEAM_COPY_SHORT &&
		 p->check->shadow.current->below)
		n->cut++;
	else if (is_prefix &&
		 (pair->end == SEAM_IRREVERSIBLE ||
		  pair->end == SEAM_BELOW_SP || pair->end == SEAM_SKID_MOMENT))
		n->named[pair->end]++;
	else if (is_known(p, pair, n_true))
		n->known++;
	else if (n->wrong++ < SHOWN)
		print_wrong(p, pair, n_true);
}

static size_t read_code(void *ctx, uint64_t avma, enum seam_dump_when when,
			void *to, size_t size)
{
	const struct seam_space *space = ctx;

	(void)when;
	return seam_stepper_read(space->stepper, avma, to, size);
}

static void unwind(struct seam_pairs *p, uint64_t ip, enum seam_pair_mode mode)
{
	struct seam_check *c = p->check;
	struct pair pair = {
		.ip = ip, .next = c->stepper->regs.rip, .mode = mode};
	const struct seam_skid skid = {.decoder = c->decoder,
				       .ip = ip,
				       .is_ip_lost = mode == SEAM_PAIR_LOST,
				       .outcome = &pair.skid};
	struct seam_dump dump;

	seam_check_copy(c, &dump);
	dump.code = read_code;
	if (skid.is_ip_lost)
		dump.regs.r[SEAM_AMD64_REG_IP] = ip;
	pair.is_there =
		!p->slot || (p->slot >= dump.stack_avma &&
			     p->slot - dump.stack_avma < dump.stack_size);
	pair.n = seam_skid_unwind(&skid, &dump, c->ips, SEAM_CHECK_MAX_FRAMES,
				  &pair.end);
	/* Of registers that are the ip's already it is not read. */
	if (skid.is_ip_lost)
		p->kind = pair.skid.kind;
	seam_skid_count(&p->counts[mode].skid, &pair.skid);
	seam_precise_compare(&p->precise, &c->space, ip, &dump,
			     &(struct seam_precise_want){c->ips, pair.n,
							 pair.end, &pair.skid});
	judge(p, &pair);
}

int seam_pairs_step(struct seam_pairs *p)
{
	struct seam_check *c = p->check;
	uint64_t ip = c->stepper->regs.rip;
	bool settled = c->shadow.current->settled;
	int event;

	note_truth(p);
	event = seam_check_step(c);
	if (event != SEAM_STEP_INSN || !settled)
		return event;
	c->insns++;
	unwind(p, ip, SEAM_PAIR_LOST);
	unwind(p, ip, SEAM_PAIR_KNOWN);
	return event;
}

static void print_counts(const struct seam_pair_counts *n, const char *mode)
{
	printf("# %s: %" PRIu64 " pairs, %" PRIu64 " right, %" PRIu64
	       " irreversible, %" PRIu64 " below-sp, %" PRIu64
	       " skid-moment, %" PRIu64 " at known bad CFI, %" PRIu64
	       " cut, %" PRIu64 " wrong\n",
	       mode, n->pairs, n->right, n->named[SEAM_IRREVERSIBLE],
	       n->named[SEAM_BELOW_SP], n->named[SEAM_SKID_MOMENT], n->known,
	       n->cut, n->wrong);
	printf("#   the same %" PRIu64 ", undone %" PRIu64 ", behind %" PRIu64
	       "\n",
	       n->skid.n[SEAM_SKID_SAME], n->skid.n[SEAM_SKID_UNDONE],
	       n->skid.n[SEAM_SKID_BEHIND]);
	printf("#   what is needed is there in %" PRIu64 ", right %" PRIu64
	       "\n",
	       n->there, n->there_right);
	for (int i = 0; i < SEAM_SKID_KINDS; i++)
		if (n->pairs_by[i])
			printf("#   %s: %" PRIu64 ", right %" PRIu64
			       ", irreversible %" PRIu64 ", below-sp %" PRIu64
			       ", skid-moment %" PRIu64 "\n",
			       seam_skid_kind_name(i), n->pairs_by[i],
			       n->right_by[i],
			       n->skid.by[SEAM_SKID_IRREVERSIBLE][i],
			       n->skid.by[SEAM_SKID_BELOW_SP][i],
			       n->skid.by[SEAM_SKID_MOMENT_END][i]);
}

static bool says_the_same(const struct seam_precise *p)
{
	printf("# by tables alone: %" PRIu64 " of %" PRIu64 "\n", p->by_tables,
	       p->pairs);
	return !p->differ && p->by_tables > p->pairs / 8;
}

static int result(int number, bool good, const char *name, const char *says)
{
	printf("%sok %d - %s: %s\n", good ? "" : "not ", number, name, says);
	return !good;
}

/* Whether the instructions that were run had all kinds that are named. */
static bool has_kinds(const struct seam_pair_counts *n, const char *names)
{
	size_t len;
	bool all = true;

	for (; names && *names; names += len + (names[len] == ',')) {
		int i = 0;

		len = strcspn(names, ",");
		while (i < SEAM_SKID_KINDS &&
		       (strlen(seam_skid_kind_name(i)) != len ||
			strncmp(seam_skid_kind_name(i), names, len)))
			i++;
		if (i < SEAM_SKID_KINDS && n->pairs_by[i])
			continue;
		printf("# there was no %.*s\n", (int)len, names);
		all = false;
	}
	return all;
}

int seam_pairs_report(const struct seam_pairs *p, const char *name,
		      const struct seam_pairs_want *want, int err)
{
	const struct seam_pair_counts *n = p->counts;
	int failed;

	print_counts(&n[SEAM_PAIR_KNOWN], "with the registers' ip");
	print_counts(&n[SEAM_PAIR_LOST], "without it");
	/* Of programs of the system nothing else excuses it. */
	failed = result(1,
			!n[0].wrong && !n[1].wrong &&
				(!want->there || !(n[0].known + n[1].known)),
			name, "no stack is wrong without a name");
	failed |= result(
		2, (n[0].right + n[0].cut) * 1000 >= n[0].pairs * want->whole,
		name, "as many are whole and true as should be");
	failed |= result(3, n[1].there_right * 1000 >= n[1].there * want->there,
			 name,
			 "so are as many of those without the registers' ip "
			 "that need nothing below rsp");
	failed |= result(4, has_kinds(&n[1], want->kinds), name,
			 "it ran each kind of instruction that it should");
	failed |= result(5, !err && n[0].pairs >= want->least, name,
			 "it ran as far as it should");
	failed |= result(6, says_the_same(&p->precise), name,
			 "many are so by tables alone, each as by CFI");
	printf("1..6\n");
	return failed;
}
