"""What a certificate of a composition states, compared with what the check finds.

    runs ─ pairs of the check's own ─┐
    masses of the file ──────────────┴─ on the right side?  ─ products ─ H at budgets ─ intervals

Runs on the same data are all for one direction: two data sets of which one has a record more. The
least δ is the greater of those of removing and of adding the record; where every pair dominates
its reversal one direction is enough. Programs have a pair for each side (`programs`).

Products from above dominate all that may be run, chosen adaptively or not; those from below are
attained by pairs that are run independently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import assert_never

from flint import arb

from dipapprox.certificates.compositions import (
    ApproximateRun,
    CertificateAgainstComposition,
    CertificateOfComposition,
    ConcentratedRun,
    Direction,
    DiscreteGaussianRun,
    DiscreteLaplaceRun,
    ExponentialRun,
    GaussianRun,
    LaplaceRun,
    PieceOfRun,
    ProgramRun,
    RecordedGrid,
    RecordedRun,
    RenyiRun,
    ResponseRun,
)
from dipapprox.checking.claims import CompositionClaim
from dipapprox.checking.compositions.losses import Compared, Distribution, Scale, Whole, spread
from dipapprox.checking.compositions.pairs import (
    BoundedRangePair,
    FinitePair,
    GaussianPair,
    LaplacePair,
    Pair,
    RenyiPair,
    grouped,
    noise_pair,
    sampled,
)
from dipapprox.checking.compositions.programs import ProgramPairs
from dipapprox.checking.partial_result import PartialResult
from dipapprox.checking.values import Stuck
from dipapprox.digits import exact_text
from dipapprox.distributions import Distribution as Law
from dipapprox.distributions import Family
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.precision import precision, to_ball, to_enclosure

OfComposition = CertificateOfComposition | CertificateAgainstComposition

_SPARE = 24
"""Bits by which products are kept finer than the file's masses."""

_CUT = 2 ** (_SPARE + 6)
"""Of products, in their unit; the run cuts 2^20 units of the file or more."""

_PROFILE_BITS, _PROFILE_UNIT = 256, 100

_MORE_ACCURATE = 48
"""Bits by which probabilities of programs are more accurate than a unit."""

_MOST_DENSE = 2**22


def claim_of_composition(record: OfComposition) -> CompositionClaim:
    """Return what a certificate states."""
    ends = record.eps_prv_enclosure
    return CompositionClaim(
        record.claim.eps_prv,
        record.claim.delta,
        None if ends is None else (ends.lower, ends.upper),
        tuple((each.eps_prv, each.delta.enclosure) for each in record.deltas),
    )


def examine_composition(record: OfComposition, partial: PartialResult, limits: Limits) -> None:
    """Examine all that a certificate states about its pipeline.

    Raises:
        Stuck: If a pair has too many outcomes.
        LimitReached: If `limits` run out.
    """
    directions: list[bool] = [False]
    sampled = any(run.subsample not in (None, 1) for run in record.runs)
    if sampled or (record.grid is not None and record.grid.added is not None):
        directions.append(True)
    programs = _Programs(record, partial, limits)
    found: list[list[Enclosure]] = []
    for added in directions:
        if record.grid is None:
            found.append(_alone(record, programs, added=added))
            partial.bits = _PROFILE_BITS
            continue
        own = record.grid.added if added else record.grid.removed
        if own is None:
            partial.differ("grid.added", "the pairs of samples do not dominate their reversals")
            return
        name = "added" if added else "removed"
        check = _OfGrid(record, record.grid, own, name, programs, partial, limits)
        found.append(check.deltas(added=added))
        if partial.differences:
            return
    for stated, *both in zip(record.deltas, *found, strict=True):
        truth = Enclosure(max(e.lower for e in both), max(e.upper for e in both))
        said = stated.delta.enclosure
        where = f"delta at eps_prv {exact_text(stated.eps_prv)}"
        partial.compare(where, said, truth)
        partial.delta = truth if partial.delta is None else partial.delta
        if not (said.lower <= truth.lower and truth.upper <= said.upper):
            partial.reason = partial.reason or f"{where}: the masses do not imply the interval"


