#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Makes a minimal Debian 12 in a private folder, with make and git and
# nothing else, clones HEAD into it, and runs `make run` and `make check`
# there. The mirror and the keyring are the system's own. The kernel is this
# machine's, the rest is the fresh system's.
#
# Everything that mounts, debootstrap included, does so in a mount namespace
# of its own: its mounts are gone with its last process, however that ends,
# and the part that removes the folder never sees them. The fresh system is that
# namespace's root, and no chroot in it: perf goes into others' namespaces to read
# their files, and would come back to the root.
# SEAM_FRESH_DIR: where to make the folder. SEAM_FRESH_KEEP=1 keeps it.
# SEAM_FRESH_TARGETS: what to make there, instead of "run check".
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
suite=bookworm

cannot() {
	echo "check-fresh: $*" >&2
	exit 1
}

make_system() {
	sources=$("$here/tools/apt-sources.sh") || exit 1
	mirror=${sources%% *}
	keyring=${sources#* }
	echo "check-fresh: Debian $suite from $mirror into $root"
	debootstrap --variant=minbase --include=make,git \
		--keyring="$keyring" "$suite" "$root" "$mirror" \
		>"$root.log" 2>&1 || {
		tail -n 20 "$root.log" >&2
		cannot "debootstrap failed"
	}
	echo "deb $mirror $suite main" >"$root/etc/apt/sources.list"
	for file in resolv.conf hosts; do
		[ ! -f "/etc/$file" ] || cp -L "/etc/$file" "$root/etc/$file"
	done
}

clone_head() {
	export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory
	export GIT_CONFIG_VALUE_0='*'
	[ -z "$(git -C "$here" status --porcelain)" ] ||
		echo "check-fresh: changes that are not committed are left out"
	git clone -q --no-hardlinks "$here" "$root/root/seam"
	echo "check-fresh: HEAD is" \
		"$(git -C "$root/root/seam" log -1 --format='%h %s')"
}

enter_system() {
	mount --bind "$root" "$root"
	for tree in proc sys dev; do
		mount --rbind "/$tree" "$root/$tree"
	done
	mount -t tmpfs tmp "$root/tmp"
	mkdir "$root/outside"
	cd "$root"
	pivot_root . outside
	export PATH=/usr/sbin:/usr/bin:/sbin:/bin
	umount -l /outside
	rmdir /outside
}

make_targets() {
	set -- HOME=/root LANG=C.UTF-8 TERM=dumb \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin
	for name in http_proxy https_proxy no_proxy CI; do
		value=$(printenv "$name") && set -- "$@" "$name=$value"
	done
	for target in ${SEAM_FRESH_TARGETS:-run check}; do
		echo "check-fresh: make $target"
		env -i "$@" make -C /root/seam "$target" </dev/null
	done
}

if [ "${1:-}" = --inside ]; then
	root=$2
	make_system
	clone_head
	enter_system
	make_targets
	exit
fi

[ "$(id -u)" = 0 ] || cannot "making a chroot needs root"
command -v debootstrap >/dev/null ||
	cannot "debootstrap is missing; tools/setup.sh slow installs it"
base=${SEAM_FRESH_DIR:-/var/tmp}
mkdir -p "$base"
root=$(mktemp -d "$base/seam-fresh.XXXXXX")
chmod 755 "$root"
child=

# The mount namespace that the work is in, once that is not ours any more: what
# has left the group is known by it.
inside=

# Ends what still runs inside, so that nothing writes where it is removed.
clean() {
	[ -z "$child" ] || kill -s KILL -- "-$child" 2>/dev/null || :
	[ -z "$inside" ] || for process in /proc/[0-9]*; do
		[ "$(readlink "$process/ns/mnt")" != "$inside" ] ||
			kill -s KILL "${process#/proc/}" 2>/dev/null || :
	done
	rm -f "$root.log"
	# What was killed may take a moment to be gone.
	[ -z "$child" ] || wait "$child" 2>/dev/null || :
	[ -n "${SEAM_FRESH_KEEP:-}" ] || rm -rf --one-file-system "$root"
}
trap clean EXIT
trap 'exit 130' INT TERM HUP

# A shell handles a signal while it waits, so the work is in the background,
# in a process group of its own that can be ended as a whole.
setsid unshare --mount --propagation private "$0" --inside "$root" &
child=$!
own=$(readlink /proc/self/ns/mnt)
while seen=$(readlink "/proc/$child/ns/mnt") && [ "$seen" = "$own" ]; do
	sleep 0.1
done
inside=$seen
status=0
wait "$child" || status=$?
if [ "$status" = 0 ]; then
	echo "check-fresh: passed; what was skipped is named above"
else
	echo "check-fresh: failed, status $status" >&2
fi
exit "$status"
