/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A sanitizer needs more of the kernel than the program does. */
#ifndef SEAM_LIB_BASE_SANITIZED_H
#define SEAM_LIB_BASE_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__)
#define SEAM_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SEAM_IS_SANITIZED 1
#endif
#endif

#ifndef SEAM_IS_SANITIZED
#define SEAM_IS_SANITIZED 0
#endif

#endif
