"""Runs of mechanisms whose pairs are chosen by what came: gone through together, or in blocks.

few runs     one profile from both sides (`adaptive`)
many runs    profiles of blocks from above; from below, of each mechanism, one pair that is had
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import ceil, inf, log, sqrt

from flint import arb

from dipapprox.arithmetic.precision import to_ball
from dipapprox.composition.adaptive import (
    MOST_STEPS,
    AdaptiveProfile,
    Stage,
    adaptive_profile,
    bounded_range,
    grid_size,
)
from dipapprox.composition.catalogue import Outcomes, is_finite, outcomes_of
from dipapprox.composition.divergences import Statement
from dipapprox.composition.mechanisms import (
    ApproximateStatement,
    Between,
    ConcentratedStatement,
    ExponentialMechanism,
    Mechanism,
    RenyiStatement,
    unsampled,
)
from dipapprox.composition.powers import PairWay
from dipapprox.data_classes import replace
from dipapprox.errors import BrokenInvariant

Choice = Between | ExponentialMechanism
Chosen = tuple[Choice, Fraction, int]
"""A mechanism whose pairs are chosen by what came, the rate of its sample, and its runs."""


MOST_OF_BLOCK, _LEAST_BLOCK = 1_000, 64  # runs
_FEW_BLOCKS, _FINER_BLOCKS = 16, 4
_LEAST_NEGLIGIBLE = 1e-290
_ROUGH_BITS = 64
_MOST_WORK = 8_000_000  # runs times places of bounded ranges: finer grids are not asked
_FAR = 5.0  # losses of runs of bounded ranges are not greater, in deviations, about


def blocks_of(
    chosen: Sequence[Chosen], beside: int, step: float, share: float, *, added: bool
) -> tuple[bool, list[tuple[AdaptiveProfile, int]]]:
    """Go through runs, at the current precision.

    Args:
        chosen: In the order in which they are run.
        beside: How many other runs there are, about.
        step: Of the grid of losses.
        share: Of the mass of one run that does not matter.
        added: Whether a record is added.

    Returns:
        Whether one profile bounds all of them from both sides, else profiles of blocks from above
        alone; and how often each comes.
    """

    def profile(several: Sequence[Chosen], many: int, *, below: bool) -> AdaptiveProfile:
        """Beside many other losses it may cost what a quarter of them does."""
        steps = sum(times for *_, times in several)
        size = grid_size(step * sqrt(max(beside / 4, many)), many * steps)
        size = max(size, _finest(several))
        stages = [_stage(*each, size, added=added) for each in several]
        negligible = max(share / 1024, _LEAST_NEGLIGIBLE)
        return adaptive_profile(stages, size, negligible=negligible, below=below)

    most = max(ceil(_block(chosen, beside) / step**2), _LEAST_BLOCK)
    ranged = sum(times for inner, _, times in chosen if isinstance(inner, ExponentialMechanism))
    if ranged <= MOST_OF_BLOCK and sum(times for *_, times in chosen) <= min(most, MOST_STEPS):
        return True, [(profile(chosen, 1, below=True), 1)]
    blocks = _blocks(chosen, min(most, MOST_OF_BLOCK))
    return False, [(profile(several, many, below=False), many) for several, many in blocks]


def _blocks(chosen: Sequence[Chosen], most: int) -> Iterator[tuple[list[Chosen], int]]:
    """Yield runs of each mechanism in blocks of at most so many, and how often each block comes."""
    for inner, rate, times in chosen:
        size = ceil(times / ceil(times / most))
        for block, many in ((size, times // size), (times % size, 1)):
            if block:
                yield [(inner, rate, block)], many


def _block(chosen: Sequence[Chosen], beside: int) -> float:
    """How many runs are a block, so that blocks cost about what a step of 1 does for all others.

    In a block of m a run has about 1/m of its variance more (see `adaptive`).
    """
    variance = 0.0
    for inner, rate, times in chosen:
        masses = pair_below(inner, rate, _ROUGH_BITS).masses
        both = [(float(p), float(q)) for p, q in masses if is_finite(p, q)]
        variance += times * sum(p * log(p / q) ** 2 for p, q in both if p > 0 and q > 0)
    return variance / max(beside, _FEW_BLOCKS)


def _finest(chosen: Iterable[Chosen]) -> Fraction:
    """The finest grid on which bounded ranges are gone through, for so many runs."""
    steps, most = 0, 0.0
    for inner, _, times in chosen:
        if isinstance(inner, ExponentialMechanism):
            eps, root = float(inner.eps), sqrt(times)
            steps += times
            most += min(times * eps, _FAR * root * eps + times * eps**2 / 8)
    return Fraction(ceil(2**20 * steps * most / _MOST_WORK), 2**20)


def pair_below(inner: Choice, rate: Fraction, bits: int, *, added: bool = False) -> Outcomes:
    """A pair that is had; of bounded ranges that which is its own reversal."""
    own: Mechanism
    if isinstance(inner, ExponentialMechanism):
        own = ApproximateStatement(inner.eps / 2)
    else:
        own = inner.below
    found = outcomes_of(own, bits)
    if found is None:
        raise BrokenInvariant("what is below is known by its outcomes")
    found = found if rate == 1 else found.sampled(to_ball(rate))
    return found.turned() if added else found


def resolution_of(mechanism: Mechanism, times: int, way: PairWay) -> float | None:
    """The step whose cost for all runs is about that of the losses at which pairs are known."""
    inner, rate = unsampled(mechanism)
    root = sqrt(times)
    if chosen_pairs(mechanism, way) is not None:
        if isinstance(inner, Statement):
            return inf
        if isinstance(inner, Choice) and times > MOST_STEPS:
            return sqrt(_block([(inner, rate, times)], 1) / MOST_OF_BLOCK) / _FINER_BLOCKS
        if isinstance(inner, ExponentialMechanism):
            return float(_finest([(inner, rate, times)])) * root / 4
    if not isinstance(inner, Between) or inner.resolution is None:
        return None
    return float(inner.resolution * rate * root)


def chosen_pairs(mechanism: Mechanism, way: PairWay) -> tuple[Choice | Statement, Fraction] | None:
    """Return a mechanism whose pairs are chosen by what came, and the rate of its sample."""
    inner, rate = unsampled(mechanism)
    match inner:
        case Between(worst=worst) if worst and way is not PairWay.HULLS:
            return inner, rate
        case ExponentialMechanism() if way is PairWay.RANGES:
            return inner, rate
        case RenyiStatement() | ConcentratedStatement() if way is PairWay.STATED:
            return inner, rate
    return None


def _stage(inner: Choice, rate: Fraction, times: int, size: Fraction, *, added: bool) -> Stage:
    share = to_ball(rate)

    def masses(pair: Iterable[tuple[arb, arb]]) -> list[tuple[arb, arb]]:
        sampled = [(share * p + (1 - share) * q, q) for p, q in pair]
        return [(q, p) for p, q in sampled] if added else sampled

    if isinstance(inner, ExponentialMechanism):
        found = bounded_range(inner.eps, size, times, masses)
        return found if rate == 1 else replace(found, unit=None)
    above, below = (
        [masses((to_ball(p), to_ball(q)) for p, q in pair) for pair in pairs]
        for pairs in (inner.worst, inner.chosen)
    )
    return Stage(above, below, times)
