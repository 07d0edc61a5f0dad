"""The type of every expression, and constants brought to the type of what they meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from cepheid.errors import QueryError
from cepheid.events.types import BOOL, DURATION, FLOAT, INT, TEXT, TIMESTAMP, DataType, Kind, list_of
from cepheid.language.bound import Catalog, Variable
from cepheid.language.faults import fault, listing, shown, suggestion
from cepheid.language.functions import BUILTINS, Builtin, Takes, accepts, expected
from cepheid.language.literals import INT_LEAST, INT_MOST, coerced, literal_type, negated
from cepheid.language.results import (
    AGGREGATES,
    SCALARS,
    aggregate_type,
    arithmetic_type,
    common_type,
    common_type_of,
)
from cepheid.language.scope import Scope, article, attribute_type
from cepheid.language.tree import (
    Aggregate,
    Arithmetic,
    At,
    Attribute,
    Call,
    Compare,
    Conjunction,
    Disjunction,
    Expression,
    In,
    InSet,
    IsNull,
    Like,
    Literal,
    LiteralKind,
    Negation,
    Negative,
    Parameter,
    Remote,
    walk,
)


class Clause(Enum):
    """Where an expression stands; it decides what the expression may name."""

    WHERE = "WHERE"
    UNTIL = "UNTIL"
    SAME = "SAME"
    RETURN = "RETURN"


@dataclass
class Typing:
    """Types expressions, one clause after the other, and gathers what they tell of parameters.

    Attributes:
        scope: the names of the pattern.
        catalog: functions and stores.
        text: the query's text, which messages quote.
        parameters: the types of parameters that are settled.
        met: parameter -> the types that its places ask for, with the node that asks.
        types: every expression that was typed -> its type.
        clause: where the expression stands.
        until: the loop variable whose UNTIL is typed, or None: its attributes are the tested event's.
    """

    scope: Scope
    catalog: Catalog
    text: str
    parameters: dict[str, DataType] = field(default_factory=dict)
    met: dict[str, list[tuple[DataType, Parameter]]] = field(default_factory=dict)
    types: dict[Expression, DataType] = field(default_factory=dict)
    clause: Clause = Clause.WHERE
    until: str | None = None
    _aggregated: str | None = None

    # --- entry points ------------------------------------------------------------------------------

    def condition(self, node: Expression) -> Expression:
        """``node`` with its constants coerced.

        Raises:
            QueryError: it is no condition, or something in it does not fit.
        """
        typed, dtype = self.typed(node, BOOL)
        if dtype.kind is Kind.NULL:
            raise fault("this condition is NULL, which never holds", node, "write a condition, or leave it out")
        if dtype.kind is not Kind.BOOL:
            raise fault(
                f"{self.show(node)} is {article(dtype)}, not a condition",
                node,
                "compare it with something, as in a.x > 5",
            )
        return typed

    def typed(self, node: Expression, hint: DataType | None = None) -> tuple[Expression, DataType]:
        """``node`` with its constants coerced, and its type.

        Args:
            node: the expression as written.
            hint: the type of what it meets, or None; it settles parameters, and the kind of constants.

        Raises:
            QueryError: something in it is unknown or does not fit.
        """
        new, dtype = self._typed(node, hint)
        self.types[new] = dtype
        return new, dtype

    def show(self, node: Expression) -> str:
        """``node`` as a message names it."""
        return shown(node, self.text)

    # --- by kind of node ---------------------------------------------------------------------------

    def _typed(self, node: Expression, hint: DataType | None) -> tuple[Expression, DataType]:
        match node:
            case Literal():
                return self._literal(node, hint)
            case Attribute():
                return node, self._attribute(node)
            case Aggregate():
                return self._aggregate(node, hint)
            case Arithmetic():
                return self._arithmetic(node, hint)
            case Negative():
                return self._negative(node, hint)
            case Compare():
                return self._compare(node)
            case Conjunction() | Disjunction():
                return replace(node, operands=tuple(self.condition(part) for part in node.operands)), BOOL
            case Negation():
                return replace(node, operand=self.condition(node.operand)), BOOL
            case IsNull():
                return self._is_null(node)
            case In():
                return self._in(node)
            case InSet():
                return self._in_set(node)
            case Like():
                return self._like(node)
            case Call():
                return self._call(node, hint)
            case Parameter():
                return node, self._parameter(node, hint)
            case Remote():
                return self._remote(node)

    def _literal(self, node: Literal, hint: DataType | None) -> tuple[Expression, DataType]:
        new = node if hint is None else self._coerced(node, hint)
        assert isinstance(new, Literal)
        dtype = literal_type(new)
        if new.kind in (LiteralKind.INT, LiteralKind.DURATION, LiteralKind.TIMESTAMP):
            assert isinstance(new.value, int)
            if not INT_LEAST <= new.value <= INT_MOST:
                raise fault(
                    f"{self.show(node)} does not fit in 64 bits",
                    node,
                    f"write a number between {INT_LEAST} and {INT_MOST}, or one with a point (a float)",
                )
        return new, dtype

    def _coerced(self, node: Expression, target: DataType) -> Expression:
        """``node``, brought to ``target`` where it is a constant."""
        if not isinstance(node, Literal):
            return node
        new = coerced(node, target)
        if new is None:
            raise fault(
                f"{self.show(node)} is not a timestamp",
                node,
                "write it as '2024-01-31' or '2024-01-31 10:00:00' (UTC unless it names a zone)",
            )
        return new

    def _attribute(self, node: Attribute) -> DataType:
        if self.clause is Clause.SAME:
            return self._attribute_of_all(node)
        if node.variable is None:
            raise self._bare(node)
        variable = self.scope.variable(node.variable, node)
        self._check_use(variable, node)
        if not node.path:
            raise fault(
                f"{self.show(node)} is an event, not a value",
                node,
                f"name one of its attributes: {listing(variable.fields)}",
            )
        fields, types = variable.fields, variable.types
        owner = f"{variable.name} ({' | '.join(types)})" if types else variable.name
        if variable.name == self.until and node.at is At.EACH:
            # UNTIL tests every event, of any type.
            fields, types, owner = self.scope.schema.fields, (), "an event"
        dtype = attribute_type(fields, node, owner, self.scope.schema.fields)
        clash = self.scope.conflict(types, node.path[0])
        if clash is not None:
            raise fault(
                f"{node.path[0]} has another type in {clash[0]} than in {clash[1]}",
                node,
                "take the two event types in two elements, or bring the columns to one type",
            )
        return dtype

    def _attribute_of_all(self, node: Attribute) -> DataType:
        fields = self.scope.schema.fields
        if node.variable is not None:
            raise fault(
                f"SAME is for all events, not for those of {node.variable}",
                node,
                f"write SAME[{'.'.join(node.path)}], or compare two variables with =",
            )
        if len(node.path) > 1 and node.path[0] not in fields and node.path[0] in self.scope.variables:
            raise fault(
                f"SAME is for all events, not for those of {node.path[0]}",
                node,
                f"write SAME[{'.'.join(node.path[1:])}], or compare two variables with =",
            )
        dtype = attribute_type(fields, node, "an event", fields)
        for name, variable in self.scope.variables.items():
            self._check_everywhere(node, name, variable)
        clash = self.scope.conflict((), node.path[0])
        if clash is not None:
            raise fault(
                f"{node.path[0]} has another type in {clash[0]} than in {clash[1]}",
                node,
                "bring the columns to one type",
            )
        return dtype

    def _check_everywhere(self, node: Attribute, name: str, variable: Variable) -> None:
        for event_type in variable.types:
            fields = self.scope.schema.per_type.get(event_type)
            if fields is not None and node.path[0] not in fields:
                raise fault(
                    f"SAME[{node.path[0]}] leaves out every {event_type}: it has no such attribute",
                    node,
                    f"an event without {node.path[0]} is in no partition; name an attribute that all types have",
                )

    def _bare(self, node: Attribute) -> QueryError:
        name = node.path[0] if node.path else "it"
        owners = [v.name for v in self.scope.variables.values() if not v.hidden and name in v.fields]
        if name in self.scope.variables:
            return fault(f"{name} is an event, not a value", node, f"name an attribute, as in {name}.attribute")
        remedy = f"write {owners[0]}.{name}" if owners else "write variable.attribute"
        return fault(f"{name} stands without a variable", node, remedy)

    def _check_use(self, variable: Variable, node: Attribute) -> None:
        if self.clause is Clause.RETURN and variable.negated:
            raise fault(
                f"{variable.name} stands under NOT: a match has no such event to return",
                node,
                "return attributes of the variables that a match binds",
            )
        if self._aggregated is not None:
            if variable.name != self._aggregated:
                raise fault(
                    f"an aggregate reads one variable, and this one reads {self._aggregated} and {variable.name}",
                    node,
                    "move the other variable out of the aggregate",
                )
            if node.at is not At.EACH:
                raise fault(
                    f"{node.at.value}({variable.name}) stands inside an aggregate, which reads each element",
                    node,
                    f"write {variable.name}.{'.'.join(node.path)}",
                )
            return
        if node.at is At.PREV:
            if not variable.loop:
                raise fault(
                    f"prev({variable.name}) asks for the element before, but {variable.name} is one event",
                    node,
                    f"put a quantifier on {variable.name}, such as +, or name the variable before it",
                )
            if self.clause is Clause.RETURN:
                raise fault(
                    f"prev({variable.name}) has no meaning in RETURN, where the match is complete",
                    node,
                    f"return first({variable.name}), last({variable.name}) or {variable.name}.{'.'.join(node.path)}",
                )

    def _aggregate(self, node: Aggregate, hint: DataType | None) -> tuple[Expression, DataType]:
        if self.clause is Clause.SAME:
            raise fault("SAME is tested on one event: it has nothing to aggregate", node, "name attributes alone")
        if self._aggregated is not None:
            raise fault("an aggregate stands inside an aggregate", node, "aggregate once")
        if node.function not in AGGREGATES:
            raise fault(f"{node.function} is no aggregate", node, f"the aggregates are: {listing(AGGREGATES)}")
        place = Attribute(node.variable, (), span=node.span)
        variable = self.scope.variable(node.variable, place)
        self._check_use(variable, place)
        if node.argument is None:
            if node.function != "count":
                raise fault(
                    f"{node.function}({node.variable}) does not say of which attribute",
                    node,
                    f"write {node.function}({node.variable}.attribute); only count takes a variable",
                )
            return node, INT
        self._aggregated = variable.name
        try:
            argument, dtype = self.typed(node.argument, hint if node.function in ("sum", "min", "max") else None)
        finally:
            self._aggregated = None
        if not any(isinstance(below, Attribute) for below in walk(node.argument)):
            raise fault(
                f"{self.show(node)} reads no attribute of {node.variable}",
                node,
                f"write {node.function}({node.variable}.x)",
            )
        result = aggregate_type(node.function, dtype)
        if result is None:
            takes = "a number" if node.function in ("sum", "avg") else "values that have an order"
            raise fault(
                f"{node.function} takes {takes}, and {self.show(node.argument)} is {article(dtype)}",
                node.argument,
                "count takes any type" if node.function in ("sum", "avg") else "name a field of it, or count it",
            )
        return replace(node, argument=argument), result

    def _negative(self, node: Negative, hint: DataType | None) -> tuple[Expression, DataType]:
        if isinstance(node.operand, Literal):
            constant = negated(node.operand)
            if constant is not None:
                return self._literal(replace(constant, span=node.span), hint)
        operand, dtype = self.typed(node.operand, hint)
        if not (dtype.is_number or dtype.kind in (Kind.DURATION, Kind.NULL)):
            raise fault(
                f"{self.show(node.operand)} is {article(dtype)}: it has no negative",
                node,
                "take - away, or use a number",
            )
        return replace(node, operand=operand), dtype

    # --- two sides that meet -----------------------------------------------------------------------

    def _rank(self, node: Expression) -> int:
        """In which order the sides of an operation are typed: what has a type of its own comes first.

        0 has a type of its own, 1 has one but a parameter in it asks for a hint, 2 is made of constants,
        3 is NULL, 4 is a parameter that nothing has settled yet (or constants with one).
        """
        match node:
            case Parameter():
                return 0 if node.name in self.parameters else 4
            case Literal():
                return 3 if node.kind is LiteralKind.NULL else 2
            case Negative():
                return self._rank(node.operand)
            case Arithmetic():
                ranks = (self._rank(node.left), self._rank(node.right))
                if min(ranks) <= 1:
                    return 1 if 4 in ranks or 1 in ranks else 0
                return max(ranks)
            case _:
                return 0

    def _pair(
        self, left: Expression, right: Expression, hint: DataType | None = None
    ) -> tuple[Expression, DataType, Expression, DataType]:
        """Both sides typed, the second with the first in view, the first with ``hint``."""
        if self._rank(left) <= self._rank(right):
            new_left, left_type = self.typed(left, hint)
            new_right, right_type = self.typed(right, left_type)
        else:
            new_right, right_type = self.typed(right, hint)
            new_left, left_type = self.typed(left, right_type)
        # Two constants: a float makes a float of the other.
        new_left, left_type = self._met(new_left, left_type, right_type)
        new_right, right_type = self._met(new_right, right_type, left_type)
        return new_left, left_type, new_right, right_type

    def _met(self, node: Expression, dtype: DataType, other: DataType) -> tuple[Expression, DataType]:
        if not isinstance(node, Literal) or node.kind is LiteralKind.TEXT:
            return node, dtype
        new = self._coerced(node, other)
        assert isinstance(new, Literal)
        self.types[new] = literal_type(new)
        return new, self.types[new]

    def _compare(self, node: Compare) -> tuple[Expression, DataType]:
        left, left_type, right, right_type = self._pair(node.left, node.right)
        for side, dtype in ((node.left, left_type), (node.right, right_type)):
            if dtype.kind is Kind.NULL and isinstance(side, Literal):
                raise fault(
                    "a comparison with NULL is never true",
                    node,
                    "write IS NULL"
                    if node.operator == "="
                    else "write IS NOT NULL"
                    if node.operator == "<>"
                    else "compare with a value, or write IS NULL",
                )
            self._check_scalar(side, dtype, "compared")
        if common_type(left_type, right_type) is None:
            raise self._mismatch(node, node.left, left_type, node.right, right_type)
        return replace(node, left=left, right=right), BOOL

    def _check_scalar(self, node: Expression, dtype: DataType, verb: str) -> None:
        if dtype.kind in SCALARS or dtype.kind is Kind.NULL:
            return
        match dtype.kind:
            case Kind.STRUCT:
                names = listing(name for name, _ in dtype.fields)
                remedy = f"compare one of its fields: {names}"
            case Kind.LIST | Kind.SET:
                remedy = f"test an element of it: value IN {self.show(node)}"
            case _:
                remedy = "a value of this type can only be returned, or tested with IS NULL"
        raise fault(f"{self.show(node)} is {article(dtype)}, which cannot be {verb}", node, remedy)

    def _mismatch(
        self, node: Expression, left: Expression, left_type: DataType, right: Expression, right_type: DataType
    ) -> QueryError:
        message = (
            f"{self.show(left)} is {article(left_type)} and {self.show(right)} is {article(right_type)}: "
            "they cannot be compared"
        )
        return fault(message, node, self._mismatch_remedy(left, left_type, right, right_type))

    def _mismatch_remedy(self, left: Expression, left_type: DataType, right: Expression, right_type: DataType) -> str:
        kinds = {left_type.kind, right_type.kind}
        number = next((t for t in (left_type, right_type) if t.is_number), None)
        if Kind.TEXT in kinds and number is not None:
            constant = next((side for side in (left, right) if isinstance(side, Literal)), None)
            if constant is not None and constant.kind is LiteralKind.TEXT:
                return "write the number without quotes"
            if constant is not None:
                return f"write it as a text: '{self.show(constant)}'"
            return "compare columns of one type"
        if Kind.DURATION in kinds and number is not None:
            unit = self.scope.schema.time_unit
            if self.scope.schema.fields[self.scope.schema.time].is_number and unit is not None:
                return f"the time column has numbers in {unit}: write a plain number of {unit}"
            return "give the number a unit, such as 5 minutes"
        if Kind.TIMESTAMP in kinds and number is not None:
            return "write a time, such as TIMESTAMP '2024-01-31 10:00:00'"
        if Kind.TIMESTAMP in kinds and Kind.DURATION in kinds:
            return "subtract two timestamps to get a duration"
        return "compare values of one type"

    def _arithmetic(self, node: Arithmetic, hint: DataType | None) -> tuple[Expression, DataType]:
        left, left_type, right, right_type = self._operands(node, hint)
        result = arithmetic_type(node.operator, left_type, right_type)
        if result is None:
            raise fault(
                f"{self.show(node.left)} is {article(left_type)} and {self.show(node.right)} is {article(right_type)}: "
                f"there is no {node.operator} for them",
                node,
                self._arithmetic_remedy(node, left_type, right_type),
            )
        return replace(node, left=left, right=right), result

    def _operands(self, node: Arithmetic, hint: DataType | None) -> tuple[Expression, DataType, Expression, DataType]:
        """Both operands typed; an open one takes what its partner and ``hint`` tell."""
        number = hint if hint is not None and hint.is_number else None
        left_rank, right_rank = self._rank(node.left), self._rank(node.right)
        if min(left_rank, right_rank) > 1 or max(left_rank, right_rank) <= 1:
            return self._pair(node.left, node.right, number)
        if left_rank <= 1:
            left, left_type = self.typed(node.left, number)
            wanted = self._operand_hint(node.operator, left_type, hint, False, node.right)
            right, right_type = self.typed(node.right, wanted)
        else:
            right, right_type = self.typed(node.right, number)
            wanted = self._operand_hint(node.operator, right_type, hint, True, node.left)
            left, left_type = self.typed(node.left, wanted)
        return left, left_type, right, right_type

    def _arithmetic_remedy(self, node: Arithmetic, left: DataType, right: DataType) -> str:
        kinds = {left.kind, right.kind}
        if kinds == {Kind.TEXT} and node.operator == "+":
            return "write concat(...) to join texts"
        if Kind.TIMESTAMP in kinds and (left.is_number or right.is_number):
            return "give the number a unit, such as 5 minutes"
        if Kind.DURATION in kinds and node.operator in "*/" and (left.is_number or right.is_number):
            return "a duration is multiplied by an int, and divided by a duration"
        if kinds == {Kind.TIMESTAMP}:
            return "two timestamps can only be subtracted"
        if left.is_number and right.is_number:
            return "the result would have more than 38 digits after the point: multiply by a float"
        return "arithmetic takes numbers, timestamps and durations"

    def _operand_hint(
        self, operator: str, have: DataType, hint: DataType | None, open_left: bool, opened: Expression
    ) -> DataType:
        moment = hint is not None and hint.kind is Kind.TIMESTAMP
        unsettled = self._rank(opened) == 4
        match have.kind, operator:
            case Kind.TIMESTAMP, "-" if isinstance(opened, Literal) and opened.kind is LiteralKind.TEXT:
                return TIMESTAMP
            case Kind.TIMESTAMP, "-" if open_left or (hint is not None and hint.kind is Kind.DURATION):
                return TIMESTAMP
            case Kind.TIMESTAMP, _:
                return DURATION
            case Kind.DURATION, "+" if moment:
                return TIMESTAMP
            case Kind.DURATION, "-" if moment and open_left:
                return TIMESTAMP
            case Kind.DURATION, "*":
                return INT
            case Kind.INT, "/" if unsettled:
                return FLOAT
            case Kind.INT, _ if unsettled and hint is not None and hint.is_number:
                return hint
            case _:
                return have

    # --- conditions --------------------------------------------------------------------------------

    def _is_null(self, node: IsNull) -> tuple[Expression, DataType]:
        operand, dtype = self.typed(node.operand)
        if dtype.kind is Kind.SET:
            raise fault(
                f"{self.show(node.operand)} is a set, which is never NULL: a missing key gives the empty set",
                node,
                "test an element of it with IN",
            )
        return replace(node, operand=operand), BOOL

    def _in(self, node: In) -> tuple[Expression, DataType]:
        if not node.options:
            raise fault("IN has nothing to choose from", node, "name at least one value")
        # All are compared with the operand; where that is open, the first option with a type of its own leads.
        lead = min(range(len(node.options)), key=lambda index: self._rank(node.options[index]))
        done: dict[int, tuple[Expression, DataType]] = {}
        if self._rank(node.operand) > self._rank(node.options[lead]):
            done[lead] = self.typed(node.options[lead])
        operand, operand_type = self.typed(node.operand, done[lead][1] if done else None)
        self._check_scalar(node.operand, operand_type, "compared")
        options = []
        for index, option in enumerate(node.options):
            new, dtype = done.get(index) or self.typed(option, operand_type)
            self._check_scalar(option, dtype, "compared")
            if common_type(operand_type, dtype) is None:
                raise self._mismatch(option, node.operand, operand_type, option, dtype)
            options.append(new)
        return replace(node, operand=operand, options=tuple(options)), BOOL

    def _in_set(self, node: InSet) -> tuple[Expression, DataType]:
        if isinstance(node.container, Parameter) and node.container.name not in self.parameters:
            operand, operand_type = self.typed(node.operand)
            container, container_type = self.typed(node.container, list_of(operand_type))
        else:
            container, container_type = self.typed(node.container)
            operand, operand_type = self.typed(node.operand, container_type.element)
        if container_type.kind not in (Kind.LIST, Kind.SET) or container_type.element is None:
            raise fault(
                f"{self.show(node.container)} is {article(container_type)}, not a set or list",
                node.container,
                f"write = to compare with one value, or IN ({self.show(node.container)})",
            )
        self._check_scalar(node.operand, operand_type, "an element of a set")
        if common_type(operand_type, container_type.element) is None:
            raise fault(
                f"{self.show(node.operand)} is {article(operand_type)}, and {self.show(node.container)} "
                f"is {article(container_type)}: it can hold no such element",
                node,
                self._mismatch_remedy(node.operand, operand_type, node.container, container_type.element),
            )
        return replace(node, operand=operand, container=container), BOOL

    def _like(self, node: Like) -> tuple[Expression, DataType]:
        operand, dtype = self.typed(node.operand, TEXT)
        if dtype.kind not in (Kind.TEXT, Kind.NULL):
            raise fault(
                f"LIKE is for texts, and {self.show(node.operand)} is {article(dtype)}",
                node,
                "compare it with =, <, > or BETWEEN",
            )
        escapes = len(node.pattern) - len(node.pattern.rstrip("\\"))
        if escapes % 2:
            raise fault("the pattern of LIKE ends in \\, which escapes nothing", node, "write \\\\ for a backslash")
        return replace(node, operand=operand), BOOL

    # --- what is computed --------------------------------------------------------------------------

    def _parameter(self, node: Parameter, hint: DataType | None) -> DataType:
        settled = self.parameters.get(node.name)
        if settled is not None:
            self.met.setdefault(node.name, [])
            return settled
        if hint is None or hint.kind is Kind.NULL:
            raise fault(
                f"nothing tells the type of :{node.name}",
                node,
                f"compare it with an attribute, as in a.x > :{node.name}",
            )
        self.met.setdefault(node.name, []).append((hint, node))
        return hint

    def _call(self, node: Call, hint: DataType | None) -> tuple[Expression, DataType]:
        builtin = BUILTINS.get(node.function.lower())
        registered = self.catalog.functions.get(node.function)
        if builtin is not None and registered is not None:
            raise fault(
                f"{node.function} is a built-in function and a registered one", node, "register it under another name"
            )
        if builtin is not None:
            return self._builtin(node, builtin, hint)
        if registered is None:
            known = (*BUILTINS, *AGGREGATES, *self.catalog.functions)
            otherwise = "register it in the catalog before the query is bound"
            raise fault(f"there is no function {node.function}", node, suggestion(node.function, known, otherwise))
        if len(node.arguments) != len(registered.arguments):
            raise self._wrong_count(node, registered.name, str(len(registered.arguments)))
        arguments = []
        for index, (argument, want) in enumerate(zip(node.arguments, registered.arguments, strict=True)):
            new, dtype = self.typed(argument, want)
            if not _fits(dtype, want):
                raise fault(
                    f"argument {index + 1} of {registered.name} is {article(want)}, and "
                    f"{self.show(argument)} is {article(dtype)}",
                    argument,
                    f"pass {article(want)}, or register {registered.name} with another type",
                )
            arguments.append(new)
        return replace(node, arguments=tuple(arguments)), registered.result

    def _wrong_count(self, node: Call, name: str, wanted: str) -> QueryError:
        n_given = len(node.arguments)
        return fault(
            f"{name} takes {wanted} argument{'' if wanted == '1' else 's'}, not {n_given}",
            node,
            f"write {BUILTINS[name].signature}" if name in BUILTINS else f"give it {wanted}",
        )

    def _builtin(self, node: Call, builtin: Builtin, hint: DataType | None) -> tuple[Expression, DataType]:
        n_given = len(node.arguments)
        if n_given < builtin.n_least or (builtin.n_most is not None and n_given > builtin.n_most):
            wanted = str(builtin.n_least)
            if builtin.n_most is None:
                wanted = f"at least {builtin.n_least}"
            elif builtin.n_most != builtin.n_least:
                wanted = f"{builtin.n_least} or {builtin.n_most}"
            raise self._wrong_count(node, builtin.name, wanted)
        gives_float = builtin.name in ("sqrt", "power", "distance")
        typed: dict[int, tuple[Expression, DataType]] = {}
        for index in sorted(range(n_given), key=lambda i: self._rank(node.arguments[i])):
            others = [dtype for _, dtype in typed.values()]
            want = expected(builtin.taken(index), others, hint, gives_float)
            typed[index] = self.typed(node.arguments[index], want)
        alike = common_type_of(dtype for _, dtype in typed.values())
        arguments, types = [], []
        for index in range(n_given):
            new, dtype = typed[index]
            takes = builtin.taken(index)
            if not accepts(takes, dtype) or (takes is Takes.DIGITS and not isinstance(new, Literal)):
                raise fault(
                    f"argument {index + 1} of {builtin.name} is {takes.value}, and "
                    f"{self.show(node.arguments[index])} is {article(dtype)}",
                    node.arguments[index],
                    f"write {builtin.signature}",
                )
            if takes is Takes.ALIKE and alike is not None:
                new, dtype = self._met(new, dtype, alike)
            arguments.append(new)
            types.append(dtype)
        result = builtin.result(types, _digits(builtin, arguments))
        if result is None:
            raise fault(
                f"the arguments of {builtin.name} cannot be compared: "
                + ", ".join(f"{self.show(a)} is {article(t)}" for a, t in zip(node.arguments, types, strict=True)),
                node,
                "give it values of one type",
            )
        return replace(node, function=builtin.name, arguments=tuple(arguments)), result

    def _remote(self, node: Remote) -> tuple[Expression, DataType]:
        store = self.catalog.stores.get(node.store)
        if store is None:
            known = listing(self.catalog.stores)
            otherwise = f"declare it in the catalog; declared are: {known}"
            raise fault(f"there is no store {node.store}", node, suggestion(node.store, self.catalog.stores, otherwise))
        if len(node.key) != len(store.key):
            raise fault(
                f"the key of {store.name} has {len(store.key)} parts, not {len(node.key)}",
                node,
                f"write REMOTE {store.name}[{', '.join(str(part) for part in store.key)}]",
            )
        key = []
        for part, want in zip(node.key, store.key, strict=True):
            new, dtype = self.typed(part, want)
            if not _fits(dtype, want):
                raise fault(
                    f"the key of {store.name} is {article(want)}, and {self.show(part)} is {article(dtype)}",
                    part,
                    f"look it up by {article(want)}",
                )
            key.append(new)
        return replace(node, key=tuple(key)), self._remote_type(node, store.name, dict(store.fields))

    def _remote_type(self, node: Remote, store: str, fields: dict[str, DataType]) -> DataType:
        if not node.path:
            if "" in fields:
                return fields[""]
            raise fault(
                f"an element of {store} has fields: it is no value itself",
                node,
                f"name one of its fields: {listing(fields)}",
            )
        if "" in fields and len(fields) == 1 and fields[""].kind is not Kind.STRUCT:
            raise fault(f"an element of {store} is {article(fields[''])}: it has no fields", node, "name no field")
        if "" in fields and fields[""].kind is Kind.STRUCT:
            fields = dict(fields[""].fields)
        return attribute_type(fields, Attribute(None, node.path, span=node.span), f"an element of {store}", fields)


def _fits(dtype: DataType, want: DataType) -> bool:
    """True where a value of ``dtype`` can be handed over as ``want``: an int may stand for a float."""
    if dtype.kind is Kind.NULL or dtype == want:
        return True
    if want.kind is Kind.FLOAT:
        return dtype.is_number
    if want.kind is Kind.DECIMAL:
        return dtype.kind in (Kind.INT, Kind.DECIMAL) and (dtype.scale or 0) <= (want.scale or 0)
    return dtype.kind is want.kind and dtype.kind in SCALARS


def _digits(builtin: Builtin, arguments: Sequence[Expression]) -> int | None:
    for index, argument in enumerate(arguments):
        if builtin.taken(index) is Takes.DIGITS and isinstance(argument, Literal):
            assert isinstance(argument.value, int)
            return argument.value
    return None
