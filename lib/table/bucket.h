/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Fills a bucket of a table that is laid out (core/bucket.h). */
#ifndef SEAM_LIB_TABLE_BUCKET_H
#define SEAM_LIB_TABLE_BUCKET_H

#include <stdint.h>

#include "core/bucket.h"

/*
 * rows: those of the page, n from 1 to 256, the first at 0, in a table's form.
 * shorts: of the rules, by their numbers. The rows that have no place in the
 * bucket come first in rows then, and the table's first row of the page is to
 * be first_row. to: the bucket, all zero.
 * Return: how many have no place.
 */
uint32_t seam_bucket_fill(uint32_t *rows, uint32_t n, const uint16_t *shorts,
			  uint32_t first_row, uint8_t *to);

#endif
