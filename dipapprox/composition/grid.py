"""Losses at equal steps, and the knots among them at which a profile is worth knowing.

Where a run's outcomes are rare, knots may be far apart: a chord over many steps is still a chord.
Which knots are taken is a guess about cost. No bound depends on it.

Lattice. Which grid to begin with: atoms of much mass had better lie on it.

Losses that are whole multiples of one number need no refinement of a grid of that step:

    randomised response    ± ln((values - 1) p / (1 - p)), and 0
    (ε, δ) statements      ± ε
    discrete Laplace       (Δ - 2x) / b
    discrete Gaussian      Δ (Δ - 2x) / (2 σ²)

Laplace noise has half of its mass at loss Δ/b, and the pair that is known of the exponential
mechanism has losses ± ε/2: a grid with these among its losses converges like the square of its
step, another one only like the step. Where such losses have no common measure, the step is one on
which all of them nearly lie. The grid is a guess about cost; no bound depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, exp, expm1, floor, frexp, ldexp, log, log1p, log2

from flint import arb

from dipapprox.arithmetic.enclosure import simplest
from dipapprox.arithmetic.precision import give_way, to_ball
from dipapprox.composition.mechanisms import (
    ApproximateStatement,
    Atoms,
    Between,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Laplace,
    Mechanism,
    RandomisedResponse,
    Subsampled,
)
from dipapprox.composition.profile import BallProfile, ProfilePoint
from dipapprox.data_classes import Record, replace
from dipapprox.digits import exact_text
from dipapprox.limits import check_atoms, check_limits
from dipapprox.linear.form import content


class GridStep(Record):
    """The distance of two losses of a grid: unit * ln(base)."""

    unit: Fraction  # > 0
    base: Fraction | None = None  # > 1; None stands for e

    def __str__(self) -> str:
        size = exact_text(self.unit)
        return size if self.base is None else f"{size} * log({exact_text(self.base)})"

    def loss(self, place: int | Fraction) -> arb:
        """Enclose the loss at so many steps."""
        loss = to_ball(self.unit * place)
        return loss if self.base is None else loss * to_ball(self.base).log()

    def factor(self, place: int | Fraction) -> arb:
        """Enclose e to the loss at so many steps."""
        return self.loss(place).exp()

    def wider(self, parts: int | Fraction) -> GridStep:
        """A grid whose step is so many times as wide."""
        return replace(self, unit=self.unit * parts)


class Knot(Record):
    """What is known of a profile at one loss of the grid."""

    place: int | Fraction  # the loss, in steps
    alpha: arb  # a ball around e to the loss
    point: ProfilePoint


_BLOCK = 0.5  # losses are first looked at about so far apart
_STEEPEST = 600.0  # of exponents: more is no double
_DOUBLINGS = 40  # how often blocks are doubled: nothing is known of where losses lie


class ProfileOnGrid:
    """A profile at losses of a grid, each looked at once.

    Args:
        profile: Made at the precision of the enclosing block.
    """

    def __init__(self, profile: BallProfile, step: GridStep) -> None:
        self._profile, self.step = profile, step
        self._known: dict[int | Fraction, Knot] = {}

    def __call__(self, place: int | Fraction) -> Knot:
        known = self._known.get(place)
        if known is None:
            alpha = self.step.factor(place)
            known = self._known[place] = Knot(place, alpha, self._profile.at(alpha))
        return known


def between(knot: ProfileOnGrid, knots: Sequence[Knot]) -> list[Knot]:
    """Return a knot between any two, about in their middle."""
    ends = ((left.place, right.place) for left, right in pairwise(knots))
    return [
        knot((low + high) // 2 if high - low > 1 else Fraction(low + high) / 2)
        for low, high in ends
    ]


def choose_knots(
    knot: ProfileOnGrid, negligible: float, weight: float, steepness: float = 0.0
) -> list[Knot]:
    """Return knots at whole steps, ascending.

    Args:
        negligible: What H may be off at either end, and anywhere.
        weight: An interval of 2^i steps and mass p is split if p 4^i is more.
        steepness: λ, where mass at loss ℓ > 0 counts for e^(λ ℓ) / M times as much, with the
            moment M of all.
    """
    size, moment = float(knot.step.loss(1)), 0.0

    def enough(place: int | Fraction) -> float:
        """What chords may lie above the profile, in steps, just below a loss."""
        tilted = steepness * size * max(place, 0) - moment
        return weight * size / 8 * exp(-min(max(tilted, 0.0), _STEEPEST))

    block = 1 << max(0, floor(log2(_BLOCK / size)))
    away = [block << k for k in range(_DOUBLINGS)]
    above = [knot(0), *map(knot, away)]
    # Up to where H has nearly fallen to what it is far above, or balls do not tell.
    while len(above) > 2 and (
        float(above[-1].point.bound.rad()) > negligible
        or _is_flat(above[-2], above[-1], negligible)
    ):
        above.pop()
    below = [knot(0), *(knot(-place) for place in away)]
    while len(below) > 2 and _is_straight(below[-2], below[-1], negligible):
        below.pop()
    coarse = [*below[:0:-1], *above]
    if steepness:  # H is M e^(-λ ε) λ^λ / (1 + λ)^(1 + λ) at most
        lines = (
            (k, k.point.first - k.alpha * k.point.second) for k in (*above, *between(knot, above))
        )
        surely = [(k.place, line) for k, line in lines if line > 0]
        most = max(
            (float(own.lower().log()) + steepness * size * k for k, own in surely), default=0.0
        )
        most += (1 + steepness) * log1p(steepness) - steepness * log(steepness)
        moment = max(most, 0.0)  # M is at least 1
    knots = coarse[:1]
    for left, right in pairwise(coarse):
        for each in _between(knot, left, right, negligible, enough):
            knots.append(each)
            if not len(knots) % 256:
                check_limits()
                check_atoms(len(knots))
                give_way()
        knots.append(right)
    return _trimmed(knots, negligible)


def _between(
    knot: ProfileOnGrid,
    left: Knot,
    right: Knot,
    negligible: float,
    enough: Callable[[int | Fraction], float],
) -> Iterator[Knot]:
    """Yield knots strictly between two, ascending.

    A chord of an interval of width w and mass p lies about p w / 8 above the profile in its middle.
    """
    waiting = [right]
    while waiting:
        right = waiting[-1]
        if right.place - left.place > 1:
            middle = knot((left.place + right.place) // 2)
            share = (middle.alpha - left.alpha) / (right.alpha - left.alpha)
            chord = left.point.bound + share * (right.point.bound - left.point.bound)
            gap = float(chord - middle.point.bound)
            steps = float(right.place - left.place)
            if gap > negligible and gap * steps > enough(right.place):
                waiting.append(middle)
                continue
            yield middle
        left = waiting.pop()
        if waiting:
            yield left


def _trimmed(knots: list[Knot], negligible: float) -> list[Knot]:
    """Leave out knots at the ends beyond which nothing happens, but for one on either side."""
    first, last = 0, len(knots) - 1
    while last > 1 and _is_flat(knots[last - 1], knots[-1], negligible):
        last -= 1
    while first < last - 1 and _is_straight(knots[first + 1], knots[first], negligible):
        first += 1
    return knots[first : last + 1]


def _is_flat(near: Knot, far: Knot, negligible: float) -> bool:
    """Whether H has nearly fallen to what it is far above."""
    return float(near.point.bound - far.point.bound) <= negligible


def _is_straight(near: Knot, far: Knot, negligible: float) -> bool:
    """Whether, far below, H is nearly on the line from (0, 1)."""
    chord = 1 - (1 - near.point.bound) * far.alpha / near.alpha
    return float(chord - far.point.bound) <= negligible


_FINEST = 64
"""A common grid, far finer than wanted, has so many steps for one of a mechanism's, at most."""

