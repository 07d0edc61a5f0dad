"""What random pairs covered, as a table; and what they found, as a test."""

from __future__ import annotations

import hashlib
import pprint
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from cepheid.testing.fuzz import Counterexample, Coverage
from cepheid.testing.harness import AS_USUAL, Answer
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies_features import OF_STREAMS, OPERATORS, POLICIES, WINDOWS

ROWS = ("all", *OPERATORS, *OF_STREAMS)


def coverage_table(coverage: Coverage) -> str:
    """Pairs for each operator, policy and window: how many, how many of them with a match, how many queries refused."""
    n_refused = sum(coverage.reasons.values())
    lines = [
        f"{coverage.n_pairs} pairs of {coverage.n_queries} queries compared; {n_refused} queries that the engine does "
        f"not run yet; {coverage.n_unbound} that the language refuses; {coverage.n_slow} pairs too slow for the oracle",
        f"{coverage.n_planned} pairs under an evaluation plan, {coverage.n_keyed} in the kernel for chains of one key",
        "Each cell: pairs / pairs with a match / queries refused by the engine",
    ]
    wide = max(len(row) for row in ROWS)
    for policy in POLICIES:
        lines.append("")
        lines.append(f"{'POLICY ' + policy:<{wide}}" + "".join(f"{window:>18}" for window in WINDOWS))
        for row in ROWS:
            cells = [_cell(coverage, (row, policy, window)) for window in WINDOWS]
            if any(cells):
                lines.append(f"{row:<{wide}}" + "".join(f"{cell or '-':>18}" for cell in cells))
    if coverage.reasons:
        lines += ["", "Refused by the engine, queries:"]
        lines += [f"{number:>8}  {reason}" for reason, number in coverage.reasons.most_common()]
    return "\n".join(lines)


def _cell(coverage: Coverage, key: tuple[str, str, str]) -> str:
    numbers = (coverage.pairs[key], coverage.matched[key], coverage.refused[key])
    return "/".join(map(str, numbers)) if any(numbers) else ""


def never_compared(coverage: Coverage) -> list[str]:
    """What no pair with a match has, though the engine refuses no query that has it."""
    return [row for row in ROWS if not _total(coverage.matched, row) and not _total(coverage.refused, row)]


def _total(counts: Mapping[tuple[str, str, str], int], row: str) -> int:
    return sum(number for (operator, _, _), number in counts.items() if operator == row)


def coverage_data(coverage: Coverage) -> dict[str, Any]:
    """Counts that JSON can hold."""
    return {
        name: [[*(key if isinstance(key, tuple) else [key]), n] for key, n in value.items()]
        if isinstance(value, Counter)
        else value
        for name, value in vars(coverage).items()
    }


def coverage_from(data: dict[str, Any]) -> Coverage:
    """The counts that `coverage_data` wrote."""
    coverage = Coverage()
    for name, value in data.items():
        if isinstance(value, list):
            counts = {(key[0] if len(key) == 1 else tuple(key)): n for *key, n in value}
            setattr(coverage, name, Counter(counts))
        else:
            setattr(coverage, name, value)
    return coverage


def as_test(found: Counterexample, origin: str) -> tuple[str, str]:
    """A counterexample as a test: the name of its file, and its text.

    Args:
        found: the counterexample.
        origin: how it was found.
    """
    text = f'"""Found at random ({origin})."""\n\n'
    text += "from math import inf, nan\n\n" if "inf" in repr(found.events) or "nan" in repr(found.events) else ""
    decimals = any("Decimal" in repr(event.values) for event in found.events)
    text = text.replace("\n\n", "\n\nfrom decimal import Decimal\n", 1) if decimals else text
    text += "from cepheid.testing.fuzz import require_same\n"
    text += "from cepheid.testing.oracle_events import OracleEvent\n\n"
    text += f'QUERY = """\n{found.text.strip()}\n"""\n'
    text += "\n".join(["EVENTS = [", *_events(found.events), "]"]) + "\n"
    text += "# (variable, number of the event), bounds of the window, time of the decision, columns of RETURN\n"
    text += f"ORACLE = {_answers(found.oracle)}\n"
    text += "\n# When this was found, the engine gave:\n"
    text += "".join(f"# {line}\n" for line in _answers(found.engine).splitlines())
    plain = AS_USUAL._asdict()
    how = "".join(f", {name}={value!r}" for name, value in found.how._asdict().items() if value != plain[name])
    text += f"\n\ndef test_engine_gives_what_the_oracle_gives():\n    require_same(QUERY, EVENTS, ORACLE{how})\n"
    name = hashlib.sha256((found.text + repr(found.events)).encode()).hexdigest()[:10]
    return f"test_{name}.py", text


def _events(events: tuple[OracleEvent, ...]) -> Iterator[str]:
    for event in events:
        yield f"    OracleEvent({event.time}, {event.order}, {event.source!r}, {event.type!r}, {dict(event.values)!r}),"


def _answers(answers: list[Answer] | str) -> str:
    if isinstance(answers, str):
        return repr(answers)
    return pprint.pformat([tuple(answer) for answer in answers], width=110)
