// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: where a kernel writes its tasks' registers is found in its
 * symbols, with all names and parts of a function; or it is said why not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/kernel-code.h"
#include "tests/unit/skip.h"

#define BEGIN "ffffffff81000010 T __entry_text_start\n"
#define DOORS                                                                  \
	BEGIN "ffffffff81000080 T entry_SYSCALL_64\n"                          \
	      "ffffffff81001a87 T __entry_text_end\n"
#define SIGNALS                                                                \
	"ffffffff812fd580 t restore_sigcontext\n"                              \
	"ffffffff812fd740 T __pfx_x64_setup_rt_frame\n"                        \
	"ffffffff812fd750 T x64_setup_rt_frame\n"                              \
	"ffffffff812fda70 t __do_sys_rt_sigreturn\n"                           \
	"ffffffff812fda70 T __ia32_sys_rt_sigreturn\n"                         \
	"ffffffff812fda70 T __x64_sys_rt_sigreturn\n"                          \
	"ffffffff812fdb00 T __pfx_other\n"

static int read_both(const char *text, struct seam_kernel_entry *ret,
		     struct seam_kernel_doors *ret_doors)
{
	char path[] = "/tmp/seam-unsure-XXXXXX";
	int fd = mkstemp(path), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	err = seam_kernel_code_read(path, ret, ret_doors);
	unlink(path);
	return err;
}

static int read_text(const char *text, struct seam_kernel_entry *ret)
{
	return read_both(text, ret, NULL);
}

static void check(const struct seam_kernel_range *range, uint64_t start,
		  uint64_t end)
{
	assert_int_equal(range->start, start);
	assert_int_equal(range->end, end);
}

static void found(void **state)
{
	struct seam_kernel_entry e;

	(void)state;
	assert_int_equal(
		read_text("0000000000000000 A fixed_percpu_data\n" DOORS
			  "ffffffff81211e65 t x64_setup_rt_frame.cold\n"
			  "ffffffff81211f00 t x64_setup_rt_frame_not\n" SIGNALS
			  "ffffffff81337c00 T __x64_sys_uretprobe\n"
			  "ffffffff81337e40 t __pfx___do_sys_uprobe\n"
			  "ffffffff821f31e0 T sync_regs\n"
			  "ffffffff821f3200 T __pfx_next\n"
			  "ffffffffc0000000 t sync_regs\t[module]\n",
			  &e),
		0);
	check(&e.doors[0], 0xffffffff81000010, 0xffffffff81001a87);
	check(&e.doors[1], 0xffffffff821f31e0, 0xffffffff821f3200);
	check(&e.doors[2], 0, 0);
	check(&e.writers[0], 0xffffffff81211e65, 0xffffffff81211f00);
	check(&e.writers[1], 0xffffffff812fd580, 0xffffffff812fd740);
	check(&e.writers[2], 0xffffffff812fd750, 0xffffffff812fda70);
	check(&e.writers[3], 0xffffffff812fda70, 0xffffffff812fdb00);
	check(&e.writers[4], 0, 0);
	check(&e.probers[0], 0xffffffff81337c00, 0xffffffff81337e40);
	check(&e.probers[1], 0, 0);
}

/* Each name that is looked for, and which list it is in. */
static const struct part {
	const char *name;
	size_t list; /* of struct seam_kernel_doors */
} parts[] = {
#define OUT offsetof(struct seam_kernel_doors, out)
#define SAVING offsetof(struct seam_kernel_doors, saving)
#define EARLY offsetof(struct seam_kernel_doors, early)
#define FAULT offsetof(struct seam_kernel_doors, fault)
	{"entry_SYSCALL_64_after_hwframe", SAVING},
	{"syscall_return_via_sysret", OUT},
	{"entry_SYSRETQ_unsafe_stack", OUT},
	{"asm_exc_page_fault", FAULT},
	{"common_interrupt_return", OUT},
	{"restore_regs_and_return_to_kernel", OUT},
	{"native_irq_return_iret", OUT},
	{"native_irq_return_ldt", OUT},
	{"xen_error_entry", EARLY},
	{"paranoid_entry", EARLY},
	{"error_entry", EARLY},
	{"error_return", OUT},
	{"entry_SYSCALL_compat_after_hwframe", SAVING},
	{"sysret32_from_system_call", OUT},
	{"entry_SYSRETL_compat_unsafe_stack", OUT},
	{"ret_from_fork_asm", OUT},
	{"sync_regs", EARLY},
	{"asm_fred_entrypoint_user", SAVING},
	{"asm_fred_exit_user", OUT},
	{"exc_page_fault", FAULT},
};

