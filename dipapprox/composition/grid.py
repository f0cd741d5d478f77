"""Losses at equal steps, and the knots among them at which a profile is worth knowing.

Where a run's outcomes are rare, knots may be far apart: a chord over many steps is still a chord.
Which knots are taken is a guess about cost. No bound depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import exp, floor, log2

from flint import arb

from dipapprox.arithmetic.precision import give_way, to_ball
from dipapprox.composition.closed_profiles import GaussianProfile
from dipapprox.composition.profile import BallProfile, ProfilePoint
from dipapprox.data_classes import dataclass, replace
from dipapprox.digits import exact_text
from dipapprox.limits import Limits


@dataclass(frozen=True, slots=True)
class GridStep:
    """The distance of two losses of a grid: unit * ln(base).

    Attributes:
        unit: > 0.
        base: > 1; None stands for e.
    """

    unit: Fraction
    base: Fraction | None = None

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

    def divided(self, parts: int) -> GridStep:
        """A grid that is finer by a whole number."""
        return replace(self, unit=self.unit / parts)

    def wider(self, parts: int) -> GridStep:
        """A grid whose step is so many times as wide."""
        return replace(self, unit=self.unit * parts)


@dataclass(frozen=True, slots=True)
class Knot:
    """What is known of a profile at one loss of the grid.

    Attributes:
        place: The loss, in steps.
        alpha: A ball around e to the loss.
        point: The profile there.
    """

    place: int | Fraction
    alpha: arb
    point: ProfilePoint


_BLOCK = 0.5
"""Losses are first looked at about so far apart."""

_STEEPEST = 600.0
"""Of exponents: more is no double."""

_DOUBLINGS = 40
"""How often blocks are doubled: nothing is known of where losses lie."""


class ProfileOnGrid:
    """A profile at losses of a grid, each looked at once: those below 0 too, if it is mirrored.

    Args:
        profile: Made at the precision of the enclosing block.
        step: Of the grid.
    """

    def __init__(self, profile: BallProfile, step: GridStep) -> None:
        self._profile, self.step = profile, step
        self._mirrored = isinstance(profile, GaussianProfile)
        self._known: dict[int | Fraction, Knot] = {}

    def __call__(self, place: int | Fraction) -> Knot:
        """Return the knot at a loss, in steps."""
        known = self._known.get(place)
        if known is None:
            if place < 0 and self._mirrored:
                known = _turned(self(-place))
            else:
                alpha = self.step.factor(place)
                known = Knot(place, alpha, self._profile.at(alpha))
            self._known[place] = known
        return known


def _turned(knot: Knot) -> Knot:
    """The knot at the negative loss, if exchanging outputs of P and Q gives (Q, P): see `profile`.

    The set for which it is a line is the complement of the other one, exchanged.
    """
    alpha, point = 1 / knot.alpha, knot.point
    turned = ProfilePoint(1 - alpha + alpha * point.bound, 1 - point.second, 1 - point.first)
    return Knot(-knot.place, alpha, turned)


def between(knot: ProfileOnGrid, knots: Sequence[Knot]) -> list[Knot]:
    """Return a knot between any two, about in their middle."""
    ends = ((left.place, right.place) for left, right in pairwise(knots))
    return [
        knot((low + high) // 2 if high - low > 1 else Fraction(low + high) / 2)
        for low, high in ends
    ]


def choose_knots(
    knot: ProfileOnGrid,
    negligible: float,
    weight: float,
    limits: Limits,
    steepness: float = 0.0,
) -> list[Knot]:
    """Return knots at whole steps, ascending.

    Args:
        knot: The profile.
        negligible: What H may be off at either end, and anywhere.
        weight: An interval of 2^i steps and mass p is split if p 4^i is more.
        limits: The time, and how many atoms.
        steepness: λ, where mass at loss ℓ > 0 counts for e^(λ ℓ) times as much.

    Raises:
        LimitReached: If the limits are.
    """
    size = float(knot.step.loss(1))

    def enough(place: int | Fraction) -> float:
        """What chords may lie above the profile, in steps, just below a loss."""
        return weight * size / 8 * exp(-min(steepness * size * max(place, 0), _STEEPEST))

    block = 1 << max(0, floor(log2(_BLOCK / size)))
    away = [block << k for k in range(_DOUBLINGS)]
    above = [knot(0), *map(knot, away)]
    while len(above) > 2 and _is_past(above[-2], above[-1], negligible):
        above.pop()
    below = [knot(0), *(knot(-place) for place in away)]
    while len(below) > 2 and _is_straight(below[-2], below[-1], negligible):
        below.pop()
    coarse = [*below[:0:-1], *above]
    knots = coarse[:1]
    for left, right in pairwise(coarse):
        for each in _between(knot, left, right, negligible, enough):
            knots.append(each)
            if not len(knots) % 256:
                limits.check()
                limits.check_atoms(len(knots))
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


def _is_past(near: Knot, far: Knot, negligible: float) -> bool:
    """Whether H has nearly fallen to what it is far above, or balls do not tell."""
    return float(far.point.bound.rad()) > negligible or _is_flat(near, far, negligible)


def _is_flat(near: Knot, far: Knot, negligible: float) -> bool:
    """Whether H has nearly fallen to what it is far above."""
    return float(near.point.bound - far.point.bound) <= negligible


def _is_straight(near: Knot, far: Knot, negligible: float) -> bool:
    """Whether, far below, H is nearly on the line from (0, 1)."""
    chord = 1 - (1 - near.point.bound) * far.alpha / near.alpha
    return float(chord - far.point.bound) <= negligible
