// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a client's bits are gone from all that clients share when it has
 * ended, been killed, or another comes with its number, and so is the memory of
 * its tables of made code; and nobody else's. Else that one has stacks that it
 * never asked for. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Only its words are looked at here. */
#define SEAM_ENTRY_HOOK
#include "core/entry-who.h"
#include "kernel/kernel-priv.h"

#define ALL ((uint32_t)SEAM_WHO_MASK)

/* No task_struct lies there. */
static const uint64_t task = 8;
static const uint64_t asked[2] = {8, 0}; /* the same, and which task work */

static struct seam_kernel *first; /* client 0, which stays */
static struct seam_kernel *second; /* of a test */

/* --- what clients share --- */

struct field {
	uint32_t offset, size;
};

/* Of a struct's member, by its path. */
static struct field field_of(const struct btf *btf, uint32_t id,
			     const char *path)
{
	const struct btf_type *type = btf__type_by_id(btf, id);
	const struct btf_member *m = btf_members(type);
	const size_t len = strcspn(path, ".");

	for (uint16_t i = 0; i < btf_vlen(type); i++, m++) {
		const char *name = btf__name_by_offset(btf, m->name_off);
		struct field f = {btf_member_bit_offset(type, i) / 8,
				  (uint32_t)btf__resolve_size(btf, m->type)};
		struct field inner;

		if (strlen(name) != len || strncmp(name, path, len) != 0)
			continue;
		if (!path[len])
			return f;
		inner = field_of(btf, (uint32_t)btf__resolve_type(btf, m->type),
				 path + len + 1);
		inner.offset += f.offset;
		return inner;
	}
	fail_msg("no member %s", path);
	return (struct field){0};
}

/* A word of clients, and how often their bits are in it. */
static const struct word {
	const char *map, *path;
	const void *key;
	uint64_t client; /* its first */
} words[] = {
	{"elements", "state.entry.who", &task, 1 | 1ULL << SEAM_WHO_DONE_SHIFT},
	{"elements", "state.entry.served_who", &task, 1},
	{"elements", "state.asked", &task, 1},
	{"elements", "state.known", &task, 1},
	{"outsides", "o.word", asked, 1},
};
#define N_WORDS (sizeof(words) / sizeof(*words))

static uint64_t of_clients(const struct word *word, uint32_t clients)
{
	return word->client * clients;
}

static void *element_of(const struct word *word, const struct bpf_map **ret_map,
			struct field *ret)
{
	const struct bpf_map *map =
		bpf_object__find_map_by_name(first->skel->obj, word->map);
	uint8_t *value;

	assert_non_null(map);
	*ret_map = map;
	*ret = field_of(bpf_object__btf(first->skel->obj),
			bpf_map__btf_value_type_id(map), word->path);
	assert_true(ret->size == 4 || ret->size == 8);
	value = calloc(1, bpf_map__value_size(map));
	assert_non_null(value);
	return value;
}

/* What is in a word beside clients' bits. */
static uint64_t rest_of(const struct word *word, const struct field *f)
{
	return f->size == 8 ? ~of_clients(word, ALL) : 0;
}

#define MADE_BYTES (SEAM_MADE_SIZE / 2 + 1)

/* The first and the last bytes of its tables of made code. */
static uint8_t *made_of(uint32_t number, int which)
{
	return first->arena + SEAM_MADE_OFFSET + number * SEAM_MADE_SIZE +
	       (which ? MADE_BYTES - 1 : 0);
}

static void make_tables(void)
{
	for (uint32_t i = 0; i < SEAM_MAX_CLIENTS; i++) {
		*made_of(i, 0) = *made_of(i, 1) = 1;
		first->common->used_made[i] = MADE_BYTES;
	}
}

/* A page that was given back comes back with zeros. */
static void check_tables_without(uint32_t number)
{
	for (uint32_t i = 0; i < SEAM_MAX_CLIENTS; i++) {
		assert_int_equal(*made_of(i, 0), i != number);
		assert_int_equal(*made_of(i, 1), i != number);
		assert_int_equal(first->common->used_made[i],
				 i == number ? 0 : MADE_BYTES);
	}
}

