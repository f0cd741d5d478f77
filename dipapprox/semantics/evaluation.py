"""Values of core expressions, and what a path knows of the inputs in them; places of statements.

Values are forms over samples and inputs, or names. Whoever executes statements evaluates here:
symbolic execution (`run`), and who follows single courses. Their states say what cells hold and
what is known of symbols. Evaluation is pure.

What a path knows about the inputs: conditions over finite domains, kept satisfiable. A `Knowledge`
is immutable. Conditions on one cell are kept as the set of its possible values; conditions on
several cells as linear forms. Contradictions are found by interval reasoning and, where the domains
are small, by enumeration.

A domain may be all numbers. Then nothing is known of the cell, and what needs one of its values
ends the execution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import prod
from typing import NamedTuple, Protocol, assert_never

from dipapprox.data_classes import Record, field
from dipapprox.errors import BrokenInvariant
from dipapprox.language import core
from dipapprox.language.constants import Wrong
from dipapprox.language.core import Cell, Value
from dipapprox.language.domains import AllIntegers, AllReals
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.semantics.state import InputCondition
from dipapprox.source import Diagnostic, Span

StoredValue = LinearForm | str  # a form over samples and input cells, or a named value


class PathFault(Wrong):
    """A path does something that has no meaning; `cell` is the variable at fault, if one is."""

    def __init__(
        self, kind: str, message: str, span: Span | None, hint: str = "", cell: str = ""
    ) -> None:
        super().__init__(kind, message, span, hint)
        self.cell = cell

    def diagnostic(self, where: str = "") -> Diagnostic:
        """Return the fault for people, with words about the path that leads there."""
        return Diagnostic(self.kind, self.message + where, self.span, self.hint)


class Values(Protocol):
    """A state as far as expressions are evaluated in it."""

    def read(self, forms: Forms, name: str, span: Span | None) -> StoredValue:
        """Return the value of a cell.

        Raises:
            PathFault: If it has none; or whatever says that it is not known.
        """

    def known(self, form: LinearForm, span: Span | None) -> Fraction:
        """Return the number that a form with symbols is, or raise what says that it is unknown."""

    def product(self, left: LinearForm, right: LinearForm, span: Span | None) -> LinearForm:
        """Return the product of two forms with symbols, or raise what says that it is no form."""


class Forms(Record, frozen=False, eq=False, kw_only=True):
    """Values in one execution: equal ones are the same object."""

    # The one object that stands for equal forms.
    forms: dict[LinearForm, LinearForm] = field(default_factory=dict)
    # The one object that stands for a value.
    constants: dict[core.Value, StoredValue] = field(default_factory=dict)
    # The same by the identity of a value, which is kept alive so: fractions hash slowly.
    seen: dict[int, tuple[core.Value, StoredValue]] = field(default_factory=dict)
    # Two forms, which are kept alive so, and their sum, by the identities of the two.
    sums: dict[tuple[int, int], tuple[LinearForm, LinearForm, LinearForm]] = field(
        default_factory=dict
    )
    # The form that an input is: a symbol, or a constant if the domain has one value; None if values
    # have names, and the path has to know which.
    inputs: Mapping[str, LinearForm | None] = field(default_factory=dict)
    # The cells of this turn of a loop, by those of the first one.
    cells: dict[str, str] = field(default_factory=dict)


def evaluate(forms: Forms, expression: core.Expression, state: Values) -> StoredValue:
    """Return the value of an expression.

    Raises:
        PathFault: If it has none; or what `read`, `known` and `product` raise.
    """
    match expression:
        case core.Constant():
            return constant(forms, expression.value)
        case core.Variable():
            return state.read(forms, expression.name, expression.span)
        case core.Element():
            return state.read(forms, cell_of(forms, expression, state), expression.span)
        case core.Sum():
            left = evaluate(forms, expression.left, state)
            right = evaluate(forms, expression.right, state)
            # By identity: forms hash slowly.
            total = forms.sums.get((id(left), id(right)))
            if total is None:
                first = _number(left, expression.left)
                second = _number(right, expression.right)
                total = first, second, shared(forms, first + second)
                forms.sums[id(first), id(second)] = total
            return total[2]
        case core.Product():
            first = form_of(forms, expression.left, state)
            second = form_of(forms, expression.right, state)
            if not first.terms:
                product = second.scaled(first.constant)
            elif not second.terms:
                product = first.scaled(second.constant)
            else:
                product = state.product(first, second, expression.span)
            return shared(forms, product)
    assert_never(expression)


def form_of(forms: Forms, expression: core.Expression, state: Values) -> LinearForm:
    return _number(evaluate(forms, expression, state), expression)


def finite(forms: Forms, expression: core.Expression, state: Values) -> core.Value:
    """Return the value of an expression, which has to be known."""
    value = evaluate(forms, expression, state)
    if isinstance(value, str):
        return value
    return state.known(value, expression.span) if value.terms else value.constant


def number(forms: Forms, expression: core.Expression, state: Values) -> Fraction:
    """Return the value of an expression, which has to be known and a number."""
    value = finite(forms, expression, state)
    if isinstance(value, str):
        raise _is_name(value, expression)
    return value


def cell_of(forms: Forms, place: core.Variable | core.Element, state: Values) -> str:
    if isinstance(place, core.Variable):
        return place.name
    index = finite(forms, place.index, state)
    # As whole numbers: fractions compare slowly.
    if isinstance(index, str) or index.denominator != 1 or not 1 <= index.numerator <= place.size:
        raise PathFault(
            "value error",
            f"index of '{place.array}' is {index}",
            place.index.span or place.span,
            f"'{place.array}' has "
            + (f"the indices 1 to {place.size}" if place.size else "no elements"),
        )
    return f"{place.array}[{index.numerator}]"


def constant(forms: Forms, value: core.Value) -> StoredValue:
    """Return the one object that stands for a value."""
    known = forms.seen.get(id(value))
    if known is not None:
        return known[1]
    stored = forms.constants.get(value)
    if stored is None:
        stored = value if isinstance(value, str) else LinearForm.constant_form(value)
        if isinstance(stored, LinearForm):
            stored = shared(forms, stored)
        forms.constants[value] = stored
    forms.seen[id(value)] = value, stored
    return stored


def shared(forms: Forms, form: LinearForm) -> LinearForm:
    """Return the one object that stands for equal forms."""
    return forms.forms.setdefault(form, form)


def over_inputs(form: LinearForm, span: Span | None) -> LinearForm:
    """Return a form, which has to be over inputs only."""
    if form.samples():
        raise PathFault("type error", "a real is used where a finite value is needed", span)
    return form


def names_compare(comparison: core.Comparison, left: StoredValue, right: StoredValue) -> bool:
    """Whether a comparison of values holds, of which at least one is a name.

    Raises:
        PathFault: If it asks for an order.
    """
    if comparison.relation not in (core.Relation.EQUAL, core.Relation.NOT_EQUAL):
        message = f"'{comparison.relation.value}' compares named values"
        hint = "named values can only be compared by = and !="
        raise PathFault("type error", message, comparison.span, hint)
    equal = left == right  # a number, symbolic or not, never equals a name
    return equal is (comparison.relation is core.Relation.EQUAL)


def _number(value: StoredValue, expression: core.Expression) -> LinearForm:
    if isinstance(value, str):
        raise _is_name(value, expression)
    return value


def _is_name(value: str, expression: core.Expression) -> PathFault:
    return PathFault("type error", f"named value '{value}' is used as a number", expression.span)


# --- inputs --------------------------------------------------------------------------------------

_ENUMERATED_INPUTS = 4096  # above this many inputs only interval reasoning is used


class ValueOfAny(Exception):
    """A value is needed of the input `cell`, which may be any number."""

    def __init__(self, cell: str) -> None:
        super().__init__(cell)
        self.cell = cell


class NeedsValue(Exception):
    """The value of the input `cell` is needed to go on."""

    def __init__(self, cell: str) -> None:
        super().__init__(cell)
        self.cell = cell


ValuesLeft = tuple[tuple[Value, ...], frozenset[Value] | None]
"""The domain of a cell, and what is left of it; None for all."""


class Knowledge(Record, eq=False):
    """The inputs that may take a path: domains, restricted cell by cell, and linear conditions."""

    domains: Mapping[str, tuple[Value, ...]]
    # The cells with fewer values left than their domain has.
    allowed: Mapping[str, frozenset[Value]]
    linear: frozenset[InputCondition]  # conditions on two or more cells

    @classmethod
    def of(cls, inputs: tuple[Cell, ...]) -> Knowledge:
        return cls({cell.name: cell.domain for cell in inputs}, {}, frozenset())

    def values(self, cell: str) -> tuple[Value, ...]:
        """The values that `cell` may still have, in the order of its domain.

        Raises:
            ValueOfAny: If it may have any.
        """
        left = self.allowed.get(cell)
        domain = self.domains[cell]
        if isinstance(domain, AllReals):
            raise ValueOfAny(cell)
        return domain if left is None else tuple(v for v in domain if v in left)

    def values_left(self, cell: str) -> ValuesLeft | None:
        """Return all that is known of a cell; None if a condition ties it to other cells."""
        if any(each.form is not None and cell in each.form.inputs() for each in self.linear):
            return None
        return self.domains[cell], self.allowed.get(cell)

    def is_integer(self, cell: str, factor: Fraction) -> bool:
        """Whether `factor` times a numeric cell is an integer, whichever value it has."""
        match self.domains[cell]:
            case AllIntegers():
                return factor.denominator == 1
            case AllReals():
                return False
            case _:
                values = (value for value in self.values(cell) if isinstance(value, Fraction))
                return all((factor * value).denominator == 1 for value in values)

    def sole(self, cell: str) -> Value | None:
        values = self.values(cell)
        return values[0] if len(values) == 1 else None

    def instantiate(self, form: LinearForm) -> LinearForm:
        """Replace the input cells whose value is known."""
        known: dict[Symbol, Fraction] = {}
        for cell in form.inputs():
            value = self.sole(cell)
            if isinstance(value, Fraction):
                known[cell] = value
        return form.at(known) if known else form

    def restrict(self, cell: str, values: frozenset[Value]) -> Knowledge | None:
        """Add that `cell` has one of `values`; None if no input is left."""
        now = self.values(cell)
        left = frozenset(v for v in now if v in values)
        if not left:
            return None
        if len(left) == len(now):
            return self
        return self._with({**self.allowed, cell: left}, self.linear)

    def assume(self, form: LinearForm, strict: bool) -> Knowledge | None:
        """Add form <= 0 (< 0 if `strict`), a form over input cells; None if no input is left."""
        form = self.instantiate(form)
        cells = form.inputs()
        if not cells:
            return self if _is_met(form.constant, strict) else None
        if len(cells) == 1:
            (cell,) = cells
            values = [v for v in self.values(cell) if isinstance(v, Fraction)]
            slope = form.coefficient(cell)
            kept = frozenset(v for v in values if _is_met(slope * v + form.constant, strict))
            return self.restrict(cell, kept)
        lower, upper = self.range(form)
        if _is_met(upper, strict):
            return self
        if not _is_met(lower, strict):
            return None
        condition = InputCondition(form=form.normalised(), strict=strict)
        return self._with(self.allowed, self.linear | {condition})

    def enclose(self, form: LinearForm) -> tuple[Fraction, Fraction] | None:
        """Do the same as `range`; None if the form has no bounds, for it has cells of all reals."""
        if any(isinstance(self.domains[cell], AllReals) for cell in form.inputs()):
            return None
        return self.range(form)

    def range(self, form: LinearForm) -> tuple[Fraction, Fraction]:
        """Enclose the values of a form over numeric input cells, cell by cell."""
        return form.extent(self._numbers)

    def _numbers(self, cell: Symbol) -> list[Fraction]:
        return [value for value in self.values(str(cell)) if isinstance(value, Fraction)]

    def conditions(self) -> tuple[InputCondition, ...]:
        """The conditions of a final state: those on one cell first, in the order of the cells."""
        if not self.allowed and not self.linear:
            return ()
        single = [
            InputCondition(cell=cell, values=self.allowed[cell])
            for cell in self.domains
            if cell in self.allowed
        ]
        return (*single, *sorted(self.linear, key=_order))

    def _with(
        self, allowed: Mapping[str, frozenset[Value]], linear: frozenset[InputCondition]
    ) -> Knowledge | None:
        knowledge = Knowledge(self.domains, allowed, linear)
        return knowledge if not linear or knowledge._possible() else None

    def _possible(self) -> bool:
        """Whether some input meets the linear conditions; True where that is too dear to decide."""
        forms = [(c.form, c.strict) for c in self.linear if c.form is not None]
        if not all(_is_met(self.range(form)[0], strict) for form, strict in forms):
            return False
        cells = sorted({cell for form, _ in forms for cell in form.inputs()})
        if prod(len(self.values(cell)) for cell in cells) > _ENUMERATED_INPUTS:
            return True
        return any(
            all(_is_met(form.at(input).constant, strict) for form, strict in forms)
            for input in self._inputs(cells)
        )

    def _inputs(self, cells: list[str]) -> Iterator[dict[Symbol, Fraction]]:
        columns = [[v for v in self.values(c) if isinstance(v, Fraction)] for c in cells]
        for input in product(*columns):
            yield dict(zip(cells, input, strict=True))


def _is_met(value: Fraction, strict: bool) -> bool:
    return value < 0 if strict else value <= 0


def _order(condition: InputCondition) -> tuple[object, ...]:
    form = condition.form
    if form is None:
        raise BrokenInvariant("a linear condition without a form")
    return tuple((str(symbol), c) for symbol, c in form.terms), form.constant, condition.strict


# --- places --------------------------------------------------------------------------------------


class Frame(NamedTuple):
    """The place of a statement in a block, and of the one that follows the block, if one does."""

    block: core.Block
    place: int = 0
    outer: Frame | None = None

    @property
    def statement(self) -> core.Statement:
        return self.block[self.place]

    def after(self) -> Frame | None:
        """Return the place after the statement; None at the end."""
        if self.place + 1 < len(self.block):
            return Frame(self.block, self.place + 1, self.outer)
        return self.outer

    def frames(self) -> Iterator[Frame]:
        """Yield the places in all open blocks, the innermost first."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.outer

    def key(self) -> tuple[int, ...]:
        """Equal for equal places."""
        return tuple([n for each in self.frames() for n in (id(each.block), each.place)])


def into(block: core.Block, outer: Frame | None) -> Frame | None:
    """Return the beginning of a block, or of what follows an empty one."""
    return Frame(block, 0, outer) if block else outer
