#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# outputs.sh SEAM
# Description: what is no file is never replaced by an output: devices, pipes
# and folders are refused in one line; a summary is written to where it can be.
. "$(dirname "$0")/cli.sh"
data=$here/../golden/groups/single.data
elf=$here/../golden/sframe/v3/amd64-pie.exe

# stays WORDS COMMAND...: refused in one line, and $node is what it was. Other lines
# are of the recording.
stays() {
	words=$1
	shift
	was=$(stat -c '%i %f %t:%T' "$node")
	"$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	[ $status = 1 ] && [ "$(grep -c "$node" "$dir/err")" = 1 ] &&
		grep -q "$words" "$dir/err" && [ ! -e "$node.old" ] &&
		[ "$(stat -c '%i %f %t:%T' "$node")" = "$was" ] && return
	echo "status $status: $*"
	cat "$dir/err"
	return 1
}

# each WORDS: every command with -o.
each() {
	stays "$1" "$seam" export --to folded -i "$data" -o "$node" &&
		stays "$1" "$seam" inject -i "$data" -o "$node" &&
		stays "$1" "$seam" sframe make "$elf" -o "$node"
}

pipes() {
	node=$dir/fifo
	mkfifo "$node" && each 'fifo: it is no regular file'
}

folders() {
	node=$dir/folder
	mkdir "$node" && each 'folder: Is a directory' &&
		stays 'folder: Is a directory' "$seam" script -i "$data" \
			--json-summary "$node"
}

devices() {
	node=$dir/null
	each 'null: it is no regular file' &&
		"$seam" report -i "$data" --json-summary "$node" \
			>"$dir/out" 2>"$dir/err" && [ -c "$node" ] || return
	node=$dir/disk
	mknod "$node" b 7 200 && each 'disk: it is no regular file'
}

full() {
	node=$dir/full
	each 'full: it is no regular file' &&
		stays 'full: No space' "$seam" script -i "$data" \
			--json-summary "$node"
}

check 'a pipe stays a pipe' pipes
check 'a folder stays a folder' folders
if mknod "$dir/null" c 1 3 && mknod "$dir/full" c 1 7 &&
	: >"$dir/null"; then
	check 'a device stays a device' devices
	check 'a summary for a full device is said' full
else
	skip 'a device stays a device' 'no device can be made here'
	skip 'a summary for a full device is said' 'no device can be made here'
fi
tap_done
