"""VerifyPair and VerifyDP: the divergence of two output distributions, and many pairs on a claim.

For one ordered pair (u, u') and E = e^eps_prv, Lemma 2 of the DiPApprox paper (section 5) asks for

    delta_{u,u'} = sum over outputs o of max(p_u(o) - E * p_u'(o), 0),

which is monotone in every p_u(o), p_u'(o) and E; so the ends of their enclosures give its ends
(the paper's VerifyPair). All arithmetic here is on exact rationals.

Growth. What an eps_prv multiplies probabilities with: e^eps_prv, exactly known.

**VerifyDP** (DiPApprox paper, Algorithms 3 and 4) with refinement per pair:

    for each ordered pair (u, u'):
        bits := the first precision
        enclose delta_{u,u'} at `bits`  --- <= delta --------->  next pair
            ^        |           |   |----- > delta ---------->  stop: Not_DP
            |    undecided   no enclosure
            |        |           |
            |    exact forms known? -- yes: compared exactly -->  next pair, or stop: Not_DP
            |        | no        | no
            |   bits left?       +---------------------------->  next pair, at best Unknown
            +-- yes -+-- no: critical, as far as these bits tell ->  next pair, at best Unknown

The ladder of precisions: an attempt is repeated with twice the bits until it is good enough. What
only has to become narrow climbs it by `refined`; a pair does not: a proof of either side ends it.
Nothing is kept per pair: only the number of pairs, the enclosure of the largest delta so far, and
of the undecided pairs their number and the closest one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TypeVar

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed, Side, compare
from dipapprox.arithmetic.extended import BY_ENCLOSURES, EXACTLY, Extended, GivenBy
from dipapprox.arithmetic.precision import exponential, sign_beside_exponential
from dipapprox.data_classes import Record, field, replace
from dipapprox.errors import BrokenInvariant
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.language.core import Input
from dipapprox.limits import Progress, check_limits, silent
from dipapprox.numerics.probability import ProbabilitySource
from dipapprox.pairs.selections import Orbit, Pair

_LARGEST_EPS_PRV = Fraction(10_000)
"""e^eps_prv is a number of about 1.44 * eps_prv bits; beyond this it is only bounded from below."""


class Factor(Record):
    """Bounds lower <= e^eps_prv <= upper; `upper` None stands for infinity."""

    lower: Fraction
    upper: Fraction | None

    def covers(self, other: Factor) -> bool:
        """Whether all that the other one allows lies within: what holds for this, holds there."""
        above = self.upper is None or (other.upper is not None and other.upper <= self.upper)
        return above and self.lower <= other.lower


def eps_prv_factor(eps_prv: Fraction, bits: int) -> Factor:
    """Enclose e^eps_prv, eps_prv >= 0, to a relative width of about 2**-bits."""
    if eps_prv > _LARGEST_EPS_PRV:
        return Factor(exponential(_LARGEST_EPS_PRV, bits).lower, None)
    enclosure = exponential(eps_prv, bits)
    return Factor(enclosure.lower, enclosure.upper)


class Growth(Record):
    """multiple * e^rate, at least 1, for a multiple > 0: what an eps_prv multiplies with."""

    rate: Fraction
    multiple: Fraction = Fraction(1)

    def is_below_one(self) -> bool:
        return sign_beside_exponential(Fraction(1), self.multiple, self.rate) > 0

    def bounds(self, bits: int) -> Factor:
        """Enclose it to a relative width of about 2**-bits."""
        factor = eps_prv_factor(abs(self.rate), bits)
        lower, upper = factor.lower, factor.upper
        if self.rate < 0:
            lower, upper = Fraction(0) if upper is None else 1 / upper, 1 / lower
        upper = None if upper is None else upper * self.multiple
        return Factor(max(lower * self.multiple, Fraction(1)), upper)  # whatever rounding says

    def at_one(self) -> ExponentialPolynomial:
        """Return a function of ε whose value at ε = 1 it is."""
        return ExponentialPolynomial.monomial(self.multiple, rate=self.rate)


Probabilities = Sequence[Enclosure]
"""Enclosures of the probabilities of all outputs, in one fixed order."""

_ZERO = Fraction(0)
_ONE = Fraction(1)


def divergence(first: Probabilities, second: Probabilities, factor: Factor) -> Enclosure:
    """Enclose delta_{u,u'}; `first` belongs to u, `second` to u'. Inside [0, 1]."""
    lower = upper = _ZERO
    for p, q in zip(first, second, strict=True):
        most = p.upper - factor.lower * q.lower
        if most <= 0:
            continue
        upper += most
        least = _least(p, q, factor)
        if least is not None and least > 0:
            lower += least
    return Enclosure(lower, min(upper, _ONE))


def certain_outputs(first: Probabilities, second: Probabilities, factor: Factor) -> tuple[int, ...]:
    """Return the indices of the outputs whose difference is certainly positive.

    Over this set the certified lower bound of the difference is the lower end of `divergence`.
    """
    bounds = (_least(p, q, factor) for p, q in zip(first, second, strict=True))
    return tuple(i for i, least in enumerate(bounds) if least is not None and least > 0)


def likely_outputs(first: Probabilities, second: Probabilities, factor: Factor) -> tuple[int, ...]:
    """Return the indices of the outputs whose difference is positive at the midpoints."""
    if factor.upper is None:
        return certain_outputs(first, second, factor)
    middle = factor.lower + factor.upper
    pairs = enumerate(zip(first, second, strict=True))
    return tuple(i for i, (p, q) in pairs if 2 * (p.lower + p.upper) > middle * (q.lower + q.upper))


def difference_over(
    outputs: Sequence[int], first: Probabilities, second: Probabilities, factor: Factor
) -> Enclosure:
    """Enclose Pr[P(u) in S] - e^eps_prv * Pr[P(u') in S] for a set S of output indices.

    Raises:
        ValueError: If no lower bound exists: `factor` has no upper end and S has an output that
            may occur under u'.
    """
    lower = upper = _ZERO
    for i in outputs:
        least = _least(first[i], second[i], factor)
        if least is None:
            raise ValueError("no lower bound without an upper end of e^eps_prv")
        lower += least
        upper += first[i].upper - factor.lower * second[i].lower
    return Enclosure(lower, min(upper, _ONE))


def _least(p: Enclosure, q: Enclosure, factor: Factor) -> Fraction | None:
    """Return the least possible p - e^eps_prv * q; None for -infinity."""
    if not q.upper:
        return p.lower
    return None if factor.upper is None else p.lower - factor.upper * q.upper


class ExactSide(Record):
    """On which side of the claimed delta delta_{u,u'} lies, proved without enclosures."""

    side: Side
    # If ABOVE: outputs over which the difference exceeds the claimed delta.
    outputs: tuple[int, ...]
    argument: str  # why, for people


class Attempt(Record):
    """What is known of one pair after an attempt at `bits` bits."""

    pair: Pair
    bits: int
    delta: Enclosure  # encloses delta_{u,u'}
    factor: Factor  # bounds of e^eps_prv
    # The distribution of u as last enclosed, empty if it never was; `second` of u'.
    first: Probabilities = ()
    second: Probabilities = ()
    obstacle: str | None = None  # why a distribution could not be enclosed; None if it could
    # What is proved of `delta` by more than enclosures; None if nothing is.
    proof: ExactSide | None = None

    @property
    def told(self) -> Extended:
        ends = self.delta.lower, self.delta.upper
        by = BY_ENCLOSURES if self.proof is None else (EXACTLY, EXACTLY)
        return Extended(*ends, *by)


class ExactPairs(ABC):
    """Decides single pairs by the exact forms of their probabilities, or what else is exact."""

    has_forms = True
    """Whether probabilities may have exact forms: then pairs are worth asking one by one."""

    @abstractmethod
    def decide(self, pair: Pair, bits: int) -> Attempt | NotEnclosed:
        """Compare delta_{u,u'} with the claimed delta exactly.

        Args:
            bits: Wanted width of the enclosures in the result: 2**-bits.

        Returns:
            An attempt that is not undecided; or why there are no exact forms.

        Raises:
            BrokenInvariant: If exact forms contradict each other.
        """

    def alike(self, pair: Pair) -> Attempt | None:
        """Return the same of a pair that needs no more than it may, as one that was decided does:
        outputs have the same two exact probabilities in another order, and delta is their sum."""
        return None


_OF_ONE_PAIR = BY_ENCLOSURES[0], "the δ of one pair"
_NOTHING = Extended(Fraction(0), Fraction(0))


class Search(Record, frozen=False):
    """One run over many pairs; the fields after `limits` are valid whenever the run ends."""

    source: ProbabilitySource
    delta: Fraction  # the claimed delta
    growth: Growth  # e^eps_prv, of the claimed eps
    ladder: tuple[int, ...]  # bits to ask for, ascending; at least one
    checked: int = 0  # pairs done, as far as they can be counted
    covers_all: bool = False  # whether pairs were looked at together
    # What is known of the largest delta_{u,u'} of the pairs so far, and who says so.
    known: Extended = _NOTHING
    bits: int = 0  # the most bits that any pair was attempted with
    undecided: int = 0  # number of pairs given up
    closest: Attempt | None = None  # of those the one with the greatest lower, then upper, bound
    # The last attempt at a pair that is neither decided nor given up.
    current: Attempt | None = None
    # The attempt that is certainly above `delta`; the run stops at the first.
    violation: Attempt | None = None
    # What decides pairs that enclosures leave undecided; None if nothing does.
    exact: ExactPairs | None = None
    exactly: int = 0  # number of pairs that it decided
    _factors: dict[int, Factor] = field(default_factory=dict)
    _latest: tuple[Input, int, Probabilities] | None = None

    def run(self, pairs: Iterable[Orbit], total: int | None, progress: Progress = silent) -> None:
        """Check pairs, each for all that it stands for, until one is certainly violated.

        Enclosures that contradict each other are a `BrokenInvariant`.
        """
        for pair, number in pairs:
            check_limits()
            given_up = self.undecided
            self.check(pair)
            self.checked += number
            self.undecided += (number - 1) * (self.undecided - given_up)
            progress(self.checked, total)
            if self.violation is not None:
                return

    def finish(self, total: int | None) -> None:
        """Make sure that all pairs were checked, so many: they are counted by another route than
        they are made."""
        if self.violation is None and total is not None and self.checked != total:
            raise BrokenInvariant(f"{self.checked} pairs were checked, but there are {total}")

    def told(self) -> Extended | None:
        """Bound the largest delta_{u,u'} of the pairs attempted; None if there are none.

        After a violation: of the violating pair alone.
        """
        if self.violation is not None:
            return self.violation.told
        if self.current is not None:
            return self.known.greater(self.current.told)
        return self.known if self.checked or self.covers_all else None

    def delta_enclosure(self) -> Enclosure | None:
        told = self.told()
        return None if told is None else told.enclosure()

    def nearest(self) -> Attempt | None:
        """Return the undecided attempt closest to a violation, an interrupted one included."""
        attempts = [a for a in (self.closest, self.current) if a is not None]
        return max(attempts, key=_closeness, default=None)

    def check(self, pair: Pair) -> None:
        """Decide one pair, or give it up; `checked` stays the caller's business."""
        attempt = None if self.exact is None else self.exact.alike(pair)
        if attempt is not None:
            self._record(attempt)
            self.exactly += 1
            return
        for bits in self.ladder:
            self.bits = max(self.bits, bits)
            attempt = self.attempt(pair, bits, attempt)
            if self._settle(attempt):
                return
            self.current = attempt
            if bits == self.ladder[0] and self.check_exactly(pair, attempt):
                return
            if attempt.obstacle is not None:
                break
        assert attempt is not None, "the ladder is empty"
        self.give_up(attempt)

    def check_exactly(self, pair: Pair, before: Attempt) -> bool:
        """Decide a pair by exact forms, which must agree with what was told before; False if it has
        none."""
        if self.exact is None:
            return False
        found = self.exact.decide(pair, before.bits)
        if isinstance(found, NotEnclosed):
            return False
        delta = before.delta.intersect(found.delta, EXACTLY, *_OF_ONE_PAIR)
        found = replace(found, delta=delta)
        if not found.first:
            found = replace(found, first=before.first, second=before.second)
        if not self._settle(found):
            raise BrokenInvariant("an exact comparison does not decide")
        self.bits = max(self.bits, found.bits)
        self.exactly += 1
        return True

    def _settle(self, attempt: Attempt) -> bool:
        """Record a pair whose delta is known to be at most, or above, the claimed one."""
        proof = attempt.proof
        match compare(attempt.delta, self.delta) if proof is None else proof.side:
            case Side.BELOW:
                self._record(attempt)
                return True
            case Side.ABOVE:
                self.current = None
                self.violation = attempt
                return True
            case Side.UNDECIDED:
                return False

    def give_up(self, attempt: Attempt) -> None:
        """Leave a pair undecided after its last attempt."""
        self._record(attempt)
        self.undecided += 1
        if self.closest is None or _closeness(attempt) > _closeness(self.closest):
            self.closest = attempt

    def cover(self, number: int, largest: Enclosure, by: GivenBy = BY_ENCLOSURES) -> None:
        """Count pairs that were looked at together; `largest` encloses their largest delta."""
        self.checked += number
        self.covers_all = True
        self.known = self.known.greater(Extended(largest.lower, largest.upper, *by))

    def attempt(self, pair: Pair, bits: int, before: Attempt | None = None) -> Attempt:
        """Enclose delta_{u,u'} at `bits` bits, inside what was known before."""
        factor = self.factor(bits)
        if pair[0] == pair[1]:
            # p - e^eps_prv p <= 0 for every output.
            return Attempt(pair, bits, Enclosure.exact(0), factor)
        known = UNIT if before is None else before.delta
        first, second = self._distributions(pair, bits)
        if isinstance(first, NotEnclosed) or isinstance(second, NotEnclosed):
            reasons = [each.reason for each in (first, second) if isinstance(each, NotEnclosed)]
            # The distributions of the one before are still true.
            true = () if before is None else (before.first, before.second)
            return replace(Attempt(pair, bits, known, factor, *true), obstacle=reasons[0])
        # One object stands for one distribution: p - e^eps_prv p <= 0 for every output.
        same = first is second
        delta = Enclosure.exact(0) if same else divergence(first, second, factor)
        delta = known.intersect(delta, f"enclosures of {bits} bits", *_OF_ONE_PAIR)
        return Attempt(pair, bits, delta, factor, first, second)

    def _record(self, attempt: Attempt) -> None:
        self.current = None
        told, known = attempt.told, self.known
        self.known = known.greater(told) if attempt.proof is None else told.greater(known)

    def _distributions(self, pair: Pair, bits: int) -> Sequence[Probabilities | NotEnclosed]:
        # Pairs come input by input, with the same input object in front: no look-up is needed,
        # and hashing an input of fractions would cost as much as the divergence.
        latest = self._latest
        if latest is not None and latest[0] is pair[0] and latest[1] == bits:
            return [latest[2], *self.source.distributions(pair[1:], bits)]
        found = self.source.distributions(pair, bits)
        self._latest = None if isinstance(found[0], NotEnclosed) else (pair[0], bits, found[0])
        return found

    def factor(self, bits: int) -> Factor:
        if bits not in self._factors:
            self._factors[bits] = self.growth.bounds(bits)
        return self._factors[bits]


def _closeness(attempt: Attempt) -> tuple[Fraction, Fraction]:
    return attempt.delta.lower, attempt.delta.upper


Found = TypeVar("Found")


def precisions(first: int, last: int) -> tuple[int, ...]:
    """Return the ladder first, 2 * first, 4 * first, … that ends with `last` (or is `first`)."""
    ladder = [first]
    while ladder[-1] < last:
        ladder.append(min(2 * ladder[-1], last))
    return tuple(ladder)


def refined(
    ladder: Iterable[int],
    attempt: Callable[[int, Found], Found | None],
    enough: Callable[[Found], bool],
    start: Found,
) -> Found:
    """Climb a ladder of bits, ascending, from what is known at the start until it is enough.

    Args:
        attempt: Called with bits and what is known; returns what is known then, or None, which ends
            the climb.
    """
    for bits in ladder:
        better = attempt(bits, start)
        if better is None:
            break
        start = better
        if enough(start):
            break
    return start
