// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "kernel/arena.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* AddressSanitizer's shadow lies below; ThreadSanitizer leaves room only
 * there. */
#ifdef __SANITIZE_THREAD__
#define FIRST_ADDR (1ULL << 38)
#else
#define FIRST_ADDR (1ULL << 45)
#endif
#define SLOTS 16
#define SLOT_SIZE (1ULL << 32)

/* It is the process that has one address space. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot {
	uint32_t users; /* sessions */
	bool is_kept; /* for an arena that is being made */
	uint32_t id; /* of the map */
	size_t size;
} slots[SLOTS];

static pid_t owner; /* of the slots, by the process */

/* A child of fork has no arena mapped: where one is, kernels before Linux 7.1
 * take it for the parent's when pages are given back. */
static void take_lock(void)
{
	pthread_mutex_lock(&lock);
	if (owner != getpid())
		memset(slots, 0, sizeof(slots));
	owner = getpid();
}

static uint64_t address_of(size_t slot)
{
	return FIRST_ADDR + slot * SLOT_SIZE;
}

/* Whether nothing lies there, of whoever else in the process. */
static bool is_free(size_t slot)
{
	const size_t size = SLOT_SIZE / 2;
	void *at = mmap((void *)address_of(slot), size, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
				MAP_FIXED_NOREPLACE,
			-1, 0);

	if (at == MAP_FAILED)
		return false;
	munmap(at, size);
	return true;
}

uint64_t seam_arena_address(uint64_t hint)
{
	uint64_t found = 0;

	take_lock();
	for (size_t i = 0; !found && i < SLOTS; i++) {
		size_t slot = (hint + i) % SLOTS;

		if (slots[slot].users || slots[slot].is_kept || !is_free(slot))
			continue;
		slots[slot].is_kept = true;
		found = address_of(slot);
	}
	pthread_mutex_unlock(&lock);
	return found;
}

void seam_arena_give_back(uint64_t address)
{
	take_lock();
	slots[(address - FIRST_ADDR) / SLOT_SIZE].is_kept = false;
	pthread_mutex_unlock(&lock);
}

static int map_there(int fd, size_t slot, uint32_t id, size_t size)
{
	struct slot *s = &slots[slot];
	void *at;

	if (s->users && (s->id != id || s->size != size))
		return -EBUSY;
	if (s->users++)
		return 0;
	at = mmap((void *)address_of(slot), size, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
	if (at == MAP_FAILED) {
		s->users = 0;
		return errno == EEXIST ? -EBUSY : -errno;
	}
	(void)madvise(at, size, MADV_DONTFORK);
	s->id = id;
	s->size = size;
	return 0;
}

int seam_arena_map(int fd, size_t size, uint64_t kept, void **ret)
{
	struct bpf_map_info info = {0};
	uint32_t info_size = sizeof(info);
	uint64_t slot;
	int err;

	if (bpf_obj_get_info_by_fd(fd, &info, &info_size))
		return -errno;
	slot = (info.map_extra - FIRST_ADDR) / SLOT_SIZE;
	if (slot >= SLOTS || info.map_extra != address_of(slot))
		return -EINVAL; /* another's */
	take_lock();
	if (slots[slot].is_kept && kept != info.map_extra)
		err = -EBUSY;
	else
		err = map_there(fd, slot, info.id, size);
	if (!err)
		slots[slot].is_kept = false;
	pthread_mutex_unlock(&lock);
	if (!err)
		*ret = (void *)address_of(slot);
	return err;
}

void seam_arena_unmap(void *at)
{
	size_t slot = ((uint64_t)(uintptr_t)at - FIRST_ADDR) / SLOT_SIZE;

	take_lock();
	if (slots[slot].users && !--slots[slot].users)
		munmap(at, slots[slot].size);
	pthread_mutex_unlock(&lock);
}
