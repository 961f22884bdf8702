# Each target works from a bare clone. Requires Python 3.11 or later, a C++20 compiler and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SOURCES := $(wildcard native/*/*.hpp native/*/*.cpp) CMakeLists.txt pyproject.toml

.PHONY: help install demo test test-hard lint format stubs bench docs sanitize fuzz fuzz-svmlight fuzz-models fuzz-tables clean

help:
	@echo "make demo      train on real and generated data, print a table and write a report"
	@echo "make test      run the linters and the tests"
	@echo "make test-hard run every command 200 times and the tests under hostile conditions; HARD_ROUNDS=n repeats"
	@echo "make lint      run the linters only"
	@echo "make format    format the Python and C++ code with ruff and clang-format"
	@echo "make stubs     write the types of the core, src/kernline/_core.pyi, after a change to its bindings"
	@echo "make bench     compare the speed with LinearSVC, LightGBM and EBM (set KERNLINE_DATA to the data folder)"
	@echo "make docs      regenerate the measured pages in docs/"
	@echo "make sanitize  run the tests with AddressSanitizer and UBSan"
	@echo "make fuzz      fuzz all readers and the model loader, ten minutes each (requires clang)"
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

CPP := $(wildcard native/*/*.hpp native/*/*.cpp tests/fuzz/*.cpp)
# clang-tidy brings the headers of its compiler, and takes the standard library from the system. The loops are checked for one
# instruction set only: the others compile the same code.
TIDY_FLAGS = -std=c++20 -Inative -DKERNLINE_TARGET=baseline $(if $(filter x86_64,$(shell uname -m)),-DKERNLINE_X86) \
  $(shell $(BIN)/python -c 'import nanobind, sysconfig; print("-isystem", nanobind.include_dir(), "-isystem", sysconfig.get_path("include"))')
lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	printf '%s\n' native/bindings/bindings.cpp native/loops/loops.cpp | \
	  xargs -P 2 -I FILE $(BIN)/clang-tidy --quiet FILE -- $(TIDY_FLAGS)

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

stubs: install
	$(BIN)/python -m nanobind.stubgen -q -m kernline._core -o src/kernline/_core.pyi

# One process per core; each test has a folder of its own.
test: lint
	$(BIN)/python -m pytest -n logical --maxprocesses 8 --dist worksteal

# What each step does, and the variables that choose among them: tests/hard/__main__.py. Logs go to build/hard.
test-hard: install
	$(BIN)/python -m tests.hard

bench: install
	$(BIN)/python -m benchmarks.speed

docs: install
	$(BIN)/python -m benchmarks.kernel_error
	$(BIN)/python -m benchmarks.roofline
	$(BIN)/python -m examples.gallery

# Uses a separate build and environment, so that the ordinary ones do not change. Leak detection is off: the leaks are
# the interpreter's.
SANITIZED := build/sanitized
sanitize: install
	@test -x $(SANITIZED)/bin/python || $(PYTHON) -m venv $(SANITIZED)
	@$(SANITIZED)/bin/python -m pip install --quiet --disable-pip-version-check \
	  "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja pytest hypothesis pandas
	@$(SANITIZED)/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation \
	  --config-settings=build-dir=build/sanitize --config-settings=cmake.define.KERNLINE_SANITIZE=ON .
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 $(SANITIZED)/bin/python -m pytest -x tests

# New inputs go to build/fuzz. Add those worth keeping to tests/fuzz/svmlight and tests/fuzz/models; keep these small.
FUZZ_SECONDS ?= 600
fuzz: fuzz-svmlight fuzz-models fuzz-tables

fuzz-svmlight:
	@mkdir -p build/fuzz/found
	clang++ -std=c++20 -O1 -g -Inative -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	  tests/fuzz/svmlight.cpp -o build/fuzz/svmlight -pthread
	build/fuzz/svmlight -max_total_time=$(FUZZ_SECONDS) -max_len=4096 build/fuzz/found tests/fuzz/svmlight

# Uses atheris in a separate environment, with the core instrumented for libFuzzer. The libFuzzer that includes
# AddressSanitizer is preloaded, and so is the hook for our own mutations. A file may take at most ten seconds, an allocation
# at most a gigabyte. Stack traces have no symbols, because the symbolizer would load the preloaded libraries too.
FUZZED := build/fuzz/env
FUZZER = $(CURDIR)/$(FUZZED)/lib/python*/site-packages
fuzz-models:
	@test -x $(FUZZED)/bin/python || $(PYTHON) -m venv $(FUZZED)
	@$(FUZZED)/bin/python -m pip install --quiet --disable-pip-version-check \
	  "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja "atheris>=3"
	@CXX=clang++ CXXFLAGS=-fsanitize=fuzzer-no-link $(FUZZED)/bin/python -m pip install --quiet \
	  --disable-pip-version-check --no-build-isolation --config-settings=build-dir=build/fuzz/core \
	  --config-settings=cmake.define.KERNLINE_SANITIZE=ON .
	@mkdir -p build/fuzz/found_models
	env LD_PRELOAD="$$(echo $(FUZZER)/asan_with_fuzzer.so $(FUZZER)/atheris/custom_*.so)" ASAN_OPTIONS=detect_leaks=0:symbolize=0 \
	  $(FUZZED)/bin/python tests/fuzz/model_files.py -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -timeout=10 \
	  -malloc_limit_mb=1024 -artifact_prefix=build/fuzz/ build/fuzz/found_models tests/fuzz/models tests/golden

# CSV, Parquet, Arrow and NumPy files, in child processes of a plain interpreter, because most of the code is in other
# libraries. The name of a finding has the number of its mutant: tests/fuzz/tables.py --first NUMBER --mutants 1 repeats it.
fuzz-tables: install
	$(BIN)/python tests/fuzz/tables.py --seconds $(FUZZ_SECONDS) --first $$(date +%s)000 --keep build/fuzz/found_tables

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
