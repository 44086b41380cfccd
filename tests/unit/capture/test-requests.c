// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what is asked for is opened when it is asked for, whatever is
 * being made, answered in the order in which it came, and each file is closed
 * in the end: of our own tasks when their turn has passed. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/requests.h"

#define MAX_HELD 256
#define QUEUE (SEAM_REQUESTS_SIZE / sizeof(struct seam_wire_miss))
#define MANY (QUEUE + 100)
#define OURS 7
#define THEIRS 8
#define NFS 0x6969
/* Nothing here takes long: it never comes. */
#define NEVER_S 60

/* The ring, the files and the tables, as the thread and the test see them. */
static struct {
	pthread_mutex_t lock;
	int fd; /* readable while there is something */
	size_t n, taken; /* of MANY at most */
	uint32_t client;
	uint64_t fs_magic;
	size_t held;
	int fds[MANY];
	pthread_t holder;
	sem_t holds; /* posted for each */
	bool waits; /* the answer does, for another one to be opened */
	size_t served, in_order, with_file;
} world = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct seam_opener opener;

static struct seam_wire_miss request(size_t number)
{
	return (struct seam_wire_miss){
		.head = {.type = SEAM_WIRE_MISS, .time_ns = number},
		.key = {.ino = number},
		.client = world.client,
		.fs_magic = world.fs_magic,
	};
}

void __wrap_seam_kernel_serves(struct seam_kernel *k);
void __wrap_seam_kernel_serves(struct seam_kernel *k)
{
	(void)k;
}

uint32_t __wrap_seam_kernel_client(const struct seam_kernel *k);
uint32_t __wrap_seam_kernel_client(const struct seam_kernel *k)
{
	(void)k;
	return OURS;
}

int __wrap_seam_kernel_requests_fd(const struct seam_kernel *k);
int __wrap_seam_kernel_requests_fd(const struct seam_kernel *k)
{
	(void)k;
	return world.fd;
}

/* The next one's number, or SIZE_MAX. */
static size_t next(void)
{
	uint64_t n;
	size_t number = SIZE_MAX;

	pthread_mutex_lock(&world.lock);
	if (world.taken < world.n)
		number = world.taken++;
	if (world.taken == world.n)
		(void)!read(world.fd, &n, sizeof(n));
	pthread_mutex_unlock(&world.lock);
	return number;
}

int __wrap_seam_kernel_drain_requests(struct seam_kernel *k,
				      seam_request_fn *fn, void *ctx);
int __wrap_seam_kernel_drain_requests(struct seam_kernel *k,
				      seam_request_fn *fn, void *ctx)
{
	size_t number;
	bool goes_on = true;

	(void)k;
	while (goes_on && (number = next()) != SIZE_MAX) {
		struct seam_wire_miss miss = request(number);

		goes_on = fn(ctx, &miss);
	}
	return 0;
}

int __wrap_seam_tables_hold(struct seam_kernel *k, const struct seam_opener *o,
			    const struct seam_wire_miss *miss);
int __wrap_seam_tables_hold(struct seam_kernel *k, const struct seam_opener *o,
			    const struct seam_wire_miss *miss)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)k;
	(void)o;
	world.holder = pthread_self();
	world.fds[miss->key.ino] = fd;
	world.held++;
	sem_post(&world.holds);
	return fd;
}

/* So many more lie in the ring. */
static void ask(size_t n)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&world.lock);
	world.n += n;
	pthread_mutex_unlock(&world.lock);
	assert_int_equal(write(world.fd, &one, sizeof(one)), sizeof(one));
}

static void wait_for_hold(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += NEVER_S;
	assert_int_equal(sem_timedwait(&world.holds, &end), 0);
}

int __wrap_seam_tables_serve(struct seam_tables *t,
			     const struct seam_wire_miss *miss, int held);
int __wrap_seam_tables_serve(struct seam_tables *t,
			     const struct seam_wire_miss *miss, int held)
{
	(void)t;
	if (world.waits) {
		world.waits = false;
		ask(1);
		wait_for_hold();
	}
	world.in_order += miss->key.ino == world.served;
	world.served++;
	world.with_file += held >= 0 && held == world.fds[miss->key.ino];
	return 0;
}

