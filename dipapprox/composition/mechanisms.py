"""What is run: mechanisms of the catalogue and statements of privacy, exact and immutable.

A mechanism stands for all that is known of one run: the pair of distributions, or the statement,
that dominates its outputs on any two adjacent data sets. Parameters are exact.

Adjacency. A sensitivity, a probability or a statement belongs to a relation between data sets, and
runs on the same data are composed for one relation: all of them say the same one. Mechanisms of
noise are as private as their sensitivity is for the relation that is named; `Subsampled` is for
add/remove alone, for under substitution the sample of one data set is not the sample of the other
with a record more.
"""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import ClassVar

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.composition.shifted_noise import ShiftedNoise
from dipapprox.data_classes import Record, replace
from dipapprox.errors import UserError


class Adjacency(Enum):
    """Which data sets are adjacent."""

    ADD_REMOVE = "add/remove"
    SUBSTITUTION = "substitution"


def _positive(value: Fraction, what: str) -> None:
    if value <= 0:
        raise UserError(f"{what} must be > 0, got {value}")


def _whole(value: int, what: str, least: int) -> None:
    if not isinstance(value, int) or value < least:
        raise UserError(f"{what} must be a whole number >= {least}, got {value}")


def _square(sigma: Fraction | None, variance: Fraction | None, title: str) -> Fraction:
    """Return the variance, of which one number tells."""
    if (sigma is None) == (variance is None):
        raise UserError(f"{title} noise has sigma or a variance")
    for value, name in ((sigma, "sigma"), (variance, "variance")):
        if value is not None:
            _positive(value, name)
    return (sigma or Fraction(0)) ** 2 if variance is None else variance


class Gaussian(Record):
    """A number of the given sensitivity plus Gaussian noise of standard deviation sigma.

    A vector with independent noise of one sigma is the same with its Euclidean sensitivity.
    """

    sensitivity: Fraction
    sigma: Fraction | None = None
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    variance: Fraction | None = None  # sigma², if sigma is not given

    def __post_init__(self) -> None:
        _positive(self.sensitivity, "sensitivity")
        _ = self.square

    @property
    def square(self) -> Fraction:
        """sigma²."""
        return _square(self.sigma, self.variance, "Gaussian")

    @property
    def shift(self) -> ShiftedNoise:
        """Two outputs at the full distance."""
        return ShiftedNoise(self.sensitivity**2 / self.square)


class Laplace(Record):
    """A number of the given sensitivity plus Laplace noise, density exp(-|x|/scale)/(2 scale)."""

    sensitivity: Fraction
    scale: Fraction
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def __post_init__(self) -> None:
        _positive(self.sensitivity, "sensitivity")
        _positive(self.scale, "scale")

    @property
    def shift(self) -> ShiftedNoise:
        """Two outputs at the full distance."""
        return ShiftedNoise(shifts=((self.sensitivity / self.scale, 1),))


class DiscreteLaplace(Record):
    """A whole number of the given sensitivity plus noise with Pr[x] ~ exp(-|x|/scale)."""

    sensitivity: int
    scale: Fraction
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def __post_init__(self) -> None:
        _whole(self.sensitivity, "sensitivity", 1)
        _positive(self.scale, "scale")


class DiscreteGaussian(Record):
    """A whole number of the given sensitivity plus noise with Pr[x] ~ exp(-x²/(2 sigma²))."""

    sensitivity: int
    sigma: Fraction | None = None
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    variance: Fraction | None = None  # sigma², if sigma is not given

    def __post_init__(self) -> None:
        _whole(self.sensitivity, "sensitivity", 1)
        _ = self.square

    @property
    def square(self) -> Fraction:
        """sigma²."""
        return _square(self.sigma, self.variance, "discrete Gaussian")


class RandomisedResponse(Record):
    """One of `values` answers: the true one with the given probability, else any other alike."""

    probability: Fraction
    values: int = 2
    adjacency: Adjacency = Adjacency.SUBSTITUTION

    def __post_init__(self) -> None:
        _whole(self.values, "values", 2)
        if not 0 < self.probability < 1:
            raise UserError(f"probability must be in (0, 1), got {self.probability}")


class ExponentialMechanism(Record):
    """An outcome chosen with Pr ~ exp(eps u / 2), u its utility, of sensitivity 1.

    If all utilities move the same way between adjacent data sets, Pr ~ exp(eps u) is as private.
    """

    eps: Fraction
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def __post_init__(self) -> None:
        _positive(self.eps, "eps")


class ApproximateStatement(Record):
    """Any mechanism that is (eps, delta)-differentially private."""

    eps: Fraction
    delta: Fraction = Fraction(0)
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def __post_init__(self) -> None:
        if self.eps < 0:
            raise UserError(f"eps must be >= 0, got {self.eps}")
        if not 0 <= self.delta <= 1:
            raise UserError(f"delta must be in [0, 1], got {self.delta}")


