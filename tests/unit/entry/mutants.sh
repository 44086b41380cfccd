#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Description: the models can fail: core/entry.h, its other parts, cookie.h and
# what <seam/seam.bpf.h> compiles into a tool's programs are broken in one place
# after the other, and each time the world that is named finds a way in which that
# goes wrong.
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.." || exit 1
. tools/tap.sh

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/core" "$tmp/seam"
compile() {
	${CC:-cc} -std=gnu17 -O1 -I "$tmp" -I . -I include -I "$here" -w "$@"
}
# Nothing in these is broken.
for file in explore test-entry test-entry-lent test-entry-other; do
	compile -c -o "$tmp/$file.o" "$here/$file.c" || exit 1
done

# mutant WORLD NAME SED WHY: the test that finds it, in less than a second, and
# what that says is wrong.
mutant() {
	world=$1
	shift
	case $world in
	lent* | unseen*) worlds=test-entry-lent ;;
	other*) worlds=test-entry-other ;;
	*) worlds=test-entry ;;
	esac
	fits=
	for file in core/entry.h core/entry-request.h core/entry-count.h \
		core/entry-exec.h core/entry-turn.h core/entry-ask.h \
		core/entry-who.h core/entry-outside.h core/entry-other.h \
		core/cookie.h include/seam/seam.bpf.h; do
		sed "$2" "$file" >"$tmp/${file#include/}"
		cmp -s "$file" "$tmp/${file#include/}" || fits=1
	done
	if [ -z "$fits" ]; then
		not_ok "$1" 'the mutation fits nowhere any more'
		return
	fi
	if ! out=$(compile -o "$tmp/test" "$here/world.c" "$tmp/$worlds.o" \
		"$tmp/explore.o" -lcmocka 2>&1); then
		not_ok "$1" "$out"
		return
	fi
	out=$(SEAM_WORLD=$world "$tmp/test" 2>&1)
	if [ $? != 0 ] && printf '%s\n' "$out" | grep -q "^# .*$3"; then
		ok "$1"
	else
		not_ok "$1" "not found, or not as '$3':" "$out"
	fi
}

mutant at_once 'a cookie that is not renewed' \
	's/count = seam_entry_env_count_next(t, &cpu);/count = 7;/' \
	'two stacks\|two entries'
mutant at_once 'an overflow that is not passed over' \
	's/if (!cookie) { .*/if (0) {/' \
	'neither a stack\|no stack\|without a cookie'
mutant depths 'a request that others may have joined withdrawn' \
	's/SEAM_ENTRY_GET(e->joined) == cookie/0/' 'no stack, and no reason'
mutant depths 'nobody notes that he joined' \
	's/SEAM_ENTRY_SET(e->joined, cookie);/;/' 'no stack, and no reason'
mutant clients_end 'an entry that is not closed' \
	's/^\t*seam_entry_close(e, cookie);/\t;/' 'open for ever\|with flags\|two stacks'
mutant clients_end_at_exit 'the mark of a running unwind left' \
	's/seam_entry_clear_flag(e, SEAM_ENTRY_RUNNING | SEAM_ENTRY_LAST);/;/' \
	'with flags\|is not'
mutant interrupts 'what interrupts an unwind kept back' \
	's/if (seam_entry_env_is_own(t)) {/seam_entry_env_is_own(t); {/' \
	'not the unwind.s doing'
mutant interrupts 'what the unwind does joined to it' \
	's/if (seam_entry_env_is_own(t)) {/if (seam_entry_env_is_own(t) \&\& 0) {/' \
	'does not say so\|not the unwind.s doing'
mutant interrupts 'what comes amid an unwind refused' \
	's/^\tseam_entry_join(t, e, &ret->cookie);/\t;/' 'is not delivered'
mutant clients 'an unwind that is not done for who came amid it' \
	's/^\tuint32_t clients = seam_entry_more(t, e);/\tuint32_t clients = 0;/' \
	'no stack, and no reason'
mutant clients_refused 'a stack taken now and not for who came amid it' \
	's/^\t\tturn->clients = seam_entry_more(t, seam_entry_env_entry(el));/\t\tturn->clients = 0;/' \
	'no stack, and no reason'
mutant clients 'who comes to a stack that is not taken again' \
	's/if (flags & SEAM_ENTRY_LAST)/if (0)/' 'no stack, and no reason'
mutant depths 'a stack that is taken joined by who wants more of it' \
	's/return !seam_who_done(who) || .*/return true;/' \
	'wanted 2 frames deep, cut at 1'
mutant at_once 'an unwind without its mark' \
	's/seam_entry_set_flag(e, SEAM_ENTRY_RUNNING);/;/' 'does not say so'
