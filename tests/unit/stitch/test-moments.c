// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: of samples that hold a copy of their stack, registers of another
 * moment are not believed, and a precise event's are taken back.
 */
#include "moment.h"

#include "inject/inject.h"

/* A call that the dynamic linker binds. */
__asm__(".text\n"
	".type call_linked, @function\n"
	"call_linked:\n"
	".cfi_startproc\n"
	"push %rbx\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbx, -16\n"
	"call getppid@plt\n"
	"behind_linked:\n"
	"pop %rbx\n"
	".cfi_def_cfa_offset 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size call_linked, . - call_linked\n");
extern const char behind_linked[];

/* A process's samples in the kernel, of whose registers something is wrong. */
static void other_moment(void **state)
{
	const struct with kernel = {.misc = PERF_RECORD_MISC_KERNEL};
	struct moment *bad = malloc(sizeof(*bad));
	struct image m;
	struct read in;

	(void)state;
	assert_non_null(bad);
	start(&m, false);
	add_sample(&m, &now, kernel);
	*bad = now;
	bad->regs[SP] = 0xffffc90000123000;
	add_sample(&m, bad, kernel);
	bad->regs[SP] = now.regs[IP] & ~UINT64_C(7); /* code */
	add_sample(&m, bad, kernel);
	bad->regs[SP] = now.regs[SP] + 4; /* no frame ends there */
	add_sample(&m, bad, kernel);
	*bad = now;
	bad->regs[IP] = 0xffffffff81000000; /* the kernel's own */
	add_sample(&m, bad, kernel);
	*bad = now;
	memset(bad->stack, 0x18, sizeof(bad->stack)); /* no code */
	add_sample(&m, bad, kernel);
	add_sample(&m, bad, (struct with){0});
	add_sample(&m, &now,
		   (struct with){.misc = kernel.misc, .no_regs = true});
	open_all(&in, &m);
	next(&in, SEAM_HALF_WITH, SEAM_OUTERMOST);
	for (int i = 0; i < 5; i++) {
		next(&in, SEAM_HALF_WITH, SEAM_UNSURE);
		assert_int_equal(in.out.n_frames, in.out.n_kernel);
	}
	/* There the registers are those of the ip. */
	next(&in, SEAM_HALF_WITH, SEAM_NO_TABLE);
	next(&in, SEAM_HALF_WITH, SEAM_UNSURE);
	assert_int_equal(seam_stitch_stats(in.s)->end[SEAM_UNSURE], 6);
	close_all(&in);
	free(bad);
}

/* The stack of another moment: where the leaf's return address should lie, a
 * word that is code. Return: whether it was there. */
static bool set_return(struct moment *m, uint64_t to)
{
	for (size_t i = 16; i < sizeof(m->stack) - 8; i += 8)
		if (!memcmp(m->stack + i, &m->callers[0], 8)) {
			memcpy(m->stack + i, &to, 8);
			return true;
		}
	return false;
}

/*
 * In the kernel SP may be that of an earlier entry. Where the word there is
 * behind no call, or behind one of another function, it is not believed; in
 * user mode there is no such doubt.
 */
static void stale(void **state)
{
	const uint64_t words[] = {
		now.callers[1], /* behind the call of outer */
		(uint64_t)(uintptr_t)outer + 2, /* behind none */
		now.callers[0], /* its own */
	};
	struct moment *m2 = malloc(sizeof(*m2));
	struct image m;
	struct read in;

	(void)state;
	assert_non_null(m2);
	start(&m, false);
	for (size_t i = 0; i < 3; i++) {
		*m2 = now;
		assert_true(set_return(m2, words[i]));
		add_sample(&m, m2,
			   (struct with){.misc = PERF_RECORD_MISC_KERNEL});
		add_sample(&m, m2,
			   (struct with){.misc = PERF_RECORD_MISC_USER});
	}
	open_all(&in, &m);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(seam_stitch_next(in.s, &in.out), 1);
		assert_int_equal(in.out.end == SEAM_UNSURE, i < 2);
		assert_int_equal(in.out.n_stack == 0, i < 2);
		assert_int_equal(seam_stitch_next(in.s, &in.out), 1);
		assert_int_not_equal(in.out.end, SEAM_UNSURE);
		assert_int_equal(in.out.frames[in.out.n_kernel + 1].ip,
				 words[i]);
	}
	assert_int_equal(seam_stitch_next(in.s, &in.out), 0);
	assert_int_equal(seam_stitch_stats(in.s)->end[SEAM_UNSURE], 2);
	close_all(&in);
	free(m2);
}