class _Programs:
    """The programs of a certificate, derived once at a precision."""

    def __init__(self, record: OfComposition, partial: PartialResult, limits: Limits) -> None:
        self._record = record
        self._partial = partial
        self._limits = limits
        self._known: dict[tuple[int, int], ProgramPairs] = {}
        self._pairs: dict[tuple[int, int, bool, bool], Pair] = {}

    def pair(self, number: int, bits: int, unit: int, *, added: bool, above: bool) -> Pair:
        """Return the pair of a run for one direction and side, for all mechanisms.

        Args:
            number: Of the run.
            bits: The working precision.
            unit: 2^-unit is what pairs are compared up to.
            added: Whether a record is added, not removed.
            above: Whether it is to bound the run from above.

        Raises:
            Stuck, NoBounds: If a program cannot be followed, or a pair has too many outcomes.
        """
        run = self._record.runs[number]
        what = run.what
        if not isinstance(what, ProgramRun):
            return pair_of(run, bits, added=added)
        key = number, bits, added, above
        if key not in self._pairs:
            own = self._known.get((number, bits))
            if own is None:
                where = f"runs[{number}].what"
                accuracy = min(bits, unit + _MORE_ACCURATE)
                own = ProgramPairs(what, where, accuracy, self._partial, self._limits)
                self._known[number, bits] = own
            rate = arb(1) if run.subsample is None else to_ball(run.subsample)
            self._pairs[key] = (
                own.above(rate, arb(2) ** -unit, added=added)
                if above
                else own.below(rate, added=added)
            )
        return self._pairs[key]


def _alone(record: OfComposition, programs: _Programs, *, added: bool) -> list[Enclosure]:
    """The least δ of one run, from its pair."""
    found = []
    with precision(_PROFILE_BITS):
        below, above = (
            programs.pair(0, _PROFILE_BITS, _PROFILE_UNIT, added=added, above=side)
            for side in (False, True)
        )
        doubt = arb(2) ** -_PROFILE_UNIT if isinstance(record.runs[0].what, ProgramRun) else arb(0)
        for stated in record.deltas:
            alpha = to_ball(stated.eps_prv).exp()
            first, second = below.set_at(alpha)
            lower = _enclosed(first - alpha * second).lower
            upper = _enclosed(above.most(alpha) + doubt).upper
            found.append(_in_unit(lower, upper))
    return found


class _OfGrid:
    """The examination of one direction."""

    def __init__(
        self,
        record: OfComposition,
        grid: RecordedGrid,
        direction: Direction,
        name: str,
        programs: _Programs,
        partial: PartialResult,
        limits: Limits,
    ) -> None:
        self._record = record
        self._grid = grid
        self._direction = direction
        self._name = name
        self._programs = programs
        self._partial = partial
        self._limits = limits

    def deltas(self, *, added: bool) -> list[Enclosure]:
        """Enclose the least δ at every budget that is stated, for this direction."""
        bits = self._grid.bits
        widest = max((abs(a.place) for p in self._pieces() for a in p.masses.atoms), default=1)
        working = bits + 2 * _SPARE + 2 * self._grid.unit.denominator.bit_length() + 96
        working += widest.bit_length()
        self._partial.bits = max(self._partial.bits, working)
        with precision(working):
            half = to_ball(self._grid.unit) / 2
            if self._grid.base is not None:
                half *= to_ball(self._grid.base).log()
            scale = Scale(half, bits)
            lower = self._side(scale, working, added=added, above=False)
            upper = self._side(scale, working, added=added, above=True)
        return [_in_unit(low.lower, high.upper) for low, high in zip(lower, upper, strict=True)]

    def _pieces(self) -> tuple[PieceOfRun, ...]:
        return (*self._direction.below, *self._direction.above)

    def _side(self, scale: Scale, bits: int, *, added: bool, above: bool) -> Sequence[Enclosure]:
        pieces = self._direction.above if above else self._direction.below
        number = sum(piece.times for piece in pieces)
        # What dominates a program is compared with its pairs up to a unit, too.
        programs = sum(
            piece.times * piece.group
            for piece in pieces
            if isinstance(self._record.runs[piece.run].what, ProgramRun)
        )
        slip = arb(0) if above else to_ball(self._grid.slip)
        whole: Whole | None = None
        surplus = arb(1)
        for k, piece in enumerate(pieces):
            losses = Distribution(piece.masses, scale, slip / number)
            pair = self._pair(piece, bits, scale.bits, added=added, above=above)
            if self._partial.differences:
                raise Stuck("the rest is not looked at")
            compared = (losses.is_above if above else losses.is_below)(pair, self._limits)
            self._note(f"{'above' if above else 'below'}[{k}]", compared)
            if losses.places and losses.places[-1] - losses.places[0] > _MOST_DENSE:
                raise Stuck("the grid has too many places")
            if losses.total > 1 << scale.bits:
                surplus *= (arb(losses.total) * scale.unit) ** piece.times
            several = spread(losses, scale, _SPARE, above=above).power(
                piece.times, _CUT, self._limits
            )
            whole = several if whole is None else whole.times(several, _CUT, self._limits)
        assert whole is not None, "a direction has pieces"
        doubt = (number + programs) * surplus * scale.unit
        found = []
        for stated in self._record.deltas:
            value = whole.at(to_ball(stated.eps_prv), slip, scale)
            found.append(_enclosed(value + doubt if above else value - doubt))
        return found

    def _pair(self, piece: PieceOfRun, bits: int, unit: int, *, added: bool, above: bool) -> Pair:
        pair = self._programs.pair(piece.run, bits, unit, added=added, above=above)
        if piece.group == 1:
            return pair
        if not isinstance(pair, FinitePair):
            raise Stuck("a group of runs that have more than some outcomes")
        return grouped(pair, piece.group)

    def _note(self, where: str, compared: Compared) -> None:
        if compared.false is not None:
            self._partial.differ(f"grid.{self._name}.{where}", compared.false)
        elif compared.open is not None:
            reason = f"grid.{self._name}.{where}: not told {compared.open}"
            self._partial.reason = self._partial.reason or reason


