# Needs python3 (3.10 or newer) with venv and headers, g++ and make. Every target sets up what it needs in .venv.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
STAMP   = $(VENV)/.installed
# Runs a long-running program in tests/.
PROGRAM = PYTHONPATH=tests:tests/support $(BIN)/python -m
DATA    = examples/data/digits.csv

# TensorFlow, for comparison, in its own environment.
TF      = $(VENV)-tf/bin/python

# Peers to compare, from: ours python tensorflow torch grain webdataset mlx; and workloads (see
# bench/peers/workloads.py). Empty means all.
PEERS   =
WORK    =
APART   = $(filter-out ours python,$(or $(PEERS),tensorflow torch grain webdataset mlx))

.PHONY: run build test test-slow test-browser test-all test-jax test-torch test-sources test-cluster stress schedules tsan asan ubsan bounds leaks exits bench bench-tf bench-peers
.PHONY: test-aarch64 test-free-threaded bench-free-threaded tsan-free
.PHONY: bench-cluster bench-crops bench-dlio bench-transport bench-worker-start bench-scaling bench-latency bench-remote bench-auto bench-cores bench-torch bench-instructions bench-start oracle lint clean fuzz soak mutants resume verdicts sdist test-sdist wheels test-wheel test-wheels release-wheels check-release
run: build
	$(BIN)/python -m pipeline feed $(DATA) --epochs 500

