// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * What C++ does to a stack, again and again: exceptions through frames with
 * and without cleanups, rethrown and turned into others; virtual calls, a
 * recursive regular expression, sorting with a callback, streams.
 */
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

struct guard {
	std::vector<int> &log;
	int id;
	~guard() { log.push_back(id); }
};

struct node {
	virtual ~node() = default;
	virtual long eval(int depth) const = 0;
};

struct leaf : node {
	long value;
	explicit leaf(long v) : value(v) {}
	long eval(int depth) const override
	{
		if (value % 7 == 3)
			throw std::range_error("leaf");
		return value + depth;
	}
};

struct sum : node {
	std::unique_ptr<node> a, b;
	long eval(int depth) const override
	{
		try {
			return a->eval(depth + 1) + b->eval(depth + 1);
		} catch (const std::range_error &e) {
			if (depth % 3)
				throw;
			std::throw_with_nested(std::logic_error("sum"));
		}
	}
};

std::unique_ptr<node> tree(int depth, long seed)
{
	if (!depth)
		return std::make_unique<leaf>(seed);
	auto s = std::make_unique<sum>();
	s->a = tree(depth - 1, seed * 3 + 1);
	s->b = tree(depth - 1, seed * 5 + 2);
	return s;
}

int thrower(std::vector<int> &log, int depth)
{
	guard g{log, depth};

	if (!depth)
		throw depth;
	return thrower(log, depth - 1) + 1;
}

long round(int i)
{
	std::vector<int> log;
	std::map<std::string, int> words;
	std::ostringstream out;
	long result = 0;

	try {
		result += tree(4, i)->eval(0);
	} catch (const std::exception &e) {
		result += e.what()[0];
	}
	try {
		result += thrower(log, i % 12);
	} catch (int e) {
		result += e + static_cast<long>(log.size());
	}
	std::regex re("(a|b)*c+(d[0-9]+)?");
	std::string text = "ababacccd" + std::to_string(i) + " abc cd1";
	for (std::sregex_iterator it(text.begin(), text.end(), re), end;
	     it != end; ++it)
		words[it->str()]++;
	std::function<bool(int, int)> less = [](int a, int b) { return a > b; };
	std::sort(log.begin(), log.end(), less);
	for (auto &w : words)
		out << w.first << '=' << w.second << ' ' << 0.5 * i;
	return result + static_cast<long>(out.str().size());
}

} // namespace

int main()
{
	long result = 0;

	for (int i = 0; i < 100000; i++)
		result += round(i);
	return result == 42;
}
