# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# What the loads share. A load defines prepare() and load(), both get DIR.

here=$(cd "$(dirname "$0")" && pwd)

need() {
	command -v "$1" >/dev/null || {
		echo "$1 is not installed"
		exit 77
	}
}

# args A B C: the command, a NUL after each argument, as an
# argument may be a script.
args() {
	printf '%s\0' "$@"
}

load_main() {
	case $1 in
	prepare) prepare "$2" ;;
	command) load "$2" ;;
	*)
		echo "usage: $0 prepare DIR, or command DIR" >&2
		exit 2
		;;
	esac
}
