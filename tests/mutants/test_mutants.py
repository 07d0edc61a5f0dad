"""The random pairs find every fault that is seeded in the engine."""

from __future__ import annotations

import ast

import pytest

from tests.mutants.mutants import fate, fates, mutants, report

MUTANTS = mutants()


def test_there_are_enough():
    assert len(MUTANTS) >= 25
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_its_place_is_found_and_what_comes_out_is_python(mutant):
    assert mutant.new != mutant.old
    ast.parse(mutant.source())


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_mutant_is_killed(record_report):
    found = fates(MUTANTS)
    record_report("mutants of the engine", report(found))
    survivors = [one.mutant.name for one in found if not one.killed]
    assert not survivors


@pytest.mark.slow
def test_the_engine_as_it_is_survives():
    assert not fate(None, n_pairs=3_000, seed=1).killed
