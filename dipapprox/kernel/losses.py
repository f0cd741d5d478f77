"""Losses of pairs of distributions on a grid, bounded from above or from below.

For measures P, Q let H(a) = sup_S P(S) - a Q(S), a >= 0: with loss ln(dP/dQ), that is the integral
of (1 - a e^-loss)_+ over P. It is convex and does not increase; H(0) = 1 for distributions. Masses
m at losses l, and a mass at infinity, stand for

    F(a) = sum m (1 - a e^-l)_+ + mass at infinity,

which grows with every mass and every loss. They are above a pair if F >= H everywhere.

Composition. If the losses F are above a pair (P, Q), and G above each pair (P_y, Q_y), then their
convolution is above the pair of (y, z), y of P or Q and z of P_y or Q_y: its H is the integral of
H_y(a e^-loss(y)) over P, at most that of G(a e^-loss(y)), which is the sum over the masses n of G
at l of n H(a e^-l), at most the sum of n F(a e^-l). So it does not matter that what is run depends
on what came before.

From below. Let disjoint sets of outcomes have masses p by P and q by Q. H(a) >= sum (p - a q)_+, as
it is for any smaller p and larger q, if sets are joined, or left out. For two pairs that are
independent products of their sets are such sets, with products of the masses. Here p = m and
q = n e^-l for a set that stands at the loss l, whatever l is; a set without Q is at infinity.

Source: Sommer, Meiser, Mohammadi, Privacy loss classes, 2019; Zhu, Dong, Wang 2022, theorem 10.

Chosen runs. Let each run be of any of some pairs, chosen by what came before, and H_t be the
most that t runs to go may come to: H_0(a) = (1 - a)_+, and H_(t+1)(a) is the largest integral of
H_t(a e^-loss) over P. As H_t is convex, does not increase, and is 1 at 0, it is a mixture of
(1 - a x)_+, x >= 0: as above, with losses F above a pair its integral is at most the sum of
m H_t(a e^-l) and the mass at infinity. Runs F that are above all that they may be cost most before
all that are chosen: applied to a maximum of functions they are not below the maximum of what they
come to with each. From below, if a - x b <= H_t(x), a, b >= 0, and sets have p >= m, q <= n e^-l,
H_(t+1)(x) is at least the sum of p H_t(x q/p) >= m a - x n e^-l b, each set with a line of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from flint import arb, ctx, fmpz

from dipapprox.kernel.balls import lower_at, precision, to_ball, upper_at
from dipapprox.kernel.errors import BadProof, Refused, spend
from dipapprox.kernel.reading import as_integer, as_number, as_rows

MOST_PLACES = 2_000
MOST_BYTES = 1 << 29  # of a product of masses, about
Sets = Sequence[tuple[arb, arb]]
"""The masses (p, q) of some that are disjoint; an exact 0 means that there is none."""

LARGEST = 1 << 256  # denominator of a grid


class Losses(NamedTuple):
    """masses[k] * 2^-places at the loss (start + k) step + offset, infinite * 2^-places beyond."""

    step: Fraction  # > 0
    offset: Fraction
    start: int
    masses: tuple[int, ...]
    infinite: int
    places: int
    # From below n, in the unit of masses; from above None: the masses.
    others: tuple[int, ...] | None = None

    @property
    def above(self) -> bool:
        """Whether they are above what they are said to bound; else below."""
        return self.others is None

    def composed(self, other: Losses, cut: tuple[int, int]) -> Losses:
        """Convolve; at the ends, masses may be cut off that add up to so many units.

        From above the lowest losses are raised, the highest ones to infinity; from below they are
        left out. Masses are rounded on the same side.
        """
        if (self.step, self.places, self.above) != (other.step, other.places, other.above):
            raise BadProof("losses on two grids, or on two sides")
        sides = 1 if self.above else 2
        spend(10 + sides * (len(self.masses) + len(other.masses)) * (8 + self.places // 2))
        total = sum(other.masses) + other.infinite
        infinite = self.infinite * total + sum(self.masses) * other.infinite
        up = (1 << self.places) - 1 if self.above else 0
        masses = [m + up >> self.places for m in convolved(self.masses, other.masses)]
        infinite = infinite + up >> self.places
        there = [k for k, mass in enumerate(masses) if mass] or [0]
        low, high, lost, gone, more = there[0], there[-1] + 1, 0, 0, None
        while low < high - 1 and lost + masses[low] <= cut[0]:
            lost += masses[low]
            low += 1
        while low < high - 1 and gone + masses[high - 1] <= cut[1]:
            high -= 1
            gone += masses[high]
        kept = masses[low:high]
        if self.others is None or other.others is None:
            infinite += gone
            kept[0] += lost
        else:
            product = convolved(self.others, other.others)[low:high]
            more = tuple([-(-n >> self.places) for n in product])
        start, offset = self.start + other.start + low, self.offset + other.offset
        return Losses(self.step, offset, start, tuple(kept), infinite, self.places, more)

    def deltas(self, losses: Sequence[Fraction]) -> list[Fraction]:
        """Bound F(e^loss), and so H, on their side, at losses that ascend.

        With l the first place that is not below the loss (from below any would do), it is the sum
        of m - n e^(-j step) e^(loss - l) over the places that are j >= 0 steps after it.
        """
        found, mass, other, first = list[Fraction](), self.infinite, arb(0), len(self.masses)
        with precision(self.places + 64):
            ratio = to_ball(-self.step).exp()
            for loss in reversed(losses):
                wanted = max(-((self.offset - loss) // self.step) - self.start, 0)
                spend(20 + (8 + self.places // 16) * max(first - wanted, 0))
                while first > wanted:
                    first -= 1
                    mass += self.masses[first]
                    other = other * ratio + (self.others or self.masses)[first]
                growth = to_ball(loss - self.offset - self.step * (self.start + first)).exp()
                whole = (upper_at if self.above else lower_at)(mass - other * growth, 0)
                # H is at most 1.
                found.append(min(Fraction(whole, 1 << self.places), Fraction(1)))
        return found[::-1]

    def delta(self, eps_prv: Fraction | None) -> Fraction:
        """Bound H(e^eps_prv) on their side; of None from below, at every eps_prv."""
        if eps_prv is None:
            return Fraction(self.infinite, 1 << self.places)
        return self.deltas([eps_prv])[0]


def convolved(ours: Sequence[int], theirs: Sequence[int]) -> list[int]:
    """Return the masses of a convolution, and a 0 behind them: digits of a product of numbers."""
    most = max(ours, default=0).bit_length() + max(theirs, default=0).bit_length()
    size, count = (most + len(ours).bit_length()) // 8 + 1, max(len(ours) + len(theirs), 1)
    if count * (100 + 3 * size) > MOST_BYTES:
        raise Refused("losses with more masses than are kept")
    one, other = (
        fmpz(int.from_bytes(b"".join([each.to_bytes(size, "little") for each in masses]), "little"))
        for masses in (ours, theirs)
    )
    digits = int(one * other).to_bytes(size * count, "little")
    ends = range(0, size * count, size)
    return [int.from_bytes(digits[k : k + size], "little") for k in ends]


class Grid:
    """What a step says of where losses lie: at the losses k * step + offset, for all knots k.

    Step: "step", "offset", "places" of the masses; "knots": [first, last, stride], ascending.
    """

    def __init__(self, step: Mapping[str, Any]) -> None:
        self.step, self.offset = (as_number(step[name], name) for name in ("step", "offset"))
        self.places = as_integer(step["places"], "places")
        denominator = max(self.step.denominator, self.offset.denominator)
        if self.step <= 0 or not 1 <= self.places <= MOST_PLACES or denominator > LARGEST:
            raise BadProof("no such grid of losses")
        # What is lost to differences at neighbouring losses does not matter.
        self.bits = self.places + 3 * self.step.denominator.bit_length() + 64
        self.knots: list[int] = []
        for first, last, stride in as_rows(step["knots"], "knots", *[as_integer] * 3):
            if stride < 1:
                raise BadProof("knots do not ascend")
            # For each, numbers of so many bits are kept, and exponentials taken.
            spend((30 + self.bits) * max((last - first) // stride + 1, 0))
            self.knots += range(first, last + 1, stride)
        if not self.knots or any(a >= b for a, b in pairwise(self.knots)):
            raise BadProof("knots do not ascend, or there are none")
        self.losses = [k * self.step + self.offset for k in self.knots]

    def above(self, most: Callable[[Fraction], arb]) -> Losses:
        """Return losses above every H that is at most `most` at the knots.

        Theorem: F with F(0) = 1 that passes through the points (a, bound), a = e^loss, goes on
        straight between them and is constant beyond the last one, is above H <= 1, which is convex
        and does not increase. No H is below (1 - a)_+, even where no two inputs are adjacent.
        """
        values = [most(t).max(-to_ball(t).expm1()).max(arb(0)).upper() for t in self.losses]
        first, last = self.knots[0], self.knots[-1]
        spend(4 * (last - first))
        factors = [to_ball(loss).exp() for loss in self.losses]
        points = [(arb(0), arb(1)), *zip(factors, values, strict=True)]
        slopes = [(v - u) / (b - a) for (a, u), (b, v) in pairwise(points)] + [arb(0)]
        masses = [0] * (last - first + 1)
        # F has the masses a (s' - s), s its slope before a and s' that after it; 0 for one below 0.
        for k, factor, (slope, after) in zip(self.knots, factors, pairwise(slopes), strict=True):
            masses[k - first] = max(upper_at(factor * (after - slope), self.places), 0)
        infinite = upper_at(values[-1], self.places)
        return Losses(self.step, self.offset, first, tuple(masses), infinite, self.places)

    def below(self, outcomes: Callable[[Sequence[Fraction]], Sets]) -> Losses:
        """Return losses below a pair: of sets of losses between half a step before the knots."""
        half, ends = Fraction(1, 2), (self.knots[0] - 1, self.knots[-1])
        sets = outcomes([(k - half) * self.step + self.offset for k in self.knots])
        return standing(sets, self.step, self.offset, ends, self.places)


def standing(
    sets: Sets, step: Fraction, offset: Fraction, ends: tuple[int, int], places: int
) -> Losses:
    """Return losses below a pair: sets stand at the places nearest to their losses, within ends."""
    near: dict[int, tuple[arb, arb]] = {}
    half, infinite = to_ball(Fraction(1, 2)), arb(0)
    for p, q in sets:
        spend(20)
        if q.is_zero():
            infinite += p
        elif p > 0:
            loss = (p / q).log()
            place = (loss.mid() - to_ball(offset)) / to_ball(step) + half
            k = max(min(lower_at(place, 0), ends[1]), ends[0]) if loss.is_finite() else ends[1]
            before = near.get(k, (arb(0), arb(0)))
            near[k] = before[0] + p, before[1] + q
    first, last = min(near, default=0), max(near, default=0)
    spend((10 + ctx.prec // 32) * (last - first))
    masses, others = ([0] * (last - first + 1) for _ in range(2))
    for k, (p, q) in near.items():
        masses[k - first] = max(lower_at(p, places), 0)
        others[k - first] = upper_at(q * to_ball(k * step + offset).exp(), places)
    assured = max(lower_at(infinite, places), 0)
    return Losses(step, offset, first, tuple(masses), assured, places, tuple(others))


class Adaptive(NamedTuple):
    """H_t at most values[k] * 2^-places at ln a = j step, j = k - reach; values are odd in number.

    From below there are lines: H_t(x) >= (values[k] - others[k] x e^(-j step)) * 2^-places.
    """

    step: Fraction
    places: int
    values: tuple[int, ...]
    others: tuple[int, ...] | None

    @classmethod
    def of(cls, grid: Grid, reach: int, above: bool) -> Adaptive:
        """H_0, which is 1 - a or 0."""
        spend((30 + grid.bits) * max(reach, 0))
        if reach < 1:
            raise BadProof("H is looked at nowhere")
        factors = [to_ball(k * grid.step).exp() for k in range(-reach, 0)]
        nothing = (0,) * (reach + 1)
        if above:
            lines = [upper_at(1 - each, grid.places) for each in factors]
            return cls(grid.step, grid.places, (*lines, *nothing), None)
        ones = (1 << grid.places,) * reach
        falling = [upper_at(each, grid.places) for each in factors]
        return cls(grid.step, grid.places, (*ones, *nothing), (*falling, *nothing))

    @property
    def above(self) -> bool:
        """Whether it is above H_t; else below."""
        return self.others is None

    def before(self, chosen: Sequence[Losses]) -> Adaptive:
        """Return H_(t+1): the largest of what some losses make of H_t, or what looks best.

        Where H_t is not looked at, it is at most 1 or what it is at the last place, and above the
        lines 1 - x, or a lower one, and 0.
        """
        whole, found = 1 << self.places, list[Any]()
        for losses in chosen:
            if (losses.step, losses.places, losses.above) != (self.step, self.places, self.above):
                raise BadProof("losses on two grids, or on two sides")
            if losses.offset:
                raise BadProof("losses between the places")
            wide = max(abs(losses.start), abs(losses.start + len(losses.masses))) + 1
            spend(10 + (len(self.values) + 3 * wide) * (2 + self.places // 64))
            after = 0 if self.others else self.values[-1]
            values = [*[whole] * wide, *self.values, *[after] * wide]
            if self.others:
                own: list[Any] = self._lines(losses, values, wide)
            else:
                sums = convolved(losses.masses, values)[wide - losses.start :][: len(self.values)]
                beyond = losses.infinite << self.places
                own = [min(-(-each - beyond >> self.places), whole) for each in sums]
            found = list(map(max, own, found or own))
        if self.others is None:
            return self._replace(values=tuple(found))
        _, firsts, seconds = zip(*found, strict=True)
        return self._replace(values=firsts, others=seconds)

    def _lines(self, losses: Losses, values: Sequence[int], wide: int) -> list[tuple[int, ...]]:
        """For every place (a - c, a, c), a line of the sum: of each mass the better of two lines.

        The line of d places further has b = c e^(-(j + d) step).
        """
        count, up, assured = len(self.values), (1 << self.places) - 1, losses.infinite
        with precision(self.places + 64):
            far = upper_at(to_ball(-(count // 2) * self.step).exp(), self.places)
            nearer = {d: to_ball(-d * self.step).exp() for d in (1, -1)}
            others = [*[far] * wide, *(self.others or ()), *[0] * wide]
            firsts, seconds = [assured << self.places] * count, [0] * count
            for k, (m, n) in enumerate(zip(losses.masses, losses.others or (), strict=True)):
                if not m:
                    continue
                spend(2 * count)
                d, start = 1 if n > m else -1, wide - losses.start - k
                turned = upper_at(nearer[d] * n, 0)
                own, next_ = slice(start, start + count), slice(start + d, start + d + count)
                lines = zip(values[own], others[own], values[next_], others[next_], strict=True)
                for j, (a, c, v, w) in enumerate(lines):
                    better = m * (v - a) > turned * w - n * c
                    firsts[j] += m * (v if better else a)
                    seconds[j] += turned * w if better else n * c
        both = zip(firsts, seconds, strict=True)
        rounded = ((a >> self.places, c + up >> self.places) for a, c in both)
        return [(a - c, a, c) for a, c in rounded]

    def delta(self, eps_prv: Fraction | None) -> Fraction:
        """Bound H_t(e^eps_prv), eps_prv >= 0: by a chord between two places, or one's line."""
        if eps_prv is None:
            raise Refused("runs that are chosen as they go, at every eps_prv")
        spend(4 * len(self.values))
        end, unit = len(self.values) // 2, 1 << self.places
        with precision(self.places + 64):
            if self.others is not None:
                k = min(round(eps_prv / self.step), end)
                factor = to_ball(eps_prv - k * self.step).exp()
                line = self.values[k + end] - factor * self.others[k + end]
                return Fraction(lower_at(line, 0), unit)
            k = eps_prv // self.step
            left, right = (self.values[min(j, end) + end] for j in (k, k + 1))
            share = to_ball(eps_prv - k * self.step).expm1() / to_ball(self.step).expm1()
            return min(Fraction(upper_at(left + (right - left) * share, 0), unit), Fraction(1))
