/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Description: C++ and Rust names are demangled as perf 7.3 prints them, and
 * other names are left alone. */
#include "run.h"

#include "symbol/symtab.h"

static const struct {
	const char *raw, *name; /* name NULL: not mangled */
} names[] = {
	/* C++ */
	{"_Z1fi", "f(int)"},
	{"_ZNSt6vectorIiSaIiEE9push_backEOi",
	 "std::vector<int, std::allocator<int> >::push_back(int&&)"},
	{"_ZNK1a1XIiE4spinERKSt6vectorIiSaIiEEm",
	 "a::X<int>::spin(std::vector<int, std::allocator<int> > const&, "
	 "unsigned long) const"},
	{"_ZNSsC1EPKcRKSaIcE",
	 "std::basic_string<char, std::char_traits<char>, "
	 "std::allocator<char> >::basic_string(char const*, "
	 "std::allocator<char> const&)"},
	{"_ZZ4mainENKUllE_clEl",
	 "main::{lambda(long)#1}::operator()(long) const"},
	{"_ZThn16_N1A1fEv", "non-virtual thunk to A::f()"},
	{"_Z3foov.cold", "foo() [clone .cold]"},
	{"_ZN12_GLOBAL__N_14helpEv", "(anonymous namespace)::help()"},
	/* Rust, legacy and v0 */
	{"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"},
	{"_ZN61_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..fmt..Debug$GT$"
	 "3fmt17h0123456789abcdefE",
	 "<alloc::vec::Vec<T> as core::fmt::Debug>::fmt"},
	{"_ZN1r4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
	 "r::main::{{closure}}"},
	{"_RNvNtCs6GmmlP4bgsG_1r5inner2hm", "r::inner::hm"},
	{"_RNvXCs6GmmlP4bgsG_1rINtB2_1AyENtB2_2Sp2sp",
	 "<r::A<u64> as r::Sp>::sp"},
	{"_RINvCs6GmmlP4bgsG_1r3genINtB2_1AyENCNvB2_4main0EB2_",
	 "r::gen::<r::A<u64>, r::main::{closure#0}>"},
	/* Neither: "f" and "i" are types to a C++ demangler. */
	{"f", NULL},
	{"i", NULL},
	{"Pc", NULL},
	{"main", NULL},
	{"", NULL},
	{"_", NULL},
	{"_Z", NULL},
	{"_R", NULL},
	{"_ZTs", NULL},
	{"_Znope", NULL},
	{"_Rnope", NULL},
};

static void test_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *got = seam_demangle(names[i].raw);

		if (!names[i].name && got)
			fail_msg("%s: got %s", names[i].raw, got);
		if (names[i].name && !got)
			fail_msg("%s: not demangled", names[i].raw);
		if (got)
			assert_string_equal(got, names[i].name);
		free(got);
	}
}

/* Each argument is a pair of the one before: 2^25 ints, in 190 bytes. */
static void test_exploding_name(void **state)
{
	char raw[512];
	size_t n = (size_t)sprintf(raw, "_Z1fSt4pairIiiES_IS0_S0_E");
	char *got;

	(void)state;
	for (char c = '1'; c <= '8'; c++)
		n += (size_t)sprintf(raw + n, "S_IS%c_S%c_E", c, c);
	/* As far as this it is an ordinary, if long, name. */
	got = seam_demangle(raw);
	assert_int_equal(strlen(got), 33640);
	free(got);
	n += (size_t)sprintf(raw + n, "S_IS9_S9_E");
	for (char c = 'A'; c <= 'N'; c++)
		n += (size_t)sprintf(raw + n, "S_IS%c_S%c_E", c, c);
	assert_null(seam_demangle(raw));
}

static void test_long_name(void **state)
{
	char *raw = malloc(1 << 20);

	(void)state;
	memset(raw, 'A', (1 << 20) - 1);
	raw[(1 << 20) - 1] = '\0';
	memcpy(raw, "_Z", 2);
	assert_null(seam_demangle(raw));
	free(raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_exploding_name),
		cmocka_unit_test(test_long_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
