"""The random pairs find every fault that is seeded in the engine."""

from __future__ import annotations

import ast
import os

import pytest

from tests.mutants.mutants import fate, fates, mutants, report

MUTANTS = mutants()
CHOSEN = MUTANTS if os.environ.get("CEPHEID_MUTANTS") == "all" else MUTANTS[::5]
"""Of neighbours in the list, which are alike, one; `make mutants` runs all."""


def test_there_are_enough():
    assert len(MUTANTS[::5]) >= 20
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_its_place_is_found_and_what_comes_out_is_python(mutant):
    assert mutant.new != mutant.old
    ast.parse(mutant.source())


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_mutants_are_killed(record_report):
    found = fates(CHOSEN)
    record_report("mutants of the engine", report(found))
    survivors = [one.mutant.name for one in found if not one.killed]
    assert not survivors


@pytest.mark.slow
def test_the_engine_as_it_is_survives():
    assert not fate(None, n_pairs=3_000, seed=1).killed
