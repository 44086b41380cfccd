// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * What bench/scale.py records: many threads, processes that end as soon as they
 * began, or many libraries. Each begins when it reads a line, and prints what
 * it came to when its time is over.
 *
 *	scale-loads threads N SECONDS
 *	scale-loads processes A_SECOND SECONDS PROGRAM
 *	scale-loads libraries FOLDER N SECONDS
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned sink;
static double end;
static atomic_ulong rounds;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void leaf(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink += i;
}

__attribute__((noinline)) static void mid(unsigned n)
{
	leaf(n);
	__asm__ volatile("");
}

/* Waits to be told, then has so many seconds. */
static void begin(const char *seconds)
{
	char line[16];

	if (!fgets(line, sizeof(line), stdin))
		exit(3);
	end = now() + atof(seconds);
}

/* All of them together keep the CPUs at work. */
static void *work(void *arg)
{
	while (now() < end) {
		mid(20000);
		atomic_fetch_add(&rounds, 1);
		usleep(100000);
	}
	return arg;
}

static int threads(long n)
{
	pthread_t *all = calloc((size_t)n, sizeof(*all));
	pthread_attr_t attr;
	long made = 0;

	if (!all || pthread_attr_init(&attr) ||
	    pthread_attr_setstacksize(&attr, 65536))
		return 1;
	while (made < n && !pthread_create(&all[made], &attr, work, NULL))
		made++;
	for (long i = 0; i < made; i++)
		pthread_join(all[i], NULL);
	printf("%ld threads, %lu rounds\n", made, atomic_load(&rounds));
	return made < n;
}

/* posix_spawn waits until its child is in the program, with its thread alone:
 * several keep all CPUs at it. */
#define SPAWNERS 8

static struct {
	double a_second;
	char *program;
	atomic_ulong started;
	atomic_bool failed;
} spawning;

/* Its share of so many a second, or as many as the machine can. */
static void *spawner(void *arg)
{
	char *argv[] = {spawning.program, NULL};
	double began = now();
	unsigned long n = 0;
	pid_t pid;

	while (now() < end) {
		double early = began +
			       (double)n * SPAWNERS / spawning.a_second - now();

		if (early > 0)
			usleep((useconds_t)(early * 1e6));
		if (posix_spawn(&pid, argv[0], NULL, NULL, argv, NULL) ||
		    waitpid(pid, NULL, 0) != pid) {
			atomic_store(&spawning.failed, true);
			break;
		}
		n++;
	}
	atomic_fetch_add(&spawning.started, n);
	return arg;
}

static int processes(double a_second, char *program)
{
	pthread_t all[SPAWNERS];
	double began = now();
	unsigned long n;

	spawning.a_second = a_second;
	spawning.program = program;
	for (int i = 0; i < SPAWNERS; i++)
		if (pthread_create(&all[i], NULL, spawner, NULL))
			return 1;
	for (int i = 0; i < SPAWNERS; i++)
		pthread_join(all[i], NULL);
	n = atomic_load(&spawning.started);
	printf("%lu processes, %.0f a second of %.0f asked for\n", n,
	       (double)n / (now() - began), a_second);
	return atomic_load(&spawning.failed);
}

static int libraries(const char *folder, long n)
{
	void (**calls)(unsigned) = calloc((size_t)n, sizeof(*calls));
	char path[4096];

	for (long i = 0; i < n; i++) {
		void *lib;

		snprintf(path, sizeof(path), "%s/lib%ld.so", folder, i);
		lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!lib || !calls) {
			fprintf(stderr, "%s\n", lib ? "no memory" : dlerror());
			return 1;
		}
		*(void **)&calls[i] = dlsym(lib, "scale_outer");
		if (!calls[i])
			return 1;
	}
	while (now() < end)
		for (long i = 0; i < n; i++) {
			calls[i](20000);
			atomic_fetch_add(&rounds, 1);
		}
	printf("%ld libraries, %lu calls\n", n, atomic_load(&rounds));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "threads")) {
		begin(argv[3]);
		return threads(atol(argv[2]));
	}
	if (argc == 5 && !strcmp(argv[1], "processes")) {
		begin(argv[3]);
		return processes(atof(argv[2]), argv[4]);
	}
	if (argc == 5 && !strcmp(argv[1], "libraries")) {
		begin(argv[4]);
		return libraries(argv[2], atol(argv[3]));
	}
	fprintf(stderr, "usage: see the source\n");
	return 2;
}
