#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Makes a minimal Debian 12 in a private folder, with make and git and
# nothing else, clones HEAD into it, and runs `make run` and `make check`
# there. The mirror and the keyring are the system's own.
#
# /proc, /sys and /dev are bound into it inside a mount namespace of its
# own: they are gone with it, however it ends, and removing the folder never
# sees them. The kernel is this machine's, the rest is the fresh system's.
# SEAM_FRESH_KEEP=1 keeps the folder. SEAM_FRESH_DIR: where to make it.
# SEAM_FRESH_TARGETS: what to make there, instead of "run check".
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
suite=bookworm

inside() {
	root=$1
	for tree in proc sys dev; do
		mount --rbind "/$tree" "$root/$tree"
		mount --make-rslave "$root/$tree"
	done
	mount -t tmpfs tmp "$root/tmp"
	set -- HOME=/root LANG=C.UTF-8 TERM=dumb \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin
	for name in http_proxy https_proxy no_proxy CI; do
		value=$(printenv "$name") && set -- "$@" "$name=$value"
	done
	for target in ${SEAM_FRESH_TARGETS:-run check}; do
		echo "check-fresh: make $target"
		chroot "$root" env -i "$@" make -C /root/seam "$target" \
			</dev/null
	done
}

if [ "${1:-}" = --inside ]; then
	inside "$2"
	exit
fi

cannot() {
	echo "check-fresh: $*" >&2
	exit 1
}

[ "$(id -u)" = 0 ] || cannot "making a chroot needs root"
command -v debootstrap >/dev/null ||
	cannot "debootstrap is missing; tools/setup.sh slow installs it"
sources=$("$here/tools/apt-sources.sh") || exit 1
mirror=${sources%% *}
keyring=${sources#* }
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
[ -z "$(git -C "$here" status --porcelain)" ] ||
	echo "check-fresh: changes that are not committed are left out"

base=${SEAM_FRESH_DIR:-/var/tmp}
mkdir -p "$base"
root=$(mktemp -d "$base/seam-fresh.XXXXXX")
clean() {
	[ -n "${SEAM_FRESH_KEEP:-}" ] && return
	rm -rf --one-file-system "$root"
}
trap clean EXIT
trap 'exit 130' INT TERM HUP
chmod 755 "$root"

echo "check-fresh: Debian $suite from $mirror into $root"
debootstrap --variant=minbase --include=make,git --keyring="$keyring" \
	"$suite" "$root" "$mirror" >"$root.log" 2>&1 || {
	tail -n 20 "$root.log" >&2
	rm -f "$root.log"
	cannot "debootstrap failed"
}
rm -f "$root.log"
echo "deb $mirror $suite main" >"$root/etc/apt/sources.list"
for file in resolv.conf hosts; do
	[ ! -f "/etc/$file" ] || cp -L "/etc/$file" "$root/etc/$file"
done
git clone -q --no-hardlinks "$here" "$root/root/seam"
echo "check-fresh: HEAD is $(git -C "$root/root/seam" log -1 --format='%h %s')"

status=0
unshare --mount --propagation private "$0" --inside "$root" || status=$?
if [ "$status" = 0 ]; then
	echo "check-fresh: passed; what was skipped is named above"
else
	echo "check-fresh: failed, status $status" >&2
fi
exit "$status"