mutant at_once 'an exec whose end is not seen' \
	's/SEAM_ENTRY_UNSEEN);/0);/' 'open for ever\|with flags'
mutant exec_by_thread 'what an exec took joined behind it' \
	's/SEAM_ENTRY_SET(e->served, 0);/;/' 'across an exec'
mutant exec_and_exit 'the program before an exec unwound in the next' \
	's/SEAM_ENTRY_GET(e->image) == t->image/1/' 'before an exec are unwound'
mutant clients_refused 'a refused task work that nobody makes good' \
	's/^\tif (!err)$/\tif (err != -SEAM_ENTRY_EBUSY)/' \
	'open for ever\|no stack, and no reason'
mutant clients_refused 'a second unwind that is not counted' \
	's/seam_entry_env_count(t, SEAM_COUNT_AGAIN);/;/' 'again 1 times'
mutant at_once 'a task without memory that is asked for its stack' \
	's/if (t->gone \&\& /if (0 \&\& /' 'there is no memory'
mutant reuse_at_once 'the element of a dead task taken for our own' \
	's/if (!seam_entry_is_own(t, seam_entry_env_entry(el)))/if (0)/' \
	'two entries\|another entry'
mutant reuse_at_once 'a dead task'"'"'s element reset, whoever has it now' \
	's/SEAM_ENTRY_SWAP(e->cookie, cookie, 0);/SEAM_ENTRY_SET(e->cookie, 0);/' \
	'no stack, and no reason'
mutant clients_late 'a client that does not say that it joins' \
	's/seam_who_want(e, t->clients, t->depth, \(true\|false\));/0;/' \
	'no stack, and no reason'
mutant clients_from_outside 'a stack claimed for who has it' \
	's/SEAM_WHO_MASK & ~seam_who_done(who)/SEAM_WHO_MASK/
	s/ & ~\*ret_before;/;/' 'two stacks'
mutant clients_refused 'an entry that inherits who had the last stack' \
	's/seam_who_next(SEAM_ENTRY_GET(e->who))/SEAM_ENTRY_GET(e->who)/' \
	'no stack, and no reason\|open for ever'
mutant reuse_at_once 'entries that are not told apart from outside' \
	's/ + SEAM_WHO_GENERATION;/;/' 'two stacks\|another entry'
mutant from_outside 'registers believed from outside before they are kept' \
	's/!(was & SEAM_WHO_KEPT) || //' 'another entry'
mutant from_outside 'a closed stack taken from outside once more' \
	's/return cookie == SEAM_ENTRY_GET(e->served) ? 0 : cookie;/return cookie;/' \
	'two stacks'
mutant clients_reuse 'a closed stack joined by a client that has it not' \
	's/(t->clients & ~had) == 0/1/' 'no stack, and no reason'
mutant clients_late 'what exit took joined by a client that has it not' \
	's/^\tif (!\*ret_first)$/\tif (0)/' \
	'no stack, and no reason'
mutant at_once 'a depth noted before the entry is open' \
	's/^\tcookie = o ? seam_outside_adopt/\tseam_who_want(e, 0, t->depth, false);&/
	s/KEPT | t->clients, t->depth,/KEPT | t->clients, 0,/' \
	'wanted 2 frames deep, cut at'
mutant clients 'a depth that nobody deepens' \
	's/if (seam_who_depth(who) >= depth)/if (seam_who_depth(who))/' \
	'wanted 2 frames deep, cut at 1'
mutant depths 'a stack that is out joined by who wants more of it' \
	's/ \&\& depth >= t->depth;/;/' \
	'wanted 2 frames deep, cut at 1'
mutant losses 'a sample that is lost and not counted' \
	's/seam_entry_env_count(t, SEAM_COUNT_LOST_SAMPLE);/;/' \
	'samples came, 0 are counted'
mutant losses 'a stack that is lost and not counted' \
	's/__sync_fetch_and_add(&counts\[SEAM_COUNT_LOST_STACK\], 1);/;/' \
	'did not come, 0 are counted'
mutant losses_at_exit 'a sample that is wanted and not counted' \
	's/seam_entry_env_count(t, SEAM_COUNT_WANTED);/;/' 'counted 0'
mutant losses_at_exit 'a sample of a full ring that is taken for sent' \
	's/^\tif (is_lost)$/\tif (0)/' 'are counted'
mutant migration 'a cookie without its CPU' \
	's/count << SEAM_COOKIE_CPU_BITS |/count << SEAM_COOKIE_CPU_BITS | 0 \&/' \
	'two entries\|two stacks'
mutant migration 'a counter that overflows into the CPU' \
	's/^\tcount &= SEAM_COOKIE_COUNT_MASK;/\t;/
	s/return count << SEAM_COOKIE_CPU_BITS |/return count | (uint64_t)cpu << 48; (void)/' \
	'two entries\|two stacks'
