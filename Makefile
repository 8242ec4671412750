# The two commands of the README are `make demo` and `make test`. Both install what is missing, build, and run.
PRESET ?= release
JOBS   ?= $(shell nproc)
BUILD  := build/$(PRESET)
SOURCES = $(shell git ls-files '*.h' '*.cpp' '*.cu' '*.cuh')

.PHONY: help setup build demo test test-asan test-tsan test-llm cheat-test cheat-test-gpu kill-test fuzz-test bench format lint clean

help:
	@echo 'make demo       install what is missing, build, run the demo search on this CPU'
	@echo 'make test       the same for all tests'
	@echo 'make test-asan  the tests under AddressSanitizer and UndefinedBehaviorSanitizer; test-tsan: ThreadSanitizer'
	@echo 'make test-llm   a search by a small model behind a llama.cpp server of PyPI (120 MB): HTTP, streams, calls, usage, rules'
	@echo 'make cheat-test hostile candidates before the evaluator: what became of each, and how many were contained'
	@echo 'make cheat-test-gpu  the same with those that attack on a Hopper GPU'
	@echo 'make kill-test  a search killed KILLS times and resumed each time: what was lost, what was doubled'
	@echo 'make fuzz-test  every reader of foreign input under its fuzzer for FUZZ_SECONDS'
	@echo 'make bench      figures of the engine, one `name: value` a line'
	@echo 'make format     clang-format;  make lint: clang-tidy and format check'
	@echo 'PRESET=release|debug|cpu|asan|tsan   JOBS=N'

setup:
	@script/setup

build: setup
	@cmake --preset $(PRESET) --log-level=WARNING
	@cmake --build $(BUILD) -j $(JOBS)

demo: setup
	@cmake --preset $(PRESET) --log-level=WARNING
	@cmake --build $(BUILD) -j $(JOBS) --target tik
	@script/demo.sh $(BUILD)/bin/tik

test: build
	@script/setup-python
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) $(CTEST_FLAGS)

# Fixed addresses: the sanitizers of clang 14 cannot cope with every random layout of newer kernels.
FIXED := $(shell setarch -R true 2>/dev/null && echo setarch -R)
# Calls are slow and uneven under a sanitizer, so an audit's check of its clock may refuse one: such a test gets another try.
SANITIZED = CTEST_FLAGS="--repeat until-pass:3 $(CTEST_FLAGS)"
test-asan:
	@$(FIXED) $(MAKE) test PRESET=asan $(SANITIZED)

test-tsan:
	@$(FIXED) $(MAKE) test PRESET=tsan $(SANITIZED)

test-llm: setup
	@script/setup-python tests/llm/requirements.txt build/llm
	@cmake --preset $(PRESET) --log-level=WARNING
	@cmake --build $(BUILD) -j $(JOBS) --target tik
	@build/llm/bin/python3 tests/llm/search.py $(BUILD)/bin/tik . $(if $(RESULT),--result $(RESULT))

cheat-test: setup
	@cmake --preset $(PRESET) --log-level=WARNING
	@cmake --build $(BUILD) -j $(JOBS) --target cheat
	@$(BUILD)/bin/cheat --commit "$$(git describe --always --dirty)" $(if $(RESULT),--result $(RESULT))

cheat-test-gpu: setup
	@cmake --preset $(PRESET) --log-level=WARNING
	@cmake --build $(BUILD) -j $(JOBS) --target cheat
	@$(BUILD)/bin/cheat --gpu --commit "$$(git describe --always --dirty)" $(if $(RESULT),--result $(RESULT))

KILLS ?= 200
kill-test: setup
	@cmake --preset $(PRESET) --log-level=WARNING
	@cmake --build $(BUILD) -j $(JOBS) --target kill_test
	@$(BUILD)/bin/kill_test $(KILLS) --jobs $(JOBS) --commit "$$(git describe --always --dirty)" $(if $(RESULT),--result $(RESULT))

FUZZ_SECONDS ?= 60
fuzz-test: setup
	@cmake --preset fuzz --log-level=WARNING
	@cmake --build build/fuzz -j $(JOBS) --target fuzzers
	@script/fuzz build/fuzz $(FUZZ_SECONDS)

bench: build
	@script/bench $(BUILD)

format: setup
	@clang-format-14 -i $(SOURCES)

lint: setup
	@cmake --preset $(PRESET) -B $(BUILD)-lint -DTIK_COMPILE_TOGETHER=OFF --log-level=WARNING
	@clang-format-14 --dry-run --Werror $(SOURCES)
	@script/lint $(BUILD)-lint

clean:
	rm -rf build
