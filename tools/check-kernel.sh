#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# tools/check-kernel.sh BUILD [VERSION [TESTS [ENGINES]]]
# Boots a Debian kernel in QEMU, without KVM, with this build of seam in its
# initramfs, and runs tools/kernel-guest.sh there, which speaks TAP. VERSION:
# as in 6.1, 6.12, 7.2, or 7.3, which is it unless another is named; behind a
# comma, as in 7.3,preempt=full, what is added to its command line: of such a
# one there are fewer tests. The newest such cloud kernel of Debian 12 (6.1), 13
# or its backports is fetched as tools/peers.sh fetches perf, into the same
# folder, unless one is there. Exit 77, with the reason, if it cannot be had.
# TESTS are of tests/live, or, as asks:types is, a function of one.
set -eu

# What counts on its recorder to keep up has that much more time in the guest.
slower=8
all='basics native immediate dump loss events off-cpu faults lifetimes storms
made payload bits32 asks:types clients:three sleepers regs mapped own again
stopped armed-meanwhile long-syscall workers vsyscall uprobe no-inherit
copy-short differ blocked fallback:jit fallback:away fallback:unseen
fallback:reuse fallback:assembly places:odd_names made-unmapped targets overflow'
# What has to do with who is preempted, and where.
preempted='storms loss lifetimes own again sleepers off-cpu made-unmapped
uprobe:places'
build=$(cd "$1" && pwd)
version=${2:-7.3}
append=
case $version in
*,*) append=${version#*,} version=${version%%,*} all=$preempted ;;
esac
tests=${3:-$all}
engines=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
. "$here/private-apt.sh"

cannot() {
	echo "check-kernel: Linux $version: $*"
	exit 77
}

base=$(private_folder)
for tool in qemu-system-x86_64 busybox; do
	command -v "$tool" >/dev/null ||
		cannot "$tool is missing; tools/setup.sh kernels installs it"
done

# In boot/ until 6.18, beside the modules from 6.19 on.
find_kernel() {
	find "$base" -path "$base/linux-*-$version.*-cloud-amd64*" \
		-name 'vmlinuz*' -type f 2>/dev/null | sort -V | tail -n 1 |
		grep .
}

# The newest package with the kernel itself, not one that only names it.
find_package() {
	names=$(APT_CONFIG=$apt_state/apt.conf apt-cache pkgnames |
		grep -F -- "-$version." | grep -F -- '-cloud-amd64' |
		grep -v -- '-dbg$' | sort -V)
	for kind in '^linux-binary-unsigned-' '^linux-image-.*-unsigned$' \
		'^linux-image-'; do
		echo "$names" | grep -- "$kind" | tail -n 1 | grep . && return
	done
	return 1
}

fetch_kernel() {
	mkdir -p "$base" || cannot "$base cannot be made"
	base=$(cd "$base" && pwd)
	exec 9>"$base/lock"
	flock 9
	kernel=$(find_kernel) && return
	case $version in
	6.1) suites=bookworm ;;
	*) suites='trixie trixie-backports' ;;
	esac
	# shellcheck disable=SC2086 # a list
	private_apt_init "$base" $suites
	private_apt update >&2 || cannot "apt could not read the package lists"
	package=$(find_package) || cannot "$suites does not have it"
	# The package alone: an initramfs of ours needs no modules.
	(cd "$apt_state/cache/archives" &&
		private_apt download "$package" >&2) ||
		cannot "apt could not fetch $package"
	private_apt_unpack "$base/$package.new"
	rm -rf "${base:?}/$package"
	mv "$base/$package.new" "$base/$package"
	kernel=$(find_kernel) || cannot "$package has no vmlinuz"
}

# with_files: copies those named on its input, each to its place.
with_files() {
	while read -r path; do
		[ ! -e "$root$path" ] || continue
		mkdir -p "$root${path%/*}"
		cp -L "$path" "$root$path"
	done
}

# libraries FILE...: what programs are linked with.
libraries() {
	for file; do
		ldd "$file" 2>/dev/null | grep -o '/[^ ]*' || :
	done | sort -u
}

# with_libraries FILE...: copies programs and what they are linked with.
with_libraries() {
	{ printf '%s\n' "$@"; libraries "$@"; } | with_files
}

# with_known_paths: programs whose stacks are known, and what compares them.
with_known_paths() {
	mkdir -p "$root/seam/progs" "$root/seam/known" "$root/seam/signals"
	for name in asm dlopen dynstack fiber noreturn qsort realign \
		syscalls tailcall threads vdso; do
		cp "$build/tests/progs/$name-gcc-O2" "$root/seam/known"
	done
	cp "$build/tests/progs/plugin-gcc-O2.so" "$root/seam/known"
	cp "$build/tests/progs/signals-gcc-O2" "$root/seam/signals"
	cp "$here"/../tests/progs/*.expect \
		"$here/../tests/progs/known-bad-cfi.txt" "$root/seam/progs"
	with_libraries "$build"/tests/progs/*-gcc-O2 /usr/bin/objdump \
		/usr/bin/readelf /usr/bin/c++filt
	# Names of libc's own functions, which some paths go through.
	for file in "$root"/lib/*/libc.so.6 "$root"/lib*/ld-linux*; do
		id=$(readelf -n "$file" | sed -n 's/.*Build ID: //p')
		debug=/usr/lib/debug/.build-id/$(echo "$id" |
			sed 's,^..,&/,').debug
		mkdir -p "$root${debug%/*}"
		cp "$debug" "$root$debug"
	done
}

