#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Description: nothing in the tree that belongs to one machine or to nobody:
# paths of the machine it was written on, notes without an issue number,
# headers generated from one kernel.
cd "$(dirname "$0")/.." || exit 1
. tools/tap.sh

# nowhere NAME PATTERN [PATHSPEC]...: no line of the tree may match. Each
# pattern has a class in it, so that it does not match itself here.
nowhere() {
	name=$1 pattern=$2
	shift 2
	bad=$(tree_files "$@" | tr '\n' '\0' |
		xargs -0 -r grep -InE -e "$pattern" -- /dev/null)
	if [ -z "$bad" ]; then ok "$name"; else not_ok "$name" "$bad"; fi
}

nowhere 'no path of the machine it was written on' \
	'(^|[^a-zA-Z0-9_.])/wor[k]/|/bash_job[s]|/tmp/(build-|brief|peers-)[a-z]'
nowhere 'no path outside the tree' '\.\./share[d]|\.librar[y]'
nowhere 'no note without an issue number' '\b(TOD[O]|FIXM[E]|XX[X])\b([^(]|$)' \
	':!fuzz/corpus/*' ':!tests/golden/*'
nowhere 'every note names an issue' '\b(TOD[O]|FIXM[E])\(#?[^#0-9]'

kernel=$(tree_files | grep -E '(^|/)vmlinux[^/]*\.h$'
	tree_files '*.h' | tr '\n' '\0' |
		xargs -0 -r grep -lE '^#define __VMLINUX_H_[_]' -- /dev/null)
if [ -z "$kernel" ]; then
	ok 'no generated kernel header'
else
	not_ok 'no generated kernel header' "$kernel"
fi
tap_done
