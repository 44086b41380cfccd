// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Not a test: prints, for each file named, what its conversion costs and
 * covers. The CPU time is the median of 21 runs.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "elf/elf.h"
#include "table/table.h"

#define RUNS 21

/* Of this thread: others may use the machine too. */
static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void print(const char *path, const struct seam_elf *elf, size_t size,
		  double ms, const struct seam_table_stats *s)
{
	struct seam_elf_section cfi = {0};

	seam_elf_section(elf, ".eh_frame", &cfi);
	printf("%s\n  eh_frame %zu, table %zu (%.2f), %.2f ms, %.0f MB/s\n",
	       path, cfi.size, size,
	       cfi.size ? (double)size / (double)cfi.size : 0.0, ms,
	       (double)cfi.size / 1e3 / ms);
	printf("  functions %" PRIu64 ", rows %" PRIu64 ", code %" PRIu64
	       ", with a rule %.4f %%\n",
	       s->functions, s->rows, s->code_bytes,
	       100.0 - 100.0 * (double)s->hole_bytes /
			       (double)(s->code_bytes ? s->code_bytes : 1));
	printf("  holes:");
	for (int i = 0; i < SEAM_HOLE_NUM; i++)
		if (s->holes[i])
			printf(" %s %" PRIu64 ",", seam_hole_text(i),
			       s->holes[i]);
	printf(" outside %" PRIu64 ", overlap %" PRIu64 ", malformed %" PRIu64
	       "\n",
	       s->outside, s->overlap_bytes, s->malformed);
}

static int run(const char *path)
{
	struct seam_table_stats stats;
	struct seam_errinfo err = {0};
	struct seam_elf *elf;
	double ms[RUNS];
	size_t size = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;

	if (fd < 0 || seam_elf_open_fd(fd, 0, &elf, &err)) {
		fprintf(stderr, "%s: cannot be read\n", path);
		return 1;
	}
	close(fd);
	for (int i = 0; i < RUNS; i++) {
		double start = now_ms();
		uint8_t *bytes;

		r = seam_table_build_kernel(elf, &bytes, &size, &stats, &err);
		if (r) {
			fprintf(stderr, "%s: %s\n", path, strerror(-r));
			return 1;
		}
		ms[i] = now_ms() - start;
		free(bytes);
	}
	qsort(ms, RUNS, sizeof(ms[0]), compare);
	print(path, elf, size, ms[RUNS / 2], &stats);
	seam_elf_close(elf);
	return 0;
}

int main(int argc, char **argv)
{
	int bad = 0;

	for (int i = 1; i < argc; i++)
		bad |= run(argv[i]);
	return bad;
}