build: $(STAMP)
$(STAMP): pyproject.toml setup.py $(wildcard pyx/*)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@

# Several test files in parallel, one more than there are processors, because many tests wait for processes. Tests marked
# `alone` wait until no other test runs. pytest-benchmark warns about running in parallel.
TESTS = $(BIN)/python -m pytest --numprocesses $$(($$(nproc) + 1)) --dist loadfile -p no:benchmark -m

test: build
	$(TESTS) "not slow"

# Additional cases; takes minutes.
test-slow: build
	$(TESTS) slow

.PHONY: docs docs-links
# The documentation site, in build/docs; warnings are errors. docs-links also checks links to other sites.
# The package comes from this tree, compiled by `build`.
docs: build $(VENV)-docs/.installed
	rm -rf docs/api/generated
	PYTHONPATH=. $(VENV)-docs/bin/python -m sphinx --quiet --fail-on-warning --keep-going --fresh-env docs build/docs

docs-links: build $(VENV)-docs/.installed
	PYTHONPATH=. $(VENV)-docs/bin/python -m sphinx --quiet --builder linkcheck docs build/docs-links

$(VENV)-docs/.installed: pyproject.toml
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade pip
	$(@D)/bin/python -m pip install --quiet --group docs
	touch $@

# Tests of pages in a real browser, including the documentation; they need chromium.
test-browser: build docs
	test -x $(VENV)-browser/bin/python || $(PYTHON) -m venv $(VENV)-browser
	$(VENV)-browser/bin/python -m pip install --quiet --editable . --group browser
	$(VENV)-browser/bin/python -m pytest tests/browser

# Run the tests with every Python found here, each in its own environment.
PYTHONS ?= $(foreach version,3.10 3.11 3.12 3.13 3.13t 3.14 3.14t,python$(version))
VERSION  = import sys; print("%d.%d" % sys.version_info[:2] + sys.abiflags)

test-all:
	@done=; for python in $(PYTHONS); do \
	    version=$$($$python -c '$(VERSION)' 2>/dev/null) || continue; \
	    case $$version in \
	        *t) $(MAKE) test-free-threaded FREE=$$python VENV=$(VENV)-$$version || exit 1 ;; \
	        *) $(MAKE) test PYTHON=$$python VENV=$(VENV)-$$version || exit 1 ;; \
	    esac; \
	    done="$$done $$version"; \
	done; echo "passed:$${done:- no Python was found}"; test -n "$$done"

# Tests of sources, under mpiexec, and the programs in the docs, including those that need large libraries. They have
# their own environment.
test-sources: $(VENV)-sources/.installed
	$(VENV)-sources/bin/python -m pytest tests/sources tests/docs tests/workers/test_mpi.py

$(VENV)-sources/.installed: pyproject.toml setup.py $(wildcard pyx/*)
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade pip
	$(@D)/bin/python -m pip install --quiet --editable . --group sources
	touch $@

# The same with the libraries around JAX, and TensorFlow.
test-jax: $(VENV)-jax/.installed
	$(VENV)-jax/bin/python -m pytest tests/sources/test_grain.py tests/sources/test_tf_data.py tests/proto tests/adaptors tests/docs

$(VENV)-jax/.installed: pyproject.toml setup.py $(wildcard pyx/*)
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade pip
	$(@D)/bin/python -m pip install --quiet --editable . --group jax
	touch $@

# Tests on a Ray cluster with three nodes, in their own environment; SHORT=1 uses fewer items and kills. The package
# comes from this tree, compiled by `build`.
test-cluster: build $(VENV)-cluster/.installed
	SHORT=$(SHORT) PYTHONPATH=. $(VENV)-cluster/bin/python -m pytest tests/cluster

$(VENV)-cluster/.installed: pyproject.toml
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade pip
	$(@D)/bin/python -m pip install --quiet --group cluster
	touch $@

# Tests of pipeline.torch, with PyTorch, Lightning, Accelerate and Hugging Face's Trainer.
test-torch: $(VENV)-torch/.installed
	$(VENV)-torch/bin/python -m pytest tests/adaptors tests/docs tests/resume/test_recipes.py

$(VENV)-torch/.installed: pyproject.toml setup.py $(wildcard pyx/*)
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade pip
	$(@D)/bin/python -m pip install --quiet --editable . --group torch
	touch $@

# Tests without the GIL, with a free-threaded Python, found or given: FREE=/path/to/python3.13t.
# docs/free-threading.md explains how to get one. Tests that need libraries without wheels for it are skipped.
FREE ?= $(firstword $(shell command -v python3.14t python3.13t))
test-free-threaded: $(VENV)-free/.installed
	PYTHON_GIL=0 $(VENV)-free/bin/python -m pytest --numprocesses auto --dist loadfile -m "not slow"

$(VENV)-free/.installed: pyproject.toml setup.py $(wildcard pyx/*)
	test -n "$(FREE)" || { echo "no python3.14t or python3.13t was found: say FREE=/path/to/python3.13t"; exit 1; }
	test -x $(@D)/bin/python || $(FREE) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade pip
	$(@D)/bin/python -m pip install --quiet --prefer-binary --editable . --group free-threaded
	touch $@

# Tests of queues and threads with ThreadSanitizer, and with AddressSanitizer and UndefinedBehaviorSanitizer.
tsan: build
	$(BIN)/python tests/endurance/sanitized.py thread

# The same without the GIL, with a Python built with ThreadSanitizer: FREE=/path/to/python3.13t.
# docs/free-threading.md explains how.
tsan-free: $(VENV)-tsan/.installed
	$(VENV)-tsan/bin/python tests/endurance/sanitized.py thread-free

$(VENV)-tsan/.installed: export TSAN_OPTIONS = report_bugs=0
$(VENV)-tsan/.installed: pyproject.toml
	test -x $(@D)/bin/python || $(FREE) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --prefer-binary numpy "Cython>=3.3" setuptools --group free-threaded
	touch $@

asan: build
	$(BIN)/python tests/endurance/sanitized.py address

# With UndefinedBehaviorSanitizer alone; faster.
ubsan: build
	$(BIN)/python tests/endurance/sanitized.py undefined

# The same tests with every memoryview and span index checked.
bounds: build
	$(BIN)/python tests/endurance/sanitized.py bounds

# 10,000 queue histories, each explained; a million elements, each accounted for. Takes minutes.
stress: build
	$(PROGRAM) stress.histories
	$(PROGRAM) stress.exactly_once

# SCHEDULED orders of threads' steps, split between the scenarios; AFTER=n begins with each one's n-th. A million
# takes hours.
SCHEDULED ?= 1000000
AFTER ?= 0
schedules: build
	SCHEDULES=$$(($(SCHEDULED) / 17)) SCHEDULES_AFTER=$(AFTER) $(TESTS) "not slow" tests/schedules/test_schedules.py

# 100,000 cycles leave nothing behind; a thousand programs end with threads blocked in every call.
leaks: build
	$(PROGRAM) endurance.leaks 100000

exits: build
	$(PROGRAM) endurance.exits 1000

# Readers and decoders, SECONDS per target; guided by coverage if atheris can be installed.
SECONDS ?= 30
fuzz: build
	-$(BIN)/python -m pip install --quiet atheris
	$(PROGRAM) fuzz.run --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

MINUTES ?= 20
soak: build
	$(PROGRAM) soak.run --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

# Datasets with a known bottleneck: turns the knob named by the verdict, and compares the gain with the
# prediction. Takes minutes, and nearly idle processors.
verdicts: build
	$(PROGRAM) endurance.verdicts

# Training runs killed with -9, KILLS times each, and loops with random waits in their threads; and
# planted faults for the tests to find. Takes minutes.
KILLS ?= 50
resume: build
	$(PROGRAM) endurance.resume $(KILLS) 4
	$(PROGRAM) endurance.chaos 20
	$(PROGRAM) endurance.planted

# Change one operator, number or condition in the core at a time, MUTANTS in all, drawn by SEED: a test must fail.
# Takes about 3 seconds of CPU time each.
MUTANTS ?= 100
mutants: build $(VENV)-mutants/.installed
	PYTHONPATH=tests $(VENV)-mutants/bin/python -m mutants.run $(MUTANTS) $(if $(SEED),--seed $(SEED)) --python $(abspath $(BIN)/python)

$(VENV)-mutants/.installed: pyproject.toml
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade pip
	$(@D)/bin/python -m pip install --quiet --group mutants
	touch $@

bench: build
	$(BIN)/python -m pytest bench --benchmark-columns=min,median,ops --benchmark-sort=name

bench-tf: build $(VENV)-tf/.installed
	$(BIN)/python bench/runs/compat.py $(TF)
	$(BIN)/python bench/runs/images.py $(TF)

# SHORT=1: the ten workloads at the head of docs/performance.md, in a quarter of an hour; without it 40 minutes.
bench-peers: build $(APART:%=$(VENV)-peers/%/.installed)
	$(BIN)/python bench/peers/run.py --environments $(VENV)-peers --peers $(PEERS) --work $(WORK) $(SHORT:%=--short)

# A peer that cannot be installed is left out, and the comparison says so.
$(VENV)-peers/%/.installed: bench/peers/%.txt
	mkdir -p $(VENV)-peers
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade pip
	rm -f $@
	$(@D)/bin/python -m pip install --quiet --requirement $< && touch $@ || echo "$*: left out, as pip failed" >&2

# Random-resized crops of JPEG files, compared with the peers that decode images.
bench-crops: build $(patsubst %,$(VENV)-peers/%/.installed,tensorflow torch grain spdl dali)
	$(BIN)/python bench/peers/crops.py --environments $(VENV)-peers

# The first batch from workers whose function holds 128 MiB, as in SPDL's benchmark.
bench-worker-start: build $(patsubst %,$(VENV)-peers/%/.installed,torch spdl)
	$(BIN)/python bench/peers/start_workers.py --environments $(VENV)-peers

# Arrays of 32 MiB from a worker to its parent, as in SPDL's benchmark.
bench-transport: build $(patsubst %,$(VENV)-peers/%/.installed,torch spdl)
	$(BIN)/python bench/peers/transport.py --environments $(VENV)-peers

# DLIO (MLPerf Storage): how many accelerators each loader can feed, in 8 minutes. DLIO requires DALI for the GPU, and
# does not need it here.
bench-dlio: build $(VENV)-peers/dlio/.installed
	test -f $(VENV)-peers/dlio/bin/dlio_benchmark || \
	    $(VENV)-peers/dlio/bin/python -m pip install --quiet --no-deps "dlio-benchmark==2.0.0"
	$(BIN)/python bench/peers/dlio.py --environments $(VENV)-peers

bench-scaling: build
	$(BIN)/python bench/runs/scaling.py

# The cost of a batch's tensors, in microseconds.
bench-torch: $(VENV)-torch/.installed
	$(VENV)-torch/bin/python bench/runs/conversion.py

# Ray clusters with all nodes here, compared with threads, processes and Ray Data; and how that scales.
bench-cluster: build $(VENV)-cluster/.bench
	for program in cluster cluster_costs cluster_growth; do \
	    PYTHONPATH=. $(VENV)-cluster/bin/python bench/runs/$$program.py || exit 1; \
	done

$(VENV)-cluster/.bench: $(VENV)-cluster/.installed
	$(@D)/bin/python -m pip install --quiet --group cluster-bench
	touch $@

# A function in free-threaded Python's threads, compared with processes and the torch installed by `make bench-peers`.
bench-free-threaded: build $(VENV)-free/.installed
	$(BIN)/python bench/runs/free_threaded.py $(VENV)-free/bin/python --environments $(VENV)-peers

# With the peers installed by `make bench-peers`.
bench-latency: build
	$(BIN)/python bench/runs/latency.py --environments $(VENV)-peers

# The overhead per function call in 1 to 64 workers, and from it a simulation with more cores.
bench-cores: build
	$(BIN)/python bench/runs/many_cores.py
	$(BIN)/python bench/runs/cores_growth.py

# Files on a web server with a delay and a bandwidth, compared with fsspec reading them in order, and other libraries.
bench-remote: $(VENV)-sources/.installed
	$(VENV)-sources/bin/python bench/runs/remote.py

# workers="auto" compared with the best hand-tuned number. Takes 25 minutes.
bench-auto: build
	$(BIN)/python bench/runs/auto.py

# Instructions in hot paths, compared with bench/runs/instructions.json; RECORD=--record rewrites this file.
bench-instructions: build
	$(BIN)/python bench/runs/instructions.py $(RECORD)

# Time and code between `import pipeline` and the first batch.
bench-start: build
	$(BIN)/python bench/runs/start.py

# Record TensorFlow's results for the cases in tests/compat again.
oracle: $(VENV)-tf/.installed
	PYTHONPATH=tests/support $(TF) tests/compat/record.py $(FAMILY)

$(VENV)-tf/.installed:
	$(PYTHON) -m venv $(VENV)-tf
	$(TF) -m pip install --quiet --upgrade pip
	$(TF) -m pip install --quiet "tensorflow-cpu==2.21.*"
	touch $@

# Source distribution and wheels in dist/, for all Pythons found here and glibc from 2.17 on; and their tests.
sdist: $(VENV)-wheels/.installed
	$(VENV)-wheels/bin/python .ci/wheels.py sdist

test-sdist: sdist
	rm -rf build/sdist && mkdir -p build/sdist
	tar -xzf dist/*.tar.gz -C build/sdist --strip-components=1
	$(MAKE) -C build/sdist run test VENV=.venv

wheels: $(VENV)-wheels/.installed
	$(VENV)-wheels/bin/python .ci/wheels.py build $(PYTHONS)

# Required for every change: one wheel, built once, and the tests of queues and batches with it.
test-wheel: $(VENV)-wheels/.installed
	$(VENV)-wheels/bin/python .ci/wheels.py once $(PYTHON)

# Tests of the queues on aarch64, by an emulator; TESTED= names others. docs/platforms.md says what it needs.
TESTED ?= tests/queues
test-aarch64:
	.ci/aarch64 $(TESTED)

test-wheels: $(VENV)-wheels/.installed
	$(VENV)-wheels/bin/python .ci/wheels.py test $(PYTHONS)

# A release's wheels, for this system and processor; needs docker on Linux, and writes to dist/ too.
release-wheels: $(VENV)-wheels/.installed
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} \
	    $(VENV)-wheels/bin/python -m cibuildwheel --output-dir dist

$(VENV)-wheels/.installed: pyproject.toml
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade pip
	$(@D)/bin/python -m pip install --quiet --group wheels
	touch $@

FORMS = $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))

# Warnings of the C++ compiler are errors here, so the modules are compiled once more, elsewhere.
lint: build
	$(BIN)/python .ci/check_commits.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cython-lint pyx
	$(BIN)/mypy
	$(BIN)/mypy tests/types
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-cache
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms $(FORMS)
	CFLAGS="-Wall -Wextra -Werror -O1" CXXFLAGS="-Wall -Wextra -Werror -O1" \
	    $(BIN)/python setup.py --quiet build_ext --force --build-lib build/lint --build-temp build/lint-temp

# The tag of a release, its version and its changelog agree: make check-release TAG=v0.4.0
check-release:
	$(PYTHON) .ci/check_release.py "$$TAG" $(wildcard dist/*)

clean:
	rm -rf build dist docs/api/generated *.egg-info $(VENV) $(VENV)-* pipeline/*.so .pytest_cache .hypothesis .mypy_cache .ruff_cache .benchmarks
	find . -name __pycache__ -prune -exec rm -rf {} +
