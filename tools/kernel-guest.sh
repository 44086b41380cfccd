# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# What check-kernel.sh runs inside the guest, by busybox's shell: speaks TAP.
# Description: a real program is recorded on this kernel, its stacks are
# whole, and both halves of a system call are joined.
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

whole() {
	cat /tmp/summary.json
	python3 -c '
import json
s = json.load(open("/tmp/summary.json"))
whole, wanted = s["end"]["outermost"], s["wanted"]
print(whole, "whole of", wanted)
assert s["engine"] == "deferred"
assert wanted >= 500 and whole >= 0.99 * wanted'
}

joined() {
	$seam script -i /tmp/perf.data >/tmp/script || return
	head -n 60 /tmp/script
	awk -v RS= '/entry_SYSCALL_64/ && /_PyEval_EvalFrame/ && / _start/ {
		found = 1 } END { exit !found }' /tmp/script
}

echo "# $(uname -sr)"
echo '1..4'
check 'doctor finds the deferred engine' \
	sh -c "$seam doctor >/tmp/doctor; cat /tmp/doctor
	grep -q 'uses deferred' /tmp/doctor"
check 'python3 is recorded' record
check 'its stacks are whole' whole
check 'a system call shows the kernel and the program' joined
