"""What the sections of a job file have in common: keys that mean something, and values that can be checked at once."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from cepheid.connectors.column_types import column_type
from cepheid.errors import SchemaError
from cepheid.events import lengths
from cepheid.events.schema import TIME_UNITS

INT64_MAX = 2**63 - 1
"""The largest whole number that a column, and so a count of rows, can have."""

Name: TypeAlias = Annotated[str, Field(min_length=1)]


class Section(BaseModel):
    """A section: a key that means nothing is a slip of the pen, and refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, ser_json_inf_nan="constants")


def as_list(value: object) -> object:
    """One path, or one table ``[source]``, is short for a list of one."""
    return [value] if isinstance(value, (str, dict)) else value


Names: TypeAlias = Annotated[list[Name], BeforeValidator(as_list), Field(min_length=1)]
"""A name, or a list of them."""


def _known_unit(value: str) -> str:
    if value not in TIME_UNITS:
        raise ValueError(f"{value!r} is not a unit of time; use one of {', '.join(TIME_UNITS)}")
    return value


def _known_type(value: str) -> str:
    try:
        column_type(value)
    except SchemaError as error:
        raise ValueError(f"{error.message}; {error.remedy}") from None
    return value


def _length(value: str) -> str:
    length_us(value)
    return value


def length_us(text: str) -> int:
    """A length of time (``"5 s"``, ``"2 minutes"``) in microseconds.

    Raises:
        ValueError: it is none.
    """
    try:
        return lengths.length_us(text, "length")
    except SchemaError:
        raise ValueError(f'{text!r} is not a length of time; write "5 s" or "2 minutes"') from None


def _option(value: object) -> object:
    """Settings of Spark and Kafka are texts; numbers and truths may be written as such."""
    return str(value).lower() if isinstance(value, (bool, int, float)) else value


Option: TypeAlias = Annotated[str, BeforeValidator(_option)]
TimeUnit: TypeAlias = Annotated[str, AfterValidator(_known_unit)]
TypeName: TypeAlias = Annotated[str, AfterValidator(_known_type)]
Length: TypeAlias = Annotated[str, AfterValidator(_length)]
