#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# headers-cpp.sh LIBSEAM
# Description: a program in C++ can include each public header, alone and all
# at once, and calls what they declare by the names that the library has.
# seam.bpf.h is for BPF programs, which are in C.
here=$(cd "$(dirname "$0")/../.." && pwd)
. "$here/tools/tap.sh"
lib=$(realpath "$1")

cxx=${CXX:-g++}
if ! command -v "$cxx" >/dev/null; then
	skip 'public headers in C++' "there is no $cxx"
	tap_done
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$here/include" || exit 1

# compile STANDARD SOURCE MORE...
compile() {
	standard=$1 source=$2
	shift 2
	# shellcheck disable=SC2046
	"$cxx" -std="$standard" -Wall -Werror -I "$here/include" \
		$(pkg-config --cflags libbpf) "$work/$source" "$@"
}

headers=$(ls seam/*.h | grep -v '\.bpf\.h$')
for header in $headers; do
	{
		[ "$header" != seam/lend.h ] || echo '#include <bpf/libbpf.h>'
		echo "#include <$header>"
	} >"$work/alone.cc"
	for standard in c++11 c++20; do
		check "<$header> alone in $standard" \
			compile $standard alone.cc -fsyntax-only
	done
done

# Of what is declared, comments left out, and macros. What is not defined in
# the program must be in the library.
# shellcheck disable=SC2086
calls=$(cat $headers | sed '/^#/d; s|/\*.*\*/||; /\/\*/,/\*\//d' |
	grep -o '\bseam_[a-z_]*(' | tr -d '(' | sort -u)
check 'calls are found in the headers' \
	sh -c 'echo "$0" | grep -qx seam_session_open' "$calls"
{
	echo '#include <bpf/libbpf.h>'
	printf '#include <%s>\n' $headers
	echo 'void (*volatile called)(void);'
	echo 'int main() {'
	printf '\tcalled = reinterpret_cast<void (*)(void)>(%s);\n' $calls
	echo '}'
} >"$work/all.cc"
check 'a program in C++ that calls all of them is linked' \
	compile c++17 all.cc -o "$work/all" "$lib" $(pkg-config --libs libbpf) \
	-Wl,--unresolved-symbols=ignore-in-shared-libs
tap_done
