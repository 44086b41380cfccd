# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# What Perl does to a stack, again and again: for truth.c.
use strict;

sub count { my $n = shift; return $n ? 1 + count($n - 1) : 0 }

while (1) {
	my %words;
	for my $i (1 .. 100) {
		$_ = "abc$i";
		s/(b)/$i/;
		eval { die "x" };
		$words{$i} = $_;
	}
	my @sorted = sort { $words{$a} cmp $words{$b} } keys %words;
	my $line = join ',', map { sprintf '%05d', $_ } @sorted;
	count(30);
}
