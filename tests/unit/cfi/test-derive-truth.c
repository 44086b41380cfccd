// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: programs are run one instruction at a time, with a note of
 * every call: where its return address lies and what rbp was. In code with a
 * derived rule the rule has to find exactly these.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "built.h"
#include "tests/unit/skip.h"

#define MAX_CALLS 65536
#define MAX_MAPS 256
#define MAX_OBJECTS 64
#define MAX_FUNCS 1024

struct call {
	uint64_t slot, fp; /* of the return address; rbp at the call */
};

struct map {
	uint64_t start, end, off;
	int object;
};

struct trace {
	pid_t pid;
	struct call calls[MAX_CALLS];
	size_t depth;
	struct map maps[MAX_MAPS];
	size_t num_maps;
	char *paths[MAX_OBJECTS];
	struct object objects[MAX_OBJECTS];
	size_t num_objects;
	uint64_t funcs[MAX_FUNCS]; /* avma of those that were checked */
	size_t num_funcs;
	size_t steps, checked, wrong;
};

static bool peek(struct trace *t, uint64_t avma, void *to, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)avma, size};

	return process_vm_readv(t->pid, &local, 1, &remote, 1, 0) ==
	       (ssize_t)size;
}

/* What cannot be read (the vDSO) is an object without rules. */
static int find_object(struct trace *t, const char *path)
{
	for (size_t i = 0; i < t->num_objects; i++)
		if (!strcmp(t->paths[i], path))
			return (int)i;
	assert_true(t->num_objects < MAX_OBJECTS);
	t->paths[t->num_objects] = strdup(path);
	object_open(path, &t->objects[t->num_objects]);
	return (int)t->num_objects++;
}

static void read_maps(struct trace *t)
{
	char line[PATH_MAX + 128], path[PATH_MAX], perms[8], name[64];
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)t->pid);
	f = fopen(name, "r");
	assert_non_null(f);
	t->num_maps = 0;
	while (fgets(line, sizeof(line), f) && t->num_maps < MAX_MAPS) {
		struct map m;

		path[0] = '\0';
		if (sscanf(line,
			   "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %s",
			   &m.start, &m.end, perms, &m.off, path) < 4 ||
		    perms[2] != 'x')
			continue;
		m.object = find_object(t, path);
		t->maps[t->num_maps++] = m;
	}
	fclose(f);
}

static struct map *find_map(struct trace *t, uint64_t ip)
{
	for (int again = 0; again < 2; again++) {
		for (size_t i = 0; i < t->num_maps; i++)
			if (ip >= t->maps[i].start && ip < t->maps[i].end)
				return &t->maps[i];
		read_maps(t);
	}
	return NULL;
}

static void note_func(struct trace *t, const struct object *o, uint64_t svma,
		      uint64_t bias)
{
	const struct seam_derived_row *rows;
	uint64_t func = 0;
	size_t n;

	rows = seam_derived_rows(o->derived, &n);
	for (size_t i = 0; i < n; i++)
		if (svma >= rows[i].start && svma < rows[i].end)
			func = rows[i].func_start + bias;
	for (size_t i = 0; i < t->num_funcs; i++)
		if (t->funcs[i] == func)
			return;
	if (t->num_funcs < MAX_FUNCS)
		t->funcs[t->num_funcs++] = func;
}

static void check(struct trace *t, const struct user_regs_struct *r)
{
	struct map *m = find_map(t, r->rip);
	const struct object *o = m ? &t->objects[m->object] : NULL;
	uint64_t svma, cfa, fp = r->rbp;
	struct seam_rule rule;
	struct call *top;

	if (!o || !o->derived ||
	    !seam_elf_off_to_svma(o->elf, r->rip - m->start + m->off, &svma) ||
	    !seam_derived_find(o->derived, svma, &rule))
		return;
	t->checked++;
	note_func(t, o, svma, r->rip - svma);
	top = t->depth ? &t->calls[t->depth - 1] : NULL;
	cfa = r->rsp + (uint64_t)(int64_t)rule.cfa.off;
	if (rule.fp.kind == SEAM_CFA_DEREF &&
	    !peek(t, cfa + (uint64_t)(int64_t)rule.fp.off, &fp, 8))
		fp = ~r->rbp;
	if (top && cfa == top->slot + 8 && fp == top->fp && rule.cfa.reg == 7 &&
	    rule.cfa.kind == SEAM_REG_OFF)
		return;
	t->wrong++;
	print_message("%s %#" PRIx64 ": CFA %#" PRIx64 " fp %#" PRIx64
		      ", the call had %#" PRIx64 " and %#" PRIx64 "\n",
		      t->paths[m->object], svma, cfa, fp,
		      top ? top->slot + 8 : 0, top ? (uint64_t)top->fp : 0);
}

static bool is_call(const uint8_t *p)
{
	while (*p == 0x66 || *p == 0xf2 || *p == 0xf3 || *p == 0x3e ||
	       *p == 0x2e || (*p & 0xf0) == 0x40)
		p++;
	return *p == 0xe8 || (*p == 0xff && (p[1] & 0x38) == 0x10);
}

/* After a step: a call was made, or some returned. */
static void follow(struct trace *t, const struct user_regs_struct *before,
		   const uint8_t *code, const struct user_regs_struct *now)
{
	if (is_call(code) && now->rsp == before->rsp - 8) {
		assert_true(t->depth < MAX_CALLS);
		t->calls[t->depth++] = (struct call){now->rsp, before->rbp};
	}
	while (t->depth && t->calls[t->depth - 1].slot < now->rsp)
		t->depth--;
}

static pid_t start(char *const argv[])
{
	pid_t pid = fork();
	int status;

	if (pid)
		return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)
			       ? pid
			       : -1;
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(77);
	if (!freopen("/dev/null", "w", stdout))
		_exit(1);
	execv(argv[0], argv);
	_exit(1);
}

