# Everything a person does in this checkout. `make` alone lists it.
# Needs make, a Python 3.11 or newer and, for Spark, Java 17 or newer (installed where apt-get may be used).

SHELL := /bin/sh
.DEFAULT_GOAL := help
MINUTES ?= 10
UV ?= uv

PY := .venv/bin/python
# The stamps carry the checksum of what they stand for: a changed lock makes a new environment.
LOCKED := .venv/locked-$(shell cksum < requirements.lock | cut -d' ' -f1)
READY := .venv/ready-$(shell cat requirements.lock pyproject.toml | cksum | cut -d' ' -f1)
# For recipes that need Spark: stops with one line where there is no Java.
WITH_JAVA := java_home="$$(scripts/java.sh)" || exit 1; export JAVA_HOME="$$java_home";
# For recipes that can leave Spark out: says so and goes on, except in CI.
WITH_JAVA_IF_ANY := java_home="$$(scripts/java.sh)" || { [ -z "$$CI" ] || exit 1; echo "without Java: what needs Spark is left out"; }; \
	[ -z "$$java_home" ] || export JAVA_HOME="$$java_home";

.PHONY: help setup java demo test check bench peers figures fuzz mutants ci oldest lock clean

help:  ## this list
	@awk 'BEGIN {FS = ":.*  ## "} /^[a-z]+:.*  ## / {printf "  make %-9s %s\n", $$1, $$2}' Makefile

setup: $(READY)  ## .venv with everything requirements.lock names, and cepheid itself

$(LOCKED):
	@scripts/setup.sh
	@touch $@

$(READY): $(LOCKED)
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@rm -f .venv/ready-*
	@touch $@

java:  ## find Java 17 or newer for Spark, or install it where apt-get may be used
	@home="$$(scripts/java.sh)" && echo "Java for Spark: $$home"

demo: setup  ## delays that grow from flight to flight, in all flights that left New York in 2013
	@.venv/bin/cepheid demo

test: setup  ## the tests, without the slow ones, in two processes (under ten minutes)
	@$(WITH_JAVA_IF_ANY) [ -z "$$java_home" ] || { SPARK_SUBMIT_OPTS="$$($(PY) scripts/spark_java.py)" && \
	export SPARK_SUBMIT_OPTS; } || exit 1; $(PY) -m pytest -m "not slow" -n 2

check: setup  ## style, types, who imports whom, docstrings
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@$(PY) -m pytest -q tests/architecture

bench: setup  ## events per second of the engine alone and under Spark, beside a reference
	@missed=0; $(PY) -m benchmarks.engine || missed=1; \
	$(WITH_JAVA) $(PY) -m benchmarks.spark || missed=1; exit $$missed

peers: setup  ## the engine beside Flink CEP, CORE, DuckDB, Polars and plain Python, which it installs in build/peers
	@$(PY) -m benchmarks.peers

figures: setup  ## the figures of the papers, the paper's number beside ours; of one with PAPER=probslack
	@$(WITH_JAVA_IF_ANY) PAPER="$(PAPER)" scripts/figures.sh

fuzz: setup  ## new random queries and streams against the oracle for MINUTES=10
	@$(PY) scripts/fuzz.py --minutes $(MINUTES)

mutants: setup  ## all faults that are seeded in the engine, each of which tests must find (make ci: a fifth of them)
	@CEPHEID_MUTANTS=all $(PY) -m pytest tests/mutants

ci: check  ## everything: checks, all tests with the slow ones, many on Spark with PySpark 4.0 again, the claims of the papers on a few seeds
	@$(WITH_JAVA) $(PY) scripts/all_tests.py

oldest: setup  ## all tests on Spark that are not slow with PySpark 4.0, the oldest that is supported, Kafka and Delta
	@$(WITH_JAVA) scripts/oldest-pyspark.sh

lock:  ## resolve the dependencies of pyproject.toml anew (needs uv)
	@$(UV) pip compile --quiet --upgrade --generate-hashes --no-emit-index-url --no-emit-find-links --universal \
		--fork-strategy fewest --python-version 3.11 --all-extras --group dev --no-annotate \
		--custom-compile-command "make lock" --output-file requirements.lock pyproject.toml

clean:  ## remove what make made: .venv, caches, build results
	@rm -rf .venv dist build figures .mypy_cache .pytest_cache .ruff_cache .hypothesis spark-warehouse
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
