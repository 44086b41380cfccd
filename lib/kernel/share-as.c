// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Apart, so that a test can be another build. */
#include "kernel/share.h"
#include "kernel/shares-as.h" /* tools/made-as.sh */

const char seam_shares_as[] = SEAM_SHARES_AS;