static size_t open_files(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 4096; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static struct seam_requests *begin(const struct seam_opener *by,
				   uint32_t client)
{
	struct seam_requests *r;

	world.n = world.taken = world.held = 0;
	world.served = world.in_order = world.with_file = 0;
	world.fs_magic = 0;
	world.client = client;
	world.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	sem_init(&world.holds, 0, 0);
	assert_int_equal(seam_requests_open(NULL, NULL, by, &r), 0);
	return r;
}

static void end(struct seam_requests *r)
{
	assert_null(seam_requests_close(r));
	sem_destroy(&world.holds);
	close(world.fd);
}

static void answer(struct seam_requests *r, size_t n)
{
	struct pollfd fd = {.fd = seam_requests_fd(r), .events = POLLIN};

	while (world.served < n) {
		assert_int_equal(poll(&fd, 1, 1000 * NEVER_S), 1);
		assert_int_equal(seam_requests_answer(r), 0);
	}
	assert_int_equal(world.served, n);
	assert_int_equal(world.in_order, n);
}

static void opens_while_a_table_is_made(void **state)
{
	struct seam_requests *r = begin(NULL, THEIRS);

	(void)state;
	world.waits = true;
	ask(1);
	wait_for_hold();
	answer(r, 2);
	assert_int_equal(world.with_file, 2);
	end(r);
}

static size_t taken(void)
{
	size_t n;

	pthread_mutex_lock(&world.lock);
	n = world.taken;
	pthread_mutex_unlock(&world.lock);
	return n;
}

static void leaves_in_the_ring_what_has_no_room(void **state)
{
	const size_t before = open_files();
	struct seam_requests *r = begin(NULL, THEIRS);
	time_t since = time(NULL);

	(void)state;
	ask(MANY);
	while (taken() < QUEUE && time(NULL) < since + NEVER_S)
		sched_yield();
	usleep(50000);
	assert_int_equal(taken(), QUEUE);
	assert_int_equal(world.held, MAX_HELD);
	answer(r, MANY);
	assert_true(world.with_file >= MAX_HELD);
	end(r);
	assert_int_equal(open_files(), before);
}

static void closes_what_nobody_answered(void **state)
{
	const size_t before = open_files();
	struct seam_requests *r = begin(NULL, OURS);

	(void)state;
	ask(3);
	for (int i = 0; i < 3; i++)
		wait_for_hold();
	end(r);
	assert_int_equal(open_files(), before);
}

static int take(struct seam_requests *r, size_t number)
{
	const struct seam_file_key key = {.ino = number};

	return seam_requests_take(r, &key);
}

static bool is_open(size_t number)
{
	return fcntl(world.fds[number], F_GETFD) >= 0;
}

static void keeps_ours_for_their_turn(void **state)
{
	struct seam_requests *r = begin(NULL, OURS);

	(void)state;
	ask(4);
	answer(r, 4);
	assert_int_equal(take(r, 1), world.fds[1]);
	assert_true(take(r, 1) < 0);
	seam_requests_pass(r, 2);
	assert_false(is_open(0));
	assert_true(is_open(1) && is_open(2) && is_open(3));
	assert_true(take(r, 0) < 0);
	assert_int_equal(take(r, 2), world.fds[2]);
	end(r);
	assert_false(is_open(3));
	assert_true(is_open(1) && is_open(2));
	close(world.fds[1]);
	close(world.fds[2]);
}

static void keeps_none_of_others(void **state)
{
	struct seam_requests *r = begin(NULL, THEIRS);

	(void)state;
	ask(1);
	answer(r, 1);
	assert_int_equal(world.with_file, 1);
	assert_false(is_open(0));
	assert_true(take(r, 0) < 0);
	end(r);
}

static void leaves_far_files_closed(void **state)
{
	struct seam_requests *r = begin(NULL, THEIRS);

	(void)state;
	world.fs_magic = NFS;
	ask(1);
	answer(r, 1);
	assert_int_equal(world.held, 0);
	end(r);
}

/* Which is spoken to by one thread. */
static void asks_an_opener_where_it_answers(void **state)
{
	struct seam_requests *r = begin(&opener, THEIRS);

	(void)state;
	ask(2);
	answer(r, 2);
	assert_int_equal(world.with_file, 2);
	assert_true(pthread_equal(world.holder, pthread_self()));
	end(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_while_a_table_is_made),
		cmocka_unit_test(leaves_in_the_ring_what_has_no_room),
		cmocka_unit_test(closes_what_nobody_answered),
		cmocka_unit_test(keeps_ours_for_their_turn),
		cmocka_unit_test(keeps_none_of_others),
		cmocka_unit_test(leaves_far_files_closed),
		cmocka_unit_test(asks_an_opener_where_it_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
