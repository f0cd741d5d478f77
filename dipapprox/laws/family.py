"""Families of noise: a class a family, which owns all that is known of it.

A family is a file with a class and its instances, and a row of `families.FAMILIES`. Whoever uses
noise asks the family: nothing is decided by its name, or by what it is not. What a family cannot do
is None, or empty, and is refused by whoever asked.

Facts are exact and need nothing but Python; what computes with balls or arrays of doubles loads
these libraries when it is first used. Facts and functions are about *standard* laws, of mean 0 and
scale 1; on the integers, of mean 0 and any scale. The law of mean + scale * Z is a `Distribution`.

Real noise. Functions of one real variable come for balls (`pdf` …), on panels for doubles
(`on_panels` …), and as numbers that bound the density f in proofs. A density with a kink or jump at
0 has two branches, each the restriction of an entire function, told apart by `side`, -1 and 1;
others have the side 0. On the real line every branch of f is >= 0 and no branch of the distribution
function decreases, also where it is not the true function. All densities rise up to 0, and fall
from there on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING

from dipapprox.arithmetic import boxes, double_functions, rounding
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant

if TYPE_CHECKING:
    import flint
    import numpy as np
    from flint import arb

    from dipapprox.arithmetic.boxes import Box
    from dipapprox.arithmetic.legendre import Rule
    from dipapprox.arithmetic.rounding import Array
else:

    class _Late:
        """A module that is not ours, by name, loaded when it is first used."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> object:
            found = getattr(import_module(self._name), attribute)
            setattr(self, attribute, found)  # which is not asked for again
            return found

    flint, np = _Late("flint"), _Late("numpy")


__all__ = ["BOTH_SIDES", "Family", "IntegerFamily", "RealFamily", "Speeds", "flint", "np"]

BOTH_SIDES = (-1, 1)  # of the mean


class Family(ABC):
    name: str  # in programs
    constant: str  # the name of the instance in its module
    title: str  # for people
    is_discrete: bool  # whether samples are integers
    sides: tuple[int, ...]  # of the mean on which samples may lie, -1 and 1
    # The signs of d for which f(z - d) <= e^|d| f(z) for all z, f the density, or the masses, and d
    # in scales; for other d no factor serves.
    shifts: tuple[int, ...]
    # Whether f is proportional to e^-|z| on each of its sides, with equal masses: then
    # probabilities of comparisons have closed forms in eps.
    is_exponential: bool
    # Whether samples are jointly Gaussian: variances add up, and what is uncorrelated is
    # independent.
    is_normal: bool
    # At least (E s² + E|ds|) / 2, where s is the derivative of ln f by the logarithm of the scale,
    # -(1 + z f'(z) / f(z)) for a density, and ds that of s: no probability bends more with that.
    bend: Fraction

    @property
    @abstractmethod
    def drift(self) -> Fraction:
        """At least E|s| / 2, s as above: no probability moves faster with the log of the scale."""

    @abstractmethod
    def excess(self, cut: Fraction) -> Fraction:
        """Return at least E[max(|s| - max(cut² - 1, 1), 0)], for s as above and cut >= 1."""

    def __repr__(self) -> str:
        return self.constant

    def __reduce__(self) -> str:
        return self.constant  # one instance a process: families are compared by identity

    @property
    @abstractmethod
    def mirror(self) -> Family:
        """The family of -Z."""

    @property
    def difference(self) -> Family | None:
        """The family of Z - Z', Z' an independent copy; None if it is none of ours."""
        return None

    def possible(self, noise: Fraction) -> Fraction:
        """Return this much noise, or its mirror image, on a side where samples may lie."""
        return noise if (noise > 0) - (noise < 0) in (0, *self.sides) else -noise


class Speeds(Record):
    """How fast the probability p of an event moves with means of its noise; see `RealFamily`."""

    normal: Fraction = Fraction(0)  # Σ of squares of speeds of Gaussian noise
    score: Fraction = Fraction(0)  # Σ of speeds of noise with |f'| <= f
    # Σ of squares of speeds of that noise, each times how much |f''| may exceed f.
    bend: Fraction = Fraction(0)
    # Σ of speeds of other noise; there is no second derivative if it is not 0.
    jumps: Fraction = Fraction(0)

    def __add__(self, other: Speeds) -> Speeds:
        return Speeds(
            self.normal + other.normal,
            self.score + other.score,
            self.bend + other.bend,
            self.jumps + other.jumps,
        )


