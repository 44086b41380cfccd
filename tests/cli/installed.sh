#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# installed.sh BUILD
# Description: what is installed is all that others build on: the whole tool of
# examples/ is made from the installed headers, library, object and pkg-config
# file alone, by the commands of the installed seam_request(3), and the examples
# without BPF programs, and that of seam_session_open(3), as well.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../tools/tap.sh"
build=$(cd "$1" && pwd)
examples=$(cd "$here/../../examples" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

installed() {
	DESTDIR=$dir/root meson install -C "$build" --no-rebuild --quiet
}
check 'it is installed' installed
pc=$(find "$dir/root" -name seam.pc)
# shown PAGE: its text, as it is installed.
shown() {
	gzip -dcf "$(find "$dir/root" -name "$1.3*")"
}
# As if it lay where it was built for.
prefix=$(sed -n 's/^prefix=//p' "$pc")
sed -i "s|^prefix=.*|prefix=$dir/root$prefix|" "$pc"
PKG_CONFIG_PATH=$(dirname "$pc")
LD_LIBRARY_PATH=$(pkg-config --variable=libdir "$pc")
export PKG_CONFIG_PATH LD_LIBRARY_PATH

check 'its command runs' "$dir/root$prefix/bin/seam" --version
check 'it has what the page says is linked to a tool' \
	test -s "$(pkg-config --variable=request_object seam)"
check 'its unit names its command' grep -q \
	"^ExecStart=$prefix/bin/seam serve" \
	"$(find "$dir/root" -name seam-serve.service)"

# Nothing but the tool's own three files is here.
mkdir "$dir/tool"
cd "$dir/tool" || exit 1
cp "$examples/latency.c" "$examples/latency.bpf.c" .
shown seam_request | sed -n '/^clang/,/^\.Ed/{/^\.Ed/!p}' |
	sed 's/\\e$/\\/' >commands
check 'the page has the commands' grep -q '^cc .*latency\.c' commands
PATH=$PATH:/usr/sbin
# A fresh Debian has it by its version alone.
command -v clang >/dev/null || {
	mkdir "$dir/bin"
	ln -s "$(command -v clang-19)" "$dir/bin/clang"
	PATH=$dir/bin:$PATH
}
check 'the tool is made by them' sh -e commands
check 'it wants to be told a process' sh -c \
	'./latency 2>said; [ $? = 2 ] && grep -qx "usage: .*latency PID MS" said'

for source in "$examples"/*.c; do
	case $source in *.bpf.c) continue ;; esac
	[ ! -f "${source%.c}.bpf.c" ] || continue
	# shellcheck disable=SC2046
	check "$(basename "$source") is compiled and linked" cc -O2 -Wall -Werror \
		"$source" $(pkg-config --cflags --libs seam) -o example
done

# What the page of sessions has for an example, in a function.
{
	cat <<-'END'
		#include <err.h>
		#include <stdio.h>
		#include <seam/tracer.h>
		void trace(uint32_t pid,
			   void (*on_sample)(void *, const struct seam_sample *),
			   void (*on_stack)(void *, const struct seam_user_stack *))
		{
		struct seam_session *session;
		struct seam_errinfo info = {0};
	END
	shown seam_session_open | sed -n '/^\.Sh EXAMPLES/,/^\.Ed/{/^\./!p}'
	echo '}'
} >page.c
check 'the example of seam_session_open(3) has calls' \
	grep -q '^while (seam_session_run' page.c
# shellcheck disable=SC2046
check 'and is compiled' cc -O2 -Wall -Wextra -Werror -c page.c \
	$(pkg-config --cflags seam)
tap_done
