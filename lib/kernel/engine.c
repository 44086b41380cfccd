// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "kernel/engine.h"

#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/kernel-btf.h"

static const char *const names[] = {
	[SEAM_ENGINE_AUTO] = "auto",
	[SEAM_ENGINE_DEFERRED] = "deferred",
	[SEAM_ENGINE_IMMEDIATE] = "immediate",
	[SEAM_ENGINE_NATIVE] = "native",
	[SEAM_ENGINE_DUMP] = "dump",
};
#define N_NAMES (sizeof(names) / sizeof(names[0]))

const char *seam_engine_name(enum seam_engine engine)
{
	return (size_t)engine < N_NAMES ? names[engine] : NULL;
}

bool seam_engine_by_name(const char *name, enum seam_engine *ret)
{
	for (size_t i = 0; i < N_NAMES; i++) {
		if (!names[i] || strcmp(names[i], name))
			continue;
		*ret = (enum seam_engine)i;
		return true;
	}
	return false;
}

bool seam_engine_is_direct(enum seam_engine engine)
{
	return engine == SEAM_ENGINE_DUMP || engine == SEAM_ENGINE_NATIVE;
}

static bool has_cap(uint64_t caps, int cap)
{
	return caps >> cap & 1;
}

static bool can_use_bpf(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {0};
	uint64_t caps;

	if (syscall(SYS_capget, &head, data))
		return false;
	caps = data[0].effective | (uint64_t)data[1].effective << 32;
	return has_cap(caps, CAP_SYS_ADMIN) ||
	       (has_cap(caps, CAP_BPF) && has_cap(caps, CAP_PERFMON));
}

static bool has_task_work(void)
{
	struct seam_kernel_facts facts;

	return !seam_kernel_ask_btf(&facts) && facts.task_work;
}

bool seam_kernel_is_realtime(const char *path)
{
	FILE *f = fopen(path ? path : "/sys/kernel/realtime", "re");
	bool is = f && fgetc(f) == '1';

	if (f)
		fclose(f);
	return is;
}

enum seam_engine seam_engine_choose(char *why, size_t size)
{
	why[0] = 0;
	if (!can_use_bpf()) {
		snprintf(why, size, "without CAP_BPF and CAP_PERFMON");
		return SEAM_ENGINE_DUMP;
	}
	if (!has_task_work()) {
		snprintf(why, size, "the kernel has no BPF task work");
		return SEAM_ENGINE_IMMEDIATE;
	}
	if (seam_kernel_is_realtime(NULL)) {
		snprintf(why, size, SEAM_REALTIME_WHY);
		return SEAM_ENGINE_IMMEDIATE;
	}
	return SEAM_ENGINE_DEFERRED;
}