/* A call that is bound names a function of any of the files that are mapped; of
 * one that is not there it is not known what it has. */
static void stale_by_name(void **state)
{
	const uint64_t at[3] = {4096, 8192, 0};
	struct moment *m2 = malloc(sizeof(*m2));
	const struct with kernel = {.misc = PERF_RECORD_MISC_KERNEL};
	struct image m;
	struct read in;

	(void)state;
	assert_non_null(m2);
	*m2 = now;
	assert_true(set_return(m2, (uint64_t)(uintptr_t)behind_linked));
	start(&m, false);
	add_sample(&m, m2, kernel);
	add_map(&m, 5, at, "/nowhere/lib.so");
	add_sample(&m, m2, kernel);
	open_all(&in, &m);
	next(&in, SEAM_HALF_WITH, SEAM_UNSURE);
	assert_int_equal(seam_stitch_next(in.s, &in.out), 1);
	assert_int_not_equal(in.out.end, SEAM_UNSURE);
	close_all(&in);
	free(m2);
}

#define ENTRY 0xffffffff81000080ULL
#define CODE 0xffffffff81100000ULL
#define SAVING (ENTRY + 0x3a)
#define CALL (ENTRY + 0xa0) /* what is called returns there */
#define FAULT (ENTRY + 0x150)
#define OTHER_FAULT (ENTRY + 0x190)
#define EARLY (ENTRY + 0x1c0)
#define BHB (ENTRY + 0x200)
#define SIGNAL 0xffffffff812fd750ULL /* writes registers */
#define SYNC 0xffffffff81400010ULL
#define FORK 0xffffffff81400020ULL
#define FRED 0xffffffff81500000ULL
#define FRED_EXIT (FRED + 0x80)
#define FRED_KERNEL (FRED + 0xd0)
#define FAULTS 0xffffffff81600010ULL
#define GUEST ((uint64_t)PERF_CONTEXT_GUEST_KERNEL)
#define PROBE 0xffffffff81337c10ULL

/* Of a kernel that runs nowhere. */
static const char symbols[] =
	"ffffffff81000010 T __entry_text_start\n"
	"ffffffff81000080 T entry_SYSCALL_64\n"
	"ffffffff810000ba T entry_SYSCALL_64_after_hwframe\n"
	"ffffffff81000138 t syscall_return_via_sysret\n"
	"ffffffff810001d0 T asm_exc_page_fault\n"
	"ffffffff81000210 T asm_exc_general_protection\n"
	"ffffffff81000240 T error_entry\n"
	"ffffffff81000280 T clear_bhb_loop\n"
	"ffffffff81000f70 T __entry_text_end\n"
	"ffffffff812fd750 T x64_setup_rt_frame\n"
	"ffffffff812fda70 T __pfx_next\n"
	"ffffffff81337c00 T __x64_sys_uretprobe\n"
	"ffffffff81337e40 T __pfx_other\n"
	"ffffffff81400000 T sync_regs\n"
	"ffffffff81400020 T ret_from_fork_asm\n"
	"ffffffff81400040 T __pfx_another\n"
	"ffffffff81500000 T asm_fred_entrypoint_user\n"
	"ffffffff81500080 T asm_fred_exit_user\n"
	"ffffffff815000c0 T asm_fred_entrypoint_kernel\n"
	"ffffffff81500140 T __pfx_fred\n"
	"ffffffff81600000 T exc_page_fault\n"
	"ffffffff81600040 T __pfx_last\n";

static void write_symbols(char *path)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, symbols, strlen(symbols)), strlen(symbols));
	close(fd);
}

struct door {
	uint64_t ip;
	uint64_t chain[5]; /* none: without one */
	bool is_unsure;
};

static void add_door(struct image *m, const struct door *d)
{
	uint64_t chain[6] = {(uint64_t)PERF_CONTEXT_KERNEL};
	size_t n = 0;

	for (; n < 5 && d->chain[n]; n++)
		chain[n + 1] = d->chain[n];
	add_sample(m, &now,
		   (struct with){.misc = PERF_RECORD_MISC_KERNEL,
				 .ip = d->ip,
				 .chain = chain,
				 .n_chain = n ? n + 1 : 0});
}