mutant clients_end 'a client that ended and still has what was taken' \
	's/^\tbits |= bits << SEAM_WHO_DONE_SHIFT;/\t;/' 'no stack, and no reason'
mutant clients_end 'a client that ended and still has the closed stack' \
	's/(void)SEAM_ENTRY_CLEAR(e->served_who, clients);/;/' 'no stack, and no reason'
mutant clients_end 'a claim that is made for who has ended meanwhile' \
	's/^\tif (swept)$/\tif (0)/' 'no stack, and no reason'
mutant interrupts 'a program that does not schedule what it is told to' \
	's/if (next == SEAM_TURN_SCHEDULE)/if (0)/' \
	'no stack, and no reason\|open for ever'
mutant refusals 'one that forgets what the kernel said of its task work' \
	's/seam_ask_scheduled(a, ask_schedule(a));/(ask_schedule(a), seam_ask_scheduled(a, 0));/' \
	'no stack, and no reason\|open for ever'
mutant clients_refused 'one that takes no stack at its event' \
	's/if (next == SEAM_TURN_TAKE)/if (0)/' \
	'no stack, and no reason\|with flags\|open for ever'
mutant clients_refused 'one that takes no stack once more at its event' \
	's/^\tif (seam_ask_taken(a) != SEAM_TURN_TAKE)$/\tif (seam_ask_taken(a) || 1)/' \
	'no stack, and no reason\|with flags\|open for ever'
mutant exec_and_exit 'one that takes no stack at exec and exit' \
	's/if (seam_ask_tail(a) == SEAM_TURN_TAKE)/if (seam_ask_tail(a) \&\& 0)/' \
	'no stack, and no reason\|with flags\|open for ever'
mutant exec_and_exit 'one that does not see to it that an exec ends' \
	's/if (!ask_turn(a)->sees_end)/if (1)/' \
	'no stack, and no reason\|with flags\|open for ever'
mutant clients 'a return that takes no stack once more' \
	's/else if (seam_ask_taken(a) != SEAM_TURN_TAKE)/else if (seam_ask_taken(a) || 1)/' \
	'no stack, and no reason\|with flags\|open for ever'
mutant faults 'a return that gives up where a page is missing' \
	's/i < SEAM_ASK_PAGES + 3; i++/i < 1; i++/' \
	'no stack, and no reason\|with flags\|open for ever'
mutant reuse 'an exit that is taken for an exec' \
	's/^\tif (turn->exits)$/\tif (0)/' \
	'two entries\|another entry'
mutant lent 'a tool that does not schedule what it is told to' \
	's/if (next == SEAM_LENT_SCHEDULE)/if (0)/' \
	'no stack, and no reason\|open for ever'
mutant lent 'a tool that forgets what the kernel said of its task work' \
	's/seam_lent_scheduled(&l, seam_lent_schedule());/(seam_lent_schedule(), seam_lent_scheduled(\&l, 0));/' \
	'no stack, and no reason\|open for ever'
mutant lent 'a tool that gives up where a page is missing' \
	's/i < SEAM_LENT_TRIES; i++/i < 1; i++/' \
	'no stack, and no reason\|open for ever\|with flags'
mutant lent_clients 'a tool that takes no stack once more at its event' \
	's/^\t\tseam_lent_taken(&l.stack, seam_lent_take(&l.stack));/\t\t;/' \
	'no stack, and no reason\|with flags\|open for ever'
mutant lent_clients 'a tool that takes no stack at its event' \
	's/if (next == SEAM_LENT_TAKE &&/if (0 \&\&/' \
	'no stack, and no reason\|with flags\|open for ever'
mutant lent 'a refusal that does not come to the next step' \
	's/^\t*&arming, err, &taking);/\&arming, 0, \&taking);/' \
	'no stack, and no reason\|open for ever'
mutant lent_exec_and_exit 'a task work scheduled in an exit' \
	's/^\t\tif (arming.later)$/\t\tif (1)/' \
	'no stack, and no reason\|there is no memory'
mutant lent 'a second unwind that is forgotten on the way' \
	's/, .again = turn->again/, .again = 0/' 'again 1 times'
mutant lent_clients 'a return that ends and leaves who came amid it' \
	's/^\t\tturn->clients = seam_entry_return_end(t, el, turn->cookie);/\t\tseam_entry_return_end(t, el, turn->cookie), turn->clients = 0;/' \
	'no stack, and no reason\|with flags\|open for ever'
mutant lent_clients 'a stack at the event that is out, and left open' \
	's/^\t\tseam_entry_taken(t, el, &taking);/\t\t;/' \
	'no stack, and no reason\|with flags\|open for ever'
