#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# serve.sh SEAM
# Description: serve refuses what it cannot serve by name, before it loads
# anything, and where it can share with nobody it says so.
. "$(dirname "$0")/cli.sh"

refuses() {
	fails 2 "serve: $3" "$seam" serve "$1" "$2"
}

for value in '' -1 x 86401 5K 1.5; do
	check "--idle '$value'" refuses --idle "$value" \
		"--idle '$value': want 0 to 86400 seconds"
done
for value in '' 0 -1 x 2G 4KK 512 1023K; do
	check "--table-memory '$value'" refuses --table-memory "$value" \
		"--table-memory '$value': want 1M to 1G"
done
for value in 0 255 65537; do
	check "--stack-copy $value" refuses --stack-copy $value \
		"--stack-copy '$value': want 256 to 65536"
done
check "an argument" fails 2 "serve: 'now' is not expected" "$seam" serve now
check "--unwind" fails 1 "unwind 'dwarf'" "$seam" serve --unwind dwarf

# As systemd starts it: a knock is one start, whether or not that succeeds.
knocked() {
	python3 - "$seam" <<'PY'
import os, socket, subprocess, sys, tempfile
with tempfile.TemporaryDirectory() as folder:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(folder + "/s")
    listener.listen()
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(folder + "/s")
    script = ('exec 3<&%d; export LISTEN_PID=$$; '
              'exec "$0" serve --unwind dwarf' % listener.fileno())
    run = subprocess.run(["sh", "-c", script, sys.argv[1]],
                         pass_fds=[listener.fileno()],
                         env=dict(os.environ, LISTEN_FDS="1"))
    listener.settimeout(0)
    try:
        listener.accept()
        sys.exit("the knock is still there")
    except BlockingIOError:
        sys.exit(run.returncode != 1)
PY
}
check "a start that fails takes the knock" knocked

# The units as they are installed, with the command where it was built.
verified() {
	units=$here/../../cli/systemd
	exe=$(cd "$(dirname "$seam")" && pwd)
	sed "s|@bindir@|$exe|" "$units/seam-serve.service.in" \
		>"$dir/seam-serve.service" &&
		cp "$units/seam-serve.socket" "$dir" || return
	systemd-analyze verify --man=no "$dir/seam-serve.service" \
		"$dir/seam-serve.socket" >"$dir/verified" 2>&1 || {
		cat "$dir/verified"
		return 1
	}
	# It says what it would ignore, also of units that are none of ours.
	! grep seam-serve "$dir/verified"
}
if command -v systemd-analyze >/dev/null; then
	check "systemd takes the units" verified
else
	skip "systemd takes the units" "there is no systemd-analyze"
fi

# Others may record on this machine: then they are listed, to root.
text="Who shares unwinds and tables:|Nobody shares .*\\."
field=clients
if [ "$(id -u)" != 0 ]; then
	text="Who shares .* cannot be seen: .*|Nobody shares .*\\."
	field="clients clients_error"
fi
says_clients() {
	"$seam" doctor --clients | grep -Eqx "$text"
}
check "doctor --clients says who is there" says_clients
says_clients_json() {
	"$seam" doctor --clients --json |
		python3 -c 'import json, sys
sys.exit(not set(json.load(sys.stdin)) & set(sys.argv[1:]))' $field
}
check "and so as JSON" says_clients_json
tap_done
