// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "truth/stepper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096

static void become(char *const *argv)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	if (personality(ADDR_NO_RANDOMIZE) < 0 ||
	    ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(126);
	execvp(argv[0], argv);
	_exit(127);
}

static int get_regs(struct seam_stepper *s)
{
	return ptrace(PTRACE_GETREGS, s->pid, NULL, &s->regs) ? -errno : 0;
}

/* Waits for the next stop. Return: 1; 0: it ended; -errno. */
static int wait_stop(struct seam_stepper *s)
{
	while (waitpid(s->pid, &s->status, __WALL) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFSTOPPED(s->status);
}

int seam_stepper_start(struct seam_stepper *s, char *const *argv)
{
	int r;

	*s = (struct seam_stepper){.pid = fork()};
	if (s->pid < 0)
		return -errno;
	if (!s->pid)
		become(argv);
	r = wait_stop(s);
	if (r <= 0)
		return r ? r : -ENOEXEC;
	if (ptrace(PTRACE_SETOPTIONS, s->pid, NULL,
		   PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC))
		return -errno;
	r = get_regs(s);
	return r ? r : SEAM_STEP_EXEC;
}

int seam_stepper_run_to(struct seam_stepper *s, uint64_t addr)
{
	long word, trap;
	int r;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, s->pid, addr, NULL);
	if (errno)
		return -errno;
	trap = (word & ~0xffL) | 0xcc;
	if (ptrace(PTRACE_POKETEXT, s->pid, addr, trap) ||
	    ptrace(PTRACE_CONT, s->pid, NULL, NULL))
		return -errno;
	r = wait_stop(s);
	if (r <= 0)
		return r ? r : SEAM_STEP_END;
	r = get_regs(s);
	if (r || s->regs.rip != addr + 1)
		return r ? r : -EINTR;
	s->regs.rip = addr;
	if (ptrace(PTRACE_SETREGS, s->pid, NULL, &s->regs) ||
	    ptrace(PTRACE_POKETEXT, s->pid, addr, word))
		return -errno;
	return SEAM_STEP_INSN;
}

/* Whether the stop for a step came before any instruction, because a handler
 * was set up: the kernel then notifies with the signal's number as code. */
static bool is_handler(const struct seam_stepper *s)
{
	siginfo_t info;

	return !ptrace(PTRACE_GETSIGINFO, s->pid, NULL, &info) &&
	       info.si_code == SIGTRAP;
}

static int event_of(struct seam_stepper *s, int delivered)
{
	int r = get_regs(s);

	if (r)
		return r;
	if (s->status >> 16 == PTRACE_EVENT_EXEC)
		return SEAM_STEP_EXEC;
	return delivered && is_handler(s) ? SEAM_STEP_SIGNAL : SEAM_STEP_INSN;
}

int seam_stepper_step(struct seam_stepper *s)
{
	int delivered = 0, r;

	for (;;) {
		if (ptrace(PTRACE_SINGLESTEP, s->pid, NULL,
			   (unsigned long)s->signal))
			return errno == ESRCH ? SEAM_STEP_END : -errno;
		delivered |= s->signal;
		s->signal = 0;
		r = wait_stop(s);
		if (r <= 0)
			return r ? r : SEAM_STEP_END;
		if (WSTOPSIG(s->status) == SIGTRAP)
			return event_of(s, delivered);
		s->signal = WSTOPSIG(s->status);
	}
}

size_t seam_stepper_read(const struct seam_stepper *s, uint64_t addr, void *buf,
			 size_t size)
{
	struct iovec to = {buf, size}, from = {(void *)addr, size};
	ssize_t n = process_vm_readv(s->pid, &to, 1, &from, 1, 0);
	size_t left;

	if (n >= 0)
		return (size_t)n;
	/* Some kernels refuse all of a range that is there in part. */
	left = PAGE - addr % PAGE;
	if (left >= size)
		return 0;
	to.iov_len = from.iov_len = left;
	n = process_vm_readv(s->pid, &to, 1, &from, 1, 0);
	return n < 0 ? 0 : (size_t)n;
}

bool seam_stepper_word(const struct seam_stepper *s, uint64_t addr,
		       uint64_t *ret)
{
	return seam_stepper_read(s, addr, ret, sizeof(*ret)) == sizeof(*ret);
}

uint64_t seam_stepper_auxv(const struct seam_stepper *s, uint64_t type)
{
	uint64_t pair[2], value = 0;
	char path[32];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)s->pid);
	f = fopen(path, "re");
	while (f && fread(pair, sizeof(pair), 1, f) == 1)
		if (pair[0] == type)
			value = pair[1];
	if (f)
		fclose(f);
	return value;
}

void seam_stepper_end(struct seam_stepper *s)
{
	if (s->pid <= 0)
		return;
	if (!WIFEXITED(s->status) && !WIFSIGNALED(s->status)) {
		kill(s->pid, SIGKILL);
		while (wait_stop(s) > 0)
			;
	}
	s->pid = 0;
}
