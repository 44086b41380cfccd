// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Programs that the kernel does not load, or that there is nothing to attach
 * to: refused.c chooses one. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "seam/seam.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
const volatile unsigned int client;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u64);
} cookies SEC(".maps");

/* What it looks up may not be there. */
SEC("raw_tp/sys_exit")
int not_checked(void *ctx)
{
	__u64 cookie = seam_request(client, SEAM_FROM_KERNEL);
	__u64 *value = bpf_map_lookup_elem(&cookies, &cookie);

	return *value == 1;
}

SEC("raw_tp/no_such_tracepoint")
int nowhere(void *ctx)
{
	seam_request(client, SEAM_FROM_KERNEL);
	return 0;
}
