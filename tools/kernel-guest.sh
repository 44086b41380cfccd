# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# What check-kernel.sh runs inside the guest, by busybox's shell: speaks TAP.
# Description: seam doctor finds the engines that this kernel has. A real program
# is recorded with each of them, its stacks are whole, and both halves of a system
# call are joined; programs of known paths show these, and no others; auto takes
# the best of them. Without root too: by the two capabilities that
# seam-record(1) names, and a user's own programs by none, where the settings
# allow it. Then the live tests of /seam/tests, with each engine. At the end, the
# kernel has said nothing of faults of its own.
seam=/seam/seam
slower=$1
count=0

# check NAME COMMAND...: its output is shown if it fails.
check() {
	count=$((count + 1))
	name=$1
	shift
	if "$@" >/tmp/out 2>&1; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		sed 's/^/# /' /tmp/out
	fi
}

# record ENGINE
record() {
	$seam record --engine "$1" -o /tmp/perf.data \
		--json-summary /tmp/summary.json -- \
		/usr/bin/python3 /seam/demo.py 2
}

record_by_none() {
	mkdir -p /tmp/none
	chown 65534:65534 /tmp/none
	XDG_CACHE_HOME=/tmp/none /usr/bin/setpriv --reuid 65534 --regid 65534 \
		--clear-groups --bounding-set=-all "$seam" record \
		-o /tmp/none/perf.data --json-summary /tmp/none/summary.json -- \
		/usr/bin/python3 /seam/demo.py 2
}

record_by_caps() {
	caps=+bpf,+perfmon
	mkdir -p /tmp/user
	chown 65534:65534 /tmp/user
	XDG_CACHE_HOME=/tmp/user /usr/bin/setpriv --reuid 65534 --regid 65534 \
		--clear-groups --inh-caps=$caps --ambient-caps=$caps \
		--bounding-set=-all,$caps "$seam" record -o /tmp/user/perf.data \
		--json-summary /tmp/user/summary.json -- \
		/usr/bin/python3 /seam/demo.py 2
}

# Debian's default of 3 is for root alone.
refused_at_3() {
	echo 3 >/proc/sys/kernel/perf_event_paranoid
	! record_by_caps 2>/tmp/refused || return
	cat /tmp/refused
	[ "$(wc -l </tmp/refused)" = 1 ] &&
		grep -q 'kernel.perf_event_paranoid below 3' /tmp/refused
	status=$?
	echo 2 >/proc/sys/kernel/perf_event_paranoid
	return $status
}

# whole SUMMARY ENGINE
whole() {
	cat "$1"
	python3 - "$1" "$2" <<'END'
import json, sys
s = json.load(open(sys.argv[1]))
whole, wanted = s["end"]["outermost"], s["wanted"]
print(whole, "whole of", wanted)
assert s["engine"] == sys.argv[2]
assert wanted >= 500 and whole >= 0.99 * wanted
END
}

joined() {
	$seam script -i /tmp/perf.data >/tmp/script || return
	head -n 60 /tmp/script
	awk -v RS= '/entry_SYSCALL_64/ && /_PyEval_EvalFrame/ && / _start/ {
		found = 1 } END { exit !found }' /tmp/script
}

# auto_takes ENGINE
auto_takes() {
	$seam record -o /tmp/auto.data --json-summary /tmp/auto.json -- true &&
		grep "\"engine\": \"$1\"" /tmp/auto.json
}

