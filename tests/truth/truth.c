// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: a real program is run one instruction at a time. At each, the
 * whole stack that its tables lead to is compared with the calls that it has
 * made. Where that differs, lib/sframe/known-bad.def has to know the
 * instruction, and elfutils to go wrong at it as well. No true return address
 * may be taken for one of another moment.
 *
 *	truth [-e] [-n MOST] [-l LEAST] PROGRAM [ARGUMENT]...
 *	truth -p [-w WHOLE] [-W THERE] [-k KINDS] ... PROGRAM [ARGUMENT]...
 *
 * -p: compares what precise events would give instead: skid.h; of 1,000 pairs
 * at least WHOLE must give a whole stack, and THERE of those of which perf has
 * lost the registers' ip, if what they need is in the copy; instructions of all
 * KINDS must occur. -e: begins at the program's entry point, not at the dynamic
 * linker's; it stops after MOST instructions; if the program has ended before
 * LEAST, that is a failure.
 */
#include <elf.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "truth/skid.h"

#define SKIP 77

static const char *const what[] = {
	[SEAM_TRUTH_WRONG] = "wrong",
	[SEAM_TRUTH_HOLE] = "nothing",
	[SEAM_TRUTH_FILLED] = "needs all registers",
	[SEAM_TRUTH_FP] = "wrong FP",
};

static void print_place(const struct seam_truth_place *p)
{
	printf("# %s by %s: %s!%s+%#" PRIx64 " (%#" PRIx64 "): %" PRIu64
	       " times, %" PRIu64 " as leaf",
	       what[p->what], p->who ? "library" : "table",
	       p->file ? p->file : "?", p->symbol ? p->symbol : "?",
	       p->symbol_off, p->svma, p->count, p->as_leaf);
	if (p->asked)
		printf("; elfutils likewise %u of %u%s", p->alike, p->asked,
		       p->no_fde ? ", no FDE" : "");
	printf("%s%s\n", p->known ? "; known: " : "",
	       p->known ? p->known->name : "");
}

static void print_details(const struct seam_truth_place *p)
{
	printf("#   is: ip %#" PRIx64 " sp %#" PRIx64 " fp %#" PRIx64
	       "; said: ip %#" PRIx64 " sp %#" PRIx64 " fp %#" PRIx64
	       ", end %d\n",
	       p->is.ip, p->is.sp, p->is.saved.rbp, p->said_ip, p->said_sp,
	       p->said_fp, p->end);
	printf("#   code");
	for (size_t i = 0; i < sizeof(p->code); i++)
		printf("%s%02x", i == sizeof(p->code) / 2 ? " | " : " ",
		       p->code[i]);
	printf("\n");
}

static void print_totals(const struct seam_check *c)
{
	const struct seam_shadow *s = &c->shadow;

	printf("# %" PRIu64 " instructions, %" PRIu64 " frames, %" PRIu64
	       " deep at most; by the library %" PRIu64 " stacks, %" PRIu64
	       " frames; in system calls %" PRIu64 "\n",
	       c->insns, c->frames, c->deepest, c->by_cfi, c->cfi_frames,
	       c->in_syscall);
	printf("# %" PRIu64 " calls, %" PRIu64 " returns, %" PRIu64
	       " elsewhere; %" PRIu64 " unwound, %" PRIu64
	       " taken off; %" PRIu64 " signals, %" PRIu64
	       " switches of stack\n",
	       s->calls, s->returns, s->to_elsewhere, s->unwound, s->lifts,
	       s->signals, s->switches);
	printf("# return addresses: %" PRIu64 " asked, %" PRIu64
	       " by all that is mapped, %" PRIu64 " doubted\n",
	       c->entered, c->entered_by_maps, c->doubted);
	printf("# not compared: %" PRIu64 " on a new stack, %" PRIu64
	       " copies cut; %" PRIu64 " not decoded\n",
	       c->unsettled, c->cut, c->undecoded);
}

