// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Apart, so that a test can be another build. */
#include "capture/share.h"
#include "capture/shares-as.h" /* tools/made-as.sh */

const char seam_shares_as[] = SEAM_SHARES_AS;
