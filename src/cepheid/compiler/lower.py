"""Conditions lowered to the postfix table that the kernel runs.

A sub-expression over one event is a leaf: it becomes a column, evaluated column-wise before the kernel starts, so
the table holds only what is between events. Names and literals never become program text: a literal is an entry of
a table. What no instruction computes (text of two events, registered functions) is left to the host, as the smallest
sub-expression whose value is a number or a truth.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from cepheid.compiler.code import Tables, condition
from cepheid.compiler.combinations import write_combination
from cepheid.compiler.hosted import Hosted, operands_of
from cepheid.compiler.registers import Registers
from cepheid.compiler.requests import (
    FLOAT_SHAPE,
    INT_SHAPE,
    ORDERED_SHAPE,
    Register,
    Requests,
    Shape,
    leaf_of,
    shape_of,
)
from cepheid.compiler.scope import Scope
from cepheid.events.types import BOOL, DataType, Kind
from cepheid.kernels import layout as k
from cepheid.language.tree import (
    Aggregate,
    Arithmetic,
    At,
    Call,
    Compare,
    Conjunction,
    Disjunction,
    Expression,
    In,
    IsNull,
    Literal,
    LiteralKind,
    Negation,
    Negative,
)
from cepheid.plan.automaton import Automaton, Test
from cepheid.plan.references import has_remote, references

COMPARATORS = {"=": k.EQ, "<>": k.NE, "<": k.LT, "<=": k.LE, ">": k.GT, ">=": k.GE}
INT_OPS = {"+": k.ADD_INT, "-": k.SUB_INT, "*": k.MUL_INT, "%": k.MOD_INT}
FLOAT_OPS = {"+": k.ADD_FLOAT, "-": k.SUB_FLOAT, "*": k.MUL_FLOAT, "/": k.DIV_FLOAT, "%": k.MOD_FLOAT}


class NotInTable(Exception):
    """An expression that no instruction computes: what encloses it is left to the host."""


MOST_DIGITS = 18  # 10 to this power fits int64


class Lowering:
    """Lowers the conditions of one automaton; registers and columns are asked for on the way."""

    def __init__(self, automaton: Automaton, tables: Tables, registers: Registers, requests: Requests) -> None:
        self.automaton = automaton
        self.bound = automaton.bound
        self.tables = tables
        self.registers = registers
        self.requests = requests
        self.elements = {element.variable: element for element in automaton.variables}

    # --- entry ------------------------------------------------------------------------------------

    def test(self, test: Test) -> list[int]:
        """Lower a condition; gives its row of the table `conditions`."""
        expression = test.conjunct.expression
        scope = Scope(self.elements, self.registers, test.situation, references(expression))
        first = len(self.tables.code)
        remote = has_remote(expression) is not None
        fused = not remote and self._fused(expression, scope)
        if remote:  # as a whole, so that it is known or not known as a whole
            self._host(expression, scope, INT_SHAPE)
        elif not fused:
            self._emit_as(expression, scope, INT_SHAPE)
        wheels = self.tables.iterated
        n_iterated = len(scope.iterated)
        wheels.extend(
            [element, scope.firsts.get(v, -1), int(bool(self.automaton.variables[element].groups))]
            for v, element in enumerate(scope.iterated)
        )
        combination = -1
        if test.situation.made and (n_iterated or test.situation.required):
            combination = write_combination(scope, self.tables.combinations, self.tables.combination_fields)
        is_fused = fused and not n_iterated and combination < 0
        made = condition(first, len(self.tables.code), n_iterated, len(wheels) - n_iterated, fused=is_fused)
        made[k.COMBINATION] = combination
        return made

    def count_test(self, element: int, comparator: str, bound: int) -> list[int]:
        """Lower a bound on the number of elements of a loop."""
        first = len(self.tables.code)
        self._op(k.PUSH_COUNT, self.registers.count(element))
        self._op(k.PUSH_INT_CONST, bound)
        self._op(k.STACK_COMPARE_INTS, COMPARATORS[comparator])
        return condition(first, len(self.tables.code))

    # --- leaves -----------------------------------------------------------------------------------

    def _leaf_column(self, expression: Expression, shape: Shape) -> int:
        return self.requests.leaf(expression, shape, self.bound.types)

    def _fused(self, expression: Expression, scope: Scope) -> bool:
        """Write a comparison of two leaves as one instruction, where it is one."""
        if not isinstance(expression, Compare):
            return False
        left, right = leaf_of(expression.left), leaf_of(expression.right)
        if left is None or right is None:
            return False
        shape = self._common(expression.left, expression.right)
        if shape.register is Register.FLOAT:
            shape = ORDERED_SHAPE
        elif self._scale_of(expression.left) != self._scale_of(expression.right):
            shape = replace(shape, bounded=True)
        a, b = scope.operand(*left), scope.operand(*right)
        column_a = self._leaf_column(expression.left, shape)
        column_b = self._leaf_column(expression.right, shape)
        self.tables.code.append(
            [
                k.COMPARE,
                COMPARATORS[expression.operator],
                a.source,
                a.argument,
                column_a,
                b.source,
                b.argument,
                column_b,
            ]
        )
        return True

    # --- shapes -----------------------------------------------------------------------------------

    def _type(self, expression: Expression) -> DataType:
        return self.bound.types[expression]

    def _shape(self, expression: Expression) -> Shape:
        shape = shape_of(self._type(expression))
        if shape is None:
            raise NotInTable
        return shape

    def _common(self, *expressions: Expression) -> Shape:
        """The shape in which values are compared or added: floats win, decimals take the larger scale."""
        shapes = [self._shape(e) for e in expressions if self._type(e).kind is not Kind.NULL]
        if not shapes:
            return INT_SHAPE
        if any(s.register is Register.FLOAT for s in shapes):
            return FLOAT_SHAPE
        return Shape(Register.INT, max(s.scale for s in shapes), shapes[0].text)

    # --- expressions ------------------------------------------------------------------------------

    def _op(self, op: int, argument: int = 0, *rest: int) -> None:
        row = [op, argument, *rest]
        self.tables.code.append(row + [0] * (k.CODE_WIDTH - len(row)))

    def _emit_as(self, expression: Expression, scope: Scope, wanted: Shape) -> None:
        """Write an expression so that its value has a given shape."""
        leaf = leaf_of(expression)
        if leaf is not None and not isinstance(expression, Literal):
            operand = scope.operand(*leaf)
            column = self._leaf_column(expression, wanted)
            op = k.PUSH_FLOAT if wanted.register is Register.FLOAT else k.PUSH_INT
            self._op(op, 0, operand.source, operand.argument, column)
            return
        if isinstance(expression, Literal):
            self._literal(expression, wanted)
            return
        made = self._emit(expression, scope)
        self._convert(made, wanted)

    def _convert(self, made: Shape, wanted: Shape) -> None:
        if made.register is wanted.register:
            if made.scale < wanted.scale:
                self._scale_up(k.SCALE_INT, wanted.scale - made.scale)
        elif wanted.register is Register.FLOAT:
            self._op(k.TO_FLOAT, self.tables.constant(10.0**made.scale) if made.scale else -1)
        else:
            raise AssertionError("a float is never read as an int")

    def _scale_up(self, op: int, digits: int) -> None:
        if digits > MOST_DIGITS:
            raise NotInTable
        self._op(op, 10**digits)

    def _literal(self, literal: Literal, wanted: Shape) -> None:
        value = literal.value
        if literal.kind is LiteralKind.NULL:
            self._op(k.PUSH_NULL)
        elif literal.kind is LiteralKind.TEXT:
            raise NotInTable
        elif wanted.register is Register.FLOAT:
            self._op(k.PUSH_FLOAT_CONST, self.tables.constant(float(value)))  # type: ignore[arg-type]
        else:
            scaled = int(Decimal(str(value)).scaleb(wanted.scale)) if wanted.scale else int(value)  # type: ignore[call-overload]
            if not -(2**63) <= scaled < 2**63:
                raise NotInTable
            self._op(k.PUSH_INT_CONST, scaled)

    def _emit(self, expression: Expression, scope: Scope) -> Shape:
        """Write an expression that is no leaf; gives the shape of its value.

        Raises:
            NotInTable: no instruction computes it, and its value is no number.
        """
        first = len(self.tables.code)
        try:
            return self._emit_by_table(expression, scope)
        except NotInTable:
            shape = shape_of(self._type(expression))
            if shape is None or shape.text:
                raise
        del self.tables.code[first:]
        return self._host(expression, scope, shape)

    def _host(self, expression: Expression, scope: Scope, shape: Shape) -> Shape:
        """Write a call of the host, which gets the events and the aggregates that an expression reads."""
        events, aggregates = operands_of(expression)
        for variable, at in events:
            operand = scope.operand(variable, at)
            self._op(k.PUSH_EVENT, 0, operand.source, operand.argument)
        of_groups = tuple((a, scope.references[a.variable].single) for a in aggregates if self._is_of_group(a))
        for aggregate, _ in of_groups:
            operand = scope.elements_of(aggregate.variable)
            self._op(k.PUSH_EVENT, 0, operand.source, operand.argument)
        aggregates = tuple(aggregate for aggregate in aggregates if not self._is_of_group(aggregate))
        for aggregate in aggregates:
            self._aggregate(aggregate, scope)
        types = tuple(self._type(aggregate) for aggregate in aggregates)
        remote = has_remote(expression) is not None
        hosted = Hosted(expression, events, of_groups, aggregates, types, self._type(expression), remote)
        if hosted not in self.tables.hosted:
            self.tables.hosted.append(hosted)
        self._op(k.HOST, self.tables.hosted.index(hosted), len(events) + len(of_groups) + len(aggregates))
        return shape

    def _emit_by_table(self, expression: Expression, scope: Scope) -> Shape:
        """Write an expression as instructions."""
        match expression:
            case Conjunction(operands=operands) | Disjunction(operands=operands):
                op = k.AND if isinstance(expression, Conjunction) else k.OR
                self._emit_condition(operands[0], scope)
                for operand in operands[1:]:
                    self._emit_condition(operand, scope)
                    self._op(op)
                return INT_SHAPE
            case Negation(operand=operand):
                self._emit_condition(operand, scope)
                self._op(k.NOT)
                return INT_SHAPE
            case Compare(operator=operator, left=left, right=right):
                self._compare(operator, left, right, scope)
                return INT_SHAPE
            case IsNull(operand=operand, negated=negated):
                self._emit_as(operand, scope, self._shape(operand))
                self._op(k.IS_NOT_NULL if negated else k.IS_NULL)
                return INT_SHAPE
            case In(operand=operand, options=(), negated=negated):  # nothing: false, but NULL or absent as the operand
                self._compare("=" if negated else "<>", operand, operand, scope)
                return INT_SHAPE
            case In(operand=operand, options=options, negated=negated):
                for number, option in enumerate(options):
                    self._compare("=", operand, option, scope)
                    if number:
                        self._op(k.OR_OF_IN)
                if negated:
                    self._op(k.NOT)
                return INT_SHAPE
            case Arithmetic():
                return self._arithmetic(expression, scope)
            case Negative(operand=operand):
                shape = self._shape(operand)
                self._emit_as(operand, scope, shape)
                self._op(k.NEG_FLOAT if shape.register is Register.FLOAT else k.NEG_INT)
                return shape
            case Aggregate() if not self._is_of_group(expression):
                return self._aggregate(expression, scope)
            case Call():
                return self._call(expression, scope)
        raise NotInTable

    def _emit_condition(self, expression: Expression, scope: Scope) -> None:
        if not self._fused(expression, scope):
            self._emit_as(expression, scope, INT_SHAPE)

    def _compare(self, operator: str, left: Expression, right: Expression, scope: Scope) -> None:
        comparison = Compare(operator, left, right)
        if self._fused(comparison, scope):
            return
        about = leaf_of(comparison)
        if about is not None:  # one of several options of IN
            operand = scope.operand(*about)
            column = self.requests.of(comparison, BOOL, INT_SHAPE)
            self._op(k.PUSH_INT, 0, operand.source, operand.argument, column)
            return
        shape = self._common(left, right)
        bounded = shape.register is Register.INT and (self._loses(left, shape) or self._loses(right, shape))
        for side in (left, right):
            if not bounded or isinstance(side, Literal):
                self._emit_as(side, scope, shape)
            else:
                self._emit_as(side, scope, self._shape(side))
            if bounded:
                up = 0 if isinstance(side, Literal) else shape.scale - self._scale_of(side)
                self._scale_up(k.SCALE_BOUNDED, up)
        op = k.STACK_COMPARE_FLOATS if shape.register is Register.FLOAT else k.STACK_COMPARE_INTS
        self._op(op, COMPARATORS[operator])

    def _arithmetic(self, expression: Arithmetic, scope: Scope) -> Shape:
        result = self._shape(expression)
        operator, left, right = expression.operator, expression.left, expression.right
        if result.register is Register.FLOAT:
            self._emit_as(left, scope, FLOAT_SHAPE)
            self._emit_as(right, scope, FLOAT_SHAPE)
            self._op(FLOAT_OPS[operator])
            return FLOAT_SHAPE
        if operator == "*":  # scales add
            for side in (left, right):
                self._emit_as(side, scope, self._shape(side))
        else:
            if any(self._loses(side, result) for side in (left, right)):
                raise NotInTable  # a side may not fit where the result does
            for side in (left, right):
                self._emit_as(side, scope, Shape(Register.INT, result.scale))
        self._op(INT_OPS[operator])
        return result

    def _call(self, call: Call, scope: Scope) -> Shape:
        name = call.function.lower()
        arguments = call.arguments
        result = self._shape(call) if shape_of(self._type(call)) else None
        if result is None or call.function in self.bound.catalog.functions:
            raise NotInTable
        is_float = result.register is Register.FLOAT
        if name in ("abs", "sign"):
            inner = self._shape(arguments[0])
            self._emit_as(arguments[0], scope, inner)
            inner_float = inner.register is Register.FLOAT
            op = {"abs": (k.ABS_INT, k.ABS_FLOAT), "sign": (k.SIGN_INT, k.SIGN_FLOAT)}[name][inner_float]
            self._op(op)
            return inner if name == "abs" else Shape(inner.register)
        if name in ("floor", "ceil", "round") and is_float:
            self._emit_as(arguments[0], scope, FLOAT_SHAPE)
            if len(arguments) == 2:
                digits = arguments[1]
                if not (isinstance(digits, Literal) and isinstance(digits.value, int)):
                    raise NotInTable
                self._op(k.ROUND, digits.value)
            else:
                self._op({"floor": k.FLOOR, "ceil": k.CEIL, "round": k.ROUND}[name])
            return FLOAT_SHAPE
        if name in ("sqrt", "power", "distance"):
            for argument in arguments:
                self._emit_as(argument, scope, FLOAT_SHAPE)
            self._op({"sqrt": k.SQRT, "power": k.POWER, "distance": k.DISTANCE}[name])
            return FLOAT_SHAPE
        if name in ("least", "greatest", "coalesce"):
            wanted = self._common(*arguments)
            if any(self._loses(argument, wanted) for argument in arguments):
                raise NotInTable
            op = {
                "least": (k.LEAST_INT, k.LEAST_FLOAT),
                "greatest": (k.GREATEST_INT, k.GREATEST_FLOAT),
                "coalesce": (k.COALESCE_INT, k.COALESCE_FLOAT),
            }[name][wanted.register is Register.FLOAT]
            self._emit_as(arguments[0], scope, wanted)
            for argument in arguments[1:]:
                self._emit_as(argument, scope, wanted)
                self._op(op)
            return wanted
        raise NotInTable

    def _loses(self, argument: Expression, wanted: Shape) -> bool:
        """Whether a value may not fit the common scale, which makes it NULL: a choice would then pass it over."""
        if isinstance(argument, Literal) or wanted.register is Register.FLOAT:
            return False
        return self._type(argument).kind is not Kind.NULL and self._scale_of(argument) < wanted.scale

    def _scale_of(self, expression: Expression) -> int:
        return self._type(expression).scale or 0

    # --- aggregates -------------------------------------------------------------------------------

    def _aggregate(self, aggregate: Aggregate, scope: Scope) -> Shape:
        """Write an aggregate: registers of a loop, or the one event of a single element."""
        result = self._shape(aggregate)
        element = self.elements[aggregate.variable]
        situation = scope.situation
        if scope.is_gone(element):
            self._nothing(aggregate)
            return result
        if not element.loop:
            return self._aggregate_of_one(aggregate, scope, result)
        so_far = scope.references[aggregate.variable].single
        iteration = scope.iteration_of(aggregate.variable) if so_far else None
        if so_far and iteration is None and situation.entering:
            self._op(k.PUSH_ABSENT)  # before the first element there is nothing
            return result
        where = [0, 0]
        if iteration is not None:
            beside = sum(1 << wheel for wheel in scope.beside(element))
            where = [1 | beside << 1, iteration, self.registers.count(element.index)]
        empty = scope.where_empty(element)
        begun = situation.closing == element.index and element.optional and bool(element.groups)
        argument = aggregate.argument
        if argument is None:
            self._op(k.PUSH_COUNT, self.registers.count(element.index, begun), empty, 0, 0, *where)
            return result
        shape = self._shape(argument)
        if aggregate.function in ("avg", "sum"):
            tally = self.registers.tally("sum", element.index, argument, shape, begun)
        else:
            tally = self.registers.tally(aggregate.function, element.index, argument, shape, begun)
        n = self.registers.numbers[tally]
        if aggregate.function == "count":
            self._op(k.PUSH_COUNT, n, empty, 0, 0, *where)
        elif shape.register is Register.FLOAT:
            op = k.PUSH_MEAN_FLOAT if aggregate.function == "avg" else k.PUSH_FLOAT_REGISTER
            self._op(op, n, empty, self.registers.float_numbers[tally], 0, *where)
        elif aggregate.function == "avg":
            self._op(k.PUSH_MEAN_INT, n, empty, n + 1, self.tables.constant(10.0**shape.scale), *where)
        else:
            op = k.PUSH_SUM_INT if aggregate.function == "sum" else k.PUSH_INT_REGISTER
            self._op(op, n, empty, n + 1, 0, *where)
        return result

    def _is_of_group(self, aggregate: Aggregate) -> bool:
        """Whether it is over a loop under a NOT of a group: no register has it."""
        return self.elements[aggregate.variable].many

    def _nothing(self, aggregate: Aggregate) -> None:
        """The value over no element: count 0, the others NULL (SEMANTICS 4.3)."""
        if aggregate.function == "count":
            self._op(k.PUSH_INT_CONST, 0)
        else:
            self._op(k.PUSH_NULL)

    def _aggregate_of_one(self, aggregate: Aggregate, scope: Scope, result: Shape) -> Shape:
        operand = scope.operand(aggregate.variable, At.EACH)
        if aggregate.argument is None:
            self._op(k.PUSH_BOUND, 0, operand.source, operand.argument)
            return result
        shape = FLOAT_SHAPE if aggregate.function == "avg" else self._shape(aggregate.argument)
        column = self._leaf_column(aggregate.argument, shape)
        op = k.PUSH_FLOAT if shape.register is Register.FLOAT else k.PUSH_INT
        self._op(op, 0, operand.source, operand.argument, column)
        self._op(k.EMPTY_AS_NULL, 0, operand.source, operand.argument)
        if aggregate.function == "count":
            self._op(k.IS_NOT_NULL)
            return INT_SHAPE
        return shape