/* Return: the number of places that nothing excuses. */
static unsigned int print_places(const struct seam_check *c,
				 unsigned int *ret_denied)
{
	unsigned int unknown = 0;

	*ret_denied = 0;
	for (struct seam_truth_place *p = c->places; p; p = p->next) {
		print_place(p);
		if (p->what == SEAM_TRUTH_FILLED)
			continue;
		*ret_denied += p->known && p->alike != p->asked;
		if (!p->known || p->alike != p->asked)
			print_details(p);
		unknown += !p->known;
	}
	return unknown;
}

static int result(int number, bool good, const char *name, const char *says)
{
	printf("%sok %d - %s: %s\n", good ? "" : "not ", number, name, says);
	return !good;
}

static int report(const struct seam_check *c, const char *name, uint64_t least,
		  int err)
{
	unsigned int denied, unknown;
	int failed;

	name = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
	print_totals(c);
	unknown = print_places(c, &denied);
	if (err)
		printf("# %s at %#llx\n", strerror(-err), c->stepper->regs.rip);
	failed = result(1, !unknown, name,
			"each stack is the true one, but where known-bad.def "
			"says why not");
	failed |= result(2, !denied, name,
			 "elfutils is wrong there in the same way");
	failed |= result(3, !err && c->insns >= least, name,
			 "it ran as far as it should");
	failed |= result(4, !c->doubted, name,
			 "no true return address is doubted");
	printf("1..4\n");
	return failed;
}

static int run(struct seam_check *c, uint64_t most)
{
	int r = 0;

	while (c->insns < most && r != SEAM_STEP_END) {
		r = seam_check_compare(c);
		if (!r)
			r = seam_check_step(c);
		if (r < 0)
			return r;
	}
	return 0;
}

static int start(struct seam_stepper *stepper, char **argv, bool from_entry)
{
	int r = seam_stepper_start(stepper, argv);

	if (r >= 0 && from_entry)
		r = seam_stepper_run_to(stepper,
					seam_stepper_auxv(stepper, AT_ENTRY));
	if (r == -EPERM || r == -ENOSYS || r == -ENOEXEC) {
		printf("%s cannot be run here, or not be traced: %s\n", argv[0],
		       strerror(-r));
		exit(SKIP);
	}
	return r;
}

/* As run and report, of pairs. */
static int run_pairs(struct seam_check *c, const char *name, uint64_t most,
		     const struct seam_pairs_want *want)
{
	struct seam_pairs p;
	int r = seam_pairs_init(&p, c);

	name = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
	while (r >= 0 && r != SEAM_STEP_END && c->insns < most)
		r = seam_pairs_step(&p);
	r = seam_pairs_report(&p, name, want, r < 0 ? r : 0);
	seam_pairs_fini(&p);
	return r;
}

int main(int argc, char **argv)
{
	uint64_t most = UINT64_MAX;
	struct seam_pairs_want want = {0};
	struct seam_stepper stepper;
	bool from_entry = false, pairs = false;
	struct seam_check c;
	int opt, r;

	while ((opt = getopt(argc, argv, "+epn:l:w:W:k:")) != -1) {
		if (opt == 'e')
			from_entry = true;
		else if (opt == 'p')
			pairs = true;
		else if (opt == 'w')
			want.whole = strtoull(optarg, NULL, 0);
		else if (opt == 'W')
			want.there = strtoull(optarg, NULL, 0);
		else if (opt == 'k')
			want.kinds = optarg;
		else if (opt == 'n')
			most = strtoull(optarg, NULL, 0);
		else if (opt == 'l')
			want.least = strtoull(optarg, NULL, 0);
		else
			return 2;
	}
	if (optind == argc)
		return 2;
	r = start(&stepper, argv + optind, from_entry);
	if (r < 0) {
		printf("not ok 1 - %s starts: %s\n1..1\n", argv[optind],
		       strerror(-r));
		return 1;
	}
	r = seam_check_init(&c, &stepper);
	if (!r && pairs) {
		r = run_pairs(&c, argv[optind], most, &want);
	} else {
		r = r ? r : run(&c, most);
		r = report(&c, argv[optind], want.least, r);
	}
	seam_stepper_end(&stepper);
	seam_check_fini(&c);
	return r;
}
