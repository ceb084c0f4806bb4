# Two commands on a fresh machine: `make demo` runs the main job, `make test` passes the tests.
# Each target makes what it needs; the only requirements are make and Python 3.11 or later.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# What `make demo` needs and nothing else, unless the environment of the tests is there already.
DEMO_VENV ?= $(if $(wildcard $(STAMP)),$(VENV),.venv-demo)
FAST   := $(CURDIR)/build/compiled
# `all` where compiling has to work: there are a C compiler and Python's headers.
MUST_COMPILE = $$(command -v $${CC:-cc} >/dev/null && test -f "$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" && echo all)
# The compiled copy, before the source beside which we stand.
WITH_FAST := PYTHONSAFEPATH=1 PYTHONPATH=$(FAST):$(CURDIR)

MINUTES ?= 10
SEQUENCES ?= 1000

# Two processes more than cores, since clients and Spark often wait. They are forked once all tests are collected
# (tests/support/workers.py), and tests of Spark go to one of them. WORKERS=0 is one process, to debug.
CORES := $(shell $(PYTHON) -c 'import os; print(len(getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)))')
WORKERS ?= $(shell echo $$(($(CORES) + 2)))
# A test that hangs prints where its threads are, and fails; the others go on in a new process.
HANGS_S = 600
PYTEST = -m pytest --workers $(WORKERS) -o hang_limit_s=$(HANGS_S)

# Images of containers set it. Then each of several processes compiles all tests and modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install compiled demo test test-all languages soak honest quick affected test-compiled properties fuzz mutants witness-mutants wire-mutants costs \
  check format bench guard conformance conformance-producer suites wheels nightly flaky green clean help

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

# pip packs the 400 MB of Spark into a wheel and unpacks it again: without compressing it, that takes half the time.
define INSTALL
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed; this is %s. Try: make PYTHON=python3.12 ..." % sys.version.split()[0])'
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@echo "installing $(1) into $(@D) (once) ..."
	@printf '[bdist_wheel]\ncompression = stored\n' > $(@D)/wheels.cfg
	@DIST_EXTRA_CONFIG=$(CURDIR)/$(@D)/wheels.cfg $(@D)/bin/python -m pip install --quiet --disable-pip-version-check \
	  --no-compile --editable '.[$(1)]'
	@touch $@
endef

# The processes of the tests begin at the same time. Without this, each of them compiles all modules for itself.
$(STAMP): pyproject.toml
	$(call INSTALL,all)
	@$(BIN)/python -m compileall -q -j 0 -x '/test_[^/]*$$' $(VENV)/lib fakebroker timingwheel load conformance benchmarks tests >/dev/null || true

.venv-demo/.installed: pyproject.toml
	$(call INSTALL,load)

# C files that were compiled before, from the same text, are not compiled again.
OBJECTS ?= $(HOME)/.cache/fakebroker/objects

$(FAST)/.built: $(STAMP) setup.py build_backend.py compiled.toml $(shell find fakebroker timingwheel load -name '*.py')
	@echo "compiling into $(FAST), as on a machine that has nothing of ours; where that cannot be done it is a plain copy ..."
	@rm -rf $(FAST)
	@$(PYTHON) -m venv --clear build/builder
	@FAKEBROKER_OBJECTS=$(OBJECTS) FAKEBROKER_COMPILE=$(MUST_COMPILE) build/builder/bin/python -m pip install --quiet \
	  --disable-pip-version-check --no-deps --target $(FAST) .
	@find $(OBJECTS) -name '*.o' -mtime +14 -delete 2>/dev/null || true
	@touch $@

## make install  a virtual environment in .venv with all that tests, checks and benchmarks need; they make it too
install: $(STAMP)

## make compiled  the compiled copy, whole, in build/compiled; every other target that needs it makes it too
compiled: $(FAST)/.built

## make demo    the main job: a cluster with frozen followers, a Spark load of acks=all, the verdict
demo: $(DEMO_VENV)/.installed
	$(DEMO_VENV)/bin/fakebroker demo

## make test    every kind of test, in the dose of every day; on all cores
test: $(STAMP)
	$(BIN)/python $(PYTEST)

## make test-all  all tests, with more seeds and examples (an hour); what drives other languages is `make languages`
test-all: HANGS_S = 3600
test-all: $(STAMP)
	FAKEBROKER_TESTS=nightly $(BIN)/python $(PYTEST)

## make languages  the tests that drive programs in Java, Go, Rust and JavaScript, as far as their tools are here
languages: HANGS_S = 3600
languages: $(STAMP)
	FAKEBROKER_TESTS=languages $(BIN)/python $(PYTEST) -m languages

## make soak    the tests that measure milliseconds; a slow machine may fail them
soak: $(STAMP)
	FAKEBROKER_TESTS=soak $(BIN)/python -m pytest -m soak

## make honest RUNS=300   the bundled scenarios against an honest broker, beside busy loops, with a load that stands still now and then
honest: RUNS = 300
honest: $(STAMP)
	$(BIN)/python -m tests.honest --runs $(RUNS) $(HONEST)