/* Where it is in that list, 16 bytes long; and in no other. */
static void check_part(const struct seam_kernel_doors *d, size_t list,
		       uint64_t addr)
{
	const struct seam_kernel_range *all = (const void *)d;
	size_t n = sizeof(*d) / sizeof(*all), found = 0;

	for (size_t i = 0; i < n; i++) {
		size_t off = i * sizeof(*all);

		if (all[i].start != addr)
			continue;
		check(&all[i], addr, addr + 16);
		assert_true(off >= list);
		assert_true(off < list + (list == OUT	   ? sizeof(d->out)
					  : list == SAVING ? sizeof(d->saving)
					  : list == EARLY  ? sizeof(d->early)
							   : sizeof(d->fault)));
		found++;
	}
	assert_int_equal(found, 1);
}

static void parts_of_doors(void **state)
{
	const uint64_t begin = 0xffffffff81000080;
	struct seam_kernel_entry e;
	struct seam_kernel_doors d;
	char text[8192] = BEGIN;
	size_t n_parts = sizeof(parts) / sizeof(parts[0]), n;

	(void)state;
	for (size_t i = 0; i < n_parts; i++) {
		n = strlen(text);
		snprintf(text + n, sizeof(text) - n,
			 "%" PRIx64 " t %s\n%" PRIx64 " t other\n",
			 begin + 32 * i, parts[i].name, begin + 32 * i + 16);
	}
	n = strlen(text);
	snprintf(text + n, sizeof(text) - n,
		 "ffffffff81000f70 t other\n"
		 "ffffffff81000f80 T "
		 "swapgs_restore_regs_and_return_to_usermode\n"
		 "ffffffff8100117d T __entry_text_end\n" SIGNALS);
	assert_int_equal(read_both(text, &e, &d), 0);
	for (size_t i = 0; i < n_parts; i++)
		check_part(&d, parts[i].list, begin + 32 * i);
	/* The last of its list. */
	for (n = 0; d.out[n + 1].end; n++)
		;
	check(&d.out[n], 0xffffffff81000f80, 0xffffffff8100117d);
	check(&e.doors[0], 0xffffffff81000010, 0xffffffff8100117d);
	check(&e.writers[0], 0xffffffff812fd580, 0xffffffff812fd740);
}

/* Until Linux 6.1 one function wrote all kinds of frames, as part of another;
 * later that one writes nothing. */
static void older(void **state)
{
	const char *const old = "ffffffff812fd500 T arch_do_signal_or_restart\n"
				"ffffffff812fd580 t restore_sigcontext\n"
				"ffffffff812fd740 T __pfx_next\n";
	struct seam_kernel_entry e;
	char text[4096];

	(void)state;
	snprintf(text, sizeof(text), DOORS "%s", old);
	assert_int_equal(read_text(text, &e), 0);
	check(&e.writers[0], 0xffffffff812fd580, 0xffffffff812fd740);
	check(&e.writers[1], 0xffffffff812fd500, 0xffffffff812fd580);
	snprintf(text, sizeof(text),
		 DOORS "%s"
		       "ffffffff812fd750 T x64_setup_rt_frame\n"
		       "ffffffff812fda70 T __pfx_other\n",
		 old);
	assert_int_equal(read_text(text, &e), 0);
	check(&e.writers[1], 0xffffffff812fd750, 0xffffffff812fda70);
	check(&e.writers[2], 0, 0);
}

