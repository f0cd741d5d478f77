"""The span of linear forms, by elimination (Gauss, Jordan): which forms are sums of others.

Only samples are eliminated: two forms that differ in constants and inputs alone count as dependent,
and what they differ by is part of the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.linear.form import LinearForm, Symbol

_ZERO = Fraction(0)
Matrix = tuple[tuple[Fraction, ...], ...]


class FormSpan:
    """Sums of named forms.

    Attributes:
        rows: By its leading sample a form in which that has the coefficient 1, and which no other
            row mentions; and the same number as a form over names.
    """

    def __init__(self) -> None:
        self.rows: dict[int, tuple[LinearForm, LinearForm]] = {}

    def put(self, form: LinearForm, name: Symbol) -> LinearForm | None:
        """Add a form; return what it is in terms of earlier ones, if it is a sum of them."""
        rest, told = self.reduced(form)
        if not rest.samples():
            return told + rest
        leading = rest.samples()[0]
        scale = 1 / rest.coefficient(leading)
        row, own = rest.scaled(scale), (LinearForm.symbol(name) - told).scaled(scale)
        for other, (before, its) in self.rows.items():
            factor = before.coefficient(leading)
            if factor:
                self.rows[other] = before - row.scaled(factor), its - own.scaled(factor)
        self.rows[leading] = row, own
        return None

    def combination(self, form: LinearForm) -> LinearForm | None:
        """Return a form in terms of those that were added; None if it is no sum of them."""
        rest, told = self.reduced(form)
        return None if rest.samples() else told + rest

    def reduced(self, form: LinearForm) -> tuple[LinearForm, LinearForm]:
        """Return what is left of a form, and what names tell of it: they add up to it."""
        rest, told = form, LinearForm.constant_form(0)
        for sample in form.samples():
            if sample in self.rows:
                row, own = self.rows[sample]
                factor = form.coefficient(sample)
                rest, told = rest - row.scaled(factor), told + own.scaled(factor)
        return rest, told


def solved(
    columns: Sequence[Sequence[Fraction]], wanted: Sequence[Sequence[Fraction]]
) -> Matrix | None:
    """Return for every wanted vector numbers x with Σ x_k · column_k = vector.

    Columns that are sums of earlier ones get 0. None if some vector is no such sum.
    """
    span = FormSpan()
    for number, column in enumerate(columns):
        span.put(_form(column), number)
    found = [span.combination(_form(vector)) for vector in wanted]
    if None in found:
        return None
    return tuple([vector_of(each, len(columns)) for each in found if each is not None])


def vector_of(form: LinearForm, size: int) -> tuple[Fraction, ...]:
    """Return the coefficients of the first symbols."""
    known = dict(form.terms)
    return tuple([known.get(k, _ZERO) for k in range(size)])


def _form(vector: Sequence[Fraction]) -> LinearForm:
    return LinearForm.of(dict(enumerate(vector)))