mutant lent_clients 'one at the event and not for who came amid it' \
	's/^\t\tturn->clients = seam_entry_more(t, seam_entry_env_entry(el));/\t\tturn->clients = 0;/' \
	'no stack, and no reason'
mutant lent_exec_and_exit 'a return that does not look which program it is in' \
	's/^\tturn->why_not = .*/\t;/' 'before an exec are unwound'
mutant lent_unseen 'a task that is freed, and nobody told of its entry' \
	's/ \&\& e->cookie ? seam_who_left(e->who) : 0;/ ? 0 : 0;/' 'is not told of'
mutant lent_unseen 'a freed task told of to who has its stack' \
	's/e->cookie ? seam_who_left(e->who) : 0;/e->cookie ? e->who \& SEAM_WHO_MASK : 0;/' \
	'it came, and is told as lost'
mutant unseen_reuse 'a cookie that two tasks of one number have' \
	's/count = seam_entry_env_count_next(t, &cpu);/count = 7;/' \
	'two stacks\|two entries'
mutant lent_unseen_reuse 'such a task freed, and nobody told of its entry' \
	's/ \&\& e->cookie ? seam_who_left(e->who) : 0;/ ? 0 : 0;/' 'is not told of'
mutant lent_clients_exit 'a stack for who came late taken for a first one' \
	's/^\tturn->taking = taking->why;/\tturn->taking = taking->why == SEAM_TAKING_LATE ? SEAM_TAKING_FIRST : taking->why;/' \
	'no stack, and no reason\|two stacks\|with flags'
mutant other 'another task that is asked for and not scheduled' \
	's/seam_lent_schedule_other(task, l.again));/0);/' \
	'no stack, and no reason'
mutant other 'what others ask that does not become an entry' \
	's/^\t    !seam_turn_open(t, o))/\t    1)/' 'no stack, and no reason'
mutant other 'an entry with the cookie of others, and not their stack' \
	's/SEAM_WHO_OUTSIDE | seam_outside_take(o),/SEAM_WHO_OUTSIDE | (seam_outside_take(o) \& 0),/' \
	'no stack, and no reason'
mutant other 'a generation that does not end' \
	's/seam_outside_next(word)) &/word) \&/' 'two stacks\|two entries\|no stack\|again 0 times'
mutant other_exec 'what others asked of the program before' \
	's/SEAM_ENTRY_GET(o->images\[seam_outside_slot(word)\]) == image/1/
	s/^\tif (was && (word & SEAM_WHO_MASK))/\tif (0)/
	s/^\t\tseam_turn_drop(t, o);/\t\t;/' \
	'across an exec'
mutant other_depths 'others who want more of it' \
	's/SEAM_ENTRY_GET(o->depth), false);/0, false);/' 'wanted 2 frames deep'
mutant other_again 'a turn that keeps the cookie of the one before the last' \
	's/SEAM_ENTRY_SET(o->cookies\[next\], 0);/;/' 'two stacks\|two entries'
mutant other_claim 'an entry joined from outside, whatever has become of it' \
	's/return SEAM_ENTRY_SWAP(e->who, was, to) == was ? cookie : 0;/(void)SEAM_ENTRY_ADD(e->who, t->clients | SEAM_WHO_OUTSIDE); return cookie;/' \
	'no stack, and no reason'
mutant other_claim 'an entry joined from outside whose stack is taken' \
	's/(was & SEAM_WHO_CLAIMED) ||$/0 ||/
	s/^\t    seam_who_done(was))$/\t    0)/' 'no stack, and no reason\|two stacks\|another entry'
mutant other_ends 'a request of others that a task ends with, and nobody told' \
	's/^\t\tseam_entry_env_lose(t, cookie, (uint32_t)clients);/\t\t;/' \
	'no stack, and no reason\|is not told of'
mutant other_two 'each who asks with a cookie of his own' \
	's/was = SEAM_ENTRY_SWAP(o->cookies\[slot\], 0, cookie);/was = 0; SEAM_ENTRY_SET(o->cookies[slot], cookie);/' \
	'no stack, and no reason'
mutant other_two 'a request of others that undoes one that came amid it' \
	's/SEAM_ENTRY_SWAP(o->word, word, word | t->clients) == word)/((o->word = word | t->clients) | 1))/' \
	'no stack, and no reason'
mutant other_swept 'what a task has begun to claim swept with a client' \
	's/bits |= bits << SEAM_WHO_DONE_SHIFT;/bits |= SEAM_WHO_CLAIMED | bits << SEAM_WHO_DONE_SHIFT;/' \
	'no stack, and no reason'
mutant other_swept 'what others asked for a client that ended still to come' \
	's/if (SEAM_ENTRY_GET(o->word) & clients & SEAM_WHO_MASK)/if (0)/' \
	'is still to come'
tap_done