static const struct door all_doors[] = {
	{ENTRY, {ENTRY}, true},
	{SAVING, {SAVING}, true},
	{SAVING + 0x3f, {SAVING + 0x3f}, true},
	{SAVING + 0x40, {SAVING + 0x40}, false},
	{ENTRY + 0xb7, {ENTRY + 0xb7}, false},
	{ENTRY + 0xb8, {ENTRY + 0xb8}, false}, /* on the way out */
	{FAULT, {FAULT}, true},
	/* Called from a door: by one that has saved them, or not. */
	{CODE, {CODE, CALL}, false},
	{BHB, {BHB, CALL}, false},
	{CODE, {CODE, FAULT + 0x20}, false},
	{CODE, {CODE, EARLY, FAULT}, true},
	{EARLY, {EARLY, FAULT}, true},
	{CODE, {CODE, CODE, EARLY, FAULT}, true},
	{CODE, {CODE, SYNC, FAULT}, true},
	{SYNC, {SYNC, FAULT}, true},
	{CODE, {CODE}, false}, /* it is not seen by whom */
	{FORK, {FORK}, false},
	{FRED, {FRED}, true},
	{FRED + 0x40, {FRED + 0x40}, false},
	{FRED_EXIT, {FRED_EXIT}, false},
	{CODE, {CODE, FRED_EXIT}, false},
	/* The door is not the task's own. */
	{EARLY, {EARLY, FAULT, CODE, CALL}, false},
	{EARLY, {EARLY, FAULT, CODE}, false},
	{CODE, {CODE, EARLY, FAULT, CODE, CALL}, false},
	{SIGNAL, {SIGNAL, CODE, CALL}, true},
	{CODE, {SIGNAL - 1, CODE, CALL}, false},
	{CODE, {CODE, SIGNAL, CALL}, false}, /* called */
	{CODE, {CODE, OTHER_FAULT, SIGNAL, CALL}, true}, /* interrupted */
	{CODE, {CODE, FAULT + 0x20, SIGNAL, CALL}, false},
	{CODE, {CODE, FAULTS, FRED_KERNEL, SIGNAL, CALL}, false},
	{CODE, {CODE, FRED_KERNEL, SIGNAL, CALL}, true},
	/* It faulted before; what runs there now does not. */
	{CODE, {CODE, OTHER_FAULT, SIGNAL, FAULT, CODE}, true},
	{CODE, {FAULT + 0x20, CODE, OTHER_FAULT, SIGNAL, CALL}, true},
	{PROBE, {PROBE, CALL}, true},
	{CODE, {CODE, PROBE, CALL}, true},
	{CODE, {CODE, GUEST, ENTRY, SIGNAL}, false}, /* another's */
	/* The ip of a precise event is some way before. */
	{ENTRY, {CODE, CALL}, false},
	{CODE, {ENTRY}, true},
	/* It is all that there is. */
	{ENTRY, {0}, true},
	{ENTRY + 0xb8, {0}, false},
	{SIGNAL, {0}, true},
	{CODE, {0}, false},
};

/* Where the kernel has not saved them yet, or replaces them, nothing that they
 * lead to is believed, as true as it may look. */
static void doors(void **state)
{
	const size_t n = sizeof(all_doors) / sizeof(all_doors[0]);
	size_t n_unsure = 0;
	char path[] = "/tmp/seam-symbols-XXXXXX";
	struct image m;
	struct read in;

	(void)state;
	for (size_t i = 0; i < n; i++)
		n_unsure += all_doors[i].is_unsure;
	write_symbols(path);
	for (int known = 0; known < 2; known++) {
		start(&m, false);
		for (size_t i = 0; i < n; i++)
			add_door(&m, &all_doors[i]);
		open_all(&in, &m);
		seam_stitch_kernel(in.s, known ? path : "/dev/null");
		for (size_t i = 0; i < n; i++) {
			next(&in, SEAM_HALF_WITH,
			     known && all_doors[i].is_unsure ? SEAM_UNSURE
							     : SEAM_OUTERMOST);
			assert_int_equal(in.out.n_frames == in.out.n_kernel,
					 known && all_doors[i].is_unsure);
		}
		assert_int_equal(seam_stitch_stats(in.s)->end[SEAM_UNSURE],
				 known ? n_unsure : 0);
		close_all(&in);
	}
	unlink(path);
}

