#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# tools/viewers.sh PACKAGE
# Brings a viewer from npm into the private folder of the other peers, and
# prints the folder that it is in. Nothing of it is run, and what it depends on
# is not fetched. Exit 77, with the reason, if it cannot be had.
set -eu

package=${1:-}
here=$(cd "$(dirname "$0")" && pwd)
. "$here/private-apt.sh"

cannot() {
	echo "viewers: no $package: $*" >&2
	exit 77
}

case $package in
speedscope) version=1.25.0 ;;
@firefox-devtools/profiler-cli) version=0.10.0 ;;
*)
	echo "usage: tools/viewers.sh speedscope|@firefox-devtools/profiler-cli" >&2
	exit 2
	;;
esac

base=$(private_folder)
folder=$base/npm/$package-$version

has_package() {
	[ -f "$folder/package.json" ]
}

fetch() {
	command -v npm >/dev/null || cannot 'there is no npm'
	rm -rf "$folder.new"
	mkdir -p "$folder.new"
	(cd "$folder.new" && npm pack --silent "$package@$version") >&2 ||
		cannot 'npm could not fetch it'
	tar -C "$folder.new" -xzf "$folder.new"/*.tgz --strip-components=1
	rm "$folder.new"/*.tgz
	rm -rf "$folder"
	mv "$folder.new" "$folder"
}

private_once has_package fetch
echo "$folder"
