"""Values of parameters as job files and command lines can write them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal, InvalidOperation

from cepheid.errors import ParameterError, QueryError
from cepheid.events.schema import TIME_UNITS
from cepheid.events.types import DataType, Kind
from cepheid.job.load import Job
from cepheid.language.bound import BoundQuery
from cepheid.language.parameters import with_parameters
from cepheid.language.quantities import extent


def values_for(job: Job, bound: BoundQuery, typed: Mapping[str, str] | None = None) -> dict[str, object]:
    """The values that a job and a command line have for the parameters of a query; some may be missing.

    Args:
        job: its file has values.
        bound: the query.
        typed: those of the command line, which go before.

    Raises:
        ParameterError: a value stands for no parameter, or a text for no value; it shows where.
    """
    values: dict[str, object] = {}
    for name, value in job.model.parameters.items():
        try:
            _require_known(bound, name)
            values |= parameter_values(bound, {name: value})
        except ParameterError as error:
            error.origin, error.text, error.span = job.origin, job.text, job.place("parameters", name)
            raise
    for name, text in (typed or {}).items():
        try:
            _require_known(bound, name)
            values |= parameter_values(bound, {}, {name: text})
        except ParameterError as error:
            error.origin = f"--param {name}"
            raise
    return values


def parameters_of(queries: Mapping[str, BoundQuery]) -> dict[str, DataType]:
    """The parameters of several queries, with the type that the last one gives them."""
    return {name: dtype for bound in queries.values() for name, dtype in bound.parameters.items()}


def require_all(bound: BoundQuery, values: Mapping[str, object]) -> None:
    """Check that every parameter of a job's query has a value.

    Raises:
        ParameterError: at the place of the one that has none.
    """
    missing = next((name for name in bound.parameters if name not in values), None)
    if missing is None:
        return
    try:
        with_parameters(bound, values)
    except ParameterError as error:
        error.remedy = f"{error.remedy}: under [parameters] of the job, or as --param {missing}=VALUE"
        raise


def _require_known(bound: BoundQuery, name: str) -> None:
    if name not in bound.parameters:
        known = ", ".join(f":{have}" for have in bound.parameters)
        raise ParameterError(
            f"no query of the job has a parameter :{name}",
            remedy=f"the parameters are: {known}" if known else "take it out: the queries have no parameters",
        )


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
