/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Events by the terms of a PMU, as the kernel lists them in sysfs: its type;
 * format/TERM, which bits of the attribute a term is, as config:0-7,32-35; and
 * events/NAME, the terms that an event with a name stands for.
 */
#ifndef SEAM_LIB_EVENT_PMU_H
#define SEAM_LIB_EVENT_PMU_H

#include <linux/perf_event.h>
#include <stddef.h>

#include "seam/error.h"

#define SEAM_PMU_DEVICES "/sys/bus/event_source/devices"

/*
 * text: PMU/TERM[=VALUE],.../, of which the PMU's name has pmu_len bytes. Terms
 * of ours (event/event-name.h) are passed over; of others later ones count.
 * Sets type, config, config1 and config2. -EINVAL, -ENOMEM: reterr says what
 * there is.
 */
int seam_pmu_read(const char *devices, const char *text, size_t pmu_len,
		  struct perf_event_attr *attr, struct seam_errinfo *reterr);

#endif
