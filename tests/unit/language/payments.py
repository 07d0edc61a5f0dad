"""The events that the tests of bind share: payments of cards, two tables whose columns differ, and one store."""

from __future__ import annotations

from cepheid.events.schema import Schema
from cepheid.events.types import (
    BOOL,
    FLOAT,
    INT,
    OTHER,
    TEXT,
    TIMESTAMP,
    decimal,
    list_of,
    set_of,
    struct,
)
from cepheid.language.bind import bind
from cepheid.language.bound import BoundQuery, Catalog, Function, Store
from cepheid.language.parser import parse

_COMMON = {"ts": TIMESTAMP, "kind": TEXT, "card": TEXT, "customer": TEXT, "amount": FLOAT, "n": INT, "place": TEXT}
_TXN = {
    **_COMMON,
    "online": BOOL,
    "price": decimal(10, 2),
    "lat": FLOAT,
    "lon": FLOAT,
    "address": struct(city=TEXT, zip=INT),
    "tags": list_of(TEXT),
    "photo": OTHER,
}
_DENIED = {**_COMMON, "reason": TEXT}
_REFUND = {**_COMMON, "price": decimal(10, 2)}

PAYMENTS = Schema(
    fields={**_TXN, **_DENIED},
    time="ts",
    type="kind",
    per_type={"Txn": _TXN, "Denied": _DENIED, "Refund": _REFUND},
)
"""Three types of events; ``reason`` is of Denied alone, what is not common of Txn (``price`` of Refund too)."""

CATALOG = Catalog(
    functions={"risk": Function("risk", (TEXT, FLOAT), FLOAT, lambda card, amount: None)},
    stores={
        "places": Store("places", (TEXT,), {"known": set_of(TEXT), "home": TEXT}),
        "limits": Store("limits", (TEXT,), {"": FLOAT}),
    },
)


def bound(text: str, schema: Schema = PAYMENTS) -> BoundQuery:
    """The query of ``text``, bound to the payments."""
    return bind(parse(text), schema, catalog=CATALOG, text=text)
