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

from collections.abc import Mapping
from fractions import Fraction

from dipapprox.arithmetic import elementary
from dipapprox.data_classes import Record
from dipapprox.language import ast
from dipapprox.language.constants import Wrong, hint_of_delta, monomial
from dipapprox.laws.distribution import Scale

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
