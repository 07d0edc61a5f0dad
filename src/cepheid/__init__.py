"""Complex event processing for Python, on Spark: one pattern query for a table here and a DataFrame there.

    import cepheid as cep

    query = cep.Query.parse("PATTERN SEQ(Order o, NOT Payment p, Parcel s) WHERE SAME[id] WITHIN 3 days")
    cep.match(table, query, time="ts", type="kind")    # a pandas, Polars or Arrow table, in this process
    cep.detect(df, query, time="ts", type="kind")      # a Spark DataFrame

Nothing heavy is imported before it is used: PySpark comes with the first `detect`, Numba when a kernel is first
compiled (later processes find its machine code on disk).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from cepheid import errors

if TYPE_CHECKING:
    from cepheid.engine.outputs import Outputs
    from cepheid.engine.settings import Settings
    from cepheid.language import builder as build
    from cepheid.language.bound import Catalog, Function, Store
    from cepheid.local import count, match
    from cepheid.matcher import Matcher
    from cepheid.policies.slack.settings import Slack
    from cepheid.query import Query, QuerySet
    from cepheid.spark.detect import detect

__version__ = "0.1.0"

__all__ = [
    "Catalog",
    "Function",
    "Matcher",
    "Outputs",
    "Query",
    "QuerySet",
    "Settings",
    "Slack",
    "Store",
    "__version__",
    "build",
    "count",
    "detect",
    "errors",
    "match",
]

_LAZY = {
    "Catalog": "cepheid.language.bound",
    "Function": "cepheid.language.bound",
    "Matcher": "cepheid.matcher",
    "Outputs": "cepheid.engine.outputs",
    "Query": "cepheid.query",
    "QuerySet": "cepheid.query",
    "Settings": "cepheid.engine.settings",
    "Slack": "cepheid.policies.slack.settings",
    "Store": "cepheid.language.bound",
    "build": "cepheid.language.builder",
    "count": "cepheid.local",
    "detect": "cepheid.spark.detect",
    "match": "cepheid.local",
}
"""Public name -> the module that holds it (or that it is), imported when the name is first used."""

_MODULES = frozenset({"build"})


def __getattr__(name: str) -> object:
    """Import what `name` needs (PEP 562)."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_LAZY[name])
    value: object = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
