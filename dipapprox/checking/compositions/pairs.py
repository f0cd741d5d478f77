"""The checker's pairs of distributions: one that dominates each mechanism of a certificate.

Of a pair (P, Q) two things are asked: H(τ) = sup_S P(S) - τ Q(S), in balls that hold it for every τ
of a ball, and the masses of *one* set, chosen at the middle of τ. Both are made of

    Gaussian          half-lines x > c of N(m, 1) and N(0, 1), c = ln τ / m + m / 2
    Laplace           half-lines x < c of laws about 0 and m, c = (m - ln τ) / 2 between 0 and m
    finitely many     outcomes whose p - τ q is positive; discrete noise has those of a table
    bounded range     the largest of the two-valued pairs: (√E - √τ)² / (E - 1), E = e^eps
    Rényi             max_y (1 - τ y) y^(λ-1) e^((λ-1) divergence) over y > 0, either way round

as H is at least 0 and 1 - τ, the largest of these and what a clamped threshold gives is H. With a
Poisson sample of rate r, P' = r P + (1 - r) Q, the best sets are best at another τ:

    P' against Q      S at (α - 1 + r) / r
    Q against P'      the complement of S at (1 - α (1 - r)) / (α r).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import combinations, pairwise
from math import comb
from typing import ClassVar, Protocol

from flint import arb

from dipapprox.checking.integers import IntegerRange
from dipapprox.checking.values import Stuck
from dipapprox.data_classes import dataclass
from dipapprox.distributions import Distribution
from dipapprox.limits import asking

_MOST_OUTCOMES = 2**20
_MOST_COUNTS = 2**16


@dataclass(frozen=True, slots=True)
class Known:
    """P mass where Q has none, and Q mass where P has none; at least."""

    infinite: arb
    lost: arb


NOTHING = Known(arb(0), arb(0))


class Pair(Protocol):
    """A pair of distributions; to be used at one working precision."""

    @property
    def known(self) -> Known:
        """What is at infinite losses."""

    @property
    def tight(self) -> bool:
        """Whether H is no less than the balls of `most` for some mechanism; else they bound it."""

    def most(self, threshold: arb) -> arb:
        """Return a ball whose upper end is at least H(τ), for every τ > 0 of a ball."""

    def set_at(self, threshold: arb) -> tuple[arb, arb]:
        """Enclose the masses of a set that is best at about τ > 0."""


def _largest(*values: arb) -> arb:
    found, *others = values
    for value in others:
        found = found.max(value)
    return found


def _product(factors: Iterable[arb]) -> arb:
    return reduce(arb.__mul__, factors)


def _clamped(value: arb, low: arb, high: arb) -> arb:
    return value.max(low).min(high)


@dataclass(frozen=True, slots=True)
class GaussianPair:
    """N(m, 1) and N(0, 1), m > 0."""

    shift: arb

    known: ClassVar[Known] = NOTHING
    tight: ClassVar[bool] = True

    def most(self, threshold: arb) -> arb:
        """See `Pair`."""
        first, second = self.set_at(threshold)
        return first - threshold * second

    def set_at(self, threshold: arb) -> tuple[arb, arb]:
        """See `Pair`; the ball holds the masses of the best set of every τ."""
        root = arb(2).sqrt()
        place = threshold.log() / self.shift + self.shift / 2
        return ((place - self.shift) / root).erfc() / 2, (place / root).erfc() / 2


@dataclass(frozen=True, slots=True)
class LaplacePair:
    """Laplace laws of scale 1 about 0 and m > 0."""

    shift: arb

    known: ClassVar[Known] = NOTHING
    tight: ClassVar[bool] = True

    def most(self, threshold: arb) -> arb:
        """See `Pair`."""
        place = _clamped((self.shift - threshold.log()) / 2, arb(0), self.shift)
        first, second = self._below(place)
        return _largest(arb(0), 1 - threshold, first - threshold * second)

    def set_at(self, threshold: arb) -> tuple[arb, arb]:
        """See `Pair`."""
        loss = threshold.log().mid()
        if loss >= self.shift.mid():
            return arb(0), arb(0)
        if loss <= -self.shift.mid():
            return arb(1), arb(1)
        return self._below(_clamped((self.shift - loss) / 2, arb(0), self.shift))

    def _below(self, place: arb) -> tuple[arb, arb]:
        """The masses of x < place, for places between 0 and m."""
        return 1 - (-place).exp() / 2, (place - self.shift).exp() / 2


NO_MASS = arb(0), arb(0)


class FinitePair:
    """Outcomes of masses (p, q); an exact 0 means that there is none.

    Args:
        masses: Of every outcome.
        missing: At least the masses (p, q) of all further ones together.
        tight: See `Pair`.

    Attributes:
        masses: Of every outcome.
        missing: Upper bounds of the masses of all further ones.
    """

    def __init__(
        self,
        masses: Sequence[tuple[arb, arb]],
        missing: tuple[arb, arb] = NO_MASS,
        *,
        tight: bool = True,
    ) -> None:
        self.tight = tight
        self.masses = masses
        self.missing = missing[0].upper(), missing[1].upper()
        self._missing = arb(0).union(self.missing[0])
        infinite = sum((p for p, q in asking(masses) if q.is_zero()), arb(0))
        lost = sum((q for p, q in asking(masses) if p.is_zero()), arb(0))
        self.known = Known(infinite, lost)
        atoms = []
        self._loose: list[tuple[arb, arb]] = []
        spread = arb(0)
        for p, q in asking(masses):
            if p.is_zero() or q.is_zero():
                continue
            ratio = p / q
            relative = (ratio.rad() / ratio.mid()).upper() if ratio > 0 else arb(1)
            if not relative < _TOLD:
                self._loose.append((p, q))
                continue
            spread = max(spread, relative)
            atoms.append((ratio.mid(), p, q))
        atoms.sort(key=lambda atom: atom[0])
        self._spread = spread
        self._places = [atom[0] for atom in atoms]
        self._atoms = [(p, q) for _, p, q in atoms]
        firsts, seconds = [infinite], [arb(0)]
        for p, q in asking(reversed(self._atoms)):
            firsts.append(firsts[-1] + p)
            seconds.append(seconds[-1] + q)
        self._firsts, self._seconds = firsts[::-1], seconds[::-1]

    def most(self, threshold: arb) -> arb:
        """See `Pair`; what balls leave open is the positive part of its ball."""
        middle = threshold.mid()
        doubt = 4 * (self._spread + threshold.rad() / middle)
        low = bisect_left(self._places, (middle * (1 - doubt)).lower())
        high = bisect_right(self._places, (middle * (1 + doubt)).upper())
        found = self._firsts[high] - threshold * self._seconds[high] + self._missing
        for p, q in (*self._atoms[low:high], *self._loose):
            found += (p - threshold * q).max(arb(0))
        return found

    def set_at(self, threshold: arb) -> tuple[arb, arb]:
        """See `Pair`."""
        start = bisect_right(self._places, threshold.mid())
        return self._firsts[start], self._seconds[start]


_TOLD = arb(1) / 64


@dataclass(frozen=True, slots=True)
class BoundedRangePair:
    """Losses in an interval of length eps about 0; a pair that has some has losses ± eps/2."""

    eps: arb

    known: ClassVar[Known] = NOTHING
    tight: ClassVar[bool] = True

    def most(self, threshold: arb) -> arb:
        """See `Pair`."""
        top = self.eps.exp()
        inner = _clamped(threshold, 1 / top, top)
        gap = top.sqrt() - inner.sqrt()
        return _largest(arb(0), 1 - threshold, gap * gap / (top - 1))

    def set_at(self, threshold: arb) -> tuple[arb, arb]:
        """See `Pair`."""
        loss, half = threshold.log().mid(), self.eps / 2
        if loss >= half.mid():
            return arb(0), arb(0)
        if loss <= -half.mid():
            return arb(1), arb(1)
        odds = half.exp()
        return odds / (1 + odds), 1 / (1 + odds)


@dataclass(frozen=True, slots=True)
class RenyiPair:
    """What Rényi divergences allow; no pair is known that attains it.

    Attributes:
        orders: (λ, divergence), …; empty for zCDP.
        rho: Of zCDP, whose divergence is rho λ at every λ.
    """

    orders: Sequence[tuple[arb, arb]]
    rho: arb

    known: ClassVar[Known] = NOTHING
    tight: ClassVar[bool] = False

    def most(self, threshold: arb) -> arb:
        """See `Pair`."""
        turned = 1 - threshold + threshold * self._bound(1 / threshold)
        return self._bound(threshold).min(turned).min(arb(1))

    def set_at(self, threshold: arb) -> tuple[arb, arb]:
        """See `Pair`: all or nothing."""
        return (arb(1), arb(1)) if threshold.mid() < 1 else (arb(0), arb(0))

    def _bound(self, threshold: arb) -> arb:
        found = arb(1)
        for order, divergence in self.orders or [self._best(threshold)]:
            # (1 - τ y) y^(λ-1) is largest at y = (λ - 1) / (λ τ).
            place = (order - 1) / (order * threshold)
            found = found.min(((place.log() + divergence) * (order - 1)).exp() / order)
        return found

    def _best(self, threshold: arb) -> tuple[arb, arb]:
        """The order at which rho (2 λ - 1) + ln(1 - 1/λ) = ln τ, about; any order is right."""
        loss = threshold.log().mid()
        low, high = arb(1) + arb(2) ** -60, arb(2) ** 60
        for _ in range(_HALVINGS):
            middle = ((low + high) / 2).mid()
            slope = self.rho * (2 * middle - 1) + (1 - 1 / middle).log() - loss
            if slope.mid() < 0:
                low = middle
            else:
                high = middle
        return high, self.rho * high


_HALVINGS = 160


@dataclass(frozen=True, slots=True)
class SampledPair:
    """A record's removal, or its adding, before a Poisson sample; rate 1 is no sample."""

    pair: Pair
    rate: arb
    added: bool

    @property
    def tight(self) -> bool:
        """As the pair is."""
        return self.pair.tight

    @property
    def known(self) -> Known:
        """Where all are sampled as in the pair; else only one law can be alone."""
        inner = self.pair.known
        infinite = self.rate * inner.infinite
        lost = inner.lost if self.rate == 1 else arb(0)
        return Known(lost, infinite) if self.added else Known(infinite, lost)

    def most(self, threshold: arb) -> arb:
        """See `Pair`."""
        inner = self._inner(threshold)
        if inner > 0:
            value = self.pair.most(inner)
        elif inner <= 0:
            value = 1 - inner
        else:  # H(0) = 1, and H has slopes in [-1, 0]
            value = 1 + abs(inner).upper() * arb(0, 1)
        if self.added:
            return 1 - threshold + threshold * self.rate * value
        return self.rate * value

    def set_at(self, threshold: arb) -> tuple[arb, arb]:
        """See `Pair`."""
        inner = self._inner(threshold).mid()
        first, second = self.pair.set_at(inner) if inner > 0 else (arb(1), arb(1))
        first = self.rate * first + (1 - self.rate) * second
        return (1 - second, 1 - first) if self.added else (first, second)

    def _inner(self, threshold: arb) -> arb:
        if self.added:
            return (1 - threshold * (1 - self.rate)) / (threshold * self.rate)
        return (threshold - 1 + self.rate) / self.rate


