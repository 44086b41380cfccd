// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "event/syscall-name.h"

#include <stddef.h>
#include <string.h>

static const struct {
	int number;
	const char *name;
} calls[] = {
#define SYSCALL(number, name) {number, #name},
#include "event/syscalls.def"
#undef SYSCALL
};

static const struct {
	const char *prefix, *raw;
} ways[] = {
	{"syscalls:sys_enter_", "sys_enter"},
	{"syscalls:sys_exit_", "sys_exit"},
};

static int number_of(const char *call)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(calls[i].name, call))
			return calls[i].number;
	return -1;
}

int seam_syscall_of(const char *name, const char **ret)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		size_t len = strlen(ways[i].prefix);
		int number = strncmp(name, ways[i].prefix, len) != 0
				     ? -1
				     : number_of(name + len);

		if (number < 0)
			continue;
		*ret = ways[i].raw;
		return number;
	}
	return -1;
}