/* FRED's doors are elsewhere, and what they call returns to a symbol of its
 * own. */
static void fred(void **state)
{
	struct seam_kernel_entry e;

	(void)state;
	assert_int_equal(
		read_text(DOORS SIGNALS
			  "ffffffff82200000 T asm_fred_entrypoint_user\n"
			  "ffffffff82200040 T asm_fred_exit_user\n"
			  "ffffffff82200080 T __pfx_other\n"
			  "ffffffff82200100 T asm_fred_entrypoint_kernel\n"
			  "ffffffff82200180 T __pfx_next\n",
			  &e),
		0);
	check(&e.doors[1], 0xffffffff82200000, 0xffffffff82200040);
	check(&e.doors[2], 0xffffffff82200040, 0xffffffff82200080);
	check(&e.doors[3], 0xffffffff82200100, 0xffffffff82200180);
}

static void not_found(void **state)
{
	struct seam_kernel_entry e;
	char many[8192] = DOORS SIGNALS;
	size_t n;

	(void)state;
	memset(&e, 7, sizeof(e));
	/* As kernel.kptr_restrict has it. */
	assert_int_equal(read_text("0000000000000000 T __entry_text_start\n"
				   "0000000000000000 T __entry_text_end\n"
				   "0000000000000000 T x64_setup_rt_frame\n",
				   &e),
			 -EACCES);
	assert_int_equal(
		read_text("0000000000000000 T _text\n" DOORS SIGNALS, &e),
		-EACCES);
	assert_int_equal(read_text("", &e), -ENOENT);
	assert_int_equal(read_text(DOORS, &e), -ENOENT);
	assert_int_equal(read_text(SIGNALS, &e), -ENOENT);
	assert_int_equal(read_text(BEGIN SIGNALS, &e), -ENOENT);
	/* The last symbol has no end. */
	assert_int_equal(
		read_text(DOORS "ffffffff821f31e0 T x64_setup_rt_frame\n", &e),
		-ENOENT);
	assert_int_equal(seam_kernel_code_read("/nonexistent", &e, NULL),
			 -ENOENT);
	for (int i = 0; i < 100; i++) {
		n = strlen(many);
		snprintf(many + n, sizeof(many) - n,
			 "%llx t emulate_vsyscall.%d\n",
			 0xffffffff81300000ULL + (unsigned)i * 16, i);
	}
	assert_int_equal(read_text(many, &e), -E2BIG);
	/* And the answer was left alone. */
	for (n = 0; n < sizeof(e); n++)
		assert_int_equal(((const uint8_t *)&e)[n], 7);
}

/* Nothing is read beyond a line, or behind the kernel's own symbols. */
static void hostile(void **state)
{
	struct seam_kernel_entry e;
	char text[4096];

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text, "ffffffff81000010 T ", 19);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(read_text(text, &e), -ENOENT);
	assert_int_equal(read_text("zz\n\n T\n1\n1 T\n", &e), -ENOENT);
}

static void this_kernel(void **state)
{
	struct seam_kernel_entry e = {0};
	struct seam_kernel_doors d = {0};
	int err = seam_kernel_code_read(NULL, &e, &d);

	(void)state;
	if (err == -EACCES)
		skip_since("the kernel hides its addresses");
	if (!err)
		assert_true(e.doors[0].start < e.doors[0].end &&
			    e.writers[0].start < e.writers[0].end &&
			    d.out[0].start < d.out[0].end &&
			    d.early[0].start < d.early[0].end &&
			    d.fault[0].start < d.fault[0].end &&
			    d.saving[0].start + SEAM_KERNEL_SAVING <
				    d.saving[0].end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found),       cmocka_unit_test(parts_of_doors),
		cmocka_unit_test(older),       cmocka_unit_test(fred),
		cmocka_unit_test(not_found),   cmocka_unit_test(hostile),
		cmocka_unit_test(this_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
