// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Linked before the library: its own is not taken then. */
#include "kernel/share.h"

const char seam_shares_as[] = "another build of this version";
