"""What runs come to that are chosen as it goes: H on a grid, from above or from below.

Let each run be of any of some pairs, chosen by what came before, and H_t be the
most that t runs to go may come to: H_0(a) = (1 - a)_+, and H_(t+1)(a) is the largest integral of
H_t(a e^-loss) over P. As H_t is convex, does not increase, and is 1 at 0, it is a mixture of
(1 - a x)_+, x >= 0: as in `losses`, with losses F above a pair its integral is at most the sum of
m H_t(a e^-l) and the mass at infinity. Runs F that are above all that they may be cost most before
all that are chosen: applied to a maximum of functions they are not below the maximum of what they
come to with each. From below, if a - x b <= H_t(x), a, b >= 0, and sets have p >= m, q <= n e^-l,
H_(t+1)(x) is at least the sum of p H_t(x q/p) >= m a - x n e^-l b, each set with a line of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dipapprox.kernel.balls import lower_at, precision, to_ball, upper_at
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import BadProof
from dipapprox.kernel.losses import Grid, Losses, convolved


@dataclass(frozen=True, slots=True)
class Adaptive:
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
            return replace(self, values=tuple(found))
        _, firsts, seconds = zip(*found, strict=True)
        return replace(self, values=firsts, others=seconds)

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

    def delta(self, eps_prv: Fraction) -> Fraction:
        """Bound H_t(e^eps_prv), eps_prv >= 0: by a chord between two places, or one's line."""
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