/* What faults where a signal's frame is written is the user's memory, before
 * any register is. */
static void faults(void **state)
{
	struct perf_event_attr attr = clock_attr;
	const struct door at = {SIGNAL, {SIGNAL, CODE, CALL}, false};
	char path[] = "/tmp/seam-symbols-XXXXXX";
	static const uint64_t configs[] = {
		PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN,
		PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_COUNT_SW_CPU_CLOCK};
	struct image m;
	struct read in;

	(void)state;
	write_symbols(path);
	attr.type = PERF_TYPE_SOFTWARE;
	for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
		attr.config = configs[i];
		memset(&m, 0, sizeof(m));
		begin(&m, &attr, 1);
		add_maps(&m, 5);
		add_door(&m, &at);
		open_all(&in, &m);
		seam_stitch_kernel(in.s, path);
		next(&in, SEAM_HALF_WITH,
		     configs[i] == PERF_COUNT_SW_CPU_CLOCK ? SEAM_UNSURE
							   : SEAM_OUTERMOST);
		close_all(&in);
	}
	unlink(path);
}

/* What is merged from copies is doubted by the same symbols. */
static void merged(void **state)
{
	const struct door at = {ENTRY, {ENTRY}, true};
	char path[] = "/tmp/seam-symbols-XXXXXX";
	char to[] = "/tmp/seam-merged-XXXXXX";
	struct seam_injected n;
	struct image m;
	struct read in;
	int fd = mkstemp(to);

	(void)state;
	write_symbols(path);
	assert_true(fd >= 0);
	start(&m, false);
	add_door(&m, &at);
	for (int known = 0; known < 2; known++) {
		const struct seam_inject_opts opts = {
			.kallsyms = known ? path : "/dev/null"};

		in.r = open_image(&m);
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(seam_inject(in.r, fd, &opts, &n), 0);
		assert_int_equal(n.joins.end[SEAM_UNSURE], known);
		seam_pd_close(in.r);
	}
	close(fd);
	unlink(path);
	unlink(to);
}

/* push_first was called from here, and its push has made the event: the ip is
 * that of the push, rsp that behind it. The caller's to free. */
static struct moment *behind_push(void)
{
	struct moment *m = malloc(sizeof(*m));

	assert_non_null(m);
	*m = now;
	memcpy(m->stack, &now.regs[BX], 8);
	memcpy(m->stack + 8, &now.regs[IP], 8);
	m->regs[SP] -= 16;
	m->regs[IP] = (uint64_t)(uintptr_t)push_first;
	return m;
}

static void precise(void **state)
{
	struct moment *m2 = behind_push();
	const struct seam_skid_counts *skid;
	struct image m;
	struct read in;

	(void)state;
	start_pebs(&m);
	add_sample(&m, m2,
		   (struct with){.misc = PERF_RECORD_MISC_USER | EXACT_IP,
				 .skip = 16,
				 .intr = true});
	/* The same, where nothing says so but that the two ips differ. */
	m2->regs[IP]++;
	add_sample(&m, m2,
		   (struct with){
			   .skip = 16, .ip = m2->regs[IP] - 1, .intr = true});
	open_all(&in, &m);
	for (int i = 0; i < 2; i++) {
		next(&in, SEAM_HALF_WITH, SEAM_OUTERMOST);
		assert_int_equal(in.out.frames[0].ip, m2->regs[IP] - 1);
		check_frames(&in.out, 1);
	}
	skid = &seam_stitch_stats(in.s)->skid;
	assert_int_equal(skid->n[SEAM_SKID_UNDONE], 2);
	assert_int_equal(skid->by[SEAM_SKID_UNDONE][SEAM_SKID_KIND_PUSH], 2);
	close_all(&in);
	free(m2);
}

static void add_cpuid(struct image *m, const char *text)
{
	uint64_t words[3] = {0};

	strcpy((char *)words, text);
	add_header(m, PD_HEADER_FEATURE, 0, 5);
	add(m, PD_FEAT_CPUID);
	add(m, pair(20, (uint32_t)words[0]));
	add(m, words[0] >> 32 | words[1] << 32);
	add(m, words[1] >> 32 | words[2] << 32);
}

/*
 * The same words of AMD: registers of the interrupt, which may be those of the
 * ip's frame, by luck, but are not those behind its push. They are believed no
 * more than that, and not at all where the ip's function cannot have been
 * called from.
 */
