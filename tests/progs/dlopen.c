// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: code that appears while the program runs: a shared object is
 * opened, used and closed, over and over. Argument 2 is its path.
 */
#include "path.h"
#include <dlfcn.h>
#include <stdio.h>

typedef void enter_fn(void (*)(unsigned long), unsigned long);

KEEP void back(unsigned long n)
{
	path_sink += n;
	leaf();
	STAY();
}

KEEP void use(enter_fn *enter)
{
	for (unsigned long r = 0, n = path_reps; r < n; r++)
		enter(back, r & 63);
	STAY();
}

KEEP void run(const char *path)
{
	void *so = dlopen(path, RTLD_NOW);
	enter_fn *enter;

	if (!so) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	enter = (enter_fn *)(unsigned long)dlsym(so, "plugin_enter");
	use(enter);
	dlclose(so);
	STAY();
}

int main(int argc, char **argv)
{
	path_begin(argc, argv);
	while (path_more())
		run(argc > 2 ? argv[2] : "./plugin.so");
	return 0;
}
