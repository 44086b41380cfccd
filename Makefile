# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# The front door; Meson does the work. 'make help' lists the targets.
# Every target may be called again, and by several callers at once.

BUILD ?= build
MESON_ARGS ?=
# Without MESON_ARGS: CI makes warnings errors, and under sanitizers gcc warns
# of what it cannot know.
# What records is not tested under them.
ASAN = -Db_sanitize=address,undefined -Dlive=false
# make's own job server is not ninja's.
MAKEFLAGS += --no-print-directory
# One builder, and one test run, of this tree at a time; the rest wait.
LOCKED = flock -o Makefile

# perf 7.3.4, the newest binutils and trace-cmd, to compare and to work with;
# tests that want them skip where they cannot be had.
WITH_PEERS = { tools/peer-binutils.sh sid >/dev/null || :; } && \
	{ tools/peer-tool.sh trace-cmd >/dev/null || :; } && \
	perf=$${SEAM_PERF:-$$(tools/peers.sh)} && \
	export SEAM_PERF="$$perf";

all: ## build build/seam and build/libseam.so
	@tools/build.sh $(BUILD) $(MESON_ARGS)

run: ## install what is missing, build, record python3, show whole stacks
	@tools/setup.sh build run
	@$(MAKE) all
	@tools/run-demo.sh $(BUILD)

setup: ## install what building and testing need
	@tools/setup.sh build run test

check: setup ## install what is missing, build, run all tests
	@tools/build.sh --tests $(BUILD) $(MESON_ARGS)
	@tools/build.sh --tests $(BUILD)-asan $(ASAN)
	@$(WITH_PEERS) $(LOCKED) tools/run-tests.py $(BUILD) --asan $(BUILD)-asan

check-all: ## check, newer kernels in QEMU, long fuzzing, check-fresh
	@tools/setup.sh build run test slow kernels
	@tools/build.sh --tests $(BUILD) $(MESON_ARGS)
	@tools/build.sh --tests $(BUILD)-asan $(ASAN)
	@$(WITH_PEERS) $(LOCKED) tools/run-tests.py $(BUILD) --asan $(BUILD)-asan --slow
	@$(MAKE) fuzz FUZZ_SECONDS=$${FUZZ_SECONDS:-300}
	@$(MAKE) check-fresh

check-kernels: ## boot Debian's 6.1, 6.12, 7.2 and 7.3 in QEMU, with each engine
	@tools/setup.sh build run test kernels
	@tools/build.sh --tests $(BUILD) $(MESON_ARGS)
	@{ tools/peers.sh >/dev/null || :; } && $(LOCKED) \
		tools/check-kernels.sh $(BUILD) 6.1 6.12 7.2 7.3 7.3,preempt=full

check-fresh: ## make check on a fresh minimal Debian 12, in a chroot
	@tools/setup.sh slow
	@tools/check-fresh.sh

peers: ## fetch perf 7.3.4, new binutils, trace-cmd, samply into a private folder
	@tools/peer-binutils.sh sid
	@tools/peer-tool.sh trace-cmd
	@tools/peer-tool.sh samply
	@tools/peers.sh

bench: ## measure seam beside perf
	@tools/setup.sh build run test
	@$(MAKE) all
	@bench/run.sh $(BUILD)

fuzz: ## fuzz every parser; FUZZ_SECONDS=60 for each
	@tools/setup.sh build run test
	@fuzz/run.sh $(BUILD)-fuzz

install: all ## install the command, library, headers, man pages
	@meson install -C $(BUILD) --no-rebuild

format: ## put every C file into the house layout
	@tools/check-format.sh --fix

clean: ## remove everything that was built
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-fuzz

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /  make \1\t/p' Makefile | expand -t 24

.PHONY: all run setup check check-all check-kernels check-fresh peers bench fuzz install \
	format clean help
