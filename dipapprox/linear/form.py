"""Exact linear forms over samples and inputs: Σ coefficient·symbol + constant.

A symbol is an `int` (the index of a sample) or a `str` (the name of an input cell). Forms are
immutable, normalised (no zero coefficients, symbols sorted, samples first) and hashable.

Which forms are sums of others is found by elimination (Gauss, Jordan) of samples only: two forms
that differ in constants and inputs alone count as dependent, and what they differ by is part of
the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import gcd, lcm

from dipapprox.data_classes import Record

Symbol = int | str
Difference = tuple[int, int, Fraction]
"""(u, v, w) says x[v] < x[u] + w; the vertex -1 stands for the number 0."""

_ZERO, _ONE, _MINUS_ONE = Fraction(0), Fraction(1), Fraction(-1)


def _order(item: tuple[Symbol, Fraction]) -> tuple[bool, Symbol]:
    return isinstance(item[0], str), item[0]


class LinearForm(Record, cache_hash=True):
    """Σ coefficient·symbol + constant, exact. Build with `of`, `constant_form` or `symbol`."""

    terms: tuple[tuple[Symbol, Fraction], ...]
    constant: Fraction

    @classmethod
    def of(cls, terms: Mapping[Symbol, Fraction], constant: Fraction = _ZERO) -> LinearForm:
        kept = [(s, c) for s, c in terms.items() if c]
        kept.sort(key=_order)
        return cls(tuple(kept), constant)

    @classmethod
    def constant_form(cls, value: Fraction | int) -> LinearForm:
        return cls((), Fraction(value))

    @classmethod
    def symbol(cls, symbol: Symbol) -> LinearForm:
        return cls(((symbol, _ONE),), _ZERO)

    @property
    def is_constant(self) -> bool:
        return not self.terms

    @property
    def sole_sample(self) -> int | None:
        """The sample that the form was made for by `symbol`; None if it was made otherwise."""
        terms = self.terms
        if len(terms) != 1 or self.constant is not _ZERO or terms[0][1] is not _ONE:
            return None
        symbol = terms[0][0]
        return symbol if isinstance(symbol, int) else None

    def samples(self) -> tuple[int, ...]:
        """The sample indices that occur, ascending."""
        return tuple(s for s, _ in self.terms if isinstance(s, int))

    def inputs(self) -> tuple[str, ...]:
        """The input cells that occur, sorted."""
        return tuple(s for s, _ in self.terms if isinstance(s, str))

    def coefficient(self, symbol: Symbol) -> Fraction:
        """The coefficient of `symbol`, 0 if it does not occur."""
        return next((c for s, c in self.terms if s == symbol), _ZERO)

    def __add__(self, other: LinearForm) -> LinearForm:
        if not other.terms:
            return LinearForm(self.terms, _plus(self.constant, other.constant))
        if not self.terms:
            return LinearForm(other.terms, _plus(self.constant, other.constant))
        total = dict(self.terms)
        for symbol, coefficient in other.terms:
            total[symbol] = _plus(total.get(symbol, _ZERO), coefficient)
        return LinearForm.of(total, _plus(self.constant, other.constant))

    def __neg__(self) -> LinearForm:
        return LinearForm(tuple([(s, _minus(c)) for s, c in self.terms]), _minus(self.constant))

    def __sub__(self, other: LinearForm) -> LinearForm:
        return self + (-other)

    def scaled(self, factor: Fraction) -> LinearForm:
        if not factor:
            return LinearForm((), _ZERO)
        return LinearForm(tuple((s, c * factor) for s, c in self.terms), self.constant * factor)

    def substitute(self, values: Mapping[Symbol, LinearForm]) -> LinearForm:
        """Replace the symbols that `values` names by forms; the others stay."""
        total: dict[Symbol, Fraction] = {}
        constant = self.constant
        for symbol, coefficient in self.terms:
            value = values.get(symbol)
            if value is None:
                total[symbol] = total.get(symbol, _ZERO) + coefficient
                continue
            constant += coefficient * value.constant
            for inner, c in value.terms:
                total[inner] = total.get(inner, _ZERO) + coefficient * c
        return LinearForm.of(total, constant)

    def at(self, values: Mapping[Symbol, Fraction]) -> LinearForm:
        """Replace the symbols that `values` names by numbers; the others stay."""
        constant = self.constant
        kept = []
        for symbol, coefficient in self.terms:
            value = values.get(symbol)
            if value is None:
                kept.append((symbol, coefficient))
            else:
                constant += coefficient * value
        return LinearForm(tuple(kept), constant)

    def extent(
        self, ends: Callable[[Symbol], Iterable[Fraction | int]]
    ) -> tuple[Fraction, Fraction]:
        """Return the least and the greatest value; `ends` has those of a symbol, among others."""
        low = high = self.constant
        for symbol, coefficient in self.terms:
            images = [coefficient * end for end in ends(symbol)]
            low, high = low + min(images), high + max(images)
        return low, high

    def renamed(self, name: Callable[[Symbol], Symbol]) -> LinearForm:
        """Rename every symbol; `name` must be injective on the symbols that occur."""
        return LinearForm.of({name(s): c for s, c in self.terms}, self.constant)

    def normalised(self) -> LinearForm:
        """Divide by the absolute value of the leading coefficient (no-op on constants)."""
        if not self.terms:
            return self
        leading = self.terms[0][1]
        return self if is_unit(leading) else self.scaled(1 / abs(leading))


def difference(form: LinearForm) -> Difference | None:
    """Read form < 0 as a bound on a sample or on the difference of two; None if it is neither."""
    match form.terms:
        case ((int(x), a),):
            bound = -form.constant / abs(a)
            return (-1, x, bound) if a.numerator > 0 else (x, -1, bound)
        case ((int(x), a), (int(y), b)):
            # a == -b, in integers because this is asked of every guard of every event
            if a.numerator != -b.numerator or a.denominator != b.denominator:
                return None
            bound = -form.constant / abs(a) if form.constant.numerator else _ZERO
            return (y, x, bound) if a.numerator > 0 else (x, y, bound)
        case _:
            return None


def content(numbers: Iterable[Fraction]) -> Fraction:
    """The largest number of which all are integer multiples; 0 if all are 0."""
    known = list(numbers)
    # Fractions are in lowest terms.
    return Fraction(gcd(*(c.numerator for c in known)), lcm(*(c.denominator for c in known)))


def is_unit(coefficient: Fraction) -> bool:
    """Whether a coefficient is 1 or -1; fractions take much longer to compare."""
    return coefficient.denominator == 1 and coefficient.numerator in (1, -1)


def are_opposite(left: Fraction, right: Fraction) -> bool:
    """Whether left == -right; fractions take much longer to negate and to compare."""
    return left.numerator == -right.numerator and left.denominator == right.denominator


# Nearly all numbers in forms are 0, 1 and -1, and no new fraction is needed for those.


def _plus(left: Fraction, right: Fraction) -> Fraction:
    if not right:
        return left
    return left + right if left else right


def _minus(number: Fraction) -> Fraction:
    if number is _ONE:
        return _MINUS_ONE
    if number is _MINUS_ONE:
        return _ONE
    return -number if number else number


# --- spans ---------------------------------------------------------------------------------------

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
    known = dict(form.terms)
    return tuple([known.get(k, _ZERO) for k in range(size)])


def _form(vector: Sequence[Fraction]) -> LinearForm:
    return LinearForm.of(dict(enumerate(vector)))
