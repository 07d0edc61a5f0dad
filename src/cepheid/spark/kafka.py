"""Events from Kafka, and matches to it, as DataFrames and streams of Spark.

    from cepheid.spark.kafka import KAFKA_ORDER, read_kafka, write_kafka

    payments = read_kafka(spark, "broker:9092", "payments", "ts timestamp, kind string, card string, amount double")
    matches = cep.detect(payments.events, query, time="ts", type="kind", order=KAFKA_ORDER)
    write_kafka(matches, "broker:9092", "found", checkpoint="/data/found")
    payments.rejected.writeStream...

The session needs Spark's own connector, ``org.apache.spark:spark-sql-kafka-0-10_2.13``, of Spark's version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from cepheid.errors import SchemaError, SetupError
from cepheid.spark.json_texts import json_text
from cepheid.spark.json_values import REJECTION, Read, parse_json, rejection
from cepheid.spark.values import named

KAFKA_ORDER = ("kafka_topic", "kafka_partition", "kafka_offset")
"""The columns that identify a record and order events of equal time: ``order=`` of `cepheid.detect` (SEMANTICS 1.1)."""

KAFKA_TIME = "kafka_time"
"""The column of the time that the record itself has."""

MATCH_ID = "match_id"

_VALUE = "value"


def read_kafka(
    session: SparkSession,
    servers: str,
    topics: str | Sequence[str],
    schema: spark.StructType | str | None,
    *,
    streaming: bool = True,
    required: Sequence[str] = (),
    key: str | None = None,
    headers: Mapping[str, str] | None = None,
    starting: str = "earliest",
    options: Mapping[str, str] | None = None,
) -> Read:
    """The records of topics as events.

    A record whose value cannot be read is no event: it is among the rejected ones with its place and the reason, and
    the stream goes on.

    Args:
        session: with Spark's Kafka connector.
        servers: ``host:port``, several with commas between.
        topics: one or more names.
        schema: the fields of the JSON object that each value is, also as ``"ts timestamp, amount double"``; None
            for values that are plain text, in the column ``value``. See `cepheid.spark.json_values.parse_json`.
        streaming: a stream of what comes; else a DataFrame of what is there.
        required: fields that every event must have; one without is rejected.
        key: a column for the key of the record, as text.
        headers: header -> a column for its value, as text; of several headers of one name, the last.
        starting: where a stream without a checkpoint begins: ``earliest``, ``latest``, or offsets as Spark's
            ``startingOffsets`` has them.
        options: further ones for Spark's source (``maxOffsetsPerTrigger``) and, behind ``kafka.``, for its clients.

    Returns:
        Events with the columns of `KAFKA_ORDER`, `KAFKA_TIME`, those of ``key`` and ``headers``, and the fields; and
        what was rejected, with the same columns but the fields.

    Raises:
        SetupError: the session has no Kafka connector.
        SchemaError: the schema cannot be read, or two columns have one name.
    """
    names = [topics] if isinstance(topics, str) else list(topics)
    fields = _schema(schema)
    reader: Any = session.readStream if streaming else session.read
    reader = reader.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", ",".join(names))
    reader = reader.option("startingOffsets", starting).option("includeHeaders", bool(headers))
    try:
        records: DataFrame = reader.options(**(options or {})).load()
    except AnalysisException as error:
        raise _no_connector(error) or error from None
    frame = records.select(
        *(
            named(name).alias(column)
            for name, column in zip(("topic", "partition", "offset"), KAFKA_ORDER, strict=True)
        ),
        F.col("timestamp").alias(KAFKA_TIME),
        *([] if key is None else [_text(F.col("key")).alias(key)]),
        *(_header(name).alias(column) for name, column in (headers or {}).items()),
        F.col("value").alias(_VALUE),
    )
    twice = {name for name in frame.columns if frame.columns.count(name) > 1}
    if twice:
        raise SchemaError(
            f"two columns would be called {min(twice)!r}",
            remedy="give the key and each header a column of another name than value and what Kafka tells",
        )
    if fields is not None:
        return parse_json(frame, _VALUE, fields, required=tuple(required))
    is_text = named(_VALUE).isNotNull() & F.is_valid_utf8(named(_VALUE).cast("string"))
    others = [name for name in frame.columns if name != _VALUE]
    reason = F.when(named(_VALUE).isNull(), "no value").otherwise("not UTF-8 text")
    why = F.when(~is_text, rejection(reason, F.make_valid_utf8(named(_VALUE).cast("string"))))
    text = F.when(is_text, named(_VALUE).cast("string")).alias(_VALUE)
    return Read(frame.select(*map(named, others), text, why.alias(REJECTION)), tuple(others))


def kafka_records(
    matches: DataFrame,
    *,
    key: str | None = MATCH_ID,
    headers: Mapping[str, str] | None = None,
    without: Sequence[str] = (),
) -> DataFrame:
    """Matches as records: a key, a JSON object of their columns, and headers.

    Spark writes to Kafka at least once: after a failure, some matches of the last batch come twice. Those have the
    same ``match_id``, so whoever reads the topic and keeps one record for each key has each match once.

    Args:
        matches: any DataFrame.
        key: the column that is the key of the records; None for records without.
        headers: header -> its value, the same for all records.
        without: columns that are not in the objects.

    Raises:
        SchemaError: there is no such column.
    """
    if key is not None and key not in matches.columns:
        raise SchemaError(
            f"the matches have no column {key!r} for the key of their records",
            remedy=f"their columns are: {', '.join(matches.columns)}",
        )
    columns: list[Column] = [] if key is None else [named(key).cast("string").alias("key")]
    told = spark.StructType([field for field in matches.schema.fields if field.name not in without])
    columns.append(json_text(told).alias("value"))
    if headers:
        pairs = [
            F.struct(F.lit(name).alias("key"), F.lit(value).cast("binary").alias("value"))
            for name, value in headers.items()
        ]
        columns.append(F.array(*pairs).alias("headers"))
    return matches.select(*columns)


def write_kafka(
    matches: DataFrame,
    servers: str,
    topic: str,
    *,
    key: str | None = MATCH_ID,
    headers: Mapping[str, str] | None = None,
    checkpoint: str | None = None,
    trigger: Mapping[str, Any] | None = None,
    options: Mapping[str, str] | None = None,
    without: Sequence[str] = (),
) -> Any:
    """Write matches to a topic; see `kafka_records` for what each record is.

    Args:
        matches: a DataFrame, or a stream.
        servers, options: as in `read_kafka`.
        topic: it exists.
        key, headers, without: as in `kafka_records`.
        checkpoint: the folder in which a stream keeps how far it is.
        trigger: the arguments of `pyspark.sql.streaming.DataStreamWriter.trigger`: ``{"processingTime": "5 seconds"}``.

    Returns:
        The started query of a stream; None for a DataFrame, which is written when this returns.

    Raises:
        SetupError: the session has no Kafka connector; a stream is given no checkpoint.
        SchemaError: there is no column for the key.
    """
    records = kafka_records(matches, key=key, headers=headers, without=without)
    to = {**(options or {}), "kafka.bootstrap.servers": servers, "topic": topic}
    if headers:
        to["includeHeaders"] = "true"
    try:
        if not matches.isStreaming:
            records.write.format("kafka").options(**to).save()
            return None
        if checkpoint is None:
            raise SetupError(
                "a stream that is written to Kafka needs a checkpoint", remedy='give a folder: checkpoint="/data/found"'
            )
        writer = records.writeStream.format("kafka").options(**to).option("checkpointLocation", checkpoint)
        return (writer.trigger(**trigger) if trigger else writer).start()
    except AnalysisException as error:
        raise _no_connector(error) or error from None


def _schema(schema: spark.StructType | str | None) -> spark.StructType | None:
    if not isinstance(schema, str):
        return schema
    try:
        read = spark.StructType.fromDDL(schema)
    except ParseException as error:
        raise SchemaError(
            f"the schema cannot be read: {error.getMessage()}", remedy='it is written as "ts timestamp, amount double"'
        ) from None
    if not isinstance(read, spark.StructType):
        raise SchemaError(
            f"the schema {schema!r} names no columns", remedy='it is written as "ts timestamp, amount double"'
        )
    return read


def _text(column: Column) -> Column:
    """Bytes as text; what is no UTF-8 in them is replaced, for keys and headers are not what an event is judged by."""
    return F.make_valid_utf8(column.cast("string"))


def _header(name: str) -> Column:
    """The value of a header as text; NULL where there is none."""
    of_name = F.filter(F.col("headers"), lambda header: header.getField("key") == F.lit(name))
    return _text(F.try_element_at(of_name, F.lit(-1)).getField("value"))


def _no_connector(error: AnalysisException) -> SetupError | None:
    if "kafka" not in str(error).lower() or "find data source" not in str(error).lower():
        return None
    return SetupError(
        "this Spark session has no connector for Kafka",
        remedy="start it with spark.jars.packages set to org.apache.spark:spark-sql-kafka-0-10_2.13:VERSION, the "
        "version that of Spark (cepheid run does so by itself)",
    )
