// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what waits in a ring behind a record that its writer has yet to
 * fill: the worker is told that copies of until then may come, and the end of a
 * recording waits for what is there by then, though others' records never stop
 * coming, and not for ever. And what comes that is no record is counted. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "capture/session-priv.h"

#define NEVER UINT64_MAX

static struct {
	struct seam_session s;
	uint64_t put, taken;
	uint64_t held; /* readings until the writer runs again */
	size_t readings, naps;
	uint64_t until_ns; /* that the worker was told last */
	/* The only thing that comes as a sample or stack, if it has a size. */
	struct seam_wire_sample sample;
	struct seam_wire_stack stack;
	size_t sample_size, stack_size;
} t;

/* As much comes between any two looks. */
struct seam_kernel_put __wrap_seam_kernel_put(const struct seam_kernel *k);
struct seam_kernel_put __wrap_seam_kernel_put(const struct seam_kernel *k)
{
	(void)k;
	t.put += 64;
	return (struct seam_kernel_put){.samples = t.put, .copies = t.put};
}

bool __wrap_seam_kernel_copies_taken(const struct seam_kernel *k,
				     const struct seam_kernel_put *put);
bool __wrap_seam_kernel_copies_taken(const struct seam_kernel *k,
				     const struct seam_kernel_put *put)
{
	(void)k;
	return t.taken >= put->copies;
}

bool __wrap_seam_kernel_all_taken(const struct seam_kernel *k,
				  const struct seam_kernel_put *put);
bool __wrap_seam_kernel_all_taken(const struct seam_kernel *k,
				  const struct seam_kernel_put *put)
{
	(void)k;
	return t.taken >= put->copies;
}

int __wrap_seam_kernel_drain_copies(struct seam_kernel *k, seam_record_fn *fn,
				    void *ctx);
int __wrap_seam_kernel_drain_copies(struct seam_kernel *k, seam_record_fn *fn,
				    void *ctx)
{
	(void)k;
	(void)fn;
	(void)ctx;
	t.readings++;
	if (!t.held)
		t.taken = t.put;
	else if (t.held != NEVER)
		t.held--;
	return 0;
}

int __wrap_seam_kernel_drain_samples(struct seam_kernel *k, seam_record_fn *fn,
				     void *ctx);
int __wrap_seam_kernel_drain_samples(struct seam_kernel *k, seam_record_fn *fn,
				     void *ctx)
{
	(void)k;
	if (t.sample_size)
		fn(ctx, &t.sample.head, t.sample_size);
	if (t.stack_size)
		fn(ctx, &t.stack.head, t.stack_size);
	return 0;
}

int __wrap_seam_kernel_drain_losses(struct seam_kernel *k, seam_record_fn *fn,
				    void *ctx);
int __wrap_seam_kernel_drain_losses(struct seam_kernel *k, seam_record_fn *fn,
				    void *ctx)
{
	(void)k;
	(void)fn;
	(void)ctx;
	return 0;
}

size_t __wrap_seam_kernel_slices(const struct seam_kernel *k);
size_t __wrap_seam_kernel_slices(const struct seam_kernel *k)
{
	(void)k;
	return 1;
}

void __wrap_seam_kernel_rearm(const struct seam_kernel *k);
void __wrap_seam_kernel_rearm(const struct seam_kernel *k)
{
	(void)k;
}

void __wrap_seam_kernel_detach(struct seam_kernel *k);
void __wrap_seam_kernel_detach(struct seam_kernel *k)
{
	(void)k;
}

void __wrap_seam_kernel_want_all(struct seam_kernel *k, bool wants);
void __wrap_seam_kernel_want_all(struct seam_kernel *k, bool wants)
{
	(void)k;
	(void)wants;
}

int __wrap_seam_kernel_take_sleepers(struct seam_kernel *k);
int __wrap_seam_kernel_take_sleepers(struct seam_kernel *k)
{
	(void)k;
	return 0;
}

long __wrap_seam_sideband_read(struct seam_sideband *sb, uint64_t lag_ns,
			       struct seam_side_record **ret,
			       uint64_t *ret_lost);
long __wrap_seam_sideband_read(struct seam_sideband *sb, uint64_t lag_ns,
			       struct seam_side_record **ret,
			       uint64_t *ret_lost)
{
	(void)sb;
	(void)lag_ns;
	(void)ret;
	(void)ret_lost;
	return 0;
}

long __wrap_seam_worker_take(struct seam_worker *w, struct seam_unwound **ret);
long __wrap_seam_worker_take(struct seam_worker *w, struct seam_unwound **ret)
{
	(void)w;
	(void)ret;
	return 0;
}

size_t __wrap_seam_worker_held(struct seam_worker *w);
size_t __wrap_seam_worker_held(struct seam_worker *w)
{
	(void)w;
	return 0;
}

