"""Exponential polynomials and ratios as formulas for people: text and LaTeX."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.digits import exact_text
from dipapprox.exponentials import Exponent, ExponentialPolynomial, ExponentialRatio


@dataclass(frozen=True, slots=True)
class _Notation:
    """How the pieces of a formula are written.

    Attributes:
        fraction: A positive rational.
        eps: A positive power of ε.
        exponential: e to the rate * ε, rate not 0.
        power: A formula in parentheses to a power >= 2.
        group: A numerator of several terms.
        quotient: Numerator over denominator.
        has_bars: Whether fractions are written with bars, so that a factor needs no parentheses.
    """

    fraction: Callable[[Fraction], str]
    eps: Callable[[int], str]
    exponential: Callable[[Fraction], str]
    power: Callable[[str, int], str]
    group: Callable[[str], str]
    quotient: Callable[[str, str], str]
    has_bars: bool


def as_text(function: ExponentialRatio) -> str:
    """Write a function like "1/2 - 7/16 e^(-ε/4)"; what it prints is in ASCII but for ε."""
    return _ratio(function, _TEXT)


def as_latex(function: ExponentialRatio) -> str:
    r"""Write a function like "\frac{1}{2} - \frac{7}{16} e^{-\varepsilon/4}"."""
    return _ratio(function, _LATEX)


def _ratio(function: ExponentialRatio, notation: _Notation) -> str:
    function = without_exponential_factors(function)
    numerator = _polynomial(function.numerator, notation)
    if not function.denominator:
        return numerator
    if len(function.numerator.terms) > 1:
        numerator = notation.group(numerator)
    factors = []
    for factor, exponent in function.denominator:
        text = _polynomial(factor, notation)
        if len(function.denominator) > 1 or exponent > 1 or not notation.has_bars:
            text = f"({text})"
        factors.append(text if exponent == 1 else notation.power(text, exponent))
    return notation.quotient(numerator, " ".join(factors))


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


def _polynomial(function: ExponentialPolynomial, notation: _Notation) -> str:
    """Write the terms, the slowest to vanish first."""
    if not function:
        return "0"
    text = ""
    for exponent, coefficient in sorted(function.terms, key=_decay):
        if text:
            text += " + " if coefficient > 0 else " - "
        elif coefficient < 0:
            text = "-"
        text += _term(exponent, abs(coefficient), notation)
    return text


def _decay(term: tuple[Exponent, Fraction]) -> tuple[Fraction, int]:
    (power, rate), _ = term
    return -rate, -power


def _term(exponent: Exponent, coefficient: Fraction, notation: _Notation) -> str:
    power, rate = exponent
    parts = [notation.fraction(coefficient)] if coefficient != 1 or not (power or rate) else []
    if power:
        parts.append(notation.eps(power))
    if rate:
        parts.append(notation.exponential(rate))
    return " ".join(parts)


def _rate(rate: Fraction, eps: str) -> str:
    """Write rate * ε: "-ε/4", "3 ε/2"."""
    sign = "-" if rate < 0 else ""
    top = "" if abs(rate.numerator) == 1 else f"{exact_text(abs(rate.numerator))} "
    bottom = "" if rate.denominator == 1 else f"/{exact_text(rate.denominator)}"
    return f"{sign}{top}{eps}{bottom}"


def _latex_fraction(value: Fraction) -> str:
    if value.denominator == 1:
        return exact_text(value)
    return rf"\frac{{{exact_text(value.numerator)}}}{{{exact_text(value.denominator)}}}"


_EPSILON = r"\varepsilon"

_TEXT = _Notation(
    fraction=exact_text,
    eps=lambda power: "ε" if power == 1 else f"ε^{power}",
    exponential=lambda rate: "e^ε" if rate == 1 else f"e^({_rate(rate, 'ε')})",
    power=lambda formula, exponent: f"{formula}^{exponent}",
    group="({})".format,
    quotient=lambda top, bottom: f"{top} / ({bottom})" if " (" in bottom else f"{top} / {bottom}",
    has_bars=False,
)

_LATEX = _Notation(
    fraction=_latex_fraction,
    eps=lambda power: _EPSILON if power == 1 else f"{_EPSILON}^{{{power}}}",
    exponential=lambda rate: f"e^{{{_rate(rate, _EPSILON)}}}",
    power=lambda formula, exponent: f"{formula}^{{{exponent}}}",
    group=str,
    quotient=lambda top, bottom: rf"\frac{{{top}}}{{{bottom}}}",
    has_bars=True,
)
