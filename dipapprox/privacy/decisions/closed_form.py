"""Exponential polynomials and ratios as formulas for people: text and LaTeX."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.digits import exact_text
from dipapprox.exponentials import Exponent, ExponentialPolynomial, ExponentialRatio


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
