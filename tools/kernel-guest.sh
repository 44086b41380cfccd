# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# What check-kernel.sh runs inside the guest, by busybox's shell: speaks TAP.
seam=/seam/seam

echo "# $(uname -sr)"
echo '1..1'
if $seam --version >/tmp/out 2>&1; then
	echo 'ok 1 - seam runs'
else
	echo 'not ok 1 - seam runs'
	sed 's/^/# /' /tmp/out
fi
