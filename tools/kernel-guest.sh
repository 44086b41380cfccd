# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# What check-kernel.sh runs inside the guest, by busybox's shell: speaks TAP.
# Description: a real program is recorded on this kernel, its stacks are
# whole, and both halves of a system call are joined; also without root, by the
# two capabilities that seam-record(1) names, where the settings allow it.
seam=/seam/seam
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

record() {
	$seam record -o /tmp/perf.data --json-summary /tmp/summary.json -- \
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

# whole SUMMARY
whole() {
	cat "$1"
	python3 - "$1" <<'END'
import json, sys
s = json.load(open(sys.argv[1]))
whole, wanted = s["end"]["outermost"], s["wanted"]
print(whole, "whole of", wanted)
assert s["engine"] == "deferred"
assert wanted >= 500 and whole >= 0.99 * wanted
END
}

joined() {
	$seam script -i /tmp/perf.data >/tmp/script || return
	head -n 60 /tmp/script
	awk -v RS= '/entry_SYSCALL_64/ && /_PyEval_EvalFrame/ && / _start/ {
		found = 1 } END { exit !found }' /tmp/script
}

echo "# $(uname -sr)"
echo '1..7'
check 'doctor finds the deferred engine' \
	sh -c "$seam doctor >/tmp/doctor; cat /tmp/doctor
	grep -q 'uses deferred' /tmp/doctor"
check 'python3 is recorded' record
check 'its stacks are whole' whole /tmp/summary.json
check 'a system call shows the kernel and the program' joined
check 'perf_event_paranoid 3 wants root, and seam says so' refused_at_3
check 'it is recorded without root' record_by_caps
check 'its stacks are whole then, too' whole /tmp/user/summary.json
