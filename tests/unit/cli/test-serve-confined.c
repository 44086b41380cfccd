// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: the processes of seam serve are refused what they do not need,
 * and go on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitized.h"
#include "cli/serve-filter.h"
#include "cli/serve-landlock.h"

#define PAGE 4096
#define NO_LANDLOCK 255

/* In a process of its own. Return: its status, as waitpid has it. */
static int status_of(int (*run)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		/* cmocka's handler would go on with its tests. */
		signal(SIGSEGV, SIG_DFL);
		_exit(run());
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* The line where it stopped; 0: it went through. */
static int line_of(int (*run)(void))
{
	int status = status_of(run);

	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Lines of this file are below 256. */
#define MUST(what)                                                             \
	do {                                                                   \
		if (!(what))                                                   \
			return __LINE__;                                       \
	} while (0)
#define REFUSED(call) MUST((errno = 0, (long)(call) == -1 && errno == EPERM))

static int refuse_acts(void)
{
	char *const args[] = {"false", NULL};
	union bpf_attr attr = {0};

	/* Were it not, its status would tell. */
	REFUSED(execve("/bin/false", args, args));
	REFUSED(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	REFUSED(ptrace(PTRACE_ATTACH, getppid(), 0, 0));
	REFUSED(kill(getppid(), 0));
	REFUSED(mount("none", "/mnt", "tmpfs", 0, NULL));
	REFUSED(syscall(SYS_setns, 0, 0));
	REFUSED(syscall(SYS_unshare, 0));
	REFUSED(syscall(SYS_init_module, NULL, 0, ""));
	REFUSED(syscall(SYS_keyctl, 0, 0, 0, 0, 0));
	REFUSED(syscall(SYS_process_vm_writev, getpid(), NULL, 0, NULL, 0, 0));
	REFUSED(syscall(SYS_io_uring_setup, 1, NULL));
	REFUSED(syscall(SYS_setuid, 0));
	REFUSED(chmod("/", 0700));
	REFUSED(socket(AF_INET, SOCK_STREAM, 0));
	REFUSED(socket(AF_NETLINK, SOCK_RAW, 0));
	REFUSED(syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr)));
	REFUSED(mmap(NULL, PAGE, PROT_READ | PROT_EXEC,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	return 0;
}

static int serving(void)
{
	int fd, line;

	MUST(!serve_filter());
	line = refuse_acts();
	if (line)
		return line;
	fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	MUST(fd >= 0);
	close(fd);
	fd = open("/proc/self/status", O_RDONLY);
	MUST(fd >= 0);
	close(fd);
	MUST(mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	return 0;
}

static int opening(void)
{
	int fd, line;

	MUST(!serve_filter_opener());
	line = refuse_acts();
	if (line)
		return line;
	REFUSED(socket(AF_UNIX, SOCK_DGRAM, 0));
	REFUSED(open("/dev/null", O_WRONLY));
	REFUSED(open("/dev/null", O_RDWR));
	REFUSED(open("/dev/null", O_RDONLY | O_TRUNC));
	REFUSED(open("/tmp/seam-test-none", O_RDONLY | O_CREAT, 0600));
	REFUSED(read(0, &fd, 0));
	REFUSED(write(1, "", 0));
	REFUSED(unlink("/tmp/seam-test-none"));
	fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	MUST(fd >= 0);
	close(fd);
	return 0;
}

static int other_call(void)
{
#if defined(__x86_64__)
	int ret = 20; /* i386's getpid */

	__asm__ volatile("int $0x80" : "+a"(ret) : : "memory");
	(void)ret;
#else
	raise(SIGSYS);
#endif
	return 0;
}

static int another_table(void)
{
	return serve_filter() ? __LINE__ : other_call();
}

static void skip_sanitized(void)
{
	if (!SEAM_IS_SANITIZED)
		return;
	print_message("# a sanitizer makes calls that serving does not\n");
	skip();
}

static void leaves_what_serving_takes(void **state)
{
	(void)state;
	skip_sanitized();
	assert_int_equal(line_of(serving), 0);
}

static void leaves_what_opening_takes(void **state)
{
	(void)state;
	skip_sanitized();
	assert_int_equal(line_of(opening), 0);
}

static void ends_at_another_table(void **state)
{
	int status;

	(void)state;
	skip_sanitized();
	status = status_of(other_call);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) {
		print_message("# this kernel has no table of i386's calls\n");
		skip();
	}
	status = status_of(another_table);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

static char folder[] = "/tmp/seam-test-confined-XXXXXX";

/* Return: whether a file was made there. */
static bool made(const char *dir, const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s/%s", folder, dir, name);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int make(const char *dir)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, dir);
	return mkdir(path, 0700);
}

static int locked_out(void)
{
	char cache[64], meeting[64], from[80], to[80];
	int err;

	snprintf(cache, sizeof(cache), "%s/cache", folder);
	snprintf(meeting, sizeof(meeting), "%s/meeting", folder);
	snprintf(from, sizeof(from), "%s/a", cache);
	snprintf(to, sizeof(to), "%s/b", cache);
	MUST(!make("meeting") && made("", "root"));
	MUST(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	err = serve_landlock(cache, meeting);
	if (err == -EOPNOTSUPP)
		return NO_LANDLOCK;
	MUST(!err);
	MUST(made("cache", "a") && !rename(from, to) && !unlink(to));
	MUST(!make("meeting/owner"));
	MUST(!made("meeting", "file") && errno == EACCES);
	MUST(!made("", "new") && errno == EACCES);
	MUST(!made("", "root") && errno == EACCES); /* which is there */
	MUST(make("new") && errno == EACCES);
	MUST(open("/etc/passwd", O_RDONLY) < 0 && errno == EACCES);
	MUST(open("/proc/self/status", O_RDONLY) >= 0);
	return 0;
}

static void locks_files_out(void **state)
{
	char remove[128];
	int line;

	(void)state;
	assert_non_null(mkdtemp(folder));
	line = line_of(locked_out);
	snprintf(remove, sizeof(remove), "rm -r %s", folder);
	assert_int_equal(system(remove), 0);
	if (line == NO_LANDLOCK) {
		print_message("# this kernel has no Landlock\n");
		skip();
	}
	assert_int_equal(line, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_what_serving_takes),
		cmocka_unit_test(leaves_what_opening_takes),
		cmocka_unit_test(ends_at_another_table),
		cmocka_unit_test(locks_files_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
