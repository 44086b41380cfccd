#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# gcc's cc1plus on a file with <regex> and <map>.
. "$(dirname "$0")/lib.sh"

prepare() {
	need g++
	{
		echo '#include <map>'
		echo '#include <regex>'
		echo '#include <string>'
		for i in 1 2 3 4; do
			echo "struct k$i { int v; bool operator<(const k$i &o)"
			echo "const { return v < o.v; } };"
			echo "int f$i(const std::string &s) {"
			echo "std::map<k$i, std::map<std::string, k$i>> m;"
			echo "std::smatch g;"
			echo "if (std::regex_match(s, g, std::regex(\"a+(b|c)*$i\")))"
			echo "m[k$i{1}][g.str(1)] = k$i{$i};"
			echo "return m.size(); }"
		done
	} >"$1/generated.cc"
	g++ -E -o "$1/generated.ii" "$1/generated.cc"
}

load() {
	args "$(g++ -print-prog-name=cc1plus)" -quiet -O2 \
		-fpreprocessed "$1/generated.ii" -o /dev/null
}

load_main "$@"