class RenyiStatement(Record):
    """Any mechanism whose Rényi divergences are at most these, either way round."""

    orders: tuple[tuple[Fraction, Fraction], ...]  # (order > 1, divergence > 0), …, at least one
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def __post_init__(self) -> None:
        if not self.orders:
            raise UserError("a Rényi statement needs an order")
        for order, divergence in self.orders:
            _positive(order - 1, "an order less 1")
            _positive(divergence, "a divergence")


class ConcentratedStatement(Record):
    """Any rho-zCDP mechanism: of Rényi divergence at most rho * order at every order > 1."""

    rho: Fraction
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def __post_init__(self) -> None:
        _positive(self.rho, "rho")


Masses = tuple[tuple[Enclosure, Enclosure], ...]
"""(P mass, Q mass) of every outcome, exact or enclosed; the true ones sum to 1."""


class Atoms(Record):
    """A pair (P, Q) with finitely many outcomes that dominates a mechanism."""

    masses: Masses
    # Whether (P, Q) also dominates (Q, P), as for the supremum over all ordered pairs of a
    # symmetric relation. If not, P is the output on the larger data set, and adjacency is
    # add/remove.
    symmetric: bool = False
    # Whether two adjacent data sets have this pair; else it is but an upper bound.
    attained: bool = True
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def __post_init__(self) -> None:
        for k, name in enumerate("PQ"):
            low = sum(each[k].lower for each in self.masses)
            high = sum(each[k].upper for each in self.masses)
            if not low <= 1 <= high or any(each[k].upper < 0 for each in self.masses):
                raise UserError(f"the masses of {name} are no distribution")
        if not self.symmetric and self.adjacency is Adjacency.SUBSTITUTION:
            raise UserError(
                "a pair for substitution adjacency must be symmetric: neither data set is the "
                "larger one",
                "use a pair that also dominates its reversal, as the profile of a mechanism does",
            )


class Between(Record):
    """A mechanism that is known by pairs, for a relation that is symmetric.

    Raises:
        UserError: If the pairs are not of this kind, or are stated for different adjacencies.
    """

    above: Atoms  # dominates it, either way round
    below: Atoms  # is that of two adjacent data sets; the other way round it is so, too
    # Pairs, in either order, one of which is above any two adjacent data sets; none if they are too
    # many.
    worst: tuple[Masses, ...] = ()
    chosen: tuple[Masses, ...] = ()  # pairs of adjacent data sets, in this order, about below these
    exact: bool = False  # whether `above` is `below`, but for next to nothing
    # Of the losses at which the pairs are known, the distance; None: all are.
    resolution: float | None = None

    def __post_init__(self) -> None:
        if not self.above.symmetric or not self.below.attained:
            raise UserError("the upper pair must be symmetric, the lower one attained")
        if self.above.adjacency is not self.below.adjacency:
            raise UserError("the two pairs are stated for different adjacencies")
        if len(self.worst) != len(self.chosen):
            raise UserError("there are as many pairs to choose as pairs that are above")

    @property
    def adjacency(self) -> Adjacency:
        """What both are stated for."""
        return self.above.adjacency


class Subsampled(Record):
    """A mechanism on a Poisson sample of the data: every record takes part with the given rate.

    Raises:
        UserError: Unless adjacency is add/remove and 0 < rate <= 1.
    """

    mechanism: Mechanism
    rate: Fraction
    adjacency: ClassVar[Adjacency] = Adjacency.ADD_REMOVE

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise UserError(f"rate must be in (0, 1], got {self.rate}")
        if self.mechanism.adjacency is not Adjacency.ADD_REMOVE:
            raise UserError(
                "Poisson subsampling amplifies privacy for add/remove adjacency, "
                f"but the mechanism is stated for {self.mechanism.adjacency.value}",
                "state its parameters for data sets of which one has a record more",
            )


Mechanism = (
    Gaussian
    | Laplace
    | DiscreteLaplace
    | DiscreteGaussian
    | RandomisedResponse
    | ExponentialMechanism
    | ApproximateStatement
    | RenyiStatement
    | ConcentratedStatement
    | Atoms
    | Between
    | Subsampled
)
"""What can be run and composed."""


def unsampled(mechanism: Mechanism) -> tuple[Mechanism, Fraction]:
    """Return what is run on a sample, and its rate; 1 where all records take part."""
    rate = Fraction(1)
    while isinstance(mechanism, Subsampled):
        rate, mechanism = rate * mechanism.rate, mechanism.mechanism
    return mechanism, rate


def stated_for(mechanism: Mechanism, adjacency: Adjacency) -> Mechanism:
    """Return a mechanism whose parameters are stated for another relation.

    Raises:
        UserError: If it cannot be: a sampled one is for add/remove, some pairs are, too.
    """
    match mechanism:
        case Between(above, below):
            above, below = (replace(each, adjacency=adjacency) for each in (above, below))
            return replace(mechanism, above=above, below=below)
        case Subsampled(inner, rate):
            return Subsampled(stated_for(inner, adjacency), rate)
        case _:
            return replace(mechanism, adjacency=adjacency)
