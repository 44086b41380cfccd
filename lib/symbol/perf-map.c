// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "symbol/perf-map.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ranges.h"
#include "base/search.h"
#include "symbol/perf-sweep.h"

/* perf's rule, and two kinds of names that it does not know: those that
 * processes give to their memory, and files without a name. */
bool seam_perf_map_has(const char *path)
{
	static const char *const begins[] = {
		"/anon_hugepage", "/dev/zero", "/SYSV",
		"/memfd:",	  "[anon",     "[stack",
	};

	if (!strcmp(path, "//anon") || !strcmp(path, "[heap]"))
		return true;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(path, begins[i], strlen(begins[i])))
			return true;
	return false;
}

/* Return: bytes that were read, fewer where the file ends; -errno. */
static ssize_t read_at(int fd, char *to, size_t size, uint64_t off)
{
	size_t len = 0;
	ssize_t n;

	while (len < size) {
		n = pread(fd, to + len, size - len, (off_t)(off + len));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

/* As much as there is behind what was taken. It may still grow, and who writes
 * may be in the middle of a line: *ret_len is that of whole ones. */
static int read_text(struct seam_perf_map *map, int fd, char **ret,
		     size_t *ret_len)
{
	const uint64_t from = map->seen.taken, end = SEAM_PERF_MAP_SIZE;
	uint64_t file = (uint64_t)map->seen.st.st_size;
	size_t size;
	ssize_t len;
	char *text;

	map->is_cut |= file > end;
	file = file > end ? end : file;
	size = file > from ? (size_t)(file - from) : 0;
	text = malloc(size + 1);
	if (!text)
		return -ENOMEM;
	len = read_at(fd, text, size, from);
	while (len > 0 && text[len - 1] != '\n')
		len--;
	if (len <= 0) {
		free(text);
		return (int)len;
	}
	text[len] = '\0';
	*ret = text;
	*ret_len = (size_t)len;
	return 1;
}

/* Before the text is cut into lines. */
static void know(struct seam_perf_seen *seen, const char *text, size_t len)
{
	size_t n = len < SEAM_PERF_MAP_KNOWN ? len : SEAM_PERF_MAP_KNOWN;

	/* What is appended may be shorter than what is known of the first. */
	if (!seen->taken) {
		seen->n = n;
		memcpy(seen->first, text, n);
	} else if (n < seen->n) {
		memmove(seen->last, seen->last + n, seen->n - n);
	}
	n = n < seen->n ? n : seen->n;
	memcpy(seen->last + seen->n - n, text + len - n, n);
	seen->taken += len;
}

static bool take_hex(char **at, uint64_t *ret)
{
	char *end;

	if (!isxdigit((unsigned char)**at))
		return false;
	errno = 0;
	*ret = strtoull(*at, &end, 16);
	if (errno || *end != ' ')
		return false;
	*at = end + 1;
	return true;
}

/* What is no line of this kind is passed over. */
static int add_line(struct seam_perf_map *map, char *line)
{
	struct seam_sym sym = {.has_size = true};
	uint64_t size;

	if (!take_hex(&line, &sym.start) || !take_hex(&line, &size) || !*line)
		return 0;
	/* perf finds what has no size at its address. */
	sym.end = seam_range_end(sym.start, size ? size : 1);
	sym.raw = line;
	return sym.end > sym.start ? seam_symtab_add(&map->tab, &sym) : 0;
}

static int add_lines(struct seam_perf_map *map, char *text)
{
	char *next;
	int rc = 0;

	for (char *line = text; *line && !rc; line = next) {
		if (map->tab.count == SEAM_PERF_MAP_COUNT) {
			map->is_cut = true;
			break;
		}
		next = strchr(line, '\n');
		/* There may be a 0 in the text. */
		if (!next)
			break;
		*next++ = '\0';
		rc = add_line(map, line);
	}
	return rc;
}

/* Return: 1: there is more than there was; 0; -errno. */
static int take_more(struct seam_perf_map *map, int fd)
{
	struct seam_perf_piece *pieces = NULL;
	size_t n = 0, len = 0, before = map->tab.count;
	char *text = NULL;
	int rc = read_text(map, fd, &text, &len);

	if (rc <= 0)
		return rc;
	know(&map->seen, text, len);
	rc = seam_symtab_own(&map->tab, text);
	if (!rc)
		map->text += len;
	if (!rc)
		rc = add_lines(map, text);
	if (rc || map->tab.count == before)
		return rc;
	rc = seam_perf_sweep(&map->tab, &pieces, &n);
	if (rc)
		return rc;
	free(map->pieces);
	map->pieces = pieces;
	map->n = n;
	return 1;
}

/* Whether what was taken is still where it was. */
static bool is_continued(const struct seam_perf_seen *seen, int fd,
			 const struct stat *st)
{
	char is[SEAM_PERF_MAP_KNOWN];
	const ssize_t n = (ssize_t)seen->n;

	return seen->taken && st->st_dev == seen->st.st_dev &&
	       st->st_ino == seen->st.st_ino &&
	       (uint64_t)st->st_size >= seen->taken &&
	       read_at(fd, is, seen->n, 0) == n &&
	       !memcmp(is, seen->first, seen->n) &&
	       read_at(fd, is, seen->n, seen->taken - seen->n) == n &&
	       !memcmp(is, seen->last, seen->n);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int seam_perf_map_read(struct seam_perf_map *map, int fd)
{
	bool had = map->n;
	struct stat st;
	int rc;

	if (fstat(fd, &st))
		return -errno;
	if (is_same(&st, &map->seen.st))
		return 0;
	if (!is_continued(&map->seen, fd, &st))
		seam_perf_map_fini(map);
	else
		had = false;
	map->seen.st = st;
	/* Of what is not read there may be ever more. */
	rc = map->is_cut ? 0 : take_more(map, fd);
	if (rc < 0)
		seam_perf_map_fini(map);
	return rc ? rc : had;
}

uint64_t seam_perf_map_size(const struct seam_perf_map *map)
{
	return map->text + map->tab.count * sizeof(*map->tab.syms) +
	       map->n * sizeof(*map->pieces);
}

struct seam_sym *seam_perf_map_find(struct seam_perf_map *map, uint64_t addr)
{
	size_t next = SEAM_SEARCH(i, map->n, map->pieces[i].start <= addr);

	if (!next || addr >= map->pieces[next - 1].end)
		return NULL;
	return &map->tab.syms[map->pieces[next - 1].sym];
}

void seam_perf_map_fini(struct seam_perf_map *map)
{
	seam_symtab_fini(&map->tab);
	free(map->pieces);
	*map = (struct seam_perf_map){0};
}
