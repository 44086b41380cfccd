#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# made-as.sh NAME VERSION FLAGS OUTPUT DEPFILE ROOT FOLDER...
# Writes a header that defines NAME as what this build is to others: the
# version, and a hash of all C in these folders and files of ROOT, and of the
# compiler's flags that decide what it says. Who exchanges memory compares it, so
# that two builds of one version do not mix.
name=$1 version=$2 flags=$3 output=$4 depfile=$5 root=$6
shift 6
build=$(pwd)
cd "$root" || exit 1
files=$(find "$@" -name '*.[ch]' -o -name '*.def' | LC_ALL=C sort) || exit 1
# By name and content; not by where the tree lies.
hash=$({
	echo "$flags"
	for file in $files; do
		echo "$file"
		cat "$file" || exit 1
	done
} | sha256sum | cut -c 1-16)
{
	echo '/* Made by tools/made-as.sh. */'
	echo "#ifndef $name"
	echo "#define $name \"$version-$hash\""
	echo '#endif'
} >"$build/$output" || exit 1
{
	printf '%s:' "$output"
	for file in $files; do printf ' %s/%s' "$root" "$file"; done
	echo
} >"$build/$depfile"