_LEAST_MASS = 2.0**-40
_WIDEST = 256
"""A discrete Gaussian of greater deviation has too many losses for all of them to be kept."""

_FARTHEST = 2**20  # losses beyond it are near no place of a grid
COARSEST = Fraction(1, 64)  # where a search begins that has to refine its grid, at most


def refined(mechanisms: Sequence[Mechanism], step: GridStep, parts: Fraction) -> GridStep:
    """Return a grid that is finer by about a factor, after one of `first_step` or of this."""
    if step.base is None and not have_lattices(mechanisms):
        return aligned(mechanisms, step.unit / parts)
    return step.wider(Fraction(1, ceil(parts)))


def have_lattices(mechanisms: Sequence[Mechanism]) -> bool:
    """Whether the losses of atoms of much mass are multiples of one step, for each mechanism."""
    return bool(mechanisms) and all(_lattice(each) is not None for each in mechanisms)


def first_step(mechanisms: Sequence[Mechanism], size: Fraction) -> tuple[GridStep, bool]:
    """Return a grid to begin with, and whether all losses lie on it.

    Args:
        size: Of a step, at most, if that is not so.
    """
    lattices = [_lattice(each) for each in mechanisms]
    steps = [each[0] for each in lattices if each is not None]
    units = [step.unit for step in steps]
    if not steps or len({step.base for step in steps}) > 1:
        return aligned(mechanisms, size), False
    step = GridStep(content(units), steps[0].base)
    if max(units) > _FINEST * step.unit and float(step.loss(4)) < size:
        return aligned(mechanisms, size), False
    beside = [1.0 if each is None else each[1] for each in lattices]
    if not any(beside):
        return step, True
    # What is on no grid alone is moved when put on one; beside other mechanisms it may matter more.
    most = float(size) / max(mass or 1.0 for mass in beside) ** 0.5
    while float(step.loss(1)) > most:
        step = step.wider(Fraction(1, 2))
    return step, False


