# Two commands on a fresh machine: `make demo` runs the main job, `make test` passes the tests.
# Each target makes what it needs; the only requirements are make and Python 3.11 or later.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
FAST   := $(CURDIR)/build/compiled
# 1 where compiling has to work: there are a C compiler and Python's headers.
MUST_COMPILE = $$(command -v $${CC:-cc} >/dev/null && test -f "$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" && echo 1)
# The compiled copy, before the source beside which we stand.
WITH_FAST := PYTHONSAFEPATH=1 PYTHONPATH=$(FAST):$(CURDIR)

MINUTES ?= 10
SEQUENCES ?= 1000

# Of the tests that take long one in so many, others with each change of the code (tests/support/one_in.py).
ONE_IN ?= 1
export FAKEBROKER_ONE_IN = $(ONE_IN)

# A process for each core. Tests of Spark go to one of them (tests/support/scheduling.py). WORKERS=0 is one process, to debug.
WORKERS ?= auto
PYTEST := -m pytest -n $(WORKERS) --dist loadscope -o faulthandler_timeout=600

# Images of containers set it. Then each of several processes compiles all tests and modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install compiled demo test quick test-compiled properties fuzz mutants check format bench guard conformance conformance-producer suites clean help

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed; this is %s. Try: make PYTHON=python3.12 ..." % sys.version.split()[0])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all]'
	@touch $@

$(FAST)/.built: $(STAMP) setup.py build_backend.py $(shell find fakebroker timingwheel load -name '*.py')
	@echo "compiling into $(FAST), as on a machine that has nothing of ours; where that cannot be done it is a plain copy ..."
	@rm -rf $(FAST)
	@$(PYTHON) -m venv --clear build/builder
	@FAKEBROKER_COMPILE=$(MUST_COMPILE) build/builder/bin/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps --target $(FAST) .
	@touch $@

## make install  a virtual environment in .venv with all that is needed; every other target makes it too
install: $(STAMP)

## make compiled  the compiled copy, in build/compiled; every other target that needs it makes it too
compiled: $(FAST)/.built

## make demo    the main job: a cluster with frozen followers, a Spark load of acks=all, the verdict
demo: $(STAMP)
	$(BIN)/fakebroker demo

## make test    all tests: units, properties, stock clients, Spark; on all cores; ONE_IN=4 draws of those that take long
test: $(STAMP)
	$(BIN)/python $(PYTEST)

## make quick   the tests that most slips break, in half a minute; TESTS=tests/core takes less
TESTS ?= tests/core tests/apis tests/protocol tests/network tests/cluster tests/timingwheel tests/properties \
  tests/conformance/test_golden.py tests/test_architecture.py tests/test_cli.py
quick: $(STAMP)
	HYPOTHESIS_PROFILE=quick FAKEBROKER_SEEDS=20 $(BIN)/python $(PYTEST) -q -m "not (slow or spark or clients)" $(TESTS)

## make test-compiled  the tests of all that is compiled, against the compiled copy
test-compiled: $(FAST)/.built
	$(WITH_FAST) $(BIN)/python $(PYTEST) tests/core tests/apis tests/protocol tests/network tests/cluster tests/timingwheel \
	  tests/producer tests/producing tests/server tests/testing tests/fuzz \
	  tests/properties tests/conformance/test_golden.py tests/test_cli.py tests/test_examples.py

## make properties MINUTES=10   look for histories that break a rule, for so long
properties: $(STAMP)
	FAKEBROKER_MINUTES=$(MINUTES) HYPOTHESIS_PROFILE=properties $(BIN)/python -m pytest tests/properties

## make fuzz MINUTES=10   mutated frames of all APIs and versions, to the source and to the compiled copy, for so long
fuzz: $(FAST)/.built
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --compiled $(FAST) $(FUZZ)

## make mutants  do the tests notice slips in the code? (a few minutes)
mutants: $(STAMP)
	$(BIN)/python -m tests.mutants

## make check   ruff (lint, format) and mypy --strict, of the tests too
check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	MYPYPATH=tests:load $(BIN)/mypy --explicit-package-bases $(wildcard tests/*/conftest.py)

## make format  let ruff rewrite what it can
format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

## make bench   the benchmarks of the compiled copy, beside the peers that this machine can have; BENCH="produce --quick" chooses
bench: $(FAST)/.built
	$(WITH_FAST) $(BIN)/python -m benchmarks $(BENCH)

## make guard   instructions of the hot path, interpreted and compiled, against the recorded ones (needs valgrind; passes without)
guard: $(FAST)/.built
	$(BIN)/python -m benchmarks guard
	$(WITH_FAST) $(BIN)/python -m benchmarks guard

## make conformance  the same traffic to Apache Kafka (from Maven Central, needs Java 17 and Maven) and to us
conformance: $(STAMP)
	$(BIN)/python -m conformance run $(CONFORMANCE)

## make conformance-producer SEQUENCES=1000   random sequences to the producer of kafka-clients 2.0.1 and 4.3.0 and to ours
conformance-producer: $(STAMP)
	$(BIN)/python -m conformance.producer --sequences $(SEQUENCES)

## make suites  the clients' own test suites, unmodified, against Apache Kafka and us; SUITES="kgo --side ours" chooses
suites: $(STAMP)
	$(BIN)/python -m conformance.suites $(SUITES)

## make clean   remove what the other targets made
clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis fakebroker-demo
