// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Records that are read over, by name. Those by which perf keeps its own
 * books (rounds, maps of ids, of CPUs and the like) are not among them. */
#include "perfdata/reader-priv.h"

#define KERNEL_LAST 22 /* CALLCHAIN_DEFERRED, Linux 7.3 */
#define PERF_LAST 86 /* perf 7.3 */

static const struct {
	uint32_t type;
	const char *name;
} passed[] = {
	{5, "throttle"},
	{6, "unthrottle"},
	{8, "read"},
	{11, "aux"},
	{12, "itrace-start"},
	{14, "switch"},
	{15, "switch-cpu-wide"},
	{16, "namespaces"},
	{18, "bpf-event"},
	{19, "cgroup"},
	{20, "text-poke"},
	{21, "aux-output-hw-id"},
	{70, "auxtrace-info"},
	{PD_AUXTRACE, "auxtrace"},
	{72, "auxtrace-error"},
	{75, "stat-config"},
	{76, "stat"},
	{77, "stat-round"},
	{84, "bpf-metadata"},
	{85, "schedstat-cpu"},
	{86, "schedstat-domain"},
};

#define N_PASSED (sizeof(passed) / sizeof(*passed))

static uint64_t count_unknown(const struct seam_pd_reader *r)
{
	uint64_t n = r->n_beyond + r->counts[0];

	for (uint32_t t = KERNEL_LAST + 1; t < PD_USER_RECORD_FIRST; t++)
		n += r->counts[t];
	for (uint32_t t = PERF_LAST + 1; t < PD_COUNTED_TYPES; t++)
		n += r->counts[t];
	return n;
}

const char *seam_pd_passed_over(const struct seam_pd_reader *r, size_t i,
				uint64_t *ret_n)
{
	if (i > N_PASSED)
		return NULL;
	*ret_n = i < N_PASSED ? r->counts[passed[i].type] : count_unknown(r);
	return i < N_PASSED ? passed[i].name : "unknown";
}
