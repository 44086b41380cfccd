// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The Firefox Profiler's processed format, version 48: JSON, tables by column,
 * of each thread its own (firefox-thread.c), and the files that all of them
 * name.
 * Source: docs-developer/processed-profile-format.md and
 * CHANGELOG-formats.md of https://github.com/firefox-devtools/profiler
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/firefox.h"

#define VERSION 48
#define INTERVAL_NS 1000000 /* where no event says one */

/* Of the first 16 bytes three numbers, which it wants as GUIDs have them, and
 * an age, which ELF has not. */
static void breakpad_id(struct seam_strbuf *b, const char *build_id)
{
	static const uint8_t order[16] = {3, 2, 1,  0,	5,  4,	7,  6,
					  8, 9, 10, 11, 12, 13, 14, 15};
	size_t len = strlen(build_id) / 2;

	seam_strbuf_puts(b, "\"");
	for (size_t i = 0; len && i < 16; i++)
		for (size_t j = 0; j < 2; j++) {
			char c = order[i] < len ? build_id[2 * order[i] + j]
						: '0';

			c = c >= 'a' ? (char)(c - 'a' + 'A') : c;
			seam_strbuf_add(b, &c, 1);
		}
	seam_strbuf_puts(b, len ? "0\"" : "\"");
}

static void lib(struct seam_firefox *p, const struct seam_firefox_lib *l)
{
	struct seam_strbuf *b = &p->out->b;
	const char *path = seam_model_string(p->m, l->path);
	const char *build_id = seam_model_string(p->m, l->build_id);
	const char *arch = seam_pd_info(p->m->reader)->arch;
	const char *name = strrchr(path, '/');

	name = name && name[1] ? name + 1 : path;
	seam_strbuf_puts(b, "{\"arch\":");
	seam_json_string(b, arch ? arch : "");
	seam_strbuf_puts(b, ",\"name\":");
	seam_json_string(b, name);
	seam_strbuf_puts(b, ",\"path\":");
	seam_json_string(b, path);
	seam_strbuf_puts(b, ",\"debugName\":");
	seam_json_string(b, name);
	seam_strbuf_puts(b, ",\"debugPath\":");
	seam_json_string(b, path);
	seam_strbuf_puts(b, ",\"breakpadId\":");
	breakpad_id(b, build_id);
	seam_strbuf_puts(b, ",\"codeId\":");
	if (*build_id)
		seam_json_string(b, build_id);
	else
		seam_strbuf_puts(b, "null");
	seam_strbuf_puts(b, "}");
}

/* Parts of a file are one to it. */
static int find_libs(struct seam_firefox *p)
{
	p->lib_of = calloc(p->m->modules.n, sizeof(*p->lib_of));
	if (!p->lib_of)
		return -ENOMEM;
	for (size_t i = 1; i < p->m->modules.n; i++) {
		const struct seam_model_module *mod =
			&SEAM_MODEL_GET(module, p->m->modules, i);
		const struct seam_firefox_lib l = {mod->path, mod->build_id};
		int64_t at = seam_intern(&p->libs, &l, sizeof(l));

		if (at < 0)
			return (int)at;
		p->lib_of[i] = (uint32_t)at;
	}
	return 0;
}

/* Between samples of the first event. A pipe that ended before its attributes
 * has none. */
static uint64_t interval_ns(const struct seam_firefox *p)
{
	const struct perf_event_attr *attr;

	if (!seam_pd_n_events(p->m->reader))
		return INTERVAL_NS;
	attr = &seam_pd_event(p->m->reader, 0)->attr;
	if (attr->freq)
		return attr->sample_freq && attr->sample_freq < 1000000000
			       ? 1000000000 / attr->sample_freq
			       : INTERVAL_NS;
	return attr->sample_period && seam_model_in_ns(p->m, 0)
		       ? attr->sample_period
		       : INTERVAL_NS;
}

static void meta(struct seam_firefox *p, const char *name)
{
	const struct seam_pd_info *info = seam_pd_info(p->m->reader);
	struct seam_strbuf *b = &p->out->b;
	uint64_t start = 0;

	if (info->wall_clock_ns)
		start = info->wall_clock_ns + p->m->first_ns - info->clockid_ns;
	seam_strbuf_puts(b, "{\"meta\":{\"interval\":");
	seam_firefox_ms(b, interval_ns(p));
	seam_strbuf_puts(b, ",\"startTime\":");
	seam_firefox_ms(b, start);
	seam_strbuf_puts(b, ",\"platform\":\"Linux\",\"oscpu\":");
	seam_json_string(b, info->osrelease ? info->osrelease : "Linux");
	seam_strbuf_puts(b, ",\"abi\":");
	seam_json_string(b, info->arch ? info->arch : "");
	seam_strbuf_puts(b, ",\"product\":");
	seam_json_string(b, name);
	seam_strbuf_printf(
		b,
		",\"importedFrom\":\"seam " SEAM_VERSION "\",\"misc\":\"\","
		"\"toolkit\":\"\",\"processType\":0,\"stackwalk\":1,"
		"\"debug\":false,\"version\":29,"
		"\"preprocessedProfileVersion\":%d,\"symbolicated\":true,\n"
		"\"categories\":["
		"{\"name\":\"User\",\"color\":\"yellow\","
		"\"subcategories\":[\"Other\"]},"
		"{\"name\":\"Kernel\",\"color\":\"orange\","
		"\"subcategories\":[\"Other\"]},"
		"{\"name\":\"Other\",\"color\":\"grey\","
		"\"subcategories\":[\"Other\"]}],\n"
		"\"markerSchema\":[{\"name\":\"Lost\",\"display\":["
		"\"marker-chart\",\"marker-table\",\"timeline-overview\"],"
		"\"data\":[{\"key\":\"records\",\"label\":\"Records\","
		"\"format\":\"integer\"},{\"key\":\"samples\","
		"\"label\":\"Samples\",\"format\":\"integer\"}]}]},\n",
		VERSION);
}

static void profile(struct seam_firefox *p, const char *name)
{
	meta(p, name);
	seam_strbuf_puts(&p->out->b, "\"libs\":[");
	for (size_t i = 0; i < p->libs.n && seam_out_piece(p->out); i++) {
		if (i)
			seam_strbuf_puts(&p->out->b, ",\n");
		lib(p, &((const struct seam_firefox_lib *)p->libs.v)[i]);
	}
	seam_strbuf_puts(&p->out->b, "],\n\"threads\":[");
	for (size_t i = 0; i < p->m->tracks.n && seam_out_piece(p->out); i++) {
		if (i)
			seam_strbuf_puts(&p->out->b, ",\n");
		seam_firefox_thread(p, i);
	}
	seam_strbuf_puts(&p->out->b, "]}\n");
}

void seam_export_firefox(struct seam_export *e, struct seam_out *out)
{
	struct seam_firefox p = {.m = &e->model, .out = out};
	int64_t lost = seam_model_text(&e->model, "Lost");
	int rc = lost < 0 ? (int)lost : find_libs(&p);

	p.lost = (uint32_t)lost;
	if (!rc)
		rc = seam_firefox_begin(&p);
	if (!rc)
		profile(&p, e->name);
	else
		out->err = rc;
	seam_firefox_end(&p);
	seam_intern_fini(&p.libs);
	free(p.lib_of);
}
