/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The tracepoint that tests of payloads record. */
#ifndef SEAM_TESTS_HIT_H
#define SEAM_TESTS_HIT_H

#define TRACEPOINT 77

/* Its format, up to its fields of its own. */
#define HIT_FORMAT                                                             \
	"name: hit\nID: 77\nformat:\n"                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;"      \
	"\tsigned:0;\n"                                                        \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"           \
	"\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n"

#endif