/* A task has to do with all clients that may be, in every way. */
static void entangle(void)
{
	make_tables();
	for (size_t i = 0; i < N_WORDS; i++) {
		const struct bpf_map *map;
		struct field f;
		uint8_t *value = element_of(&words[i], &map, &f);
		uint64_t all;

		bpf_map_lookup_elem(bpf_map__fd(map), words[i].key, value);
		all = rest_of(&words[i], &f) | of_clients(&words[i], ALL);
		memcpy(value + f.offset, &all, f.size);
		assert_int_equal(bpf_map_update_elem(bpf_map__fd(map),
						     words[i].key, value,
						     BPF_ANY),
				 0);
		free(value);
	}
}

/* It has still to do with all but one of them. */
static void check_without(uint32_t number)
{
	check_tables_without(number);
	for (size_t i = 0; i < N_WORDS; i++) {
		const struct bpf_map *map;
		struct field f;
		uint8_t *value = element_of(&words[i], &map, &f);
		uint64_t left = 0;

		assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(map),
						     words[i].key, value),
				 0);
		memcpy(&left, value + f.offset, f.size);
		if (left != (rest_of(&words[i], &f) |
			     of_clients(&words[i], ALL & ~(1U << number))))
			fail_msg("%s: %llx, behind client %u", words[i].path,
				 (unsigned long long)left, number);
		free(value);
	}
}

/* --- clients --- */

static int open_client(struct seam_kernel **ret, struct seam_errinfo *reterr)
{
	static const struct seam_kernel_opts opts = {
		.stack_copy = 512,
		.buffer_pages = 1,
	};

	return seam_kernel_open(&opts, ret, reterr);
}

static void open_second(void)
{
	struct seam_errinfo info = {0};

	if (open_client(&second, &info))
		fail_msg("%s", info.reason);
	seam_kernel_set_serving(second, false); /* it has come */
	assert_int_equal(seam_kernel_client(second), 1);
}

static int close_second(void **state)
{
	(void)state;
	second = seam_kernel_close(second);
	return 0;
}

static void comes(void **state)
{
	(void)state;
	entangle();
	open_second();
	check_without(1);
}

static void goes(void **state)
{
	open_second();
	entangle();
	close_second(state);
	check_without(1);
}

static void be_there(int ready)
{
	struct seam_errinfo info = {0};
	struct seam_kernel *k;
	char c = 0;

	/* Where a test fails, too. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!open_client(&k, &info)) {
		seam_kernel_set_serving(k, false);
		c = (char)seam_kernel_client(k);
		if (write(ready, &c, 1) == 1)
			pause();
	}
	fprintf(stderr, "%s\n", info.reason);
	_exit(1);
}

static void is_killed(void **state)
{
	int ready[2];
	pid_t pid;
	char number = 0;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(ready[0]);
		be_there(ready[1]);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &number, 1), 1);
	assert_int_equal(number, 1);
	entangle();
	/* As long as it lives it keeps what is its own. */
	seam_kernel_bury(first);
	check_without(SEAM_MAX_CLIENTS);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	seam_kernel_bury(first);
	check_without(1);
	close(ready[0]);
}

/* Where nobody else's clients are. */
static int apart(void)
{
	if (unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("bpf", SEAM_SHARE_MOUNT, "bpf", 0, "mode=0700"))
		return -errno;
	return 0;
}

/* Return: why it cannot be, or NULL. */
static const char *begin(struct seam_errinfo *ret)
{
	const char *why = NULL;
	int rc = apart();

	if (rc)
		return strerror(-rc);
	rc = open_client(&first, ret);
	if (rc == -EPERM || rc == -ENOTSUP)
		return ret->reason;
	if (!rc)
		seam_kernel_others(first, &why);
	return why;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(comes, close_second),
		cmocka_unit_test_teardown(goes, close_second),
		cmocka_unit_test(is_killed),
	};
	struct seam_errinfo info = {0};
	const char *why = begin(&info);
	int rc;

	if (why) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	if (!first) {
		fprintf(stderr, "%s\n", info.reason);
		return 1;
	}
	seam_kernel_set_serving(first, false);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	seam_kernel_close(first);
	return rc;
}
