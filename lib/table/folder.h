/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The folder of the disk cache, for all that is kept in it. Who reads from it
 * believes no name: a file has to be ours, and whole, which is the reader's to
 * check by what it wrote there itself.
 */
#ifndef SEAM_LIB_TABLE_FOLDER_H
#define SEAM_LIB_TABLE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/uio.h>

/* dir: NULL: the user's own. It is made if it is not there. Return: 0; -ENOENT:
 * there is no place for one; -EPERM: others may write there; -errno. */
int seam_cache_folder(const char *dir, int *ret_fd);

/* Return: a descriptor to read from; -EPERM: others may write it; -errno. */
int seam_cache_read(int dir, const char *name, struct stat *ret_st);

/* Return: 0; -EINVAL: it is shorter; -errno. */
int seam_cache_read_all(int fd, void *to, size_t size);

/* Others see the old file, or the new one whole. parts is changed. Without
 * fsync: what a crash cuts short must not be believed. */
int seam_cache_write(int dir, const char *name, struct iovec *parts, int n);

/* Of any size, fast, and no proof against those who want it the same. */
uint64_t seam_cache_hash(uint64_t hash, const void *bytes, size_t size);

#endif
