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

/* As much as there is when it is read: it may still grow. */
static int read_text(struct seam_perf_map *map, int fd, char **ret)
{
	size_t len = 0, size;
	struct stat st;
	char *text;
	ssize_t n;

	if (fstat(fd, &st))
		return -errno;
	map->is_cut = st.st_size > SEAM_PERF_MAP_SIZE;
	size = map->is_cut ? SEAM_PERF_MAP_SIZE : (size_t)st.st_size;
	text = malloc(size + 1);
	if (!text)
		return -ENOMEM;
	while (len < size) {
		n = pread(fd, text + len, size - len, (off_t)len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
	map->size = len;
	*ret = text;
	return 0;
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

int seam_perf_map_read(struct seam_perf_map *map, int fd)
{
	char *text = NULL, *next;
	int rc = read_text(map, fd, &text);

	if (!rc)
		rc = seam_symtab_own(&map->tab, text);
	for (char *line = rc ? NULL : text; line && *line && !rc; line = next) {
		if (map->tab.count == SEAM_PERF_MAP_COUNT) {
			map->is_cut = true;
			break;
		}
		next = strchr(line, '\n');
		/* Who writes may be in the middle of one, or a file may have
		 * been cut off there. */
		if (!next)
			break;
		*next++ = '\0';
		rc = add_line(map, line);
	}
	if (!rc)
		rc = seam_perf_sweep(&map->tab, &map->pieces, &map->n);
	map->size += map->tab.count * sizeof(*map->tab.syms) +
		     map->n * sizeof(*map->pieces);
	return rc;
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
	map->pieces = NULL;
	map->n = 0;
}
