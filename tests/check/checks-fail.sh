#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Description: each check of the tree accepts a clean small tree and refuses
# it once one thing in it is wrong.
here=$(cd "$(dirname "$0")/../.." && pwd)
. "$here/tools/tap.sh"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
spdx='// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause'

# fresh: the small tree, clean.
fresh() {
	rm -rf "$tree"
	mkdir -p "$tree/tools" "$tree/core" "$tree/lib/elf" "$tree/cli" \
		"$tree/bpf" "$tree/include/seam" "$tree/man"
	cp "$here"/tools/*.sh "$tree/tools"
	cp "$here/.clang-format" "$tree"
	cp -r "$here/LICENSES" "$tree"
	printf '%s\n' "$spdx" '#include <stdint.h>' >"$tree/core/a.h"
	printf '%s\n' "$spdx" '#include "core/a.h"' >"$tree/lib/elf/b.c"
	printf '%s\n' "$spdx" '#include "elf/b.h"' >"$tree/cli/main.c"
	# What check-core makes BPF code of.
	cp "$here"/core/*.h "$here/core/err.def" "$tree/core"
	git -C "$tree" init -q
}

# refused CHECK WHAT FILE LINE...: the lines are added to the file.
refused() {
	script=$1 what=$2 file=$3
	shift 3
	fresh
	if ! "$tree/tools/check-$script.sh" >"$tree/out" 2>&1; then
		not_ok "$script refuses $what" 'the clean tree was refused' \
			"$(cat "$tree/out")"
		return
	fi
	mkdir -p "$(dirname "$tree/$file")"
	[ -f "$tree/$file" ] || echo "$spdx" >"$tree/$file"
	printf '%s\n' "$@" >>"$tree/$file"
	if "$tree/tools/check-$script.sh" >"$tree/out" 2>&1; then
		not_ok "$script refuses $what" "$(cat "$tree/out")"
	else
		ok "$script refuses $what"
	fi
}

refused includes 'libc in core' core/a.h '#include <stdio.h>'
refused includes 'lib in core' core/a.h '#include "elf/b.h"'
refused includes 'lib in bpf' bpf/c.h '#include "elf/b.h"'
refused includes 'cli in lib' lib/elf/b.c '#include "cli/commands.h"'
refused includes 'the skeleton outside lib/kernel' lib/capture/b.c \
	'#include "seam.skel.h"'
refused includes 'a session in the kernel side' lib/kernel/b.c \
	'#include "capture/session-priv.h"'
refused includes 'the pager in the list of processes' lib/process/b.c \
	'#include "pager/tables.h"'
refused includes 'a second name for a header' lib/elf/b.c \
	'#include "lib/elf/b.h"'
refused includes 'core in cli' cli/main.c '#include "core/a.h"'
refused includes 'lib in public headers' include/seam/d.h \
	'#include "elf/b.h"'
refused sizes 'a function of 71 lines' lib/elf/b.c 'int f(void)' '{' \
	"$(seq -f '	x(%g);' 69)" '}'
refused sizes 'a file of 1,001 lines' lib/elf/b.c "$(seq -f '/* %g */' 999)"
refused leaks 'a note without an issue' lib/elf/b.c "// TO""DO: later"
refused leaks 'a note that names a person' lib/elf/b.c "// FIX""ME(me): later"
refused leaks 'a path of this machine' lib/elf/b.c "// see /wor""k/x"
refused leaks 'a kernel header' lib/elf/vmlinux.h '// none'
refused format 'spaces for tabs' lib/elf/b.c 'int f(void)' '{' \
	'        return 0;' '}'
refused core 'a header that does not stand alone' core/a.h 'struct x y;'
refused man 'a constant that no header has' include/seam/d.h '/* SEAM_NONE */'
refused man 'a command without a page' cli/main.c '	{ "record", run },'

fresh
echo 'int f;' >"$tree/lib/elf/e.c"
if "$tree/tools/check-spdx.sh" >/dev/null; then
	not_ok 'spdx refuses a file without a licence'
else
	ok 'spdx refuses a file without a licence'
fi
tap_done
