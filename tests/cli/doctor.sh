#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# doctor.sh SEAM
# Description: doctor's text, JSON and exit status agree, with all rights and
# without any.
. "$(dirname "$0")/../../tools/tap.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
cp "$1" "$dir/seam"
seam=$dir/seam
export XDG_CACHE_HOME="$dir/cache"

# exits STATUS COMMAND...: its output is in $dir/out and $dir/err.
exits() {
	wanted=$1
	shift
	"$@" >"$dir/out" 2>"$dir/err"
	status=$?
	[ "$status" = "$wanted" ] && return
	echo "exit status $status, wanted $wanted"
	cat "$dir/out" "$dir/err"
	return 1
}

# The answer's own words say which exit status is right.
agrees() {
	"$@" --json >"$dir/json" 2>"$dir/err"
	status=$?
	[ ! -s "$dir/err" ] || { cat "$dir/err"; return 1; }
	"$@" >"$dir/text" || [ $? = "$status" ] ||
		{ echo 'text and JSON end differently'; return 1; }
	python3 - "$status" "$dir/json" "$dir/text" <<'END'
import json, sys
status, answer = int(sys.argv[1]), json.load(open(sys.argv[2]))
text = open(sys.argv[3]).read()
names = [e["name"] for e in answer["engines"]]
assert names == ["deferred", "immediate", "dump", "native"], names
assert status == (0 if answer.get("engine") == "deferred" else 1), status
for r in answer["checks"] + answer["engines"]:
    assert r["state"] in ("yes", "part", "no"), r
    line = f"  {r['state']:<4}  {r['name']:<20} {r['found']}\n"
    assert line in text, line
works = {e["name"]: e["state"] for e in answer["engines"]}
assert (works["deferred"] == "yes") == (status == 0), works
# What deferral does can be done at the event, where addresses are shown.
syms = [c["state"] for c in answer["checks"] if c["name"] == "kernel-symbols"]
assert works["immediate"] == "yes" or status or syms != ["yes"], works
best = [e["name"] for e in answer["engines"] if e["state"] == "yes" and
        e["name"] != "native"]
assert answer.get("engine") == (best[0] if best else None), answer
END
}

refused() {
	agrees "$@" || return
	python3 - "$dir/json" <<'END'
import json, sys
answer = json.load(open(sys.argv[1]))
checks = {c["name"]: c for c in answer["checks"]}
assert answer.get("engine") in (None, "dump"), answer
assert checks["rights"]["state"] == "no", checks["rights"]
assert "CAP_" in checks["rights"]["found"], checks["rights"]
assert answer["next"], answer
END
}

as_nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

# with_caps CAPABILITIES COMMAND...: and no others.
with_caps() {
	caps=$1
	shift
	as_nobody --inh-caps="$caps" --ambient-caps="$caps" \
		--bounding-set="-all,$caps" "$@"
}

# The two capabilities that the man page names do what root does.
enough() {
	"$seam" doctor --json >"$dir/root.json"
	agrees with_caps +bpf,+perfmon "$seam" doctor || return
	python3 - "$dir/root.json" "$dir/json" <<'END'
import json, sys
root, caps = (json.load(open(name)) for name in sys.argv[1:])
assert caps.get("engine") == root.get("engine"), (root, caps)
checks = {c["name"]: c for c in caps["checks"]}
assert checks["rights"]["state"] == "part", checks["rights"]
assert "enough to record" in checks["rights"]["found"], checks["rights"]
for name in ("arena", "programs", "events", "memlock"):
    of_root = [c for c in root["checks"] if c["name"] == name][0]
    assert checks[name]["state"] == of_root["state"], checks[name]
END
}

# short CAPABILITY MISSING: one of the two alone is not.
short() {
	refused with_caps "+$1" "$seam" doctor || return
	grep -q "rights  *missing: $2\$" "$dir/text"
}

check 'doctor ends and explains itself' agrees "$seam" doctor
check '--help is 0' exits 0 "$seam" doctor --help
check 'an unknown option is 2' exits 2 "$seam" doctor --nonsense
check 'an argument is 2' exits 2 "$seam" doctor now
check 'an answer that cannot be written is 1' \
	exits 1 sh -c '"$1" doctor >/dev/full' sh "$seam"
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 true 2>/dev/null; then
	check 'without rights it says so, and what to do' refused \
		as_nobody "$seam" doctor
	check 'without rights nothing else is the reason' \
		grep -q 'deferred .*rights: ' "$dir/text"
else
	skip 'without rights it says so' 'dropping rights takes root'
fi
# Debian's kernels know 3.
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 2 ]; then
	skip 'CAP_BPF and CAP_PERFMON are enough' \
		'kernel.perf_event_paranoid lets only root use events'
elif with_caps +bpf,+perfmon true 2>/dev/null; then
	check 'CAP_BPF and CAP_PERFMON are enough' enough
	check 'CAP_BPF alone is not' short bpf CAP_PERFMON
	check 'CAP_PERFMON alone is not' short perfmon CAP_BPF
else
	skip 'CAP_BPF and CAP_PERFMON are enough' 'giving them takes root'
fi
tap_done
