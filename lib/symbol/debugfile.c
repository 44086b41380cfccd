/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbol/debugfile.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/doubt.h"
#include "elf/fetched.h"

/* Files up to here are read into memory, so that one which is cut short
 * meanwhile is no SIGBUS. Larger ones are debug files of a distribution. */
#define COPY_MAX (256 << 20)
/* The largest MiniDebugInfo in Fedora unpacks to about 30 MiB. */
#define MINI_MAX (256u << 20)
#define MINI_MEMORY (256u << 20)

int seam_symbol_open(const char *path, int parts, bool may_doubt,
		     struct seam_elf **ret)
{
	struct stat st;
	int fd = seam_doubt_open(path, 0, may_doubt, &st), rc = -EFBIG;

	if (fd < 0)
		return fd;
	if (parts != SEAM_ELF_SOURCE || st.st_size <= COPY_MAX)
		rc = seam_elf_open_fd(fd, parts, ret, NULL);
	if (rc == -EFBIG)
		rc = seam_elf_open_fd(
			fd, st.st_size <= COPY_MAX ? SEAM_ELF_COPY : 0, ret,
			NULL);
	close(fd);
	return rc;
}

int seam_symbol_open_elf(const char *path, struct seam_elf **ret)
{
	return seam_symbol_open(path, SEAM_ELF_SOURCE, false, ret);
}

int seam_symbol_open_names(const char *path, struct seam_elf **ret)
{
	return seam_symbol_open(path, SEAM_ELF_NAMES, false, ret);
}

static bool has_build_id(const struct seam_elf *elf, const uint8_t *id,
			 size_t id_len)
{
	uint8_t is[SEAM_BUILD_ID_MAX];

	return seam_elf_build_id(elf, is) == id_len && !memcmp(is, id, id_len);
}

static int open_by_build_id(const char *path, const uint8_t *id, size_t id_len,
			    int parts, struct seam_elf **ret)
{
	struct seam_elf *elf;
	int rc = seam_symbol_open(path, parts, true, &elf);

	if (rc)
		return rc;
	if (!has_build_id(elf, id, id_len)) {
		seam_elf_close(elf);
		return -ESTALE;
	}
	*ret = elf;
	return 0;
}

/* It is there, and that is worth a word. */
static bool is_refusal(int rc)
{
	return rc == SEAM_DOUBTED || rc == -ESTALE;
}

static bool hex_of(char ret[static 2 * SEAM_BUILD_ID_MAX + 1],
		   const uint8_t *id, size_t id_len)
{
	if (id_len < 2 || id_len > SEAM_BUILD_ID_MAX)
		return false;
	for (size_t i = 0; i < id_len; i++)
		sprintf(ret + 2 * i, "%02x", id[i]);
	return true;
}

static bool name_debug(char to[static PATH_MAX], const char *root,
		       const char *hex, unsigned int i)
{
	int n;

	if (i == 1)
		return seam_fetched_name(to, hex, "debuginfo");
	if (i == 2)
		return seam_perf_kept_name(to, hex, "debug");
	n = snprintf(to, PATH_MAX, "%s/.build-id/%.2s/%s.debug", root, hex,
		     hex + 2);
	return n > 0 && n < PATH_MAX;
}

int seam_debugfile_by_build_id(const char *root, const uint8_t *id,
			       size_t id_len, int parts, struct seam_elf **ret,
			       char ret_path[static PATH_MAX])
{
	char hex[2 * SEAM_BUILD_ID_MAX + 1], at[PATH_MAX];
	int now, rc = -ENOENT;

	if (!hex_of(hex, id, id_len))
		return -ENOENT;
	for (unsigned int i = 0; i < 3; i++) {
		if (!name_debug(at, root, hex, i))
			continue;
		now = open_by_build_id(at, id, id_len, parts, ret);
		if (now && is_refusal(rc))
			continue;
		strcpy(ret_path, at);
		if (!now)
			return 0;
		rc = now;
	}
	return rc;
}

int seam_debugfile_kept(const char *path, const uint8_t *id, size_t id_len,
			int parts, struct seam_elf **ret,
			char ret_path[static PATH_MAX])
{
	const char *what = strcmp(path, "[vdso]") ? "elf" : "vdso";
	char hex[2 * SEAM_BUILD_ID_MAX + 1], at[PATH_MAX];
	int now, rc = -ENOENT;

	if (!hex_of(hex, id, id_len))
		return -ENOENT;
	if (seam_perf_kept_name(ret_path, hex, what))
		rc = open_by_build_id(ret_path, id, id_len, parts, ret);
	if (!rc || !seam_fetched_name(at, hex, "executable"))
		return rc;
	now = open_by_build_id(at, id, id_len, parts, ret);
	if (now && is_refusal(rc))
		return rc;
	strcpy(ret_path, at);
	return now;
}

struct link {
	char name[NAME_MAX + 1];
	uint32_t crc;
};

/* A name, zeros up to a multiple of 4, the CRC-32 of the file it names. */
static int read_link(const struct seam_elf *elf, struct link *ret)
{
	struct seam_elf_section sec;
	size_t len, at;

	if (seam_elf_section(elf, ".gnu_debuglink", &sec))
		return -ENOENT;
	len = strnlen((const char *)sec.data, sec.size);
	at = (len + 4) & ~(size_t)3;
	if (!len || len > NAME_MAX || at > sec.size || sec.size - at < 4 ||
	    memchr(sec.data, '/', len))
		return -EINVAL;
	memcpy(ret->name, sec.data, len);
	ret->name[len] = '\0';
	memcpy(&ret->crc, sec.data + at, 4);
	return 0;
}

