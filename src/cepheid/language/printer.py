"""From a tree back to text: ``parse(print_query(q)) == q``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from cepheid.errors import QueryError
from cepheid.events.schema import TIME_UNITS
from cepheid.language.canonical import is_hidden
from cepheid.language.lexer import is_plain, is_word
from cepheid.language.tree import (
    Aggregate,
    And,
    AnyOf,
    Arithmetic,
    At,
    Attribute,
    Call,
    Compare,
    Conjunction,
    Disjunction,
    Event,
    Expression,
    Extent,
    In,
    InSet,
    IsNull,
    Like,
    Literal,
    LiteralKind,
    Negation,
    Negative,
    Not,
    Or,
    Parameter,
    Pattern,
    Query,
    Remote,
    Repeat,
    Seq,
    SkipMode,
)

_OR, _AND, _NOT, _TEST, _SUM, _PRODUCT, _UNARY, _ATOM = range(1, 9)
"""How strongly an expression holds together: one inside of a stronger one needs brackets."""

_LINE = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def print_query(query: Query) -> str:
    """The text of a query, a clause per line, with no line end after the last."""
    clauses = [("PATTERN", print_pattern(query.pattern))]
    if query.source is not None:
        clauses.append(("FROM", quoted(query.source)))
    conditions = _conditions(query)
    if conditions:
        clauses.append(("WHERE", _listed(conditions, " AND ", "\n  AND    ")))
    window = query.window
    if window.within is not None:
        clauses.append(("WITHIN", print_extent(window.within) + (" EXCLUSIVE" if window.exclusive else "")))
    if window.each is not None:
        clauses.append(("BETWEEN EACH", print_extent(window.each)))
    if window.sliding is not None:
        sliding = window.sliding
        text = f"{print_extent(sliding.size)} SLIDE {print_extent(sliding.slide)}"
        text += " CLOSED" if sliding.closed else ""
        text += " ONE MATCH PER WINDOW" if sliding.one_match else ""
        clauses.append(("WINDOW", text))
    if query.policy is not None:
        clauses.append(("POLICY", query.policy.value))
    if query.skip.mode is not SkipMode.NONE:
        variable = f" {quoted(query.skip.variable)}" if query.skip.variable is not None else ""
        clauses.append(("AFTER MATCH", query.skip.mode.value + variable))
    if query.returns:
        items = [
            print_expression(item.expression) + (f" AS {quoted(item.name)}" if item.name is not None else "")
            for item in query.returns
        ]
        clauses.append(("RETURN", _listed(items, ", ", ",\n         ")))
    return "\n".join(f"{keyword:<8} {text}" for keyword, text in clauses)


def print_pattern(pattern: Pattern) -> str:
    """The text of a pattern, on one line. Elements whose name cannot be written show none."""
    match pattern:
        case Event():
            return _event(pattern, "")
        case Repeat(part=part, until=until):
            quantifier = _quantifier(pattern)
            if isinstance(part, Event):
                text = _event(part, quantifier)
            elif isinstance(part, Repeat | Not):
                text = f"({print_pattern(part)}){quantifier}"
            else:
                text = print_pattern(part) + quantifier
            return text if until is None else f"{text} UNTIL {print_expression(until)}"
        case Not(part=part):
            return f"NOT {print_pattern(part)}"
        case Seq(parts=parts):
            return f"SEQ({_patterns(parts)})"
        case And(parts=parts):
            return f"AND({_patterns(parts)})"
        case Or(parts=parts):
            return f"OR({_patterns(parts)})"
        case AnyOf(count=count, parts=parts):
            return f"ANY({count}, {_patterns(parts)})"


def print_expression(expression: Expression) -> str:
    """The text of an expression, on one line."""
    return _expression(expression, _OR)


def print_extent(extent: Extent) -> str:
    """The text of a window's length: ``5 min``, ``2000 EVENTS``, ``10``."""
    number = repr(extent.value)
    if extent.unit is None:
        return number
    return f"{number} {'EVENTS' if extent.unit == 'events' else extent.unit}"


def quoted(name: str) -> str:
    """``name`` as it stands in a query: in double quotes where it could be taken for something else."""
    return name if is_plain(name) else '"' + name.replace('"', '""') + '"'


# --- patterns -------------------------------------------------------------------------------------


def _patterns(parts: Sequence[Pattern]) -> str:
    return ", ".join(print_pattern(part) for part in parts)


def _event(event: Event, quantifier: str) -> str:
    if not event.types:
        types = "*"
    elif len(event.types) == 1:
        types = quoted(event.types[0])
    else:
        types = "(" + " | ".join(quoted(name) for name in event.types) + ")"
    prefix = f"{event.policy.value} " if event.policy is not None else ""
    # The names that bind gives to elements without one are in no text.
    name = f" {quoted(event.name)}" if event.name is not None and not is_hidden(event.name) else ""
    return f"{prefix}{types}{quantifier}{name}"


def _quantifier(repeat: Repeat) -> str:
    match (repeat.minimum, repeat.maximum):
        case (1, None):
            text = "+"
        case (0, None):
            text = "*"
        case (0, 1):
            text = "?"
        case (minimum, None):
            text = f"{{{minimum},}}"
        case (minimum, maximum):
            text = f"{{{minimum}}}" if minimum == maximum else f"{{{minimum},{maximum}}}"
    return text if repeat.greedy else f"{text}?"


# --- expressions ----------------------------------------------------------------------------------