static void precise_elsewhere(void **state)
{
	const struct with exact = {.misc = PERF_RECORD_MISC_USER | EXACT_IP};
	const struct seam_skid_counts *skid;
	struct moment *m2 = malloc(sizeof(*m2));
	struct image m;
	struct read in;

	(void)state;
	assert_non_null(m2);
	*m2 = now;
	memcpy(m2->stack + 8, &now.regs[IP], 8);
	m2->regs[SP] -= 8;
	m2->regs[IP] = (uint64_t)(uintptr_t)push_first;
	start(&m, true);
	add_cpuid(&m, "AuthenticAMD,25,33");
	/* Before the push, as if nothing had run since. */
	add_sample(&m, &now, exact);
	/* Behind the push: its word, which is no code, is no return address. */
	m2->regs[SP] -= 8;
	memset(m2->stack, 0x18, 8);
	add_sample(&m, m2, (struct with){.misc = exact.misc, .skip = 16});
	/* An imprecise one among them. */
	add_sample(&m, &now, (struct with){0});
	open_all(&in, &m);
	next(&in, SEAM_HALF_WITH, SEAM_UNPROVEN);
	check_frames(&in.out, 0);
	next(&in, SEAM_HALF_WITH, SEAM_SKID_MOMENT);
	assert_int_equal(in.out.n_frames, 1);
	assert_int_equal(in.out.frames[0].ip, m2->regs[IP]);
	next(&in, SEAM_HALF_WITH, SEAM_OUTERMOST);
	skid = &seam_stitch_stats(in.s)->skid;
	assert_int_equal(skid->n[SEAM_SKID_UNDONE], 0);
	assert_int_equal(skid->n[SEAM_SKID_MOMENT_END], 1);
	close_all(&in);

	free(m2);
}

/*
 * Of Intel's the push is taken back. Nothing proves that the registers are
 * those behind it, where nobody has asked for PEBS's: they may be those of the
 * next frame, which the push did not lead to.
 */
static void precise_or_later(void **state)
{
	const struct with exact = {.misc = PERF_RECORD_MISC_USER | EXACT_IP,
				   .skip = 16};
	struct moment *m2 = behind_push();
	const struct seam_skid_counts *skid;
	struct image m;
	struct read in;

	(void)state;
	start(&m, true);
	add_cpuid(&m, "GenuineIntel,6,85,4");
	add_sample(&m, m2, exact);
	/* Nor where it says that the ip is not exact. */
	add_sample(&m, &now, (struct with){0});
	/* Behind its pop and ret: rsp is its caller's. */
	m2->regs[SP] += 16;
	add_sample(&m, m2, (struct with){.misc = exact.misc});
	open_all(&in, &m);
	next(&in, SEAM_HALF_WITH, SEAM_UNPROVEN);
	check_frames(&in.out, 1);
	next(&in, SEAM_HALF_WITH, SEAM_UNPROVEN);
	check_frames(&in.out, 0);
	next(&in, SEAM_HALF_WITH, SEAM_SKID_MOMENT);
	assert_int_equal(in.out.n_frames, 1);
	skid = &seam_stitch_stats(in.s)->skid;
	assert_int_equal(skid->n[SEAM_SKID_UNDONE], 1);
	assert_int_equal(skid->n[SEAM_SKID_MOMENT_END], 1);
	close_all(&in);
	free(m2);
}

/* An event of software interrupts nothing later, whatever was asked of it. */
static void precise_software(void **state)
{
	struct perf_event_attr attr = clock_attr;
	struct image m;
	struct read in;

	(void)state;
	attr.type = PERF_TYPE_SOFTWARE;
	attr.precise_ip = 2;
	start_as(&m, attr);
	add_sample(&m, &now, (struct with){0});
	open_all(&in, &m);
	next(&in, SEAM_HALF_WITH, SEAM_OUTERMOST);
	check_frames(&in.out, 0);
	close_all(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_moment),
		cmocka_unit_test(stale),
		cmocka_unit_test(stale_by_name),
		cmocka_unit_test(doors),
		cmocka_unit_test(faults),
		cmocka_unit_test(merged),
		cmocka_unit_test(precise),
		cmocka_unit_test(precise_elsewhere),
		cmocka_unit_test(precise_or_later),
		cmocka_unit_test(precise_software),
	};

	take_now();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