static int try_link(const char *path, const struct link *link,
		    const struct seam_elf *of, struct seam_elf **ret)
{
	uint8_t id[SEAM_BUILD_ID_MAX], its[SEAM_BUILD_ID_MAX];
	size_t size, id_len, its_len;
	const uint8_t *bytes;
	struct seam_elf *elf;
	int rc;

	rc = seam_symbol_open(path, SEAM_ELF_SOURCE, true, &elf);
	if (rc)
		return rc;
	bytes = seam_elf_bytes(elf, &size);
	id_len = seam_elf_build_id(of, id);
	its_len = seam_elf_build_id(elf, its);
	if ((id_len && its_len && !has_build_id(elf, id, id_len)) ||
	    lzma_crc32(bytes, size, 0) != link->crc) {
		seam_elf_close(elf);
		return -ESTALE;
	}
	*ret = elf;
	return 0;
}

int seam_debugfile_by_link(const char *root, const char *path,
			   const struct seam_elf *elf, struct seam_elf **ret,
			   char ret_path[static PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	int dir_len = slash ? (int)(slash - path) : 0;
	char at[PATH_MAX];
	struct link link;
	int rc, now, n;

	if (!slash || strlen(path) >= PATH_MAX)
		return -ENOENT;
	rc = read_link(elf, &link);
	if (rc)
		return rc;
	rc = -ENOENT;
	for (int i = 0; i < 3; i++) {
		n = snprintf(at, PATH_MAX, "%s%.*s/%s%s", i == 2 ? root : "",
			     dir_len, path, i == 1 ? ".debug/" : "", link.name);
		if (n < 0 || n >= PATH_MAX)
			continue;
		now = try_link(at, &link, elf, ret);
		if (!now || now == SEAM_DOUBTED)
			strcpy(ret_path, at);
		if (!now)
			return 0;
		if (rc != SEAM_DOUBTED)
			rc = now;
	}
	return rc;
}

/* A name, a zero, and the build-id of the file it names. */
struct alt_link {
	char name[PATH_MAX];
	const uint8_t *id;
	size_t id_len;
};

static int read_alt(const struct seam_elf *elf, struct alt_link *ret)
{
	struct seam_elf_section sec;
	size_t len;

	if (seam_elf_section(elf, ".gnu_debugaltlink", &sec))
		return -ENODATA;
	len = strnlen((const char *)sec.data, sec.size);
	if (!len || len == sec.size || len >= PATH_MAX)
		return -EINVAL;
	memcpy(ret->name, sec.data, len + 1);
	ret->id = sec.data + len + 1;
	ret->id_len = sec.size - len - 1;
	return ret->id_len && ret->id_len <= SEAM_BUILD_ID_MAX ? 0 : -EINVAL;
}

/* A relative name starts where the file really is: what is found by build-id
 * may be a symbolic link. */
static int name_alt(const char *path, const struct alt_link *link,
		    char ret[static PATH_MAX])
{
	char real[PATH_MAX], *slash;
	int n;

	if (link->name[0] == '/') {
		strcpy(ret, link->name);
		return 0;
	}
	if (!realpath(path, real))
		return -errno;
	slash = strrchr(real, '/');
	n = snprintf(ret, PATH_MAX, "%.*s/%s", (int)(slash - real), real,
		     link->name);
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int seam_debugfile_alt(const char *root, const char *path,
		       const struct seam_elf *elf, struct seam_elf **ret)
{
	char found[PATH_MAX];
	struct alt_link link;
	int rc = read_alt(elf, &link);

	if (rc)
		return rc;
	if (!seam_debugfile_by_build_id(root, link.id, link.id_len,
					SEAM_ELF_SOURCE, ret, found))
		return 0;
	rc = name_alt(path, &link, found);
	return rc ? rc
		  : open_by_build_id(found, link.id, link.id_len,
				     SEAM_ELF_SOURCE, ret);
}

static int unpack(const struct seam_elf_section *packed, uint8_t **ret,
		  size_t *ret_size)
{
	lzma_stream xz = LZMA_STREAM_INIT;
	size_t room = 4 * packed->size + 65536;
	uint8_t *out = NULL, *more;
	lzma_ret lz;
	int rc = 0;

	if (lzma_stream_decoder(&xz, MINI_MEMORY, 0) != LZMA_OK)
		return -ENOMEM;
	xz.next_in = packed->data;
	xz.avail_in = packed->size;
	do {
		if (!xz.avail_out) {
			room = out ? 2 * room : room;
			more = room <= MINI_MAX ? realloc(out, room) : NULL;
			if (!more) {
				rc = -ENOMEM;
				break;
			}
			out = more;
			xz.next_out = out + xz.total_out;
			xz.avail_out = room - xz.total_out;
		}
		lz = lzma_code(&xz, LZMA_FINISH);
	} while (lz == LZMA_OK);
	if (!rc && lz != LZMA_STREAM_END)
		rc = -EINVAL;
	if (rc) {
		free(out);
	} else {
		*ret = out;
		*ret_size = xz.total_out;
	}
	lzma_end(&xz);
	return rc;
}

int seam_debugfile_mini(const struct seam_elf *elf, struct seam_elf **ret,
			uint8_t **ret_bytes)
{
	struct seam_elf_section packed;
	uint8_t *bytes;
	size_t size;
	int rc;

	if (seam_elf_section(elf, ".gnu_debugdata", &packed))
		return -ENOENT;
	if (packed.size > MINI_MAX / 8)
		return -EFBIG;
	rc = unpack(&packed, &bytes, &size);
	if (rc)
		return rc;
	rc = seam_elf_open_mem(bytes, size, ret, NULL);
	if (rc)
		free(bytes);
	else
		*ret_bytes = bytes;
	return rc;
}
