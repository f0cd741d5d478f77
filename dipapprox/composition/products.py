"""Runs in pieces of one profile each: what a composition multiplies.

    several worst pairs    one piece for all such mechanisms, in the order of runs (`adaptive`)
    few outcomes           groups of runs, or all runs (`catalogue`)
    noise alone            one piece, if a closed form has few terms (`shifted_noise`)
    Gaussian noise         one piece, of one shift
    divergences            one piece: they add up
    one bounded range      one piece for all its runs, each of another pair (`adaptive`)
    many pairs to choose   of one run that which is worst after all that came
    bounded by two pairs   one piece from above, another one from below
    anything else          its profile, as often as it is run

The pieces from above together dominate the runs, and those from below are attained: by pairs that
are run first, independently, and then by those that are chosen adaptively.

Runs on one grid: the loss distribution of every piece, from both sides, and their product.

run: pieces ─ profile ─ knots ─┬─ from above ─ factor ─┐
                               └─ from below ─ factor ─┤  powers, product
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from math import prod

from dipapprox.arithmetic.precision import to_ball
from dipapprox.composition.catalogue import (
    MOST_LOSSES,
    DiscreteProfile,
    Outcomes,
    greatest_loss,
    group_sizes,
    has_choice,
    is_attained,
    outcomes_of,
    profile_of,
)
from dipapprox.composition.chosen_runs import (
    MOST_OF_BLOCK,
    Chosen,
    blocks_of,
    chosen_pairs,
    pair_below,
)
from dipapprox.composition.divergences import Divergences, Statement, shift_of
from dipapprox.composition.grid import Knot, ProfileOnGrid, between, choose_knots
from dipapprox.composition.losses import BoundSide, GridLosses
from dipapprox.composition.mechanisms import (
    Between,
    ConcentratedStatement,
    Gaussian,
    Laplace,
    Mechanism,
    RenyiStatement,
    Subsampled,
    unsampled,
)
from dipapprox.composition.powers import (
    LossGrid,
    PairWay,
    bits_of,
    from_above,
    from_below,
    outcomes_above,
)
from dipapprox.composition.profile import BallProfile, ReversedProfile
from dipapprox.composition.shifted_noise import ShiftedNoise
from dipapprox.composition.stated_runs import MOST_STATED, grouped, is_gone_through, stated_profile
from dipapprox.composition.statements import StatementProfile, worst_of_all
from dipapprox.data_classes import Record
from dipapprox.errors import UserError

_BOTH = _ABOVE, _BELOW = BoundSide.ABOVE, BoundSide.BELOW


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


def working_bits(grid: LossGrid) -> int:
    """The precision at which pieces are made, used, and put on a grid."""
    return grid.bits + 2 * max(bits_of(grid.step.unit), 0) + 64


def pieces_of(runs: Sequence[RepeatedRun], grid: LossGrid, *, added: bool) -> list[Piece]:
    """Return the pieces of runs for a grid, at its working precision.

    Args:
        runs: In the order in which those are run of which pairs are chosen.
        added: Whether the profiles are those of the adding of a record.
    """
    bits = working_bits(grid)
    noise = _noise_of(runs)
    if noise is not None:
        return [Piece(noise.profile(bits), 1)]
    chosen: list[Chosen] = []
    stated: list[tuple[Statement, Fraction]] = []
    found: list[Piece] = []
    few: list[_Few] = []
    statements: list[tuple[Statement, int]] = []
    square = Fraction(0)
    stated_runs = _stated_runs(runs)
    last: Statement | None = None
    free = together = not any(chosen_pairs(run.mechanism, grid.way) for run in runs)
    for run in runs:
        inner, rate = chosen_pairs(run.mechanism, grid.way) or (None, Fraction(1))
        if isinstance(inner, Statement):
            stated.append((inner, rate))
            if stated_runs <= MOST_STATED:
                continue
        elif inner is not None:
            chosen.append((inner, rate, run.times))
            continue
        times = run.times
        match run.mechanism:
            case Gaussian() as one:
                square += times * one.shift.square
            case RenyiStatement() | ConcentratedStatement() as statement:
                statements.append((statement, times))
                last, free = statement if free else last, False
            case mechanism if free and has_choice(mechanism):
                free = False
                for worst, count in ((True, 1), (False, times - 1)):
                    profile = profile_of(mechanism, bits, chosen=worst)
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
    asked, above = (grid.budget, grid.delta), None
    if stated:
        (statement, rate), alone = stated[0], not (found or few or square)
        parts = grouped(statement, stated_runs)
        above = stated_profile(parts, rate, asked if alone else (None, None), added=added)
        found += [Piece(above, 1)] * (not statements)
    found += _divergences(statements, last, square, asked, bits, above, together=together)
    found += _grouped(few)
    if chosen:
        beside, step = sum(piece.times for piece in found), float(grid.step.loss(1))
        whole, blocks = blocks_of(chosen, beside, step, float(grid.share), added=added)
        sides = _BOTH if whole else (_ABOVE,)
        found += (Piece(profile, many, sides) for profile, many in blocks)
        for inner, rate, times in [] if whole else chosen:
            pair = pair_below(inner, rate, bits, added=added)
            found += _grouped([(pair, times, (_BELOW,))])
    return found


def summed_profile(runs: Sequence[RepeatedRun]) -> BallProfile | None:
    """What is above runs of one statement, as divergences add up, if others take long to bound.

    So do those of runs beside them: noise that is moved by m is m²/2-zCDP, and an ε-private run
    ε²/2-zCDP (Bun and Steinke, Concentrated differential privacy, 2016, propositions 1.6 and 1.4).
    """
    if PairWay.STATED not in pair_ways(runs):
        return None
    several = list[tuple[Statement, int]]()
    for run in runs:
        match run.mechanism:
            case RenyiStatement() | ConcentratedStatement() as own:
                pass
            case Gaussian(sensitivity) as noise:
                own = ConcentratedStatement(sensitivity**2 / (2 * noise.square))
            case other:
                most = greatest_loss(other, _ROUGH_BITS)
                if most is None:
                    return None
                own = ConcentratedStatement(most.upper**2 / 2)
        several.append((own, run.times))
    return StatementProfile(Divergences.of(several), ShiftedNoise().profile(_ROUGH_BITS))


def _noise_of(runs: Sequence[RepeatedRun]) -> ShiftedNoise | None:
    """All the noise, if nothing else is run, and its profile takes no grid."""
    whole = ShiftedNoise()
    for run in runs:
        if not isinstance(run.mechanism, Gaussian | Laplace):
            return None
        whole = whole.beside(run.mechanism.shift, run.times)
    return whole if whole.has_few_terms else None


def _divergences(
    statements: Sequence[tuple[Statement, int]],
    last: Statement | None,
    square: Fraction,
    asked: tuple[float | None, float | None],
    bits: int,
    above: BallProfile | None,
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
            the last one allow some such noise, or two outcomes that cost more (`statements`).
        above: What bounds statements, if more is known than that divergences add up.
        together: Whether they do. What is run between them must be dominated by one
            pair, whatever came before: it is a random function of that pair's outcome, which may
            as well come first. Several worst pairs that are chosen from are no such pair.
    """
    if not statements:
        if square:
            yield Piece(ShiftedNoise(square).profile(bits), 1)
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
            below = ShiftedNoise(own).profile(bits)
            yield Piece(StatementProfile(known, below, statement), 1, (_BELOW,))
    sums = [(statements, 1)] if together else [([(each, 1)], n) for each, n in statements]
    if above is not None:
        yield Piece(above, 1, (_ABOVE,))
        sums = []
    for summed, times in sums:
        below = ShiftedNoise().profile(bits)
        yield Piece(StatementProfile(Divergences.of(summed), below), times, (_ABOVE,))
    for own, side in ((square, _ABOVE), (attained, _BELOW)):
        if own:
            yield Piece(ShiftedNoise(own).profile(bits), 1, (side,))


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


