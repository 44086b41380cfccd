# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
use strict;
use warnings;
no warnings 'recursion';

sub deep {
	my ($n) = @_;
	return $n ? 1 + deep($n - 1) : 0;
}

for my $round (1 .. 250) {
	my %words;
	my $text = join ' ', map { "w" . ($_ * 7919 % 1009) } 1 .. 12000;
	$words{$1}++ while $text =~ /\b(w\d+)\b/g;
	my @sorted = sort { $words{$b} <=> $words{$a} || $a cmp $b } keys %words;
	$text =~ s/w(\d)(\d*)/$2$1/g;
	my @parts = map { sprintf '%05d:%s', $_, reverse $_ } split / /, $text;
	deep(2000);
	eval { die { round => $round } };
}
