# Needs python3 (3.10 or newer) with venv and headers, g++ and make. Every target sets up what it needs in .venv.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
STAMP   = $(VENV)/.installed
DATA    = examples/data/digits.csv

# TensorFlow, to compare with; in an environment of its own.
TF      = $(VENV)-tf/bin/python

.PHONY: run build test bench bench-tf oracle lint clean
run: build
	$(BIN)/python -m pipeline feed $(DATA) --epochs 20

build: $(STAMP)
$(STAMP): pyproject.toml setup.py $(wildcard pyx/*)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@

test: build
	$(BIN)/python -m pytest

bench: build
	$(BIN)/python -m pytest bench --benchmark-columns=min,median,ops --benchmark-sort=name

bench-tf: build $(VENV)-tf/.installed
	$(BIN)/python bench/compat.py $(TF)

# Records anew what TensorFlow gives for the cases in tests/compat.
oracle: $(VENV)-tf/.installed
	$(TF) tests/compat/record.py

$(VENV)-tf/.installed:
	$(PYTHON) -m venv $(VENV)-tf
	$(TF) -m pip install --quiet --upgrade pip
	$(TF) -m pip install --quiet "tensorflow-cpu==2.21.*"
	touch $@

# Warnings of the C++ compiler are errors here: the modules are compiled once more, aside.
lint: build
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cython-lint pyx
	$(BIN)/mypy
	CFLAGS="-Wall -Wextra -Werror -O1" CXXFLAGS="-Wall -Wextra -Werror -O1" \
	    $(BIN)/python setup.py --quiet build_ext --force --build-lib build/lint --build-temp build/lint-temp

clean:
	rm -rf build dist *.egg-info $(VENV) $(VENV)-tf pipeline/*.so .pytest_cache .hypothesis .mypy_cache .ruff_cache .benchmarks
	find . -name __pycache__ -prune -exec rm -rf {} +
