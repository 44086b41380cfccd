#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# record-perf.sh SEAM
# Description: options that perf record has are taken where they mean the same
# here, or where it is always so; every other is refused by a line that says what
# there is instead, before anything is recorded, as is what stands for no way to
# stacks, or cannot be merged.
. "$(dirname "$0")/cli.sh"

refuses() {
	words=$1
	shift
	fails 2 "$words" "$seam" record -o "$dir/none" "$@" -- true &&
		[ ! -e "$dir/none" ]
}

# An option behind them is what is complained of.
takes() {
	fails 2 "record: -z '20'" "$seam" record "$@" -z 20 -- true
}

for way in '' frames dwar dwarf8192 fp-defer; do
	check "--call-graph '$way' is refused" \
		refuses 'want fp, dwarf or lbr' --call-graph "$way"
done
for way in fp dwarf lbr dwarf,8192 fp,defer; do
	check "--call-graph $way" takes --call-graph "$way"
done
check 'the long names of perf record' takes --event cpu-clock --freq 99 \
	--output x --all-cpus --mmap-pages 64 -g -q
check 'the short ones' takes -e cpu-clock -c 1000 -o x -a -m 64 -g -q
check '-F max' takes -F max
check 'what is always so' takes -N -B -T -P -R -f --no-buildid --timestamp \
	--period --sample-cpu --buildid-all --buildid-mmap --strict-freq \
	--timestamp-boundary --no-bpf-event
check '-C, -D, -k, -v' takes -C 0,2-3 -D 100 -k mono -k CLOCK_MONOTONIC -v \
	--cpu=1 --delay 0 --clockid monotonic --verbose
check '-i' takes -i -p 1 --no-inherit
check '--all-user' takes --all-user
check '--all-kernel' takes -e cycles:p --all-kernel
check 'both' refuses 'exclude each other' --all-user --all-kernel
check 'a group is its members' takes -e '{cpu-clock,page-faults/period=3,max-stack=4/}:u,cs'
check 'no group without an end' refuses "want a '}'" -e '{cpu-clock,cs'
check 'no group that its leader reads' refuses "':S'" \
	-e '{cpu-clock,page-faults}:S'
check 'an empty group is no event' refuses 'want an event' -e '{,cs}'
# Names of tracepoints are looked for when options are read, by root alone.
if [ -r /sys/kernel/tracing/events ] || [ "$(id -u)" = 0 ]; then
	check 'tracepoints by a pattern' takes -e 'sched:*exec*:u' \
		-e '{cs,*:sched_swit*/max-stack=3/}:k'
	check 'none by it' refuses "'no_such:\*': no tracepoint is called so" \
		-e 'cs,no_such:*'
	check 'too many' refuses 'tracepoints, and 16 events are the most' \
		-e 'sched:*'
	check 'too many system calls' refuses \
		'are raw_syscalls:sys_enter' -e 'syscalls:sys_enter_*'
	check '16 are the most with others' refuses '16 events are the most' \
		-e 'sched:*exec*' -e cs,cs,cs,cs,cs,cs,cs,cs \
		-e cs,cs,cs,cs,cs,cs,cs,cs
else
	skip 'tracepoints by a pattern' 'only root can look for them'
fi

# Its value is perf's -z alone, or as seam's was before; perf takes none that
# stands apart.
compresses() {
	fails 2 "-m 'x'" "$seam" record "$@" -m x -- true
}
for z in -z -z3 '-z 3' -z=3 --compress=3 --compression-level=3 \
	--compression-level '--compress 3'; do
	check "$z" compresses $z
done
check 'no option' refuses "seam record: '--nonsense' is no option" --nonsense
check 'no letter' refuses "seam record: '-Q' is no option" -Q
check 'no value' fails 2 "seam record: '-e' is no option or needs a value" \
	"$seam" record -e
for command in record serve doctor report 'sframe stat'; do
	check "$command says it in our words" fails 2 \
		"seam $command: '--nonsense' is no option or needs a value; see 'seam $command --help'" \
		"$seam" $command --nonsense
done
check '-z 20' refuses 'want 0 to 19' -z 20
check '-z=x' refuses 'want 0 to 19' -z=x

for cpus in '' , x 0- 3-2 -1 0,,1 99999; do
	check "-C '$cpus' is refused" refuses "-C '$cpus': want CPUs" -C "$cpus"
done
check '-C is for all tasks' refuses 'exclude each other' -C 0 -p 1
check '-D -1 has nothing that begins it' refuses 'no --control' -D -1
check '-D 1-2,3-4' refuses 'without ranges' -D 1-2,3-4
check '-k boottime' refuses 'always CLOCK_MONOTONIC' -k boottime
check '-u of nobody there' refuses "want a user's name" -u no-such-user
check '-u with -a' refuses 'exclude each other' -a -u root

# Each with the value that perf wants of it.
for option in -s -d --phys-data -W -b '-j any' '-G x' -n \
	-S -I --user-regs '--filter x' --exclude-perf --switch-output \
	--overwrite '--control fd:1' '--max-size 1M' --kcore --switch-events \
	'--off-cpu-thresh 1' --data-mmap --transaction --namespaces \
	'--vmlinux x' --timestamp-filename --latency --dry-run \
	--user-callchains --kernel-callchains; do
	check "$option is refused" refuses "perf's --[a-z-]* is not here: ." \
		$option
done
tuned() {
	"$seam" record "$@" -z 20 -- true >"$dir/out" 2>&1
	cat "$dir/out"
	[ "$(wc -l <"$dir/out")" = 2 ] &&
		grep -q "^seam: record: perf's $1 changes nothing here: ." \
			"$dir/out" && grep -q "record: -z '20'" "$dir/out"
}
for option in '--realtime 1' --threads --aio '--affinity cpu' --per-thread \
	--no-buffering '--mmap-flush 1M' '--synth no' \
	'--num-thread-synthesize 2' '--proc-map-timeout 9' --group \
	'--clang-path x' '--clang-opt x' --debuginfod --tail-synthesize; do
	check "$option is taken, with a word" tuned $option
done
check 'with -q without one' takes -q --aio -r 1
# Names and values as its help has them: taken or refused, and always known.
knows() {
	"$@" record -h </dev/null >"$dir/help" 2>&1
	sed -n 's/^ \{4,\}\(-., \)\{0,1\}--\([a-z-]*\)\(.*\)/\2 \3/p' \
		"$dir/help" >"$dir/options"
	[ "$(wc -l <"$dir/options")" -gt 60 ] || return
	while read -r name rest; do
		case $rest in
		'<'*) name=$name=1 ;;
		esac
		"$seam" record "--$name" -z 20 -- true >"$dir/out" 2>&1 \
			</dev/null
		! grep "no option" "$dir/out" || return
	done <"$dir/options"
}
peer=$("$here/../../tools/peers.sh" --where 2>/dev/null)
for perf in perf $peer; do
	if command -v "$perf" >/dev/null && "$perf" --version >"$dir/out" 2>&1
	then
		check "each option of $(cat "$dir/out") is known" knows "$perf"
	else
		skip "each option of perf is known" 'it does not run here'
	fi
done
check '--merge' takes --merge
check 'stacks alone cannot be merged' refuses 'exclude each other' \
	--merge --stacks-only
tap_done