int __wrap_seam_worker_give(struct seam_worker *w, struct seam_batch *copies,
			    struct seam_held *held,
			    const struct seam_worker_side *side);
int __wrap_seam_worker_give(struct seam_worker *w, struct seam_batch *copies,
			    struct seam_held *held,
			    const struct seam_worker_side *side)
{
	(void)w;
	(void)copies;
	(void)held;
	assert_true(side->until_ns >= t.until_ns);
	t.until_ns = side->until_ns;
	return 0;
}

void __wrap_seam_worker_wait(struct seam_worker *w);
void __wrap_seam_worker_wait(struct seam_worker *w)
{
	(void)w;
}

int __wrap_nanosleep(const struct timespec *ts, struct timespec *left);
int __wrap_nanosleep(const struct timespec *ts, struct timespec *left)
{
	(void)ts;
	(void)left;
	t.naps++;
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	/* Nobody looks into these. */
	t.s.kernel = (struct seam_kernel *)&t;
	t.s.worker = (struct seam_worker *)&t;
	t.s.engine = SEAM_ENGINE_DEFERRED;
	t.s.running = true;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	seam_batch_fini(&t.s.samples);
	seam_batch_fini(&t.s.copies);
	seam_batch_fini(&t.s.losses);
	return 0;
}

static void until(void **state)
{
	uint64_t before_ns = seam_now_ns(), first_ns;

	(void)state;
	assert_int_equal(seam_session_read(&t.s), 0);
	first_ns = t.until_ns;
	assert_in_range(first_ns, before_ns, seam_now_ns());
	t.held = 3;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(seam_session_read(&t.s), 0);
		assert_int_equal(t.until_ns, first_ns);
	}
	before_ns = seam_now_ns();
	assert_int_equal(seam_session_read(&t.s), 0);
	assert_in_range(t.until_ns, before_ns, seam_now_ns());
}

/* Held up as the recording ends, too. */
static void at_the_end(void **state)
{
	uint64_t until_ns;

	(void)state;
	assert_int_equal(seam_session_read(&t.s), 0);
	until_ns = t.until_ns;
	t.held = 10;
	assert_int_equal(seam_session_stop(&t.s), 0);
	assert_int_equal(t.held, 0);
	assert_in_range(t.until_ns, until_ns + 1, seam_now_ns());
	/* What goes on coming is not waited for. */
	assert_in_range(t.readings, 12, 20);
}

static void busy(void **state)
{
	(void)state;
	assert_int_equal(seam_session_stop(&t.s), 0);
	assert_in_range(t.readings, 3, 6);
}

static void never(void **state)
{
	(void)state;
	t.held = NEVER;
	assert_int_equal(seam_session_stop(&t.s), -ETIMEDOUT);
	assert_in_range(t.naps, 1000, 3000);
	/* The last reading hands out what the worker has done. */
	assert_in_range(t.readings, t.naps, t.naps + 6);
}

static void on_sample(void *ctx, const struct seam_sample *sample)
{
	(void)ctx;
	(void)sample;
	t.readings = 0;
}

static void on_stack(void *ctx, const struct seam_user_stack *stack)
{
	(void)ctx;
	(void)stack;
	t.readings = 0;
}

/* Of one reading, which hands nothing out. */
static uint64_t malformed(void)
{
	t.s.client.on_sample = on_sample;
	t.s.client.on_stack = on_stack;
	t.s.n_events = 1;
	t.s.lost_malformed = 0;
	t.readings = 0;
	assert_int_equal(seam_session_read(&t.s), 0);
	assert_int_equal(t.readings, 1);
	return t.s.lost_malformed;
}

static void no_samples(void **state)
{
	(void)state;
	t.sample_size = sizeof(t.sample);
	assert_int_equal(malformed(), 1); /* it is of no type */
	t.sample.head.type = SEAM_WIRE_SAMPLE;
	t.sample.nr = 1;
	assert_int_equal(malformed(), 1);
	t.sample.nr = 0;
	t.sample.event = 1;
	assert_int_equal(malformed(), 1);
	t.sample.event = 0;
	t.sample_size--;
	assert_int_equal(malformed(), 1);
}

static void no_stacks(void **state)
{
	(void)state;
	t.stack_size = sizeof(t.stack);
	t.stack.head.type = SEAM_WIRE_STACK;
	t.stack.nr = 1;
	assert_int_equal(malformed(), 1);
	t.stack.nr = 0;
	t.stack.flags = SEAM_STACK_REGS;
	assert_int_equal(malformed(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(until, set_up, tear_down),
		cmocka_unit_test_setup_teardown(at_the_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(busy, set_up, tear_down),
		cmocka_unit_test_setup_teardown(never, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_samples, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_stacks, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