def sampled(pair: Pair, rate: arb, *, added: bool) -> Pair:
    """Return a pair for one direction of add/remove, on a sample of some rate."""
    if not isinstance(pair, FinitePair):
        return SampledPair(pair, rate, added)
    masses = [(rate * p + (1 - rate) * q, q) for p, q in asking(pair.masses)]
    if rate == 1:
        masses = [*pair.masses]
    first, second = pair.missing
    first = rate * first + (1 - rate) * second
    if added:
        masses = [(q, p) for p, q in masses]
        first, second = second, first
    return FinitePair(masses, (first, second), tight=pair.tight)


def noise_pair(first: Distribution, second: Distribution, bits: int) -> FinitePair:
    """Return two laws of whole numbers as a pair: a table of values that both of them have.

    What it lacks is missing, less than 2^-bits.

    Raises:
        Stuck: If a table of twice the bits lacks more, or would be too long.
    """
    for more in (2, 3, 4):
        table = IntegerRange((first, second), more * bits // 2)
        if table.size > _MOST_OUTCOMES:
            raise Stuck(f"noise has more than {_MOST_OUTCOMES} values")
        ones, others = (table.density(law, None, None) for law in (first, second))
        both = list(zip(ones, others, strict=True))
        kept = [(p, q) for p, q in asking(both) if not p.is_zero() and not q.is_zero()]
        missing = (
            sum((p for p, q in asking(both) if q.is_zero()), table.lost(first)),
            sum((q for p, q in asking(both) if p.is_zero()), table.lost(second)),
        )
        if all(each < arb(2) ** -bits for each in missing):
            return FinitePair(kept, missing)
    raise Stuck("masses of noise are too small to be told from 0")


def grouped(pair: FinitePair, times: int) -> FinitePair:
    """Return so many runs of a pair of few outcomes: how often each came up.

    Raises:
        Stuck: If there would be too many losses.
    """
    outcomes = [(p, q) for p, q in pair.masses if not p.is_zero() and not q.is_zero()]
    kinds = len(outcomes)
    ends = [
        (1 - (1 - pair.known.infinite) ** times, arb(0)),
        (arb(0), 1 - (1 - pair.known.lost) ** times),
    ]
    # Some run of all has an outcome that is missing.
    missing = times * pair.missing[0], times * pair.missing[1]
    if not kinds:
        return FinitePair(ends, missing, tight=pair.tight)
    if kinds == 1:
        ((p, q),) = outcomes
        return FinitePair([(p**times, q**times), *ends], missing, tight=pair.tight)
    # The first is a bound of the second, which may be a long number.
    if times >= _MOST_COUNTS or comb(times + kinds - 1, kinds - 1) > _MOST_COUNTS:
        raise Stuck(f"a group has more than {_MOST_COUNTS} losses")
    powers = [[(p**n, q**n) for n in asking(range(times + 1))] for p, q in outcomes]
    found = []
    for bars in asking(combinations(range(times + kinds - 1), kinds - 1)):
        counts = [b - a - 1 for a, b in pairwise((-1, *bars, times + kinds - 1))]
        first = second = arb.fac_ui(times) / _product(map(arb.fac_ui, counts))
        for place, count in enumerate(counts):
            p, q = powers[place][count]
            first *= p
            second *= q
        found.append((first, second))
    return FinitePair([*found, *ends], missing, tight=pair.tight)
