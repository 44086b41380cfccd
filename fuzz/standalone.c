// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Runs a fuzz harness without libFuzzer, as a test: on no input, on every
 * file of the folders given, and on damaged forms of each, the same every
 * time. Prints what it is at, so that a crash names its input.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_BYTES (1 << 22)
#define MUTANTS 64

/* xorshift64: no rand(), whose sequence is the C library's. */
static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* The input ends where its allocation does: a read beyond it is seen. */
static void run(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void run_damaged(const uint8_t *data, size_t size)
{
	uint64_t state = 0x9e3779b97f4a7c15 ^ size;
	uint8_t *copy = malloc(size);

	if (!copy)
		abort();
	for (int i = 0; i < MUTANTS; i++) {
		size_t len = i % 4 ? size : next(&state) % size;

		memcpy(copy, data, size);
		for (int flips = i % 8; flips > 0; flips--)
			copy[next(&state) % size] = (uint8_t)next(&state);
		printf("  damaged form %d\n", i);
		run(copy, len);
	}
	free(copy);
}

static void run_file(const char *path)
{
	uint8_t *data = malloc(INPUT_BYTES);
	FILE *file = fopen(path, "rb");
	size_t size;

	if (!data || !file) {
		perror(path);
		exit(1);
	}
	size = fread(data, 1, INPUT_BYTES, file);
	fclose(file);
	printf("%s\n", path);
	run(data, size);
	if (size)
		run_damaged(data, size);
	free(data);
}

static int run_folder(const char *folder)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, NULL, alphasort), files = 0;

	for (int i = 0; i < count; i++) {
		char path[4096];
		struct stat st;

		snprintf(path, sizeof(path), "%s/%s", folder,
			 entries[i]->d_name);
		if (!stat(path, &st) && S_ISREG(st.st_mode)) {
			run_file(path);
			files++;
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return files;
}

int main(int argc, char **argv)
{
	int files = 0;

	/* The last line must be out before a crash. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("no input");
	run((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++)
		files += run_folder(argv[i]);
	printf("%d files and %d damaged forms of each\n", files, MUTANTS);
	return 0;
}