def counts_of(runs: Sequence[RepeatedRun]) -> list[int]:
    """How often loss distributions are multiplied that runs become, about; at most that of few."""
    found = list[int]()
    if sum(run.times for run in runs) <= _FEW_RUNS:
        return [run.times for run in runs]
    for run in runs:
        inner, _ = unsampled(run.mechanism)
        outcomes = None if isinstance(inner, Between) else outcomes_of(run.mechanism, _ROUGH_BITS)
        if outcomes is not None:
            found += (count for _, count in group_sizes(outcomes, run.times))
        else:
            together = isinstance(run.mechanism, Gaussian | Statement)
            several = chosen_pairs(inner, PairWay.PAIRS)
            blocks = 1 + run.times // MOST_OF_BLOCK if several else run.times
            found.append(1 if together else blocks)
    return found


_ROUGH_BITS = 64
_FEW_RUNS = 100


def pair_ways(runs: Sequence[RepeatedRun]) -> list[PairWay]:
    """Return in which ways runs may be bounded, that which costs least first, as a rule.

    The order of two mechanisms of which pairs are chosen matters, and that of bounded ranges is
    nobody's to say: so they are one, which may come after all that has one pair above it.
    """
    several = any(chosen_pairs(run.mechanism, PairWay.PAIRS) for run in runs)
    ranged = [run for run in runs if chosen_pairs(run.mechanism, PairWay.RANGES)]
    count = sum(run.times for run in ranged)
    stated = [run for run in runs if isinstance(unsampled(run.mechanism)[0], Statement)]
    found = [PairWay.PAIRS]
    if count > 1 and not several and len({run.mechanism for run in ranged}) == 1:
        first = [PairWay.RANGES, *found * bool(stated)]
        found = first if count <= MOST_OF_BLOCK else [PairWay.PAIRS, PairWay.RANGES]
    if several and sum(run.times for run in stated if isinstance(run.mechanism, Statement)) > 1:
        found.append(PairWay.HULLS)
    if not several and len({run.mechanism for run in stated}) == 1:
        count, (statement, rate) = _stated_runs(runs), unsampled(stated[0].mechanism)
        near = isinstance(statement, Statement) and is_gone_through(statement, count)
        if count > 1 and near and (rate == 1 or count <= MOST_STATED):
            found.insert(0, PairWay.STATED)
    return found


