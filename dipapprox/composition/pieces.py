"""Runs in pieces of one profile each: what a composition multiplies.

    several worst pairs    one piece for all such mechanisms, in the order of runs (`adaptive`)
    few outcomes           groups of runs, or all runs (`discrete_profiles`)
    Gaussian noise         one piece, of one shift
    divergences            one piece: they add up
    many pairs to choose   of one run that which is worst after all that came
    bounded by two pairs   one piece from above, another one from below
    anything else          its profile, as often as it is run

The pieces from above together dominate the runs, and those from below are attained: by pairs that
are run first, independently, and then by those that are chosen adaptively.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from math import prod

from flint import arb

from dipapprox.arithmetic.precision import to_ball
from dipapprox.composition.adaptive import MOST_STEPS, Stage, adaptive_profile, grid_size
from dipapprox.composition.catalogue import (
    has_choice,
    is_attained,
    noise_of,
    outcomes_of,
    profile_of,
    shift_of,
)
from dipapprox.composition.discrete_profiles import MOST_LOSSES, Outcomes, group_sizes
from dipapprox.composition.divergences import Divergences, Statement
from dipapprox.composition.losses import BoundSide
from dipapprox.composition.mechanisms import (
    Between,
    ConcentratedStatement,
    Gaussian,
    Masses,
    Mechanism,
    RenyiStatement,
    Subsampled,
    unsampled,
)
from dipapprox.composition.powers import LossGrid
from dipapprox.composition.profile import BallProfile, Equal, ReversedProfile
from dipapprox.composition.statements import StatementProfile
from dipapprox.composition.witnesses import worst_of_all
from dipapprox.data_classes import Record
from dipapprox.errors import UserError
from dipapprox.limits import Limits

_BOTH = tuple(BoundSide)
_ABOVE, _BELOW = BoundSide.ABOVE, BoundSide.BELOW


class RepeatedRun(Record):
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


class Piece(Record):
    """Runs with one profile."""

    profile: BallProfile
    times: int
    sides: tuple[BoundSide, ...] = _BOTH  # from where the profile bounds the runs


_Few = tuple[Outcomes, int, tuple[BoundSide, ...]]
"""Runs of few outcomes, how many, and sides as of a `Piece`."""


def pieces_of(
    runs: Sequence[RepeatedRun], grid: LossGrid, bits: int, limits: Limits, *, added: bool
) -> list[Piece]:
    """Return the pieces of runs for a grid; see `catalogue.profile_of`.

    Args:
        runs: In the order in which those with several worst pairs are run.
        added: Whether the profiles are those of the adding of a record.
    """
    several_pairs: list[tuple[Between, Fraction, int]] = []
    found: list[Piece] = []
    few: list[_Few] = []
    statements: list[tuple[Statement, int]] = []
    square = Fraction(0)
    steps = 0
    last: Statement | None = None
    free = together = not any(_with_several_pairs(run.mechanism) for run in runs)
    for run in runs:
        several = _with_several_pairs(run.mechanism)
        if several is not None and steps + run.times <= MOST_STEPS:
            steps += run.times
            several_pairs.append((*several, run.times))
            continue
        times = run.times
        match run.mechanism:
            case Gaussian() as noise:
                square += times * noise.shift
            case RenyiStatement() | ConcentratedStatement() as statement:
                statements.append((statement, times))
                last, free = statement if free else last, False
            case mechanism if free and has_choice(mechanism):
                free = False
                for chosen, count in ((True, 1), (False, times - 1)):
                    profile = profile_of(mechanism, bits, chosen=chosen)
                    profile = ReversedProfile(profile) if added else profile
                    found += [Piece(profile, count)] * (count > 0)
            case _:
                for mechanism, sides in _parts(run.mechanism):
                    outcomes = outcomes_of(mechanism, bits)
                    if outcomes is not None:
                        outcomes = outcomes.turned() if added else outcomes
                        few.append((outcomes, times, sides))
                        continue
                    profile = profile_of(mechanism, bits)
                    profile = ReversedProfile(profile) if added else profile
                    found.append(Piece(profile, times, sides))
    asked = grid.budget, grid.delta
    found += _divergences(statements, last, square, asked, together=together)
    found += _grouped(few)
    if several_pairs:
        stages = [_stage(*each, added=added) for each in several_pairs]
        size = grid_size(float(grid.step.loss(1)), steps)
        found.append(Piece(adaptive_profile(stages, size, limits), 1))
    return found


def _divergences(
    statements: Sequence[tuple[Statement, int]],
    last: Statement | None,
    square: Fraction,
    asked: tuple[float | None, float | None],
    *,
    together: bool,
) -> Iterator[Piece]:
    """Yield what Gaussian noise, and statements about divergences, are together.

    Args:
        last: The one of them that has the worst pair after all that came; None if none may.
        square: Of the shift of all the noise: N(m_k, 1) against N(0, 1), each independent of the
            others, are N(m, 1) against N(0, 1) with m² = Σ m_k², as what lies across the line of
            all shifts is the same on both sides; and they dominate runs that are chosen adaptively
            (Dong, Roth, Su, Gaussian differential privacy, 2022, corollary 3.3). Statements but
            the last one allow some such noise, or two outcomes that cost more (`witnesses`).
        together: Whether divergences add up. What is run between them must be dominated by one
            pair, whatever came before: it is a random function of that pair's outcome, which may
            as well come first. Several worst pairs that are chosen from are no such pair.
    """
    if not statements:
        if square:
            yield Piece(noise_of(square), 1)
        return
    attained = square
    every = worst_of_all(statements, square, asked)
    for (statement, times), told in zip(statements, every, strict=True):
        own, rest = shift_of(statement), times - (statement is last)
        if told is None or not rest:
            attained += rest * own
        else:
            p, q = map(to_ball, told[:2])
            low, high = ((1 - p) / (1 - q)).log(), (p / q).log()
            two = Outcomes([(1 - p, 1 - q), (p, q)], losses=(low, high - low))
            yield Piece(two.power(rest).profile(), 1, (_BELOW,))
        if statement is last:
            known = Divergences.of([(statement, 1)])
            yield Piece(StatementProfile(known, noise_of(own), statement), 1, (_BELOW,))
    sums = [(statements, 1)] if together else [([(each, 1)], n) for each, n in statements]
    for summed, times in sums:
        yield Piece(StatementProfile(Divergences.of(summed), Equal()), times, (_ABOVE,))
    for own, side in ((square, _ABOVE), (attained, _BELOW)):
        if own:
            yield Piece(noise_of(own), 1, (side,))


def _grouped(few: Sequence[_Few]) -> Iterator[Piece]:
    """Yield pieces of outcomes: one, if all runs are of few ones; else groups."""
    sides = {own for _, _, own in few}
    if len(sides) == 1 and prod(one.count(times) for one, times, _ in few) <= MOST_LOSSES:
        whole = reduce(Outcomes.beside, (one.power(times) for one, times, _ in few))
        yield Piece(whole.profile(), 1, *sides)
        return
    for one, times, own in few:
        for size, count in group_sizes(one, times):
            yield Piece(one.power(size).profile(), count, own)


def resolution_of(run: RepeatedRun) -> float | None:
    """The step whose cost for all runs is about that of the losses at which pairs are known."""
    inner, _ = unsampled(run.mechanism)
    if not isinstance(inner, Between) or inner.resolution is None:
        return None
    return float(inner.resolution * run.times**0.5)


def are_attained(runs: Sequence[RepeatedRun]) -> bool:
    """Whether pairs are known that attain what bounds all runs together."""
    others = [run for run in runs if not is_attained(run.mechanism)]
    if any(run.times > 1 or not has_choice(run.mechanism) for run in others):
        return False
    return not others or (
        len(others) == 1 and not any(_with_several_pairs(run.mechanism) for run in runs)
    )


def _with_several_pairs(mechanism: Mechanism) -> tuple[Between, Fraction] | None:
    """Return a mechanism whose worst pairs are known and several, and the rate of its sample."""
    inner, rate = unsampled(mechanism)
    return (inner, rate) if isinstance(inner, Between) and inner.worst else None


def _stage(inner: Between, rate: Fraction, times: int, *, added: bool) -> Stage:
    share = to_ball(rate)

    def masses(pair: Masses) -> list[tuple[arb, arb]]:
        both = [(to_ball(p), to_ball(q)) for p, q in pair]
        sampled = [(share * p + (1 - share) * q, q) for p, q in both]
        return [(q, p) for p, q in sampled] if added else sampled

    return Stage([*map(masses, inner.worst)], [*map(masses, inner.chosen)], times)


def _parts(mechanism: Mechanism) -> list[tuple[Mechanism, tuple[BoundSide, ...]]]:
    """One pair, or one from above and one from below."""
    inner, rate = unsampled(mechanism)
    if not isinstance(inner, Between):
        return [(mechanism, _BOTH)]
    ends: tuple[Mechanism, Mechanism] = (inner.above, inner.below)
    if inner is not mechanism:
        ends = Subsampled(inner.above, rate), Subsampled(inner.below, rate)
    return [(each, (side,)) for each, side in zip(ends, BoundSide, strict=True)]
