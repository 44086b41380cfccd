/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* /proc/kallsyms: "ffffffff81000000 T name\t[module]\n", a line a symbol. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/symtab.h"

/* Kernels have 10 to 20 MiB of it. */
#define KALLSYMS_MAX (256u << 20)

/* /proc files have no size to ask for. */
static int read_all(int fd, char **ret)
{
	size_t len = 0, room = 4u << 20;
	char *text = malloc(room + 1), *more;
	ssize_t n;

	while (text) {
		n = read(fd, text + len, room - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			n = -errno;
			free(text);
			return (int)n;
		}
		if (!n)
			break;
		len += (size_t)n;
		if (len < room)
			continue;
		more = room < KALLSYMS_MAX ? realloc(text, 2 * room + 1) : NULL;
		if (!more) {
			free(text);
			return -ENOMEM;
		}
		text = more;
		room *= 2;
	}
	if (!text)
		return -ENOMEM;
	text[len] = '\0';
	*ret = text;
	return 0;
}

/* Modules are many symbols in a row, so the newest is nearly always it. */
static int find_module(struct seam_symtab *tab, char *name, uint16_t *ret)
{
	const char **modules;
	size_t i = tab->num_modules;

	while (i && strcmp(tab->modules[i - 1], name))
		i--;
	if (!i) {
		/* More than 65,534 modules share the last one's place. */
		if (tab->num_modules == UINT16_MAX - 1) {
			*ret = UINT16_MAX - 1;
			return 0;
		}
		modules = realloc(tab->modules,
				  (tab->num_modules + 1) * sizeof(*modules));
		if (!modules)
			return -ENOMEM;
		tab->modules = modules;
		modules[tab->num_modules++] = name;
		i = tab->num_modules;
	}
	*ret = (uint16_t)i;
	return 0;
}

/* Data as well: it ends the code before it. */
static bool is_wanted(char type)
{
	return type && strchr("tTwWdDbB", type);
}

static int add_line(struct seam_symtab *tab, char *line)
{
	struct seam_sym sym = {.end = UINT64_MAX};
	char *rest, *name, *module;
	int rc = 0;

	sym.start = strtoull(line, &rest, 16);
	if (rest == line || rest[0] != ' ' || !is_wanted(rest[1]) ||
	    rest[2] != ' ' || !rest[3])
		return 0;
	name = rest + 3;
	/* Marks of code and data, and the compiler's own labels. */
	if (name[0] == '$' || !strncmp(name, ".L", 2) ||
	    !strncmp(name, "L0", 2))
		return 0;
	module = strpbrk(name, "\t ");
	if (module) {
		*module++ = '\0';
		module += strspn(module, "\t ");
		if (*module == '[')
			rc = find_module(tab, module, &sym.module);
	}
	sym.raw = name;
	sym.type = strchr("tTwW", rest[1]) ? STT_FUNC : STT_OBJECT;
	sym.bind = rest[1] == 'W'   ? STB_WEAK
		   : rest[1] >= 'a' ? STB_LOCAL
				    : STB_GLOBAL;
	return rc ? rc : seam_symtab_add(tab, &sym);
}

int seam_symtab_read_kallsyms(struct seam_symtab *tab, const char *path)
{
	char *text = NULL, *line, *next;
	bool shown = false;
	int rc, fd;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	rc = read_all(fd, &text);
	close(fd);
	if (!rc)
		rc = seam_symtab_own(tab, text);
	for (line = rc ? NULL : text; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		rc = add_line(tab, line);
		if (rc)
			return rc;
		/* All zero, when kernel.kptr_restrict hides them. */
		if (tab->count && tab->syms[tab->count - 1].start)
			shown = true;
	}
	if (!rc && !tab->count)
		return -ENOMSG;
	return rc ? rc : !shown ? -ENODATA : 0;
}