def _stated_runs(runs: Sequence[RepeatedRun]) -> int:
    """How many of them are of statements about divergences."""
    return sum(run.times for run in runs if isinstance(unsampled(run.mechanism)[0], Statement))


def are_attained(runs: Sequence[RepeatedRun], way: PairWay) -> bool:
    """Whether pairs are known that attain what bounds all runs together."""
    if way is PairWay.STATED and _stated_runs(runs) > MOST_STATED:
        return False
    chosen = [chosen_pairs(run.mechanism, way) for run in runs]
    others = [
        run
        for run, pairs in zip(runs, chosen, strict=True)
        if pairs is None and not is_attained(run.mechanism)
    ]
    if any(run.times > 1 or not has_choice(run.mechanism) for run in others):
        return False
    return not others or (len(others) == 1 and not any(chosen))


def _parts(mechanism: Mechanism) -> list[tuple[Mechanism, tuple[BoundSide, ...]]]:
    """One pair, or one from above and one from below."""
    inner, rate = unsampled(mechanism)
    if not isinstance(inner, Between):
        return [(mechanism, _BOTH)]
    ends: tuple[Mechanism, Mechanism] = (inner.above, inner.below)
    if inner is not mechanism:
        ends = Subsampled(inner.above, rate), Subsampled(inner.below, rate)
    return [(each, (side,)) for each, side in zip(ends, BoundSide, strict=True)]


_MASS_THAT_MATTERS = 2.0**-12
"""Of one run at the losses that lead to the least ε: less may be kept on a coarser grid, where
profiles are smooth. Atoms between two knots cost more than the square of their distance."""

Factor = tuple[GridLosses, int]
"""The losses of a pair of measures on a grid, from one side, and how often it is run."""


def factors_of(
    pieces: Sequence[Piece], grid: LossGrid, sides: Sequence[BoundSide]
) -> dict[BoundSide, list[Factor]]:
    """Put pieces on a grid, from some sides, at its working precision."""
    found: dict[BoundSide, list[Factor]] = {side: [] for side in sides}
    step, share, bits = grid.step, grid.share, grid.bits
    runs = sum(piece.times for piece in pieces)
    for piece in pieces:
        profile, knot = piece.profile, ProfileOnGrid(piece.profile, step)
        own = [each for each in piece.sides if each in found]
        few = profile if isinstance(profile, DiscreteProfile) else None
        knots: list[Knot] = []
        if own and few is None:
            negligible, weight, steepness = float(share / 1024), float(grid.weight / 16), 0.0
            if grid.steepness:
                weight, steepness = _MASS_THAT_MATTERS * float(grid.weight), grid.steepness
            # What is off adds up over runs: of few runs among many, chords may lie higher.
            weight *= max(runs / (piece.times * len(pieces)), 1.0)
            knots = choose_knots(knot, negligible, weight, steepness)
        for side in own:
            if side is BoundSide.ABOVE:
                one = outcomes_above(few, step, bits) if few else from_above(knots, step, bits)
            else:
                middles = ((k.point.first, k.point.second) for k in between(knot, knots))
                one = from_below(few.lines() if few else middles, profile.ends, step, bits)
            found[side].append((one, piece.times))
    return found
