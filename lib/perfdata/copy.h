/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Copies a recording record by record, in the order of the file, with some of
 * its records changed. What the caller does not change stays byte for byte:
 * records that the reader only reads over, ids, features, the data of AUX and
 * of tracing, the byte order. These differ:
 *
 * - No event asks for deferral any more, in its attribute and in the
 *   description of events, which has the attributes a second time; or each
 *   that has call chains does, or nothing is changed, if the caller says so.
 * - Attributes that are longer than perf 6.1 knows are cut, if that cuts zeros
 *   alone: it would not open the file. One that says something there is
 *   -EOPNOTSUPP, unless the copy is for those who know deferral, where it
 * stays.
 * - What was compressed is not; a folder of files becomes one file, without
 *   the marks of rounds, which told of the order in each of them.
 * - Records that contradict themselves are left out, as the reader counted
 *   them, and a file that was cut off is whole up to its last whole record.
 * - The index of AUX data says where it is now.
 * - Tracing data have one tracepoint more, if the caller wants it.
 * - A pipe's recording becomes a file, if the caller wants it: what its records
 *   say of events, features, tracing and build-ids is where a file has it, and
 *   these records are gone. Without events it stays a pipe's: no file is read
 *   that has none.
 */
#ifndef SEAM_LIB_PERFDATA_COPY_H
#define SEAM_LIB_PERFDATA_COPY_H

#include "perfdata/reader.h"

struct seam_pd_bytes {
	const void *p;
	size_t len;
};

enum seam_pd_edit { SEAM_PD_KEEP, SEAM_PD_LEAVE_OUT, SEAM_PD_REPLACE };

struct seam_pd_editor {
	/* bytes: a record that seam_pd_n_records counts, in the recording's
	 * byte order; rec: the same, read. With SEAM_PD_REPLACE, ret is what
	 * to write; it may go at the next call.
	 * Return: enum seam_pd_edit or -errno. */
	int (*edit)(void *ctx, const uint8_t *bytes,
		    const struct seam_pd_rec *rec, struct seam_pd_bytes *ret);
	void *ctx;
	bool defers; /* events with call chains ask for deferral */
	bool to_file; /* a pipe's recording gets the form for files */
	bool as_it_was; /* they say of it what they said */
	/* SEAM_PD_PAYLOAD_LOST is described, if it can be: tracing data that
	 * do not are longer. */
	bool tells_lost;
};

/* Whether there are tracing data in which it can be described. */
bool seam_pd_can_tell_lost(const struct seam_pd_reader *r);

/* fd: an empty file, which can be written at any place. Return: 0 or -errno. */
int seam_pd_copy(struct seam_pd_reader *r, int fd,
		 const struct seam_pd_editor *editor);

/* All bytes as they are; cut: but for attributes longer than perf 6.1 knows,
 * of which it says how many were cut. Return: 0; -EISDIR: it is a folder;
 * -EOPNOTSUPP, as in the copy; -errno. */
int seam_pd_copy_bytes(struct seam_pd_reader *r, int fd, bool cut,
		       uint64_t *ret_cut);

/* All records as they are, attributes cut as above, but nothing compressed;
 * to_file: as above; defers: who reads it knows deferral, and long attributes.
 * Return: the same. */
int seam_pd_copy_plain(struct seam_pd_reader *r, int fd, bool to_file,
		       bool defers, uint64_t *ret_cut);

#endif