# cases NAME COMMAND...: those of a test, told as they come, become some of ours.
cases() {
	echo "$count" >/tmp/count
	name=$1
	shift
	{ "$@" 2>&1
	echo "status $?"; } | awk -v n="$count" -v name="$name" '
	function tell(text) { print text; fflush() }
	/^(not )?ok [0-9]+ - / {
		bad = /^not/; at = index($0, " - "); cases++
		tell((bad ? "not " : "") "ok " ++n " - " name ": " \
			substr($0, at + 3)); failed += bad; next
	}
	/^1\.\.0/ { sub(/^1\.\.0 # SKIP /, ""); cases = planned = 1
		tell("ok " ++n " - " name " # SKIP " $0); next }
	/^1\.\.[0-9]+$/ { planned = substr($0, 4); next }
	/^status [0-9]+$/ { status = $2; next }
	{ tell(/^#/ ? $0 : "# " $0) }
	END {
		if (cases != planned || (status && !failed))
			tell("not ok " ++n " - " name " ran to its end")
		print n >"/tmp/count"
	}'
	read -r count </tmp/count
}

# live ENGINE TEST
live() {
	function=${2#"${2%%:*}"}
	# shellcheck disable=SC2086 # two words, or none
	cases "$1: $2" python3 "/seam/live/${2%%:*}.py" --seam "$seam" \
		--engine "$1" --slower "$slower" --prebuilt /seam/prebuilt \
		${function:+--only ${function#:}}
}

# known_paths ENGINE FOLDER
known_paths() {
	cases "$1: known path" python3 /seam/live/known-path.py \
		--seam "$seam" --engine "$1" --progs "/seam/$2" --freq 299 \
		--seconds 0.5 --share 0.05 --no-coverage
}

# What an engine does as root. A copy has no other stack than the one in use.
check_engine() {
	check "$1: python3 is recorded" record "$1"
	check "$1: its stacks are whole" whole /tmp/summary.json "$1"
	check "$1: a system call shows the kernel and the program" joined
	known_paths "$1" known
	[ "$1" = dump ] || known_paths "$1" signals
}

# A kernel without vdso32 has what a test skips for.
skips_bits32() {
	echo 0 >/proc/sys/abi/vsyscall32
	python3 /seam/live/bits32.py --seam "$seam" --engine "$best" \
		--prebuilt /seam/prebuilt |
		tee /tmp/bits32
	echo 1 >/proc/sys/abi/vsyscall32
	grep '^ok 1 .* # SKIP' /tmp/bits32
}

basics() {
	# shellcheck disable=SC2086,SC2116 # words, in one line
	check "doctor finds $wanted" [ "$(echo $engines)" = "$wanted" ]
	for engine in $engines; do
		[ "$engine" = native ] || check_engine "$engine"
	done
	check "auto takes $best" auto_takes "$best"
	check 'a user without rights records its own program' record_by_none
	check 'its stacks are whole' whole /tmp/none/summary.json dump
	[ "$best" = deferred ] || return
	check 'perf_event_paranoid 3 wants root, and seam says so' \
		refused_at_3
	check 'it is recorded by two capabilities' record_by_caps
	check 'its stacks are whole then, too' \
		whole /tmp/user/summary.json deferred
}

# A kernel that our programs brought to a fault may run on. WARNING lines had
# the CPU first before Linux 6.19, and where it was after that. That a CPU stands
# still (soft lockup) may be the emulation's doing.
faults='kernel BUG at|BUG: ([^s]|s[cl])|Oops: |general protection fault'
faults="$faults|WARNING: (CPU: |[^ ]*:[0-9]+ at )|refcount_t: |corruption"

no_fault() {
	! dmesg | grep -E -A 30 "$faults"
}

echo "# $(uname -sr)"
# Debian's default is 3.
echo 2 >/proc/sys/kernel/perf_event_paranoid
$seam doctor >/tmp/doctor
sed 's/^/# /' /tmp/doctor
engines=$(sed -n '/^Engines/,$ s/^  yes   \([a-z]*\) .*/\1/p' /tmp/doctor)
best=$(echo "$engines" | head -n 1)
case $(uname -r) in
6.1.*) wanted='dump' ;;
6.12.*) wanted='immediate dump' ;;
*) wanted='deferred immediate dump native' ;;
esac
read -r tests </seam/tests
case " $tests " in
*' basics '*) basics ;;
esac
read -r only </seam/engines
for engine in ${only:-$engines}; do
	for name in $tests; do
		[ "$name" = basics ] || live "$engine" "$name"
	done
done
case " $tests " in
*' bits32 '*) [ ! -e /proc/sys/abi/vsyscall32 ] ||
	check 'bits32 is skipped without code for such programs' \
		skips_bits32 ;;
esac
check 'the kernel had no fault' no_fault
echo "1..$count"
