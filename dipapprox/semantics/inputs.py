"""What a path knows about the inputs: conditions over finite domains, kept satisfiable.

A `Knowledge` is immutable. Conditions on one cell are kept as the set of its possible values;
conditions on several cells as linear forms. Contradictions are found by interval reasoning and,
where the domains are small, by enumeration.

A domain may be all numbers. Then nothing is known of the cell, and what needs one of its values
ends the execution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import prod

from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant
from dipapprox.language.core import Cell, Value
from dipapprox.language.domains import AllIntegers, AllReals
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.semantics.state import InputCondition

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
        """Nothing is known but the domains."""
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
        """The value of `cell` if it is known, else None."""
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
            return self if _holds(form.constant, strict) else None
        if len(cells) == 1:
            (cell,) = cells
            values = [v for v in self.values(cell) if isinstance(v, Fraction)]
            slope = form.coefficient(cell)
            kept = frozenset(v for v in values if _holds(slope * v + form.constant, strict))
            return self.restrict(cell, kept)
        lower, upper = self.range(form)
        if _holds(upper, strict):
            return self
        if not _holds(lower, strict):
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
        if not all(_holds(self.range(form)[0], strict) for form, strict in forms):
            return False
        cells = sorted({cell for form, _ in forms for cell in form.inputs()})
        if prod(len(self.values(cell)) for cell in cells) > _ENUMERATED_INPUTS:
            return True
        return any(
            all(_holds(form.at(input).constant, strict) for form, strict in forms)
            for input in self._inputs(cells)
        )

    def _inputs(self, cells: list[str]) -> Iterator[dict[Symbol, Fraction]]:
        columns = [[v for v in self.values(c) if isinstance(v, Fraction)] for c in cells]
        for input in product(*columns):
            yield dict(zip(cells, input, strict=True))


def _holds(value: Fraction, strict: bool) -> bool:
    return value < 0 if strict else value <= 0


def _order(condition: InputCondition) -> tuple[object, ...]:
    form = condition.form
    if form is None:
        raise BrokenInvariant("a linear condition without a form")
    return tuple((str(symbol), c) for symbol, c in form.terms), form.constant, condition.strict
