# Each target works from a bare clone: Python 3.11 or later, a C++20 compiler and make are enough.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SOURCES := $(wildcard native/*.hpp native/*.cpp) CMakeLists.txt pyproject.toml

.PHONY: help install demo test lint format bench docs sanitize fuzz fuzz-svmlight fuzz-models fuzz-tables clean

help:
	@echo "make demo      train on real and generated data and print a table"
	@echo "make test      linters and tests"
	@echo "make lint      linters only"
	@echo "make format    let ruff format the Python code"
	@echo "make bench     measure against LinearSVC, LightGBM, EBM (KERNLINE_DATA names the folder of data sets)"
	@echo "make docs      write the measured pages in docs/ anew"
	@echo "make sanitize  tests with the core under AddressSanitizer and UBSan"
	@echo "make fuzz      all readers and the model loader on damaged input, ten minutes each (needs clang)"
	@echo "make clean     remove what the build made"

# Built again only when the core or the dependencies change; Python code is used where it lies.
$(VENV)/installed: $(SOURCES)
	@test -x $(BIN)/python || { echo "creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing dependencies and building the core"
	@$(PIP) "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja
	@$(PIP) --no-build-isolation --editable ".[dev]"
	@touch $@

install: $(VENV)/installed

demo: install
	@$(BIN)/python examples/demo.py

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test: lint
	$(BIN)/python -m pytest

bench: install
	$(BIN)/python -m benchmarks.speed

docs: install
	$(BIN)/python -m benchmarks.kernel_error
	$(BIN)/python -m benchmarks.roofline

# A build of its own, in an environment of its own, so that the ordinary one stays as it is. Leaks are the
# interpreter's and not looked for.
SANITIZED := build/sanitized
sanitize: install
	@test -x $(SANITIZED)/bin/python || $(PYTHON) -m venv $(SANITIZED)
	@$(SANITIZED)/bin/python -m pip install --quiet --disable-pip-version-check \
	  "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja pytest hypothesis pandas
	@$(SANITIZED)/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation \
	  --config-settings=build-dir=build/sanitize --config-settings=cmake.define.KERNLINE_SANITIZE=ON .
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 $(SANITIZED)/bin/python -m pytest -x tests

# New finds go to build/fuzz; those worth keeping belong into tests/fuzz/svmlight and tests/fuzz/models, kept small.
FUZZ_SECONDS ?= 600
fuzz: fuzz-svmlight fuzz-models fuzz-tables

fuzz-svmlight:
	@mkdir -p build/fuzz/found
	clang++ -std=c++20 -O1 -g -Inative -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	  tests/fuzz/svmlight.cpp -o build/fuzz/svmlight -pthread
	build/fuzz/svmlight -max_total_time=$(FUZZ_SECONDS) -max_len=4096 build/fuzz/found tests/fuzz/svmlight

# By atheris, in an environment of its own, with the core built so that libFuzzer sees its branches. The libFuzzer that
# comes with AddressSanitizer is loaded first, and what hands it our own changes of files. A file may take ten seconds, and
# no allocation a gigabyte. A stack has no names, as the program that looks them up would load all this too.
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

# CSV, Parquet, Arrow and NumPy files: by children of a plain interpreter, as most of the code is of other libraries. A
# find has the number of its mutant in its name: tests/fuzz/tables.py --first NUMBER --mutants 1 makes it again.
fuzz-tables: install
	$(BIN)/python tests/fuzz/tables.py --seconds $(FUZZ_SECONDS) --first $$(date +%s)000 --keep build/fuzz/found_tables

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
