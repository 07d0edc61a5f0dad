"""What an UNTIL has closed before it took anything: empty, where its branch is taken (SEMANTICS 3.5, 4.3)."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.language.tree import Or, Seq
from cepheid.testing.oracle_conditions import LATER, Path
from cepheid.testing.oracle_states import Choosing, Closing, Looping, State, States, names


def closed_empty(
    states: States, state: State, path: Path = (), *, taken: bool = True
) -> Iterator[tuple[str, Path, bool]]:
    """The variables of loops that an UNTIL has closed before they took anything, and that have not been passed.

    Args:
        states: of the query.
        state: of a run.
        path: the iteration.
        taken: it is on the branch that the run takes for sure.

    Yields:
        the variable, its iteration, and whether it is empty for sure; else it may be absent.
    """
    match state:
        case Seq(parts=(first, *rest)):
            yield from closed_empty(states, first, path, taken=taken)
            yield from closed_empty(states, Seq(tuple(rest)), path, taken=taken and _only_ends(states, first, path))
        case Or():
            for part in state.parts:
                yield from closed_empty(states, part, path, taken=taken and len(state.parts) == 1)
        case Closing():
            yield from closed_empty(states, state.head, path, taken=taken)
            if state.rest is not None:
                yield from closed_empty(states, state.rest, path, taken=taken and _only_ends(states, state.head, path))
        case Choosing():
            every = state.n_missing == sum(not begun for _, begun in state.parts)
            for open_part, begun in state.parts:
                yield from closed_empty(states, open_part, path, taken=taken and (begun or every))
        case Looping():
            if state.closed and state.n_done == 0:
                yield from ((name, path, taken) for name in names(state.repeat.part))
            if state.current is not None:
                here = states.inner(path, state.repeat, state.n_done)
                yield from closed_empty(states, state.current, here, taken=taken)
            if state.following is not None and state.following != state.repeat.part:
                later = states.inner(path, state.repeat, LATER)
                yield from closed_empty(states, state.following, later, taken=False)


def _only_ends(states: States, state: State, path: Path) -> bool:
    return all(step.element is None for step in states.steps(state, path))