## make quick   the tests that most slips break, in half a minute; TESTS=tests/core takes less
# The core, the APIs and every third golden transcript, without the files that take seconds.
TESTS ?= tests/core tests/apis tests/network tests/cluster tests/timingwheel tests/conformance/test_golden.py \
  tests/test_architecture.py $(addprefix --ignore=tests/,core/log/test_validation_in_slices.py apis/test_registry.py \
  core/transactions/test_large_transactions.py core/replication/test_offsets_in_slices.py cluster/faults \
  core/groups/consumer/test_settling.py apis/cluster/test_many_topics.py)
quick: WORKERS := $(CORES)
quick: $(STAMP)
	HYPOTHESIS_PROFILE=quick FAKEBROKER_SEEDS=20 FAKEBROKER_EVERY=3 $(BIN)/python $(PYTEST) -q -m "not (slow or spark or clients)" $(TESTS)

## make affected  the tests that a change can break, within a minute; BASE=main~3 says since when
BASE ?=
affected: $(STAMP)
	$(BIN)/python -m tests.affected --run $(BASE)

## make test-compiled  the tests of all that is compiled, against the compiled copy; QUICK=1 runs a part of them
TESTS_COMPILED := tests/core tests/network tests/cluster tests/timingwheel tests/producer tests/properties \
  tests/conformance/test_golden.py $(if $(QUICK),-m "not (slow or spark or clients)",tests/apis tests/protocol \
  tests/producing tests/server tests/testing tests/fuzz tests/test_cli.py tests/test_examples.py)
test-compiled: $(FAST)/.built
	$(WITH_FAST) $(BIN)/python $(PYTEST) $(TESTS_COMPILED)

## make properties MINUTES=10   look for histories that break a rule, for so long
properties: $(STAMP)
	FAKEBROKER_MINUTES=$(MINUTES) HYPOTHESIS_PROFILE=properties $(BIN)/python -m pytest tests/properties

## make fuzz MINUTES=10   mutated frames of all APIs and versions, to the source and to the compiled copy, for so long
fuzz: $(FAST)/.built
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --compiled $(FAST) $(FUZZ)

## make mutants  do the tests notice slips in the code? MUTANTS="--random 200 --seed 1" draws some instead of the chosen ones
mutants: $(STAMP)
	$(BIN)/python -m tests.mutants $(MUTANTS)

## make witness-mutants SEED=1 COUNT=10000   does the verdict of a load notice one changed row of an honest run? WITNESSES="--scenario frozen" chooses
SEED ?= 1
COUNT ?= 10000
witness-mutants: $(STAMP)
	$(BIN)/python -m tests.witness_mutants --seed $(SEED) --count $(COUNT) $(WITNESSES)

## make wire-mutants SEED=1 COUNT=500   does it notice one altered message between load and broker?
wire-mutants: COUNT := 500
wire-mutants: $(STAMP)
	$(BIN)/python -m tests.witness_mutants --wire --seed $(SEED) --count $(COUNT)

## make costs   what each test file costs, and what it alone executes; COSTS=tests/core renews a part
costs: $(STAMP)
	$(BIN)/python -m tests.costs $(COSTS)
	$(BIN)/python -m tests.costs --table

## make check   ruff (lint, format) and mypy --strict, of the tests too; the lint of the prose
check: $(STAMP)
	$(BIN)/python -m tests.prose
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
	$(BIN)/python -m benchmarks guard & one=$$!; $(WITH_FAST) $(BIN)/python -m benchmarks guard; two=$$?; wait $$one && exit $$two

## make conformance  the same traffic to Apache Kafka (from Maven Central, needs Java 17 and Maven) and to us
conformance: $(STAMP)
	$(BIN)/python -m conformance run $(CONFORMANCE)

## make conformance-producer SEQUENCES=1000   random sequences to the producer of kafka-clients 2.0.1 and 4.3.0 and to ours
conformance-producer: $(STAMP)
	$(BIN)/python -m conformance.producer --sequences $(SEQUENCES)
	$(BIN)/python -m conformance.producer.real_time

## make suites  the clients' own test suites, unmodified, against Apache Kafka and us; SUITES="kgo --side ours" chooses
suites: $(STAMP)
	$(BIN)/python -m conformance.suites $(SUITES)

## make wheels  a wheel for each CPython from 3.11 to 3.14 that is found, in dist/; PYTHONS="3.12 /path/python3.14" chooses
wheels: $(STAMP)
	$(BIN)/python -m release.wheels $(PYTHONS)

## make nightly  everything that CI leaves out, one after the other (hours): all tests, languages, soak, compiled, mutants, Kafka
nightly: $(STAMP)
	$(BIN)/python -m tests.ci nightly

## make flaky RUNS=20   .ci/run so many times beside four busy loops, with order and stalls drawn by seed; TEST=tests/a.py::test_b runs that one
RUNS ?= 20
flaky: $(STAMP)
	$(BIN)/python -m tests.ci flaky --runs $(RUNS) $(TEST)

## make green   has .ci/run passed here on this very commit, without uncommitted changes?
green: $(STAMP)
	@$(BIN)/python -m tests.ci green

## make clean   remove what the other targets made
clean:
	rm -rf $(VENV) .venv-demo build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis fakebroker-demo
