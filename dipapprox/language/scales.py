"""Scales of noise: sqrt(2 * log(1.25/delta)) / eps as a rational multiple of a power of eps.

A scale is c · eps^n with c made of rational numbers, `sqrt` and `log`, and n in {-1, 0, 1}. A
rational c stays what it is. Any other is replaced by a rational r that is so close to it that the
law of the noise hardly changes; by how much is part of the result.

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
from typing import TYPE_CHECKING

from dipapprox.data_classes import dataclass
from dipapprox.deferred import Deferred
from dipapprox.errors import BrokenInvariant
from dipapprox.language import ast
from dipapprox.language.constants import Wrong, common_degree, evaluate_exponent, monomial
from dipapprox.language.symbols import ABSOLUTE, DELTA, EXTREMES, LOGARITHM, ROOT
from dipapprox.language.traversal import computed_in
from dipapprox.laws.distribution import Scale

if TYPE_CHECKING:
    from dipapprox import elementary
    from dipapprox.elementary import Elementary
else:
    elementary = Deferred("dipapprox.elementary")

ACCURACY = 256
"""Bits of rational numbers in the place of irrational ones."""


@dataclass(frozen=True, slots=True)
class ScaleInUse:
    """A scale as the program has it from here on.

    Attributes:
        scale: Rational.
        error: At most |log| of its quotient with what is written; 0 if it is that.
    """

    scale: Scale
    error: Fraction


def evaluate_scale(node: ast.Expression, constants: Mapping[str, Fraction]) -> ScaleInUse:
    """Evaluate a scale c/eps, c or c*eps, however it is written.

    Raises:
        Wrong: If it is not of that form or not > 0.
    """
    if next(computed_in(node), None) is None:
        coefficient, degree = monomial(node, constants)
        return ScaleInUse(_scale(coefficient, degree, node), Fraction(0))
    try:
        value, degree = _form(node, constants)
        if value.is_rational:
            return ScaleInUse(_scale(value.coefficient, degree, node), Fraction(0))
        near, error = elementary.approximate(value, ACCURACY)
    except elementary.NoValue as none:
        hint = ""
        if constants.get(DELTA) == 0:
            hint = f"the scale depends on delta, which is 0 here; -p {DELTA}=1e-6 sets another one"
        raise Wrong("value error", f"not a number > 0: {none}", node.span, hint) from None
    return ScaleInUse(_scale(near, degree, node), error)


def _scale(coefficient: Fraction, degree: int, node: ast.Expression) -> Scale:
    if abs(degree) > 1:
        raise Wrong(
            "value error",
            f"a scale must be a/eps, a constant or a*eps, this grows like eps^{degree}",
            node.span, "e.g. '2 * Delta / eps'",
        )  # fmt: skip
    if coefficient <= 0:
        shown = {-1: f"{coefficient}/eps", 0: str(coefficient), 1: f"{coefficient}*eps"}[degree]
        raise Wrong("value error", f"a scale must be > 0, got {shown}", node.span)
    return Scale(coefficient, degree)


def _form(node: ast.Expression, constants: Mapping[str, Fraction]) -> tuple[Elementary, int]:
    """Return (c, n): the expression is c · eps^n.

    Raises:
        Wrong: If it is not of that form.
        NoValue: If it has no value.
    """
    match node:
        case ast.Call(name, (argument,)) if name in (ROOT, LOGARITHM):
            return _function(name, argument, constants)
        case ast.Call(name, (_, *_) as arguments) if name in EXTREMES or name == ABSOLUTE:
            return _extreme(node, name, [_form(each, constants) for each in arguments])
        case ast.Negative(operand):
            value, degree = _form(operand, constants)
            return elementary.product(elementary.rational(Fraction(-1)), value), degree
        case ast.Product(operands, operators):
            value, degree = elementary.rational(Fraction(1)), 0
            for operator, operand in zip(("*", *operators), operands, strict=True):
                sign = 1 if operator == "*" else -1
                factor, own = _form(operand, constants)
                value = elementary.product(value, elementary.power(factor, sign))
                degree += sign * own
            return value, degree
        case ast.Sum(operands, operators):
            return _sum(node, operands, operators, constants)
        case ast.Power(base, exponent):
            value, degree = _form(base, constants)
            times = evaluate_exponent(exponent, constants)
            return elementary.power(value, times), degree * times
        case _:
            coefficient, degree = monomial(node, constants)
            return elementary.rational(coefficient), degree


def _function(
    name: str, argument: ast.Expression, constants: Mapping[str, Fraction]
) -> tuple[Elementary, int]:
    value, degree = _form(argument, constants)
    if name == ROOT and degree % 2 == 0:
        return elementary.square_root(value), degree // 2
    if name == LOGARITHM and not degree:
        return elementary.logarithm(value), 0
    raise Wrong(
        "value error", f"'{name}' of something that depends on eps", argument.span,
        "a scale is a number times eps or 1/eps; a parameter may hold a number of its own",
    )  # fmt: skip


def _extreme(
    node: ast.Expression, name: str, given: Sequence[tuple[Elementary, int]]
) -> tuple[Elementary, int]:
    """Return max, min or abs of multiples of one power of eps, which is > 0."""
    degree = common_degree(node, name, [(value.coefficient, own) for value, own in given])
    values = [value for value, _ in given]
    match name:
        case "abs":
            return elementary.absolute(values[0]), degree
        case "max":
            return elementary.largest(values), degree
        case "min":
            minus = elementary.rational(Fraction(-1))
            return elementary.product(
                minus, elementary.largest([elementary.product(minus, each) for each in values])
            ), degree
        case _:
            raise BrokenInvariant(f"'{name}' is no extreme")


def _sum(
    node: ast.Expression,
    operands: tuple[ast.Expression, ...],
    operators: tuple[str, ...],
    constants: Mapping[str, Fraction],
) -> tuple[Elementary, int]:
    terms: list[Elementary] = []
    degrees = set[int]()
    for operator, operand in zip(("+", *operators), operands, strict=True):
        value, degree = _form(operand, constants)
        if value.coefficient:
            sign = elementary.rational(Fraction(1 if operator == "+" else -1))
            terms.append(elementary.product(sign, value))
            degrees.add(degree)
    if len(degrees) > 1:
        raise Wrong(
            "value error", "terms with different powers of eps in a scale", node.span,
            "a scale is a/eps, a constant or a*eps; draw two samples and add them",
        )  # fmt: skip
    return elementary.total(terms), degrees.pop() if degrees else 0
