"""Values of parameters as job files and command lines can write them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal, InvalidOperation

from cepheid.errors import ParameterError, QueryError
from cepheid.events.schema import TIME_UNITS
from cepheid.events.types import DataType, Kind
from cepheid.language.bound import BoundQuery
from cepheid.language.quantities import extent


def parameter_values(
    bound: BoundQuery, said: Mapping[str, object], typed: Mapping[str, str] | None = None
) -> dict[str, object]:
    """The values of a query's parameters.

    Args:
        bound: the query; values for parameters that it does not have are passed on, to be refused with a remedy.
        said: as a TOML file has them. TOML has no lengths of time: they are texts such as ``"5 minutes"``.
        typed: as a command line has them, all texts; they go before ``said``.

    Returns:
        Values of the Python types that `cepheid.match` takes.

    Raises:
        ParameterError: a text stands for no value of its parameter's type.
    """
    values = {name: _from_toml(bound, name, value) for name, value in said.items()}
    return values | {name: _from_text(bound, name, text) for name, text in (typed or {}).items()}


def _from_toml(bound: BoundQuery, name: str, value: object) -> object:
    dtype = bound.parameters.get(name)
    if dtype is None:
        return value
    if dtype.kind is Kind.LIST and isinstance(value, list) and dtype.element is not None:
        return [_item_from_toml(name, item, dtype.element) for item in value]
    return _item_from_toml(name, value, dtype)


def _item_from_toml(name: str, value: object, dtype: DataType) -> object:
    if dtype.kind is Kind.DURATION and isinstance(value, str):
        return _duration(name, value)
    if dtype.kind is Kind.DECIMAL and isinstance(value, str):
        return _converted(name, value, dtype)
    return value


def _from_text(bound: BoundQuery, name: str, text: str) -> object:
    dtype = bound.parameters.get(name)
    if dtype is None:
        return text
    if dtype.kind is Kind.LIST and dtype.element is not None:
        return [_converted(name, item.strip(), dtype.element) for item in text.split(",")] if text.strip() else []
    return _converted(name, text, dtype)


def _converted(name: str, text: str, dtype: DataType) -> object:
    try:
        match dtype.kind:
            case Kind.BOOL:
                return {"true": True, "false": False}[text.strip().lower()]
            case Kind.INT:
                return int(text)
            case Kind.FLOAT:
                return float(text)
            case Kind.DECIMAL:
                return Decimal(text)
            case Kind.DURATION:
                return _duration(name, text)
            case _:
                return text
    except (ValueError, KeyError, InvalidOperation):
        raise ParameterError(
            f"the parameter :{name} is of the type {dtype}, and {text!r} is no such value",
            remedy=_REMEDIES.get(dtype.kind),
        ) from None


_REMEDIES = {
    Kind.BOOL: "write true or false",
    Kind.INT: "write a whole number",
    Kind.FLOAT: "write a number, with a point and not a comma",
    Kind.DECIMAL: "write a number, with a point and not a comma",
}


def _duration(name: str, text: str) -> timedelta:
    try:
        length = extent(text)
    except QueryError:
        length = None
    factor_us = None if length is None else TIME_UNITS.get(length.unit or "")
    if length is None or factor_us is None:
        raise ParameterError(
            f"the parameter :{name} is a length of time, and {text!r} is none", remedy="write it as in '5 minutes'"
        )
    return timedelta(microseconds=length.value * factor_us)