def _conditions(query: Query) -> list[str]:
    """The operands of WHERE, SAME first."""
    texts = []
    if query.same:
        texts.append(f"SAME[{', '.join(print_expression(key) for key in query.same)}]")
    where = query.where
    if isinstance(where, Conjunction):
        texts.extend(_expression(operand, _NOT) for operand in where.operands)
    elif where is not None:
        texts.append(_expression(where, _NOT if query.same else _OR))
    return texts


def _listed(items: Sequence[str], between: str, broken: str) -> str:
    """``items`` on one line, or each on its own where they are long."""
    text = between.join(items)
    return text if len(text) <= _LINE else broken.join(items)


def _expression(expression: Expression, least: int) -> str:
    """``expression``, in brackets where it holds together less than ``least``."""
    level, text = _leveled(expression)
    return text if level >= least else f"({text})"


def _leveled(expression: Expression) -> tuple[int, str]:
    """How strongly ``expression`` holds together, and its text."""
    match expression:
        case Disjunction(operands=operands):
            return _OR, " OR ".join(_expression(o, _AND) for o in operands)
        case Conjunction(operands=operands):
            return _AND, " AND ".join(_expression(o, _NOT) for o in operands)
        case Negation(operand=operand):
            return _NOT, f"NOT {_expression(operand, _NOT)}"
        case Compare(operator=operator, left=left, right=right):
            return _TEST, f"{_expression(left, _SUM)} {operator} {_expression(right, _SUM)}"
        case IsNull(operand=operand, negated=negated):
            return _TEST, f"{_expression(operand, _SUM)} IS {'NOT ' if negated else ''}NULL"
        case In(operand=operand, options=options, negated=negated):
            listed = ", ".join(print_expression(o) for o in options)
            return _TEST, f"{_expression(operand, _SUM)}{_not(negated)} IN ({listed})"
        case InSet(operand=operand, container=container, negated=negated):
            return _TEST, f"{_expression(operand, _SUM)}{_not(negated)} IN {_expression(container, _ATOM)}"
        case Like(operand=operand, pattern=pattern, negated=negated):
            return _TEST, f"{_expression(operand, _SUM)}{_not(negated)} LIKE {_text(pattern)}"
        case Arithmetic(operator=operator, left=left, right=right):
            level = _SUM if operator in "+-" else _PRODUCT
            return level, f"{_expression(left, level)} {operator} {_expression(right, level + 1)}"
        case Negative(operand=operand):
            # Two minus signs in a row would begin a comment.
            return _UNARY, f"-{_expression(operand, _ATOM)}"
        case Literal():
            text = _literal(expression)
            return _UNARY if text.startswith("-") else _ATOM, text
        case Attribute():
            return _ATOM, _attribute(expression)
        case Aggregate(function=function, variable=variable, argument=argument):
            return _ATOM, f"{function}({quoted(variable) if argument is None else print_expression(argument)})"
        case Call(function=function, arguments=arguments):
            return _ATOM, f"{quoted(function)}({', '.join(print_expression(a) for a in arguments)})"
        case Parameter(name=name):
            return _ATOM, f":{name}"
        case Remote(store=store, key=key, path=path):
            keys = ", ".join(print_expression(k) for k in key)
            return _ATOM, f"REMOTE {quoted(store)}[{keys}]{_path(path)}"


def _not(negated: bool) -> str:
    return " NOT" if negated else ""


def _path(names: Sequence[str]) -> str:
    """``.a.b``: after a dot any word is a name."""
    return "".join(f".{name}" if is_word(name) else f".{quoted(name)}" for name in names)


def _attribute(attribute: Attribute) -> str:
    if attribute.variable is None:
        return quoted(attribute.path[0]) + _path(attribute.path[1:])
    variable = quoted(attribute.variable)
    if attribute.at is not At.EACH:
        variable = f"{attribute.at.value}({variable})"
    return variable + _path(attribute.path)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _literal(literal: Literal) -> str:
    value = literal.value
    match literal.kind:
        case LiteralKind.NULL:
            return "NULL"
        case LiteralKind.BOOL:
            return "TRUE" if value else "FALSE"
        case LiteralKind.TEXT:
            return _text(str(value))
        case LiteralKind.DURATION:
            assert isinstance(value, int)
            return _duration(value)
        case LiteralKind.TIMESTAMP:
            assert isinstance(value, int)
            return f"TIMESTAMP '{_timestamp(value)}'"
        case LiteralKind.FLOAT if isinstance(value, Decimal):
            text = f"{value:f}"
            return text if "." in text else f"{text}.0"
        case LiteralKind.INT | LiteralKind.FLOAT:
            return repr(value)
        case LiteralKind.DECIMAL:
            return f"{value:f}"


def _duration(us: int) -> str:
    """``us`` microseconds in the largest unit that needs no fraction."""
    if us == 0:
        return "0 s"
    for unit, size_us in reversed(tuple(TIME_UNITS.items())):
        if us % size_us == 0:
            return f"{us // size_us} {unit}"
    raise AssertionError("every whole number is a multiple of one microsecond")


def _timestamp(us: int) -> str:
    try:
        moment = _EPOCH + timedelta(microseconds=us)
    except OverflowError:
        raise QueryError(
            f"{us} microseconds since 1970 lie outside of the years 1 to 9999", remedy="use a time within them"
        ) from None
    return moment.replace(tzinfo=None).isoformat(" ")
