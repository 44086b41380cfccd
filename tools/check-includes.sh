#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Description: who may include whom: core <- lib <- cli, core <- bpf, and
# lib/kernel alone sees the generated BPF skeleton, and the rooms of recording
# stand on each other in one order. DESIGN.md says why. And a
# header is included by one name everywhere, and cli's messages are whole.
cd "$(dirname "$0")/.." || exit 1
. tools/tap.sh

# Prints "file:line: header" for each include in these files.
includes() {
	tree_files "$@" | grep -E '\.(c|h|def)$' | while read -r file; do
		awk -v file="$file" '
		/^[ \t]*#[ \t]*include[ \t]/ {
			sub(/^[ \t]*#[ \t]*include[ \t]*/, "")
			sub(/^["<]/, "")
			sub(/[">].*/, "")
			print file ":" FNR ": " $0
		}' "$file"
	done
}

# rule NAME PATTERN FOLDER...: each include there must match the pattern.
rule() {
	name=$1 allowed=$2
	shift 2
	bad=$(includes "$@" | awk -v allowed="$allowed" '$2 !~ allowed')
	if [ -z "$bad" ]; then ok "$name"; else not_ok "$name" "$bad"; fi
}

# forbid NAME PATTERN FOLDER...: none may match.
forbid() {
	name=$1 bad_pattern=$2
	shift 2
	bad=$(includes "$@" | awk -v bad="$bad_pattern" '$2 ~ bad')
	if [ -z "$bad" ]; then ok "$name"; else not_ok "$name" "$bad"; fi
}

std='^(stdbool|stddef|stdint)\.h$'
rule 'core includes core and three freestanding headers' \
	"$std|^core/" core
rule 'bpf includes core, bpf, and libbpf'"'"'s headers for BPF programs' \
	"$std|^core/|^bpf/|^seam/seam\.bpf\.h$|^linux/(bpf|bpf_perf_event|perf_event|types)\.h$" bpf
forbid 'lib does not include cli' '^(cli/|.*commands\.h$)' lib
forbid 'lib does not include bpf, but lib/kernel may' \
	'^bpf/|\.skel\.h$|\.bpf\.' lib ':!lib/kernel'
forbid 'events stand below all that records' \
	'^(kernel|process|pager|capture|record)/' lib/event
forbid 'the kernel side stands on events' \
	'^(process|pager|capture|record)/' lib/kernel
forbid 'processes stand on the kernel side' \
	'^(pager|capture|record)/' lib/process
forbid 'the pager of tables stands on processes' '^(capture|record)/' lib/pager
forbid 'sessions know no recording' '^record/' lib/capture
forbid 'a recording is a client of the public interface' \
	'^(event|kernel|process|pager|capture)/' lib/record
forbid 'and its commands have but the names of events, orders and engines besides' \
	'^(event/(event\.|payload)|kernel/(kernel|share|probe|arena)|process|pager|capture)' \
	cli/cmd-record.c cli/cmd-top.c cli/record-*.c cli/top-*.c
forbid 'cli does not include bpf' '^bpf/|\.skel\.h$' cli
forbid 'cli reaches core through lib only' '^core/' cli
forbid 'a header of lib has one name, that begins with its folder' '^lib/' \
	lib cli tests fuzz bench examples
# The usage alone has lines and no names.
bad=$(tree_files cli ':!cli/main.c' ':!cli/messages.c' | tr '\n' '\0' |
	xargs -0 grep -nE '(\(|, |^[[:space:]]+)stderr[,)]')
if [ -z "$bad" ]; then ok 'cli says what it says by say()'; else
	not_ok 'cli says what it says by say()' "$bad"
fi
rule 'public headers include public headers and the system only' \
	'^seam/|^(errno|signal|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|sys/types|linux/[a-z_]+)\.h$' \
	include/seam ':!include/seam/*.bpf.h'
tap_done
