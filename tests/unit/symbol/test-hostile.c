/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Description: files made to take forever or all memory are read like any
 * other: symbols that share one endless name, sections that all claim the
 * same relocations. A failure is a test that does not end. */
#include "run.h"

#include <elf.h>

#include "symbol/symtab.h"

static struct {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	Elf64_Shdr sections[60000];
	size_t num_sections;
	FILE *f;
	char path[PATH_MAX];
} made;

static void begin_file(const char *name)
{
	memset(&made, 0, sizeof(made));
	snprintf(made.path, sizeof(made.path), "%s/%s", run_dir, name);
	made.f = fopen(made.path, "w");
	assert_non_null(made.f);
	made.num_sections = 1; /* the null section */
	made.phdr = (Elf64_Phdr){.p_type = PT_LOAD,
				 .p_flags = PF_R | PF_X,
				 .p_filesz = 1 << 30,
				 .p_memsz = 1 << 30};
	fseek(made.f, sizeof(made.ehdr) + sizeof(made.phdr), SEEK_SET);
}

static void add_section(uint32_t type, uint32_t link, const void *data,
			size_t size)
{
	Elf64_Shdr *sh = &made.sections[made.num_sections++];

	*sh = (Elf64_Shdr){.sh_name = 1,
			   .sh_type = type,
			   .sh_link = link,
			   .sh_addralign = 8,
			   .sh_flags = type == SHT_RELA ? SHF_ALLOC : 0,
			   .sh_offset = (uint64_t)ftell(made.f),
			   .sh_size = size};
	fwrite(data, 1, size, made.f);
}

static void add_text(void)
{
	made.sections[made.num_sections++] =
		(Elf64_Shdr){.sh_name = 1,
			     .sh_type = SHT_NOBITS,
			     .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			     .sh_addr = 0x1000,
			     .sh_size = 0x1000};
}

static void end_file(uint16_t names)
{
	made.ehdr = (Elf64_Ehdr){.e_type = ET_DYN,
				 .e_machine = EM_X86_64,
				 .e_version = EV_CURRENT,
				 .e_phoff = sizeof(made.ehdr),
				 .e_phentsize = sizeof(Elf64_Phdr),
				 .e_phnum = 1,
				 .e_ehsize = sizeof(made.ehdr),
				 .e_shoff = (uint64_t)ftell(made.f),
				 .e_shentsize = sizeof(Elf64_Shdr),
				 .e_shnum = (uint16_t)made.num_sections,
				 .e_shstrndx = names};
	memcpy(made.ehdr.e_ident, "\177ELF\2\1\1", 7);
	fwrite(made.sections, sizeof(Elf64_Shdr), made.num_sections, made.f);
	rewind(made.f);
	fwrite(&made.ehdr, sizeof(made.ehdr), 1, made.f);
	fwrite(&made.phdr, sizeof(made.phdr), 1, made.f);
	assert_int_equal(fclose(made.f), 0);
}

#define NAMES (4 << 20)
#define SYMBOLS 200000

/* 200,000 names of 4 MiB in a file of 9 MB. */
static void test_endless_names(void **state)
{
	static const char *const fills[] = {"_", "a", "_Z1fSt4pairIiiES_"};
	Elf64_Sym *syms = calloc(SYMBOLS, sizeof(*syms));
	char *names = malloc(NAMES);
	struct seam_symbolizer *s = new_symbolizer(false);
	struct seam_symbol sym;

	(void)state;
	for (size_t i = 1; i < SYMBOLS; i++)
		syms[i] = (Elf64_Sym){
			.st_name = 8 + i % 100,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = 1,
			.st_value = 0x1000,
			.st_size = 16};
	for (size_t k = 0; k < 3; k++) {
		char file[16];

		for (size_t i = 0; i < NAMES; i++)
			names[i] = fills[k][i % strlen(fills[k])];
		memcpy(names, "\0.text", 7);
		snprintf(file, sizeof(file), "names%zu", k);
		begin_file(file);
		add_text();
		add_section(SHT_STRTAB, 0, names, NAMES);
		add_section(SHT_SYMTAB, 2, syms, SYMBOLS * sizeof(*syms));
		end_file(2);
		assert_true(seam_symbolize_user(
			s, seam_symbolizer_file(s, made.path, NULL, 0), 0x1004,
			&sym));
		assert_int_equal(sym.off, 4);
		assert_int_equal(strlen(sym.name), SEAM_SYMBOL_NAME_MAX);
	}
	seam_symbolizer_free(s);
	free(names);
	free(syms);
}

/* 59,000 sections, each of the same 100,000 relocations. */
static void test_endless_relocations(void **state)
{
	static const char names[] = "\0.text\0function";
	static Elf64_Rela relas[100000];
	const Elf64_Sym syms[2] = {
		{0},
		{.st_name = 7,
		 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		 .st_shndx = 1,
		 .st_value = 0x1000,
		 .st_size = 16}};
	struct seam_symbolizer *s = new_symbolizer(false);
	struct seam_symbol sym;

	(void)state;
	for (size_t i = 0; i < 100000; i++)
		relas[i] = (Elf64_Rela){
			.r_offset = 0x3000 + 8 * i,
			.r_info = ELF64_R_INFO(1, R_X86_64_JUMP_SLOT)};
	begin_file("relocations");
	add_text();
	add_section(SHT_STRTAB, 0, names, sizeof(names));
	add_section(SHT_SYMTAB, 2, syms, sizeof(syms));
	add_section(SHT_RELA, 3, relas, sizeof(relas));
	while (made.num_sections < 59000) {
		made.sections[made.num_sections] =
			made.sections[made.num_sections - 1];
		made.num_sections++;
	}
	end_file(2);
	assert_true(seam_symbolize_user(
		s, seam_symbolizer_file(s, made.path, NULL, 0), 0x1004, &sym));
	assert_string_equal(sym.name, "function");
	seam_symbolizer_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_endless_names),
		cmocka_unit_test(test_endless_relocations),
	};

	return cmocka_run_group_tests(tests, enter_run_dir, leave_run_dir);
}
