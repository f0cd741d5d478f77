"""Constant expressions: exact values of numbers, parameters and loop variables.

Scales of noise, sqrt(2 * log(1.25/delta)) / eps, are c · eps^n with c made of rational numbers,
`sqrt` and `log`, and n in {-1, 0, 1}. A rational c stays what it is. Any other is replaced by a
rational r that is so close to it that the law of the noise hardly changes; by how much is part of
the result.

*Lemma.* For each family, the laws with scales s and r and equal means have a total variation
distance of at most |log(s / r)|.

Proof. Let p be the density, or the probability, with scale b; its derivative by log b has the
integral 0, so that the distance grows with |log b| at a rate of at most ½ ∫ |∂p/∂ log b|.

    real noise       at most the `drift` of its family (`laws`)  <= 1: a test asks every family
    DLap             ∂p/∂ log b = p (|x| - E|x|)/b               <= E|x|/b = 1/(b sinh(1/b)) <= 1
    DGauss           ∂p/∂ log b = p (x² - E x²)/b²               <= E x²/b² <= 1

with x the distance from the mean. ∎

*Consequence.* A run draws each of its samples at most once, and given what came before, with the
same mean. So the laws of two runs of a program that differ in scales alone are at most the sum of
these distances apart (exchange the samples one after the other): every probability changes by at
most that, and Pr[S | u] - e^eps_prv Pr[S | u'] by at most 1 + e^eps_prv times that.

*Second lemma.* Let a run have n samples whose scales differ, by |log(s / r)| <= 1/100 each and by e
in all. For every K > 0 and η = (1 + K) e the laws P of one run and P' of the other satisfy, for all
sets S of outputs and both ways round,

    P(S) <= e^η P'(S) + τ,    τ = 2 n e^(-K/3).

Proof. Let L = |log(s / r)|, m the smaller one of both scales and z = |x| / m. The logarithms of the
two densities, or probabilities, differ by at most L (1 + z²) for the two Gaussian families, as
|1/s² - 1/r²| <= 2 L / m² and the factors before the exponential grow with |log b| at a rate of at
most 1, and by at most L (1 + z) for the others, as |1/s - 1/r| <= L / m. Call a sample far if
z² > K, or z > K. Both laws have it far with a probability of at most 2 e^(-K/3): with scales of
at most m e^L, Pr[z² > K] <= 2 exp(-K e^(-2L) / 2) and Pr[z > K] <= 2 exp(-K e^-L). Runs without a
far sample have densities that differ by a factor of at most e^η, sample by sample, given what came
before; the others have at most τ. ∎

*Consequence.* With α = e^eps_prv >= 1, D = Pr[S | u] - α Pr[S | u'] changes by at most

    e^(3η) - 1 + τ (1 + α)

where D >= -1 in one of both programs, and so does its supremum over S: where D >= -1, the number
α Pr[S | u'] is at most 2, and it changes by a factor e^±η next to α τ; Pr[S | u] is at most 1.
Unlike the first bound, this one is next to nothing for large eps_prv, too.

References:
    E x² <= sigma² for the discrete Gaussian: Canonne, Kamath and Steinke, "The Discrete Gaussian
    for Differential Privacy", NeurIPS 2020, corollary 9; there, too: E e^(tx) <= e^(t² sigma²/2),
    so that Pr[x >= t] <= exp(-t²/(2 sigma²)).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dipapprox.arithmetic import elementary
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant, Diagnosis
from dipapprox.language import ast
from dipapprox.language.core import Value
from dipapprox.language.symbols import ABSOLUTE, DELTA, EPSILON, EXTREMES, LOGARITHM, ROOT
from dipapprox.laws.distribution import Scale
from dipapprox.source import Span

_MOST_BITS = 10_000
_LARGEST_EXPONENT = 100


class Wrong(Exception):
    """A place that means nothing: caught where work can go on, where it is elaborated or run."""

    def __init__(self, kind: str, message: str, span: Span | None, hint: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.span = span
        self.hint = hint

    def report(self, diagnosis: Diagnosis) -> None:
        diagnosis.report(self.kind, self.message, self.span, self.hint)


Monomial = tuple["elementary.Number", int]  # (coefficient, degree): coefficient * eps ** degree


def evaluate(node: ast.Expression, constants: Mapping[str, Fraction]) -> Fraction:
    """Evaluate an expression without eps; `Wrong` if it is not constant, divides by zero or gets
    too large."""
    coefficient, degree = monomial(node, constants)
    if degree or not isinstance(coefficient, Fraction):
        raise BrokenInvariant("the checker let eps into something other than a scale")
    return coefficient


def truth_name(value: bool) -> str:
    """Return the named value that Boolean cells and variables hold."""
    return "true" if value else "false"


def literal(value: Value, span: Span | None = None) -> ast.Expression:
    """Write a value as an expression: a number as a decimal, or else as a quotient."""
    if isinstance(value, str):
        known = value in ("true", "false")
        return ast.Truth(value == "true", span=span) if known else ast.Name(value, span=span)
    if value < 0:
        return ast.Negative(literal(-value, span), span=span)
    if (value * 10 ** value.denominator.bit_length()).denominator == 1:
        return ast.Number(value, span=span)
    parts = (ast.Number(Fraction(value.numerator)), ast.Number(Fraction(value.denominator)))
    return ast.Product(parts, ("/",), span=span)


def evaluate_integer(
    node: ast.Expression, constants: Mapping[str, Fraction], what: str, hint: str = ""
) -> int:
    """Evaluate a constant expression that must be a whole number; `what` names it in messages."""
    value = evaluate(node, constants)
    if value.denominator != 1:
        raise Wrong("value error", f"{what} must be a whole number, got {value}", node.span, hint)
    return value.numerator


def evaluate_range(
    ends: ast.Range | ast.Turns, constants: Mapping[str, Fraction], hint: str = ""
) -> range:
    """Evaluate the whole numbers between two constants; none if the first one is larger."""
    first = evaluate_integer(ends.first, constants, "an end of a range", hint)
    return range(first, evaluate_integer(ends.last, constants, "an end of a range", hint) + 1)


def evaluate_exponent(node: ast.Expression, constants: Mapping[str, Fraction]) -> int:
    """Evaluate the exponent of a power; `Wrong` if it is no whole number of moderate size."""
    exponent = evaluate_integer(node, constants, "an exponent")
    if abs(exponent) > _LARGEST_EXPONENT:
        message = f"exponents go up to {_LARGEST_EXPONENT}, got {exponent}"
        raise Wrong("limit", message, node.span)
    return exponent


def power(base: Fraction, exponent: int, span: Span | None) -> Fraction:
    """Return base ^ exponent; `Wrong` if it is too large, or divides by zero."""
    if base == 0 and exponent < 0:
        raise Wrong("value error", "division by zero", span)
    value = base**exponent
    check_size(value, span)
    return value


def monomial(
    node: ast.Expression, constants: Mapping[str, Fraction], *, irrational: bool = False
) -> Monomial:
    """Evaluate a multiple of a power of eps.

    Args:
        irrational: Whether there may be square roots and logarithms; else it is a rational one.

    Raises:
        Wrong: If it is none.
        NoValue: If a number is not positive that has to be, or cannot be told from 0.
    """

    def part(operand: ast.Expression) -> Monomial:
        return monomial(operand, constants, irrational=irrational)

    match node:
        case ast.Number(value):
            return value, 0
        case ast.Name(name):
            if name in constants:
                return constants[name], 0
            if name == EPSILON:
                return Fraction(1), 1
            hint = "a parameter must be declared above the place that uses it"
            raise Wrong("type error", f"'{name}' is not constant here", node.span, hint)
        case ast.Negative(operand):
            coefficient, degree = part(operand)
            return -coefficient, degree
        case ast.Sum(operands, operators):
            return _sum(node, operators, list(map(part, operands)))
        case ast.Product(operands, operators):
            coefficient, degree = part(operands[0])
            for operator, operand in zip(operators, operands[1:], strict=True):
                factor, shift = part(operand)
                if operator == "*":
                    coefficient, degree = coefficient * factor, degree + shift
                elif not factor:
                    hint = hint_of_delta(constants) if irrational else ""
                    raise Wrong("value error", "division by zero", operand.span, hint)
                else:
                    coefficient, degree = coefficient / factor, degree - shift
                _check_number(coefficient, node.span)
            return coefficient, degree
        case ast.Power(base, exponent):
            coefficient, degree = part(base)
            times = evaluate_exponent(exponent, constants)
            if isinstance(coefficient, Fraction):
                return power(coefficient, times, node.span), degree * times
            coefficient = coefficient**times
            _check_number(coefficient, node.span)
            return coefficient, degree * times
        case ast.Call(name, (_, *_) as arguments) if name in EXTREMES or name == ABSOLUTE:
            return _extreme(node, name, list(map(part, arguments)))
        case ast.Call(name, (argument,)) if name in (ROOT, LOGARITHM) and irrational:
            coefficient, degree = part(argument)
            if name == ROOT and degree % 2 == 0:
                return elementary.square_root(coefficient), degree // 2
            if name == LOGARITHM and not degree:
                return elementary.logarithm(coefficient), 0
            raise Wrong(
                "value error", f"'{name}' of something that depends on eps", argument.span,
                "a scale is a number times eps or 1/eps; a parameter may hold a number of its own",
            )  # fmt: skip
        case ast.Call(name) if name in (ROOT, LOGARITHM):
            message = f"a rational number is needed here, and '{name}' stands in scales only"
            raise Wrong("type error", message, node.span)
        case _:
            raise Wrong("type error", "a constant is needed here", node.span)


def hint_of_delta(constants: Mapping[str, Fraction]) -> str:
    """Say what may be wrong with a scale that has no value; "" if nothing is known of it."""
    if constants.get(DELTA) != 0:
        return ""
    return f"the scale depends on delta, which is 0 here; -p {DELTA}=1e-6 sets another one"


def _extreme(node: ast.Expression, name: str, given: Sequence[Monomial]) -> Monomial:
    """Return max, min or abs of multiples of one power of eps, which is > 0; `Wrong` if there are
    several powers: which number is larger depends on eps."""
    degrees = {degree for coefficient, degree in given if coefficient}
    if len(degrees) > 1:
        message = f"'{name}' of different powers of eps"
        hint = "which is larger depends on eps; a scale is a/eps, a constant or a*eps"
        raise Wrong("value error", message, node.span, hint)
    numbers = [coefficient for coefficient, _ in given]
    if name == ABSOLUTE:
        name, numbers = "max", [numbers[0], -numbers[0]]
    return EXTREMES[name](numbers), degrees.pop() if degrees else 0


def _sum(node: ast.Expression, operators: Sequence[str], given: Sequence[Monomial]) -> Monomial:
    by_degree: dict[int, list[elementary.Number]] = {}
    for operator, (term, degree) in zip(("+", *operators), given, strict=True):
        by_degree.setdefault(degree, []).append(term if operator == "+" else -term)
    totals: dict[int, elementary.Number] = {}
    for degree, terms in by_degree.items():
        total = Fraction(0)
        others: list[elementary.Number] = []
        for term in terms:
            if isinstance(term, Fraction):
                total += term
                check_size(total, node.span)
            else:
                others.append(term)
        totals[degree] = elementary.total((total, *others)) if others else total
    left = [(total, degree) for degree, total in totals.items() if total]
    if len(left) > 1:
        hint = "a scale is a/eps, a constant or a*eps; draw two samples and add them"
        raise Wrong("value error", "terms with different powers of eps in a scale", node.span, hint)
    return left[0] if left else (Fraction(0), 0)


def _check_number(value: elementary.Number, span: Span | None) -> None:
    check_size(value if isinstance(value, Fraction) else value.coefficient, span)


def check_size(value: Fraction, span: Span | None) -> None:
    """Refuse numbers so long that computing with them would take for ever."""
    if value.numerator.bit_length() + value.denominator.bit_length() > _MOST_BITS:
        raise Wrong("limit", f"a constant has more than {_MOST_BITS} bits", span)


# --- scales --------------------------------------------------------------------------------------

ACCURACY = 256  # bits of rational numbers in the place of irrational ones


class ScaleInUse(Record):
    """A rational scale, and at most |log| of its quotient with what is written; 0 if it is that."""

    scale: Scale
    error: Fraction


def evaluate_scale(node: ast.Expression, constants: Mapping[str, Fraction]) -> ScaleInUse:
    """Evaluate a scale c/eps, c or c*eps, however it is written."""
    try:
        value, degree = monomial(node, constants, irrational=True)
        if isinstance(value, Fraction):
            return ScaleInUse(_scale(value, degree, node), Fraction(0))
        near, error = elementary.approximate(value, ACCURACY)
    except elementary.NoValue as none:
        hint = hint_of_delta(constants)
        raise Wrong("value error", f"not a number > 0: {none}", node.span, hint) from None
    return ScaleInUse(_scale(near, degree, node), error)


def _scale(coefficient: Fraction, degree: int, node: ast.Expression) -> Scale:
    if abs(degree) > 1:
        message = f"a scale must be a/eps, a constant or a*eps, this grows like eps^{degree}"
        raise Wrong("value error", message, node.span, "e.g. '2 * Delta / eps'")
    if coefficient <= 0:
        shown = {-1: f"{coefficient}/eps", 0: str(coefficient), 1: f"{coefficient}*eps"}[degree]
        raise Wrong("value error", f"a scale must be > 0, got {shown}", node.span)
    return Scale(coefficient, degree)
