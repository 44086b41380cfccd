// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Any bytes as a file of the table cache. What a load gives is the file's
 * table, which the verifier accepts and the kernel side's layout repeats, or
 * the one that converting gives.
 *
 * With the first byte odd the rest is such a file. Else it is what stands in
 * one from the statistics on, behind a header that is right: no mutation would
 * find the checksum. What the verifier refuses is then loaded only if bit 1 is
 * set, for converting anew takes long.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/layout.h"
#include "sframe/verify.h"
#include "table/cache-priv.h"
#include "table/fingerprint.h"
#include "table/table.h"
#include "tests/unit/table/image.h"

#define NOTE 0x3000
#define FILE_MAX (1 << 20)
/* In a cache file: the checksum, what it covers, and the table's length. */
#define CRC_AT 12
#define CRC_FROM 16
#define LENGTH_AT 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	struct image image;
	struct seam_elf *elf;
	struct seam_table_cache *cache;
	struct seam_table_stats stats;
	uint8_t *table; /* that converting gives */
	size_t size;
	uint8_t good[4096]; /* the file that is stored of it */
	size_t head; /* of that, before the statistics; before the table */
	size_t table_at;
	char dir[64], path[128];
} f;

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void make_image(void)
{
	static const uint8_t ops[] = {0x41, 14, 16, 0x86, 2, 0x48, 13, 6};
	const Elf64_Nhdr note = {4, 4, NT_GNU_BUILD_ID};

	image_init(&f.image, ET_DYN, 0);
	image_segment(&f.image, 0, IMAGE_SVMA, IMAGE_SIZE, PF_R | PF_X);
	image_segment(&f.image, NOTE, IMAGE_SVMA + NOTE, sizeof(note) + 8,
		      PF_R);
	((Elf64_Phdr *)(f.image.bytes + sizeof(Elf64_Ehdr)))[1].p_type =
		PT_NOTE;
	memcpy(f.image.bytes + NOTE, &note, sizeof(note));
	memcpy(f.image.bytes + NOTE + sizeof(note), "GNU\0seam", 8);
	image_fde(&f.image, IMAGE_SVMA + 0x1000, 0x80, false, ops, sizeof(ops));
	image_finish(&f.image);
}

static void clean(void)
{
	unlink(f.path);
	rmdir(f.dir);
}

/* Where the cache keeps its file, and what a right header is. */
static void begin(void)
{
	uint8_t *bytes;
	size_t size;
	char name[SEAM_CACHE_NAME_SIZE];
	FILE *file;

	make_image();
	check(!seam_elf_open_mem(f.image.bytes, IMAGE_SIZE, &f.elf, NULL));
	check(!seam_table_build_kernel(f.elf, &f.table, &f.size, &f.stats,
				       NULL));
	snprintf(f.dir, sizeof(f.dir), "%s/seam-fuzz-XXXXXX",
		 access("/dev/shm", W_OK) ? P_tmpdir : "/dev/shm");
	check(mkdtemp(f.dir) && !seam_table_cache_open(f.dir, &f.cache));
	check(!seam_table_load_kernel(f.cache, f.elf, &bytes, &size, NULL,
				      NULL));
	free(bytes);
	seam_cache_name(name, (const uint8_t *)"seam", 4, 'k',
			SEAM_CACHE_VERSION);
	snprintf(f.path, sizeof(f.path), "%s/%s", f.dir, name);
	file = fopen(f.path, "rb");
	check(file);
	size = fread(f.good, 1, sizeof(f.good), file);
	fclose(file);
	check(size > f.size && size < sizeof(f.good));
	f.table_at = size - f.size;
	f.head = f.table_at - sizeof(f.stats);
	atexit(clean);
}

/* A file of the rest behind a header that is right. Return: its size. */
static size_t mend(const uint8_t *data, size_t size, uint8_t *to)
{
	uint64_t length = 0;
	uint32_t crc;

	memcpy(to, f.good, f.head);
	memcpy(to + f.head, data, size);
	size += f.head;
	if (size > f.table_at)
		length = size - f.table_at;
	memcpy(to + LENGTH_AT, &length, sizeof(length));
	crc = seam_crc32(0, to + CRC_FROM, size - CRC_FROM);
	memcpy(to + CRC_AT, &crc, sizeof(crc));
	return size;
}

static void write_file(const uint8_t *bytes, size_t size)
{
	int fd = open(f.path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	check(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

static bool is_table(const uint8_t *bytes, size_t len)
{
	const struct seam_sframe_limits limits = {
		.flags = SEAM_SFRAME_VERIFY_KERNEL,
		.text_end = IMAGE_SIZE,
	};

	return !seam_sframe_verify(bytes, len, &limits, NULL);
}

static void check_loaded(const uint8_t *file, size_t size, const uint8_t *bytes,
			 size_t len)
{
	if (len == f.size && !memcmp(bytes, f.table, len))
		return;
	check(size == f.table_at + len &&
	      !memcmp(bytes, file + f.table_at, len));
	check(is_table(bytes, len));
	check_layout(bytes, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t file[FILE_MAX];
	uint8_t *bytes;
	size_t len;

	if (!f.elf)
		begin();
	if (!size || size > FILE_MAX - sizeof(f.good))
		return 0;
	if (data[0] & 1)
		memcpy(file, data + 1, --size);
	else
		size = mend(data + 1, size - 1, file);
	if (!(data[0] & 3) && (size < f.table_at ||
			       !is_table(file + f.table_at, size - f.table_at)))
		return 0;
	write_file(file, size);
	check(!seam_table_load_kernel(f.cache, f.elf, &bytes, &len, NULL,
				      NULL));
	check_loaded(file, size, bytes, len);
	free(bytes);
	return 0;
}
