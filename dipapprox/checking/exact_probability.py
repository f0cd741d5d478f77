"""Exact probabilities of inequalities that are no comparisons of two samples.

Scales a stand for a / ε: a probability is a function of ε, and its value at ε = 1 belongs to the
laws as they are written.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

from flint import arb, fmpq

from dipapprox.checking.decisions import geometric
from dipapprox.checking.decisions.piecewise import LAPLACE_TYPE, ExactFunctions, Piecewise
from dipapprox.checking.decisions.quotients import Quotient
from dipapprox.checking.integrands import SIDES, Densities, Discrete, Masses, Smooth
from dipapprox.checking.orders import General
from dipapprox.checking.regions import integrated
from dipapprox.checking.trees import Forest, Messages
from dipapprox.checking.values import Stuck
from dipapprox.checking.walks import exact_walk, walk_of
from dipapprox.data_classes import dataclass
from dipapprox.distributions import Family
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.precision import precision, to_ball, to_enclosure

_ATTEMPTS = 7


@dataclass(frozen=True, slots=True)
class Exponentials:
    """Of samples with densities."""

    function: ExponentialPolynomial

    def as_quotient(self) -> Quotient:
        """Return the function of ε."""
        return Quotient(self.function)

    def ball(self) -> arb:
        """Return the value at ε = 1."""
        terms = (to_ball(c) * to_ball(q).exp() for (_, q), c in self.function.terms)
        return reduce(arb.__add__, terms, arb(0))


@dataclass(frozen=True, slots=True)
class Geometric:
    """Of integer samples; `rate` is that of z."""

    terms: geometric.Terms
    rate: Fraction

    def as_quotient(self) -> Quotient:
        """Return the function of ε."""
        return geometric.function(self.terms, self.rate)

    def ball(self) -> arb:
        """Return the value at ε = 1."""
        total = arb(0)
        for (q, _, _, below), c in self.terms.items():
            divisor = arb(1)
            for r, k in below:
                divisor = divisor * (-(to_ball(r * self.rate).expm1())) ** k
            total = total + arb(c) * to_ball(q * self.rate).exp() / divisor
        return total


@dataclass(frozen=True, slots=True)
class ExactProbability:
    """A probability in closed form."""

    form: Exponentials | Geometric

    def as_quotient(self) -> Quotient:
        """Return the function of ε.

        Raises:
            Stuck: If its degrees are too high.
        """
        return self.form.as_quotient()

    def enclose(self, bits: int) -> Enclosure | NotEnclosed:
        """Enclose the value at ε = 1, to 2**-bits if cancellation allows it."""
        found: Enclosure | NotEnclosed = UNIT
        for attempt in range(_ATTEMPTS):
            with precision(bits + 64 << attempt):
                found = to_enclosure(self.form.ball())
            if isinstance(found, Enclosure) and found.width <= Fraction(1, 2**bits):
                break
        return found.intersect(UNIT) if isinstance(found, Enclosure) else found


def exact_probability(general: General, limits: Limits) -> ExactProbability:
    """Integrate, or sum, over the region where all lines are <= 0.

    Raises:
        Stuck: If there is Gaussian noise, or the region has too many cases.
        LimitReached: If `limits` run out.
    """
    laws, lines = general.laws, general.lines
    if all(law.family is Family.DISCRETE_LAPLACE for law in laws):
        masses = Masses(laws)
        sums: Discrete = integrated(laws, lines, masses, {}, limits)
        terms: geometric.Terms = {}
        for (q, _, _, below), c in sums.items():
            terms[q, 0, 0, below] = fmpq(c.numerator, c.denominator)
        return ExactProbability(Geometric(terms, Fraction(-1, masses.unit)))
    if not all(law.family in SIDES for law in laws):
        raise Stuck("comparisons of more than two samples with Gaussian noise among them")
    walk = walk_of(general)
    if walk is not None:
        return ExactProbability(Exponentials(exact_walk(walk, limits)))
    whole: Smooth = integrated(laws, lines, Densities(laws), {}, limits)
    found = {(n, q): c for (n, q, _, _), c in whole.items()}
    return ExactProbability(Exponentials(ExponentialPolynomial.of(found)))


_MOST_SAMPLES = 6


def exact_tree(forest: Forest, tree: int, limits: Limits) -> ExactProbability | None:
    """Integrate a tree of few samples of Laplace type; None for all others.

    Raises:
        LimitReached: If `limits` run out.
    """
    samples = forest.members(tree)
    if len(samples) > _MOST_SAMPLES or not all(s.law.family in LAPLACE_TYPE for s in samples):
        return None
    functions = ExactFunctions(samples)
    messages: Messages[Piecewise] = Messages(forest, functions, limits)
    return ExactProbability(Exponentials(functions.total(messages.weighted(tree))))
