/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The order in which ways to find a frame are tried, as people write it. */
#ifndef SEAM_LIB_EVENT_ORDER_H
#define SEAM_LIB_EVENT_ORDER_H

#include <stdint.h>

#define SEAM_DEFAULT_ORDER "sframe,fp"

/*
 * "sframe,fp,guess" to enum seam_unwind_how. sframe and fp come in either
 * order, or one alone; guess or guess-all last, or alone.
 * Return: NULL, or what is wrong with it, in words.
 */
const char *seam_order_parse(const char *order, uint32_t *ret);

#endif
