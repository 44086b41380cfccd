// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: where a kernel writes its tasks' registers is found in its
 * symbols, with all names and parts of a function; or it is said why not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event/unsure.h"

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
		     struct seam_kernel_saved *saved)
{
	char path[] = "/tmp/seam-unsure-XXXXXX";
	int fd = mkstemp(path), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	err = seam_unsure_read(path, ret, saved);
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

/* Labels in the doors' code, and nowhere else. */
static void saved(void **state)
{
	struct seam_kernel_entry e;
	struct seam_kernel_saved s;

	(void)state;
	assert_int_equal(
		read_both(BEGIN
			  "ffffffff81000080 T entry_SYSCALL_64\n"
			  "ffffffff810000ac T entry_SYSCALL_64_safe_stack\n"
			  "ffffffff810000ba T entry_SYSCALL_64_after_hwframe\n"
			  "ffffffff81000138 t syscall_return_via_sysret\n"
			  "ffffffff810001cc T entry_SYSRETQ_end\n"
			  "ffffffff81000f70 t common_interrupt_return\n"
			  "ffffffff81000f70 T "
			  "swapgs_restore_regs_and_return_to_usermode\n"
			  "ffffffff8100117d T __entry_text_end\n"
			  "ffffffff81001200 t error_return\n" SIGNALS,
			  &e, &s),
		0);
	check(&s.saving[0], 0xffffffff810000ba, 0xffffffff81000138);
	check(&s.saving[1], 0, 0);
	check(&s.out[0], 0xffffffff81000138, 0xffffffff810001cc);
	check(&s.out[1], 0xffffffff81000f70, 0xffffffff8100117d);
	check(&s.out[2], 0, 0);
	check(&e.doors[0], 0xffffffff81000010, 0xffffffff8100117d);
	check(&e.writers[0], 0xffffffff812fd580, 0xffffffff812fd740);
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
	assert_int_equal(read_text("", &e), -EACCES);
	assert_int_equal(read_text(DOORS, &e), -ENOENT);
	assert_int_equal(read_text(SIGNALS, &e), -ENOENT);
	assert_int_equal(read_text(BEGIN SIGNALS, &e), -ENOENT);
	/* The last symbol has no end. */
	assert_int_equal(
		read_text(DOORS "ffffffff821f31e0 T x64_setup_rt_frame\n", &e),
		-ENOENT);
	assert_int_equal(seam_unsure_read("/nonexistent", &e, NULL), -ENOENT);
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
	assert_int_equal(read_text("zz\n\n T\n1\n1 T\n", &e), -EACCES);
}

static void this_kernel(void **state)
{
	struct seam_kernel_entry e = {0};
	struct seam_kernel_saved saved = {0};
	int err = seam_unsure_read(NULL, &e, &saved);

	(void)state;
	if (err == -EACCES)
		skip();
	if (!err)
		assert_true(e.doors[0].start < e.doors[0].end &&
			    e.writers[0].start < e.writers[0].end &&
			    saved.out[0].start < saved.out[0].end &&
			    saved.saving[0].start + SEAM_KERNEL_SAVING <
				    saved.saving[0].end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found),       cmocka_unit_test(saved),
		cmocka_unit_test(not_found),   cmocka_unit_test(hostile),
		cmocka_unit_test(this_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
