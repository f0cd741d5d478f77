"""Runs in pieces of one profile each: what a composition multiplies.

    several worst pairs    one piece for all such mechanisms, in the order of runs (`adaptive`)
    few outcomes           groups of runs, whose losses lie densely (`groups`)
    bounded by two pairs   one piece from above, another one from below
    anything else          its profile, as often as it is run

The pieces from above together dominate the runs, and those from below are attained: by pairs that
are run first, independently, and then by those that are chosen adaptively.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from flint import arb

from dipapprox.arithmetic.precision import to_ball
from dipapprox.composition.adaptive import MOST_STEPS, Stage, adaptive_profile, grid_size
from dipapprox.composition.catalogue import ball_of, is_attained, outcomes_of, profile_of
from dipapprox.composition.discrete_profiles import group_sizes, grouped, is_finite
from dipapprox.composition.losses import BoundSide
from dipapprox.composition.mechanisms import Between, Masses, Mechanism, Subsampled
from dipapprox.composition.profile import BallProfile, ReversedProfile, UpperOnlyProfile
from dipapprox.data_classes import dataclass
from dipapprox.errors import UserError
from dipapprox.limits import Limits

_BOTH = tuple(BoundSide)


@dataclass(frozen=True, slots=True)
class RepeatedRun:
    """A mechanism that is run a number of times on the same data.

    Raises:
        UserError: If the number is out of range.
    """

    mechanism: Mechanism
    times: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.times, int) or not 1 <= self.times <= _MOST_RUNS:
            raise UserError(
                f"times must be a whole number from 1 to {_MOST_RUNS}, got {self.times}"
            )


_MOST_RUNS = 10**9


@dataclass(frozen=True, slots=True)
class Piece:
    """Runs with one profile.

    Attributes:
        profile: Of each.
        times: How many.
        run: The place of the run that it is of; None for several.
        sides: From where the profile bounds the runs.
        group: How often the mechanism is run in each.
    """

    profile: BallProfile
    times: int
    run: int | None = None
    sides: tuple[BoundSide, ...] = _BOTH
    group: int = 1


def pieces_of(
    runs: Sequence[RepeatedRun], bits: int, step: float, limits: Limits, *, added: bool
) -> list[Piece]:
    """Return the pieces of runs; see `catalogue.profile_of`.

    Args:
        runs: In the order in which those with several worst pairs are run.
        bits: As for `profile_of`.
        step: Of the grid that is used, about.
        limits: What may be used.
        added: Whether the profiles are those of the adding of a record.

    Raises:
        LimitReached: If there are too many atoms.
    """
    chosen: list[tuple[Between, Fraction, int]] = []
    found: list[Piece] = []
    steps = 0
    for place, run in enumerate(runs):
        several = _with_several_pairs(run.mechanism)
        if several is not None and steps + run.times <= MOST_STEPS:
            steps += run.times
            chosen.append((*several, run.times))
        else:
            found += _fixed(run, place, bits, added=added)
    if chosen:
        stages = [_stage(*each, added=added) for each in chosen]
        found.append(Piece(adaptive_profile(stages, grid_size(step, steps), limits), 1))
    return found


def _with_several_pairs(mechanism: Mechanism) -> tuple[Between, Fraction] | None:
    """Return a mechanism whose worst pairs are known and several, and the rate of its sample."""
    match mechanism:
        case Subsampled(Between() as inner, rate) if inner.worst:
            return inner, rate
        case Between() if mechanism.worst:
            return mechanism, Fraction(1)
        case _:
            return None


def _stage(inner: Between, rate: Fraction, times: int, *, added: bool) -> Stage:
    share = to_ball(rate)

    def masses(pair: Masses) -> list[tuple[arb, arb]]:
        both = [(ball_of(p), ball_of(q)) for p, q in pair]
        sampled = [(share * p + (1 - share) * q, q) for p, q in both]
        return [(q, p) for p, q in sampled] if added else sampled

    return Stage([*map(masses, inner.worst)], [*map(masses, inner.chosen)], times)


def _fixed(run: RepeatedRun, place: int, bits: int, *, added: bool) -> Iterator[Piece]:
    """Yield the pieces of runs of one pair, or of one from above and one from below."""
    mechanism = run.mechanism
    inner = mechanism.mechanism if isinstance(mechanism, Subsampled) else mechanism
    parts: list[tuple[Mechanism, tuple[BoundSide, ...]]] = [(mechanism, _BOTH)]
    if isinstance(inner, Between):
        # Groups of the two pairs are of different sizes.
        parts = [(_only(mechanism, side), (side,)) for side in BoundSide]
    for each, sides in parts:
        masses = outcomes_of(each)
        profile: BallProfile
        if masses is None:
            profile = profile_of(each, bits)
            yield Piece(ReversedProfile(profile) if added else profile, run.times, place, sides)
            continue
        if added:
            masses = [(q, p) for p, q in masses]
        for size, count in group_sizes(sum(is_finite(p, q) for p, q in masses), run.times):
            profile = grouped(masses, arb(0), size)
            if not is_attained(each):
                profile = UpperOnlyProfile(profile)
            yield Piece(profile, count, place, sides, size)


def _only(mechanism: Mechanism, side: BoundSide) -> Mechanism:
    match mechanism:
        case Between(above, below):
            return above if side is BoundSide.ABOVE else below
        case Subsampled(inner, rate):
            return Subsampled(_only(inner, side), rate)
        case _:
            return mechanism
