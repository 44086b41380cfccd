// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a file of a recording is found by its build-id wherever such
 * files are kept, but not in what a debugger was to have of it, which has
 * neither code nor rules. Why one is not had is told, also if it was had
 * before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "offline/file.h"

#define PATH_SIZE 256
#define HEX_SIZE (2 * SEAM_BUILD_ID_MAX + 1)

/* This program, and where caches are that nobody else has. */
static struct self {
	char folder[64], by_id[64 + HEX_SIZE];
	uint8_t *bytes;
	size_t size;
	uint8_t id[SEAM_BUILD_ID_MAX];
	size_t id_len;
} self;

static void read_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct seam_elf *elf;
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	self.size = (size_t)st.st_size;
	self.bytes = malloc(self.size);
	assert_non_null(self.bytes);
	assert_int_equal(read(fd, self.bytes, self.size), st.st_size);
	assert_int_equal(seam_elf_open_fd(fd, SEAM_ELF_PARTS, &elf, NULL), 0);
	self.id_len = seam_elf_build_id(elf, self.id);
	seam_elf_close(elf);
	close(fd);
}

static int set_up(void **state)
{
	size_t n;

	(void)state;
	read_self();
	strcpy(self.folder, "seam-offline-XXXXXX");
	assert_non_null(mkdtemp(self.folder));
	setenv("XDG_CACHE_HOME", "/proc", 1);
	setenv("HOME", "/proc", 1);
	setenv("DEBUGINFOD_CACHE_PATH", self.folder, 1);
	n = (size_t)sprintf(self.by_id, "%s/", self.folder);
	for (size_t i = 0; i < self.id_len; i++)
		n += (size_t)sprintf(self.by_id + n, "%02x", self.id[i]);
	assert_int_equal(mkdir(self.by_id, 0700), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rmdir(self.by_id);
	rmdir(self.folder);
	free(self.bytes);
	return 0;
}

static void keep(char path[static PATH_SIZE], const char *name,
		 const uint8_t *bytes)
{
	FILE *f;

	snprintf(path, PATH_SIZE, "%s/%s", self.by_id, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, self.size, f), self.size);
	assert_int_equal(fclose(f), 0);
}

/* As objcopy --only-keep-debug: what is loaded has no bytes, but for notes. */
static uint8_t *only_debug(void)
{
	uint8_t *bytes = malloc(self.size);
	Elf64_Ehdr *e = (Elf64_Ehdr *)bytes;
	Elf64_Shdr *s;
	Elf64_Phdr *p;

	assert_non_null(bytes);
	memcpy(bytes, self.bytes, self.size);
	s = (Elf64_Shdr *)(bytes + e->e_shoff);
	p = (Elf64_Phdr *)(bytes + e->e_phoff);
	for (size_t i = 0; i < e->e_shnum; i++)
		if ((s[i].sh_flags & SHF_ALLOC) && s[i].sh_type != SHT_NOTE)
			s[i].sh_type = SHT_NOBITS;
	for (size_t i = 0; i < e->e_phnum; i++)
		if (p[i].p_type != PT_NOTE)
			p[i].p_filesz = 0;
	return bytes;
}

static enum seam_offline_problem look_for(const char *path)
{
	struct seam_offline_files files;
	struct seam_offline_file *f;
	enum seam_offline_problem problem;

	assert_int_equal(seam_offline_files_init(&files), 0);
	f = seam_offline_file(&files, path, self.id, self.id_len);
	assert_non_null(f);
	seam_offline_have(&files, f);
	problem = seam_offline_problem(f);
	seam_offline_files_fini(&files);
	return problem;
}

static void test_debug_alone(void **state)
{
	uint8_t *debug = only_debug();
	char path[PATH_SIZE], whole[PATH_SIZE];

	(void)state;
	if (!self.id_len) {
		print_message("this program has no build-id\n");
		skip();
	}
	assert_int_equal(look_for("/proc/self/exe"), SEAM_OFFLINE_FINE);
	assert_int_equal(look_for("/nowhere"), SEAM_OFFLINE_GONE);
	keep(path, "debuginfo", debug);
	assert_int_equal(look_for("/nowhere"), SEAM_OFFLINE_GONE);
	/* What is wrong with the first place is what is told. */
	assert_int_equal(look_for("/dev/null"), SEAM_OFFLINE_NO_ELF);
	keep(whole, "executable", self.bytes);
	assert_int_equal(look_for("/nowhere"), SEAM_OFFLINE_FINE);
	unlink(whole);
	/* One that has rules after all. */
	keep(path, "debuginfo", self.bytes);
	assert_int_equal(look_for("/nowhere"), SEAM_OFFLINE_FINE);
	unlink(path);
	free(debug);
}