def _lattice(mechanism: Mechanism) -> tuple[GridStep, float] | None:
    """A step of which the losses of all atoms of much mass are multiples, and about the mass beside
    them; None if there are none, too many, or none that is known.
    """
    match mechanism:
        case RandomisedResponse(probability, values):
            odds = probability * (values - 1) / (1 - probability)
            return GridStep(Fraction(1), max(odds, 1 / odds) if odds != 1 else None), 0.0
        case ApproximateStatement(eps) if eps < _FARTHEST:
            return GridStep(eps or Fraction(1)), 0.0
        case DiscreteLaplace(sensitivity, scale):
            return GridStep((1 + (sensitivity + 1) % 2) / scale), 0.0
        case DiscreteGaussian(sensitivity) if mechanism.square <= _WIDEST**2:
            unit = sensitivity * (1 + (sensitivity + 1) % 2) / (2 * mechanism.square)
            return GridStep(unit), 0.0
        case Laplace(sensitivity, scale) if sensitivity < scale * _FARTHEST:
            beside = -expm1(-float(sensitivity / scale)) / 2
            return GridStep(sensitivity / scale), max(beside, _LEAST_MASS)
        case ExponentialMechanism(eps):
            return GridStep(eps / 2), 1.0
        case _:
            return None


_MOST_TRIED = 4_096
_SHORT = 8  # Atoms so many times nearer to 0 than a step is long are not worth as short a step
_MOST_ATOMS = 8
_MUCH = Fraction(1, 2**20)  # A mass. Less is perhaps nothing but what is not known of it
_ROUGH = 24
"""Bits of what a grid is chosen by: those of doubles differ from machine to machine at their end,
with the order in which sums are added, and a grid is not to."""


def aligned(mechanisms: Sequence[Mechanism], size: Fraction) -> GridStep:
    """Return a step of at most `size` for mechanisms without a lattice, near which atoms lie."""
    sharp = sorted({_simple(abs(loss)) for each in mechanisms for loss in _sharp(each) if loss})
    if not sharp or sharp[-1] * _SHORT < size:
        return GridStep(size)
    longest = sharp[-1]
    least = ceil(longest / size)
    counts = range(least, least + min(least // 4 + 1, _MOST_TRIED))

    def distance(count: int) -> Fraction:
        steps = (loss * count / longest for loss in sharp)
        return max(abs(each - round(each)) for each in steps)

    return GridStep(longest / min(counts, key=distance))


def _rough(value: float) -> float:
    mantissa, exponent = frexp(value)
    return ldexp(round(ldexp(mantissa, _ROUGH)), exponent - _ROUGH)


def _simple(value: float) -> Fraction:
    rounded = Fraction(_rough(value))
    off = rounded / 2 ** (_ROUGH + 1)
    return simplest(rounded - off, rounded + off)


def _sharp(mechanism: Mechanism) -> list[float]:
    """About the losses of atoms of much mass."""
    match mechanism:
        case Subsampled(inner, rate):
            share = float(rate)
            return [log1p(share * expm1(loss)) for loss in _sharp(inner)]
        case Between(above):
            return _sharp(above)
        case Atoms(masses):
            both = [
                (_rough(float(p.upper)), _rough(float(q.upper)))
                for p, q in masses
                if min(p.lower, q.lower) >= _MUCH
            ]
            return [log(p / q) for p, q in sorted(both)[-_MOST_ATOMS:]]
        case DiscreteGaussian():
            return []
        case _:
            found = _lattice(mechanism)
            size = 0.0 if found is None else float(found[0].unit)
            if found is not None and found[0].base is not None:
                size *= log(found[0].base)
            return [size, -size]