class RealFamily(Family):
    """A family with densities."""

    is_discrete = False
    has_kink: bool  # whether the density is not analytic at 0: then it has two branches
    # At least half the variation of f, which is the largest density: no probability moves faster
    # with the mean.
    steep: Fraction
    curved: Fraction | None  # at least half the variation of f'; None if f jumps
    # How far off the line f is analytic, if not a little farther: 0 with a kink, None for anywhere.
    strip: Fraction | None
    # What f(z) e^z tends to as z grows: then E e^(tZ) is finite for 0 <= t < 1; None: for all t.
    tail: Fraction | None
    # Of two laws without a tail on a side that with the greater number, or the same and the lesser
    # scale, is steeper: the quotient of its (ln f)'' by the other's rises there without bound; for
    # Gaussian laws it is constant, and greater than 1. None with tails on both sides.
    steepness: int | None
    # How wide panels are in scales round 0, and how much wider they get with each scale further
    # away: what serves polynomials of low degree well.
    panel: tuple[float, float]
    even_panel: Fraction  # the same for panels that are all equally wide
    # Coefficients of 1, T, T² for `errors`, a pair for f and the mass beyond.
    roundings: Sequence[tuple[float, float]] = ()

    @property
    @abstractmethod
    def mirror(self) -> RealFamily:
        """The family of -Z."""

    @abstractmethod
    def speeds(self, speed: Fraction) -> Speeds:
        """Return how fast probabilities move with a mean that moves so many scales in a time."""

    @abstractmethod
    def modulus(self, height: Fraction) -> Fraction:
        """Return at least ∫ |f(x + iy)| dx for |y| <= height, which is within the strip."""

    # --- balls -------------------------------------------------------------------------------

    @abstractmethod
    def pdf(self, z: arb, side: int) -> arb:
        """Enclose the density's branch."""

    @abstractmethod
    def score(self, z: arb, side: int) -> arb:
        """Enclose f' / f on a side of 0 where samples may lie: it never rises (log-concavity)."""

    def cdf(self, z: arb, side: int) -> arb:
        """Enclose the distribution function's branch: what the mirror image has above -z."""
        return self.mirror.survival(-z, -side)

    @abstractmethod
    def survival(self, z: arb, side: int) -> arb:
        """Enclose 1 - cdf without cancellation far to the right."""

    def mass(self, lower: arb, upper: arb, lower_side: int, upper_side: int) -> arb:
        """Enclose cdf(upper) - cdf(lower), cancelling as little as possible.

        Both formulas enclose the mass; the exact midpoint only says which is the narrower.
        """
        if (lower + upper).mid() > 0:
            return self.survival(lower, lower_side) - self.survival(upper, upper_side)
        return self.cdf(upper, upper_side) - self.cdf(lower, lower_side)

    @abstractmethod
    def pdf_bound(self, box: Box, side: int) -> arb:
        """Bound the modulus of the density's branch on a box from above, exactly or by +infinity.

        This and the other bounds may be infinite where the function grows beyond use.
        """

    def mass_bound(
        self, lower: Box | None, upper: Box | None, lower_side: int, upper_side: int
    ) -> arb:
        """Bound |cdf(upper) - cdf(lower)| for all points of two boxes; None: infinite, real ends.

        The derivative of both branches is f: they move by at most height · sup |f| off the line,
        where neither decreases.
        """
        if upper is None:
            if lower is None:
                return flint.arb(1)
            ends = [self.survival(z, lower_side) for z in (lower.low, lower.high)]
        elif lower is None:
            ends = [self.cdf(z, upper_side) for z in (upper.low, upper.high)]
        else:
            opposite = (lower.low, upper.high), (lower.high, upper.low)
            ends = [self.mass(*pair, lower_side, upper_side) for pair in opposite]
        bound = boxes.largest(*map(abs, ends))
        for box, side in ((lower, lower_side), (upper, upper_side)):
            if box is not None and not box.is_real:
                bound += box.height * self.pdf_bound(box, side)
        return bound.upper()

    @abstractmethod
    def series(self, center: Fraction, half: Fraction, degree: int) -> tuple[list[arb], arb]:
        """Return Taylor coefficients of u -> f(center + half u), and a bound on the rest, |u| <= 1.

        The panel is on one side of 0 if there is a kink.
        """

    @abstractmethod
    def cutoff_guess(self, bits: int, side: int) -> arb:
        """Return a distance with a mass of about 2**-bits beyond on a side, without any promise."""

    @abstractmethod
    def log_moment(self, t: arb) -> arb:
        """Enclose ln E e^(tZ) for t >= 0; not finite where that is not finite."""

    def ellipse(self, high: arb, beyond: arb) -> arb:
        """Bound |f| on an ellipse round a panel, on one side of a kink.

        `high` is its semi-axis across, and it reaches so far `beyond` the panel.
        """
        reach, side = (beyond, self.sides[-1]) if self.has_kink else (boxes.INFINITY, 0)
        return self.pdf_bound(boxes.Box(-reach, reach, high.upper()), side)

    # --- doubles: see `double_functions`, and `sampled` and `convolution` in `algebras` ----------

    @abstractmethod
    def at(self, t: Array) -> tuple[Array, Array]:
        """Return f(t) and the mass beyond t, as seen from 0, on arrays of one shape."""

    def errors(self, t: Array, found: tuple[Array, Array], reach: Array) -> Array:
        """Bound the absolute errors of `at` on P panels but for 2^-989, shape (2, P).

        From relative ones: polynomials in T (see `double_functions`), in units of 2^-53.

        Args:
            t: Points of the panels, its ends among them, shape (n, P), with roundings as
                `double_functions` says.
            found: What `at` says there.
            reach: T, shape (P,).
        """
        constant, linear, square = (
            1.01 * rounding.UNIT_ROUNDOFF * np.array(self.roundings)[..., None]
        )
        largest = np.stack([each.max(axis=0) for each in found])
        bounds: Array = (constant + reach * (linear + reach * square)) * largest
        return bounds

    @abstractmethod
    def on_boxes(self, edges: Array, heights: Array) -> tuple[Array, Array, Array]:
        """Bound moduli between neighbouring edges, |Im z| at most the height.

        Args:
            edges: Real parts, shape (R, n + 1, P). With a kink, distances on one side of it.
            heights: Shape (R, n, P), or one that is broadcast to that; or only those of the left
                half, if the right one is its mirror image (`double_functions.on_all`).

        Returns:
            Bounds of f, the distribution function and the survival function, each (R, n, P). On a
            side of a kink: of f, of what is not beyond z and of what is.
        """

    def ellipses(self, center: Array, half: Array, rule: Rule) -> tuple[Array, Array, Array]:
        """Bound them on the R ellipses round each of P panels, each (R, P)."""
        turned = (center < 0) & self.has_kink
        edges, heights = double_functions.arcs(np.where(turned, -center, center), half, rule)
        density, below, above = (b.max(axis=1) for b in self.on_boxes(edges, heights))
        return density, np.where(turned, above, below), np.where(turned, below, above)

    def below(self, z: Array) -> Array:
        """Return Pr[Z <= z] for an array of doubles, within 2^-46: by the mass beyond z."""
        _, tail = self.at(z)
        return np.where(z > 0, 1 - tail, tail)

    def swing(self, near: Array, far: Array) -> tuple[Array, Array]:
        """Return at least f, and at least |f'|, where near <= |z| <= far; f has no jump.

        They are at most e^-|z|, and their largest values anywhere: f' comes back to 0, so half of
        its variation is at least |f'|.
        """
        assert self.curved is not None
        steep, curved = float(self.steep) * (1 + 2.0**-50), float(self.curved) * (1 + 2.0**-50)
        bound = double_functions.growth(-near)
        return np.minimum(steep, bound), np.minimum(curved, bound)

    def at_differences(self, z: Array, differences: Array) -> Array:
        """Return f at points of shape (…, D), whose sides are those of their differences."""
        return self.at(z)[0]

    @abstractmethod
    def moved(self, middle: Array, reach: float, by: Array) -> Array:
        """Return by how much f changes in proportion, to first order, at points at most `reach`
        from the middle that are moved by so much, and rounded."""

    def beyond(
        self, differences: Array, slack: float, ratio: float, scale: float, rule: Rule
    ) -> tuple[Array, Array]:
        """Return majorants on ellipses, `real` and `local`, as a `ConvolutionKernel` has them.

        Without a kink there is nothing local. The slack is more than all roundings of the edges.
        """
        if self.has_kink:
            raise BrokenInvariant("a density with a kink has majorants of its own")
        middle, reach = differences * ratio, ((rule.wide[:, None] + 1) / 2 + slack) * ratio
        edges = np.stack([middle - reach, middle + reach], axis=1)
        heights = rule.high[:, None, None] * (ratio / 2 * (1 + 2.0**-40))
        real = self.on_boxes(edges, heights)[0][:, 0] * (rounding.SAFE / scale)
        return real, np.zeros_like(real)


class IntegerFamily(Family):
    """A family of laws of integers, whose masses are symmetric about the mean."""

    is_discrete = True
    is_normal = False
    sides = BOTH_SIDES

    @property
    def mirror(self) -> Family:
        """The family of -Z."""
        return self

    @abstractmethod
    def radius(self, scale: Fraction, bits: int) -> int:
        """Return how far from the mean masses are about 2^-bits, without any promise."""

    @abstractmethod
    def masses(self, scale: Fraction, radius: int) -> list[arb]:
        """Enclose Pr[Z = d] for d = 0, …, radius, or at least bound it from below."""