/* Return: the exit status, as of waitpid. */
static int trace(struct trace *t, char *const argv[])
{
	struct user_regs_struct before, now;
	uint8_t code[16];
	int status = -1, sig = 0;

	memset(t, 0, sizeof(*t));
	t->pid = start(argv);
	if (t->pid < 0)
		skip_since("no program can be traced here");
	assert_int_equal(ptrace(PTRACE_GETREGS, t->pid, NULL, &before), 0);
	for (;;) {
		memset(code, 0, sizeof(code));
		if (!peek(t, before.rip, code, sizeof(code)))
			peek(t, before.rip, code, 16 - (before.rip & 15));
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, t->pid, NULL, sig),
				 0);
		if (waitpid(t->pid, &status, 0) != t->pid ||
		    !WIFSTOPPED(status))
			break;
		sig = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		assert_int_equal(ptrace(PTRACE_GETREGS, t->pid, NULL, &now), 0);
		follow(t, &before, code, &now);
		check(t, &now);
		before = now;
		t->steps++;
	}
	for (size_t i = 0; i < t->num_objects; i++) {
		object_close(&t->objects[i]);
		free(t->paths[i]);
	}
	print_message("%s: %zu instructions, %zu with derived rules, in %zu "
		      "functions\n",
		      argv[0], t->steps, t->checked, t->num_funcs);
	assert_int_equal(t->wrong, 0);
	return status;
}

/* _init, frame_dummy, register_tm_clones, __do_global_dtors_aux,
 * deregister_tm_clones, _fini: all of them run in every program. */
static void test_system_programs(void **state)
{
	static char *const argvs[][4] = {
		{"/usr/bin/true"},
		{"/bin/bash", "-c", ":"},
		{"/usr/bin/ls", "/"},
	};
	size_t n = getenv("SEAM_TEST_ALL") ? 3 : 1;
	static struct trace t;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(trace(&t, argvs[i]), 0);
		assert_true(t.num_funcs >= 6);
	}
}

static const char program[] =
	"#include <stdio.h>\n"
	"#include <string.h>\n"
	"int lib(int, int);\n"
	"static int depth(int n) { return n ? 1 + depth(n - 1) : 0; }\n"
	"__attribute__((noinline)) int fp(int n)\n"
	"{ volatile char b[100]; b[3] = n; return b[3] + depth(n); }\n"
	"__attribute__((constructor)) void begin(void) { fp(1); }\n"
	"__attribute__((destructor)) void end(void) { fp(2); }\n"
	"__attribute__((noinline)) int many(int a, int b, int c, int d, int "
	"e,\n"
	"	int f, int g, int h)\n"
	"{ int i, s = 0; for (i = 0; i < a; i++) s += lib(b, c) + d * e;\n"
	"  return s + fp(f) + g + h; }\n"
	"int main(void)\n"
	"{ char text[64]; int n = many(3, 2, 3, 4, 5, 6, 7, 8);\n"
	"  snprintf(text, sizeof(text), \"%d\", n);\n"
	"  return strlen(text) == 0; }\n";
static const char library[] =
	"static int helper(int a) { return a < 2 ? a : helper(a - 1) + \n"
	"	helper(a - 2); }\n"
	"__attribute__((constructor)) static void up(void) { helper(3); }\n"
	"int lib(int a, int b) { return helper(a) + b; }\n";

static void build_and_trace(const char *dir, const char *flags, size_t least)
{
	char path[PATH_MAX], *argv[] = {path, NULL}, command[1024];
	static struct trace t;

	snprintf(command, sizeof(command), "cc %s -o p p.c lib.c", flags);
	if (!run_in(dir, command))
		fail_msg("%s", command);
	snprintf(path, sizeof(path), "%s/p", dir);
	print_message("%s: ", flags);
	assert_int_equal(trace(&t, argv), 0);
	assert_true(t.num_funcs >= least);
}

#define NO_CFI "-fno-asynchronous-unwind-tables -fno-unwind-tables "

static void test_own_programs(void **state)
{
	const char *dir = *state;

	build_and_trace(dir, "-O2 -pie -fPIE", 6);
	build_and_trace(dir, "-O2 -static-pie", 4);
	build_and_trace(dir, "-O2 -static -s", 4);
	if (!getenv("SEAM_TEST_ALL"))
		return;
	build_and_trace(dir, "-O2 -pie -fPIE -s", 6);
	build_and_trace(dir, "-O2 -no-pie -s", 5);
}

/* All of a program that was built without CFI, by its symbols. Static ones
 * run fewer instructions before they begin. */
static void test_without_cfi(void **state)
{
	const char *dir = *state;

	build_and_trace(dir, NO_CFI "-static -O0", 12);
	build_and_trace(dir, NO_CFI "-static -O1", 8);
	build_and_trace(dir, NO_CFI "-static -O2 -fno-inline", 10);
	build_and_trace(dir, NO_CFI "-static -Os -fno-omit-frame-pointer", 10);
	build_and_trace(dir, NO_CFI "-static -O2 -fstack-protector-all", 8);
	build_and_trace(dir, NO_CFI "-static -O2 -fcf-protection=full", 8);
	build_and_trace(dir, NO_CFI "-static-pie -fPIE -O1", 8);
}

static int setup(void **state)
{
	char *dir = temp_dir();

	*state = dir;
	return dir && write_text(dir, "p.c", program) &&
			       write_text(dir, "lib.c", library)
		       ? 0
		       : -1;
}

static int teardown(void **state)
{
	remove_dir(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_system_programs),
		cmocka_unit_test_setup_teardown(test_own_programs, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_without_cfi, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