# with_live_tests: these, and the programs that they record.
with_live_tests() {
	mkdir -p "$root/seam/live" "$root/seam/prebuilt"
	cp "$here"/../tests/live/*.py "$here"/../tests/live/*.c \
		"$root/seam/live"
	echo $tests >"$root/seam/tests"
	echo "$engines" >"$root/seam/engines"
	with_libraries /usr/bin/nm
	for name in $tests; do
		name=${name%%:*}
		[ "$name" = basics ] || PYTHONDONTWRITEBYTECODE=1 \
			/usr/bin/python3 "$here/../tests/live/$name.py" \
			--seam "$build/seam" --slower $slower \
			--prebuild "$root/seam/prebuilt"
	done
	libraries "$root"/seam/prebuilt/* | with_files
	# Tools of the build look for it beside the build, and then there.
	cp -L "$build"/libseam.so.? "$root/lib"
}

# with_perf: perf 7.3.4, if it is there, to read what we record.
with_perf() {
	perf=$("$here/peers.sh" --where) || return 0
	lib=$base/perf/usr/lib/x86_64-linux-gnu
	exe=$base/perf/usr/bin/perf
	{ printf '%s\n' "$perf" "$lib/ld-linux-x86-64.so.2" "$exe"
	"$lib/ld-linux-x86-64.so.2" --library-path "$lib" --list "$exe" |
		grep -o "$base[^ ]*"; } | with_files
	perf_line="export SEAM_PERF=$perf"
}

make_root() {
	mkdir -p "$root/proc" "$root/sys" "$root/dev" "$root/tmp" \
		"$root/bin" "$root/root" "$root/seam"
	cp "$(command -v busybox)" "$root/bin/busybox"
	with_libraries /usr/bin/python3
	stdlib=$(/usr/bin/python3 -c 'import sysconfig
print(sysconfig.get_path("stdlib", "posix_prefix"))')
	mkdir -p "$root$stdlib"
	(cd "$stdlib" && tar -c --exclude=test --exclude=dist-packages \
		--exclude='config-*' --exclude=__pycache__ .) |
		tar -x -C "$root$stdlib"
	libraries "$root$stdlib"/lib-dynload/*.so | with_files
	with_libraries "$build/seam" /usr/bin/setpriv
	cp "$build/seam" "$root/seam/seam"
	cp "$here/../examples/demo.py" "$here/kernel-guest.sh" "$root/seam"
	with_known_paths
	with_live_tests
	with_perf
	cat >"$root/init" <<-INIT
	#!/bin/busybox sh
	/bin/busybox --install -s /bin
	mount -t proc proc /proc
	mount -t sysfs sys /sys
	mount -t devtmpfs dev /dev
	mount -t tmpfs tmp /tmp
	mkdir -p /sbin /var/tmp /freezer
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
	mount -t cgroup -o freezer freezer /freezer
	ln -s /bin/busybox /sbin/mkswap
	export PATH=/usr/bin:/bin HOME=/root
	${perf_line:-}
	echo "begin of guest"
	sh /seam/kernel-guest.sh $slower 2>&1
	echo "end of guest"
	poweroff -f
	INIT
	chmod 755 "$root/init"
	(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) \
		>"$work/initramfs"
}

fetch_kernel
exec 9>&-
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
make_root
# By counted instructions, of which one is a nanosecond: the guest's clock goes
# as far as it has come, whatever else this machine does, and time that it idles
# takes none. One thread, since with one for each CPU a CPU may run code that
# another has replaced: kernels that patch themselves die of an int3 that is not
# there any more. Linux 6.1 has one CPU: so counted, it stands still for
# ever where a second one is to come up, for which the first waits in a loop.
case $version in
6.1) cpus=1 ;;
*) cpus=2 ;;
esac
qemu-system-x86_64 -accel tcg,thread=single -icount shift=0,sleep=off \
	-cpu max -smp $cpus -m 3072 \
	-kernel "$kernel" -initrd "$work/initramfs" \
	-append "console=ttyS0 quiet loglevel=4 panic=-1 oops=panic \
		log_buf_len=8M $append" \
	-no-reboot -display none -monitor none -nic none \
	-serial stdio </dev/null | sed -u 's/\r//g' | tee "$work/text" |
	sed -un '/^begin of guest$/,/^end of guest$/ { //!p }'
if ! grep -q '^end of guest' "$work/text"; then
	ran=$(grep -Ec '^(not )?ok ' "$work/text" || :)
	echo "not ok $((ran + 1)) - the guest ran to its end"
	echo '# its console ended with:'
	tail -n 60 "$work/text" | sed 's/^/# /'
	echo "1..$((ran + 1))"
	exit 1
fi
! grep -q '^not ok' "$work/text"