static void test_told(void **state)
{
	char loop[PATH_SIZE];

	(void)state;
	snprintf(loop, sizeof(loop), "%s/loop", self.folder);
	assert_int_equal(symlink("loop", loop), 0);
	assert_int_equal(look_for(loop), SEAM_OFFLINE_FAILED);
	unlink(loop);
	assert_int_equal(look_for("/dev/null"), SEAM_OFFLINE_NO_ELF);
	assert_int_equal(look_for("/dev/null/file"), SEAM_OFFLINE_GONE);
	for (int i = SEAM_OFFLINE_GONE; i <= SEAM_OFFLINE_FAILED; i++)
		assert_true(seam_offline_problem_text(
			(enum seam_offline_problem)i)[0]);
}

/* Found, and then cut short, or gone. */
static void check_later(bool is_gone, enum seam_offline_problem problem)
{
	struct seam_offline_files files;
	struct seam_offline_file *f;
	char path[PATH_SIZE];

	keep(path, "executable", self.bytes);
	assert_int_equal(seam_offline_files_init(&files), 0);
	f = seam_offline_file(&files, path, NULL, 0);
	assert_non_null(f);
	assert_true(seam_offline_have(&files, f));
	assert_int_equal(seam_offline_problem(f), SEAM_OFFLINE_FINE);
	if (is_gone)
		unlink(path);
	else
		assert_int_equal(truncate(path, 64), 0);
	pthread_mutex_lock(&files.lock);
	assert_null(seam_offline_image(&files, f));
	pthread_mutex_unlock(&files.lock);
	assert_int_equal(seam_offline_problem(f), problem);
	/* What was made of it is there. */
	assert_true(seam_offline_have(&files, f));
	seam_offline_files_fini(&files);
	unlink(path);
}

static void test_changed(void **state)
{
	(void)state;
	check_later(false, SEAM_OFFLINE_CHANGED);
	check_later(true, SEAM_OFFLINE_GONE);
}

/* It names the file, whose it is, and what to do. */
static void says_doubt(const char *path, const char *why)
{
	struct seam_offline_files files;
	struct seam_offline_file *f;
	char want[2 * PATH_SIZE];

	assert_int_equal(seam_offline_files_init(&files), 0);
	f = seam_offline_file(&files, "/gone", self.id, self.id_len);
	assert_false(seam_offline_have(&files, f));
	snprintf(want, sizeof(want), "%s may be it, but %s", path, why);
	assert_string_equal(seam_offline_why(f), want);
	seam_offline_files_fini(&files);
}

static void test_doubt(void **state)
{
	char path[PATH_SIZE];

	(void)state;
	keep(path, "executable", self.bytes);
	assert_int_equal(look_for("/gone"), SEAM_OFFLINE_FINE);
	if (!chown(path, 54321, (gid_t)-1)) { /* as root */
		says_doubt(path, "it is user 54321's, who is neither root nor "
				 "you (SEAM_TRUST=54321 takes it)");
		assert_int_equal(chown(path, geteuid(), (gid_t)-1), 0);
	}
	assert_int_equal(chmod(path, 0646), 0);
	assert_int_equal(look_for("/gone"), SEAM_OFFLINE_DOUBTED);
	says_doubt(path, "everybody may write it (chmod o-w, or "
			 "SEAM_TRUST=all)");
	assert_int_equal(look_for(path), SEAM_OFFLINE_FINE); /* its own path */
	setenv("SEAM_TRUST", "all", 1);
	assert_int_equal(look_for("/gone"), SEAM_OFFLINE_FINE);
	unsetenv("SEAM_TRUST");
	unlink(path);
}

static void look_without_ids(size_t id_len, bool have)
{
	struct seam_offline_files files;
	struct seam_offline_file *f;

	assert_int_equal(seam_offline_files_init(&files), 0);
	files.lost_ids = true;
	f = seam_offline_file(&files, "/proc/self/exe", self.id, id_len);
	assert_int_equal(seam_offline_have(&files, f), have);
	assert_int_equal(seam_offline_problem(f),
			 have ? SEAM_OFFLINE_FINE : SEAM_OFFLINE_UNSURE);
	seam_offline_files_fini(&files);
}

static void test_lost_ids(void **state)
{
	(void)state;
	look_without_ids(0, false);
	if (self.id_len)
		look_without_ids(self.id_len, true);
	setenv("SEAM_TRUST", "all", 1);
	look_without_ids(0, true);
	unsetenv("SEAM_TRUST");
}

/* As perf took it from /proc/PID/maps. */
static void test_newline(void **state)
{
	char path[PATH_SIZE], as_recorded[PATH_SIZE];

	(void)state;
	keep(path, "a\nb", self.bytes);
	snprintf(as_recorded, sizeof(as_recorded), "%.180s/a\\012b",
		 self.by_id);
	assert_int_equal(look_for(as_recorded), SEAM_OFFLINE_FINE);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_debug_alone),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_doubt),
		cmocka_unit_test(test_lost_ids),
		cmocka_unit_test(test_newline),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
