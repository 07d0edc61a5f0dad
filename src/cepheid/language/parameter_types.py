"""The type of each parameter, from all the places where it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cepheid.events.types import DataType, Kind, list_of
from cepheid.language.faults import fault
from cepheid.language.results import common_type
from cepheid.language.scope import article
from cepheid.language.tree import Parameter


def settled(
    parameters: Mapping[str, DataType], met: Mapping[str, Sequence[tuple[DataType, Parameter]]]
) -> dict[str, DataType]:
    """Parameter -> type, with what the last typing has found added to what is known.

    Args:
        parameters: the types that are known.
        met: parameter -> the types that its places ask for, each with the place.

    Raises:
        QueryError: two places ask for types that no value has both.
    """
    found = dict(parameters)
    for name, places in met.items():
        for dtype, node in places:
            known = found.get(name)
            found[name] = dtype if known is None else _both(name, known, dtype, node)
    return found


def _both(name: str, known: DataType, dtype: DataType, node: Parameter) -> DataType:
    if known.kind is Kind.LIST and dtype.kind is Kind.LIST and known.element and dtype.element:
        return list_of(_both(name, known.element, dtype.element, node))
    common = common_type(known, dtype)
    if common is None:
        raise fault(
            f":{name} is {article(known)} in one place and {article(dtype)} here",
            node,
            "use two parameters, one for each type",
        )
    return common