def pair_of(run: RecordedRun, bits: int, *, added: bool) -> Pair:
    """Return the pair of a run, for one direction.

    Args:
        run: Of the certificate.
        bits: The working precision of the block in which it is used.
        added: Whether a record is added, not removed.

    Raises:
        Stuck: If it has too many outcomes.
    """
    rate = arb(1) if run.subsample is None else to_ball(run.subsample)
    return sampled(_unsampled(run, bits), rate, added=added)


def _unsampled(run: RecordedRun, bits: int) -> Pair:
    match run.what:
        case GaussianRun(sensitivity=sensitivity, sigma=sigma):
            return GaussianPair(to_ball(sensitivity / sigma))
        case LaplaceRun(sensitivity=sensitivity, scale=scale):
            return LaplacePair(to_ball(sensitivity / scale))
        case DiscreteLaplaceRun(sensitivity=sensitivity, scale=scale):
            return _noise(Family.DISCRETE_LAPLACE, sensitivity, scale, bits)
        case DiscreteGaussianRun(sensitivity=sensitivity, sigma=sigma):
            return _noise(Family.DISCRETE_GAUSSIAN, sensitivity, sigma, bits)
        case ResponseRun(probability=probability, values=values):
            other = (1 - probability) / (values - 1)
            return FinitePair([*_balls(_response(probability, other))])
        case ExponentialRun(eps=eps):
            return BoundedRangePair(to_ball(eps))
        case ApproximateRun(eps=eps, delta=delta):
            odds = to_ball(eps).exp()
            likely, unlikely = ((1 - to_ball(delta)) * each / (1 + odds) for each in (odds, 1))
            sure = [(to_ball(delta), arb(0)), (arb(0), to_ball(delta))] if delta else []
            either = [(likely, unlikely), (unlikely, likely)] if delta < 1 else []
            return FinitePair([*sure, *either])
        case RenyiRun(orders=orders):
            return RenyiPair([(to_ball(a), to_ball(b)) for a, b in orders], arb(0))
        case ConcentratedRun(rho=rho):
            return RenyiPair((), to_ball(rho))
        case ProgramRun():
            raise BrokenInvariant("a program has a pair for each side")
        case _:
            assert_never(run.what)


def _response(probability: Fraction, other: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
    yield probability, other
    yield other, probability
    rest = 1 - probability - other
    if rest:
        yield rest, rest


def _balls(masses: Iterator[tuple[Fraction, Fraction]]) -> Iterator[tuple[arb, arb]]:
    for p, q in masses:
        yield to_ball(p), to_ball(q)


def _noise(family: Family, sensitivity: int, scale: Fraction, bits: int) -> FinitePair:
    laws = [Law(family, Fraction(mean), scale) for mean in (0, sensitivity)]
    return noise_pair(laws[0], laws[1], bits)


def _enclosed(ball: arb) -> Enclosure:
    found = to_enclosure(ball)
    if isinstance(found, NotEnclosed):
        raise Stuck("a number is not finite")
    return found


def _in_unit(lower: Fraction, upper: Fraction) -> Enclosure:
    low = min(max(lower, Fraction(0)), Fraction(1))
    return Enclosure(low, max(min(upper, Fraction(1)), low))
