"""Values, inputs and enclosures as the plain data that JSON and reports are made of.

Rationals are strings "p/q" (or "p"); ends of enclosures are decimal strings rounded outward;
finite-domain integers are numbers, other finite-domain values strings.

A set of numbers that a real output may be in is a union of intervals:

    y >= 0.3                       {"in": [["3/10", null]]}
    -1 <= y <= 1 or y >= 7/3       {"in": [["-1", "1"], ["7/3", null]]}

Exponential polynomials and ratios are formulas for people: text and LaTeX.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, outward
from dipapprox.data_classes import Record
from dipapprox.digits import brief_text, decimal_text, exact_text
from dipapprox.errors import BrokenInvariant
from dipapprox.events import event
from dipapprox.events.event import Interval, mapped
from dipapprox.exponentials import Exponent, ExponentialPolynomial, ExponentialRatio
from dipapprox.language.core import Cell, Input, Value
from dipapprox.linear.form import LinearForm

_SHORT = 8  # fractions with more digits are shown to people as decimals, where these are exact


class NumberSet(Record):
    """A union of disjoint intervals, from left to right; None stands for an infinite end."""

    intervals: tuple[Interval, ...]
    about: str = ""  # what else there is to say, as "of a ratio above e^ε_prv"; "": nothing

    def fields(self) -> dict[str, object]:
        ends = [
            [None if end is None else exact_text(end) for end in interval]
            for interval in self.intervals
        ]
        return {"in": ends, **({"about": self.about} if self.about else {})}

    def text(self, name: str) -> str:
        if self.about:
            return f"{name} {self.about}"
        return " or ".join(_text(name, interval) for interval in self.intervals) or f"no {name}"

    def mapped(self, factor: Fraction, shift: Fraction) -> NumberSet:
        """Return the set of factor * x + shift, factor != 0."""
        moved = [mapped(interval, factor, shift) for interval in self.intervals]
        return NumberSet(tuple(moved if factor > 0 else moved[::-1]), self.about)


ANY_NUMBER = NumberSet(((None, None),))


def _text(name: str, interval: Interval) -> str:
    low, high = interval
    if low is None:
        return f"any {name}" if high is None else f"{name} <= {_number(high)}"
    if high is None:
        return f"{name} >= {_number(low)}"
    return f"{_number(low)} <= {name} <= {_number(high)}"


def _number(end: Fraction) -> str:
    exact = exact_text(end)
    return exact if len(exact) <= _SHORT else decimal_text(end)


PlainValue = int | str
PlainSet = dict[str, object]
Valuation = dict[str, PlainValue | PlainSet | list[PlainValue | PlainSet]]
Published = Value | NumberSet
"""What a cell holds in an answer: a value or, of a real output, a set of numbers."""


LIKELIER = NumberSet(((None, None),), "of a likelihood ratio above e^ε_prv")
"""Where several numbers are published together."""


def published_values(
    outcome: event.PublishedOutcome, where: Mapping[LinearForm, tuple[Interval, ...]] | None
) -> tuple[Published, ...]:
    """Return what intervals of coordinates tell of all output cells: finite values, then numbers
    and sets; without intervals these are what is likelier."""
    reals: list[Published] = []
    for form in outcome.reals:
        own = form.samples()
        if not own:
            reals.append(form.constant)
        elif where is None:
            reals.append(LIKELIER)
        elif len(own) > 1 or LinearForm.symbol(own[0]) not in where:
            reals.append(ANY_NUMBER)
        else:
            known = NumberSet(where[LinearForm.symbol(own[0])])
            reals.append(known.mapped(form.coefficient(own[0]), form.constant))
    return (*outcome.outputs, *reals)


def finite(values: Sequence[Published]) -> tuple[Value, ...]:
    """Return values among which are no sets of numbers."""
    found = tuple(value for value in values if not isinstance(value, NumberSet))
    if len(found) < len(values):
        raise BrokenInvariant("a set of numbers where a value is needed")
    return found


def plain_value(value: Value) -> PlainValue:
    """Return an integer as int, any other rational as "p/q", a named value as its name."""
    if isinstance(value, str):
        return value
    return value.numerator if value.denominator == 1 else exact_text(value)


def valuation(cells: Sequence[Cell], values: Sequence[Published]) -> Valuation:
    """Name the values of cells: {"q": [0, 1], "t": 2}; arrays are lists in order of index."""
    named: Valuation = {}
    for cell, value in zip(cells, values, strict=True):
        plain = value.fields() if isinstance(value, NumberSet) else plain_value(value)
        if cell.index is None:
            named[cell.variable] = plain
            continue
        array = named.setdefault(cell.variable, [])
        assert isinstance(array, list)
        array.append(plain)
    return named


def pair_fields(
    inputs: Sequence[Cell],
    pair: Sequence[Input] | None,
    cells: Sequence[Cell],
    outputs: Iterable[Sequence[Published]],
) -> dict[str, object]:
    """Return a pair of inputs, if there is one, and outputs."""
    first, second = (None, None) if pair is None else (valuation(inputs, each) for each in pair)
    shown = [valuation(cells, each) for each in outputs]
    return {"input": first, "adjacent": second, "outputs": shown}


def ends(enclosure: Enclosure | None) -> list[str]:
    """Return [lower, upper] as decimals; of a probability that is not known, ["0", "1"]."""
    return list(outward(UNIT if enclosure is None else enclosure))


def valuation_text(cells: Sequence[Cell], values: Sequence[Published]) -> str:
    """Write named values for people: "q = (0, 1), t = 2, y[2] >= 1"."""
    single = [
        (cell, value)
        for cell, value in zip(cells, values, strict=True)
        if not isinstance(value, NumberSet)
    ]
    parts = []
    sizes = Counter(cell.variable for cell in cells)
    whole = Counter(cell.variable for cell, _ in single)
    for name, value in valuation(*zip(*single, strict=True)).items() if single else ():
        if isinstance(value, list) and whole[name] == sizes[name]:
            parts.append(f"{name} = ({', '.join(map(_item_text, value))})")
        elif not isinstance(value, list):
            parts.append(f"{name} = {_item_text(value)}")
    described: dict[str, list[Cell]] = {}
    for cell, each in zip(cells, values, strict=True):
        if isinstance(each, NumberSet) and each.about:
            described.setdefault(each.about, []).append(cell)
        elif isinstance(each, NumberSet):
            parts.append(each.text(cell.name))
        elif cell.index is not None and whole[cell.variable] < sizes[cell.variable]:
            parts.append(f"{cell.name} = {brief_text(each)}")
    for text, own in described.items():
        # All cells of an array alike: the name of the array will do.
        alike = Counter(cell.variable for cell in own)
        names = [c.variable if alike[c.variable] == sizes[c.variable] else c.name for c in own]
        parts.append(f"{', '.join(dict.fromkeys(names))} {text}")
    return ", ".join(parts)


def _item_text(item: PlainValue | PlainSet) -> str:
    return brief_text(item) if isinstance(item, int | str) else str(item)


def plain_terms(function: ExponentialPolynomial) -> list[list[int | str]]:
    """Return [n, q, c] for every term c ε^n e^{qε}, ascending; q and c as strings "p/q"."""
    return [[power, exact_text(rate), exact_text(c)] for (power, rate), c in function.terms]


def plain_factors(function: ExponentialRatio) -> list[list[object]]:
    """Return [terms, exponent] for every factor of a denominator."""
    return [[plain_terms(factor), exponent] for factor, exponent in function.denominator]


def as_text(function: ExponentialRatio) -> str:
    """Write a function like "1/2 - 7/16 e^(-ε/4)"; what it prints is in ASCII but for ε."""
    return _Text().ratio(function)


def as_latex(function: ExponentialRatio) -> str:
    r"""Write a function like "\frac{1}{2} - \frac{7}{16} e^{-\varepsilon/4}"."""
    return _Latex().ratio(function)


def without_exponential_factors(function: ExponentialRatio) -> ExponentialRatio:
    """Divide by the factors c e^{qε} of a denominator."""
    numerator, kept = function.numerator, []
    for factor, exponent in function.denominator:
        match factor.terms:
            case (((0, rate), c),):
                inverse = ExponentialPolynomial.monomial(1 / c, rate=-rate)
                numerator = numerator * inverse**exponent
            case _:
                kept.append((factor, exponent))
    return ExponentialRatio(numerator, tuple(kept))


def _decay(term: tuple[Exponent, Fraction]) -> tuple[Fraction, int]:
    (power, rate), _ = term
    return -rate, -power


class _Text:
    """How formulas and their pieces are written."""

    epsilon = "ε"
    power, exponential = "{}^{}", "{}^({})"
    has_bars = False
    """Whether fractions are written with bars, so that a factor needs no parentheses."""

    def fraction(self, value: Fraction) -> str:
        return exact_text(value)

    def quotient(self, top: str, bottom: str, several: bool) -> str:
        """A fraction, of one term or several over a product."""
        top = f"({top})" if several else top
        return f"{top} / ({bottom})" if " (" in bottom else f"{top} / {bottom}"

    def ratio(self, function: ExponentialRatio) -> str:
        function = without_exponential_factors(function)
        numerator = self.polynomial(function.numerator)
        if not function.denominator:
            return numerator
        factors = []
        for factor, exponent in function.denominator:
            text = self.polynomial(factor)
            if len(function.denominator) > 1 or exponent > 1 or not self.has_bars:
                text = f"({text})"
            factors.append(text if exponent == 1 else self.power.format(text, exponent))
        return self.quotient(numerator, " ".join(factors), len(function.numerator.terms) > 1)

    def polynomial(self, function: ExponentialPolynomial) -> str:
        text = ""
        for exponent, coefficient in sorted(function.terms, key=_decay):
            if text:
                text += " + " if coefficient > 0 else " - "
            elif coefficient < 0:
                text = "-"
            text += self.term(exponent, abs(coefficient))
        return text or "0"

    def term(self, exponent: Exponent, coefficient: Fraction) -> str:
        power, rate = exponent
        parts = [self.fraction(coefficient)] if coefficient != 1 or not (power or rate) else []
        if power:
            parts.append(self.epsilon if power == 1 else self.power.format(self.epsilon, power))
        if rate:
            parts.append(self.growth(rate))
        return " ".join(parts)

    def growth(self, rate: Fraction) -> str:
        """e to the rate * ε: "e^(3 ε/2)"."""
        return "e^ε" if rate == 1 else self.exponential.format("e", self.multiple(rate))

    def multiple(self, rate: Fraction) -> str:
        """rate * ε: "-ε/4", "3 ε/2"."""
        sign = "-" if rate < 0 else ""
        top = "" if abs(rate.numerator) == 1 else f"{exact_text(abs(rate.numerator))} "
        bottom = "" if rate.denominator == 1 else f"/{exact_text(rate.denominator)}"
        return f"{sign}{top}{self.epsilon}{bottom}"


class _Latex(_Text):
    epsilon = r"\varepsilon"
    power = "{}^{{{}}}"
    has_bars = True

    def fraction(self, value: Fraction) -> str:
        if value.denominator == 1:
            return exact_text(value)
        return rf"\frac{{{exact_text(value.numerator)}}}{{{exact_text(value.denominator)}}}"

    def quotient(self, top: str, bottom: str, several: bool) -> str:
        return rf"\frac{{{top}}}{{{bottom}}}"

    def growth(self, rate: Fraction) -> str:
        return f"e^{{{self.multiple(rate)}}}"
