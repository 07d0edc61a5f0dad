"""JSON texts as columns, in Spark's own plan; what cannot be read is kept beside them with the reason.

A text is one JSON object, as a line of a JSON lines file is. A field that is not there is NULL; one with a value of
another kind makes the event a rejected one: nothing is guessed, and nothing stops the stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from cepheid.errors import SchemaError
from cepheid.spark.values import micros, named

N_RAW_MAX = 200
"""Characters of a rejected text that are kept."""

_PARSED = "cepheid parsed"
REJECTION = "cepheid rejected"
"""The column that says why a row is no event: a struct of ``column``, ``reason`` and ``raw``; NULL for an event."""

_CORRUPT = "cepheid corrupt"
_END = "cepheid end"
_OPTIONS = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": _CORRUPT,
    "allowSingleQuotes": "false",
    "allowNonNumericNumbers": "false",
}
_ZONED = r"([Zz]|[+-]\d\d(:?\d\d)?)\s*$"


@dataclass(frozen=True)
class Read:
    """What was read of a source.

    Attributes:
        whole: one row for each event, and one for each text that is none: the columns that were asked for, those that
            tell where it came from, and `REJECTION`, which is NULL for an event.
        places: the columns that tell where it came from.
    """

    whole: DataFrame
    places: tuple[str, ...] = ()

    @property
    def events(self) -> DataFrame:
        """One row per event; a stream of its own, where the source is one."""
        return self.whole.where(named(REJECTION).isNull()).drop(REJECTION)

    @property
    def rejected(self) -> DataFrame:
        """What is no event: where it came from, ``column`` (the one at fault; NULL for the whole text), ``reason``, and
        ``raw``, its first `N_RAW_MAX` characters; a stream of its own, where the source is one.
        """
        told = self.whole.where(named(REJECTION).isNotNull())
        return told.select(*map(named, self.places), f"`{REJECTION}`.*")


def rejection(reason: str | Column, raw: Column, column: str | None = None) -> Column:
    """The struct of `REJECTION` of a row that is no event.

    Args:
        reason: what is wrong.
        raw: its text.
        column: the one at fault; None for the whole.
    """
    told = F.lit(reason) if isinstance(reason, str) else reason
    return F.struct(F.lit(column).cast("string").alias("column"), told.alias("reason"), raw.alias("raw"))


def all_events(frame: DataFrame) -> Read:
    """What was read of a source that brings nothing but events."""
    nothing = F.lit(None).cast("struct<column: string, reason: string, raw: string>")
    return Read(frame.withColumn(REJECTION, nothing))


def parse_json(frame: DataFrame, value: str, schema: spark.StructType, *, required: tuple[str, ...] = ()) -> Read:
    """Texts of JSON objects as columns.

    Times are texts in ISO 8601; one without a zone is UTC, whatever the zone of the session is. A text column takes
    other values, too, as they are written. Decimals are rounded to their scale.

    Args:
        frame: a DataFrame, or a stream of them.
        value: its column of texts (or of their bytes in UTF-8).
        schema: the fields to read. The other columns of ``frame`` come first, and say where a text came from.
        required: fields that every event must have.

    Raises:
        SchemaError: a field is called like another column of the frame.
    """
    others = [name for name in frame.columns if name != value]
    for field in schema.fields:
        if field.name in others:
            raise SchemaError(
                f"the events have a field {field.name!r}, and so is a column called that says where they came from",
                remedy="leave it out of the schema; the column has no more to say of the event itself",
            )
    text = named(value).cast("string")
    read = spark.StructType([spark.StructField(f.name, _as_written(f.dataType), True) for f in schema.fields])
    parsed = frame.select(*(named(name) for name in others), text.alias(value), _parsed(text, read).alias(_PARSED))
    one = F.get(_field(_PARSED, "v"), F.lit(0))
    fields = {f.name: _converted(one.getField(f.name), f.dataType) for f in schema.fields}
    columns = parsed.select(
        *(named(name) for name in others),
        *(column.alias(name) for name, column in fields.items()),
        _why(value, schema, fields, required).alias(REJECTION),
    )
    return Read(columns, tuple(others))


def _as_written(of: spark.DataType) -> spark.DataType:
    # Spark takes a number for a time in seconds, and one without zone to be in the session's: they are read as texts.
    return spark.StringType() if isinstance(of, (spark.TimestampType, spark.TimestampNTZType, spark.DateType)) else of


def _parsed(text: Column, read: spark.StructType) -> Column:
    """The text in a list of one, and something behind it: what follows an object, which Spark does not look at, is then
    a fault, or hides what is behind it.
    """
    whole = spark.StructType(
        [
            spark.StructField("v", spark.ArrayType(read, True), True),
            spark.StructField(_END, spark.BooleanType(), True),
            spark.StructField(_CORRUPT, spark.StringType(), True),
        ]
    )
    return F.from_json(F.concat(F.lit('{"v":['), text, F.lit(f'], "{_END}": true}}')), whole, _OPTIONS)


def _field(struct: str, name: str) -> Column:
    return named(struct).getField(name)


def _converted(column: Column, of: spark.DataType) -> Column:
    """A value in the type that was asked for; NULL for text that is no time."""
    match of:
        case spark.TimestampType():
            without_zone = F.timestamp_micros(micros(column.try_cast("timestamp_ntz"), spark.TimestampNTZType()))
            return F.when(column.rlike(_ZONED), column.try_cast("timestamp")).otherwise(without_zone)
        case spark.TimestampNTZType() | spark.DateType():
            return column.try_cast(of)
        case _:
            return column


def _why(value: str, schema: spark.StructType, fields: dict[str, Column], required: tuple[str, ...]) -> Column:
    """The struct of a rejected text; NULL for an event. What takes time is done for rejected texts only."""
    text = named(value)
    raw = F.substring(F.make_valid_utf8(text), 1, N_RAW_MAX)

    def because(reason: str | Column, column: str | None = None) -> Column:
        return rejection(reason, raw, column)

    def corrupt(*only: spark.StructField) -> Column:
        return _parsed(text, spark.StructType(list(only))).getField(_CORRUPT).isNotNull()

    one = F.get(_field(_PARSED, "v"), F.lit(0))
    kinds = [f for f in schema.fields if not isinstance(f.dataType, spark.StringType)]
    at_fault = F.when(corrupt(spark.StructField(_CORRUPT + " none", spark.StringType())), because("not a JSON object"))
    for f in kinds:
        if isinstance(_as_written(f.dataType), spark.StringType):
            continue
        at_fault = at_fault.when(corrupt(f), because(f"not {_called(f.dataType)}", f.name))
    reasons = [
        (text.isNull(), because("no value")),
        (~F.is_valid_utf8(text), because("not UTF-8 text")),
        (_field(_PARSED, _CORRUPT).isNotNull(), at_fault.otherwise(because("not a JSON object"))),
        (
            (F.size(_field(_PARSED, "v")) != 1) | one.isNull() | _field(_PARSED, _END).isNull(),
            because("not a JSON object"),
        ),
    ]
    for f in kinds:
        if isinstance(_as_written(f.dataType), spark.StringType):
            is_none = one.getField(f.name).isNotNull() & fields[f.name].isNull()
            reasons.append((is_none, because("not an ISO 8601 time", f.name)))
    reasons += [(fields[name].isNull(), because(f"no {name}", name)) for name in required]
    (first, told), *rest = reasons
    return reduce(lambda chain, item: chain.when(item[0], item[1]), rest, F.when(first, told))


def _called(of: spark.DataType) -> str:
    match of:
        case spark.ByteType() | spark.ShortType() | spark.IntegerType() | spark.LongType():
            return "an int"
        case spark.FloatType() | spark.DoubleType():
            return "a float"
        case spark.BooleanType():
            return "a bool"
        case _:
            return f"a {of.simpleString()}"
