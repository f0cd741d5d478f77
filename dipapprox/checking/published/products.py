"""The divergence of two products of measures on lines, by what each line loses.

    δ(α) = sup over sets S of F(S) - α G(S),   F = f_1 × … × f_n,   G = g_1 × … × g_n

Each line has masses at losses above and below its own divergences (`loss_cells`). Losses of a
product add up, so that of both the convolutions are above and below δ: that is the monotone
calculus of `compositions.losses`, on one grid for all lines, each with an origin of its own.

Panels leave out at most λ_k of f_k, and μ_k of g_k, so that products of what they have are off by
at most Σ λ_k Π (1 + λ_k), and likewise: δ moves by no more than the first and α times the second.

References:
    Sommer, Meiser, Mohammadi, Privacy loss classes, 2019.
    Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, Connect the dots, 2022.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Generic, TypeVar

from flint import arb

from dipapprox.checking.compositions.losses import Scale, Whole
from dipapprox.checking.distributions import NoBounds
from dipapprox.checking.published.hockey_sticks import OnPanels, ball_of
from dipapprox.checking.published.loss_cells import LossCells, Losses, LossGrid, extent
from dipapprox.data_classes import dataclass
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.precision import precision, to_ball, to_enclosure

ACCURATE = 48
"""Bits of accuracy of densities."""

_UNIT_BITS = 64
"""2^-64 is the unit of masses."""

_CUT = 2**10
"""Of products, in this unit."""

_MOST_PLACES = 2**20

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, slots=True)
class _Line:
    """One line on a grid, from above and from below, with its origins."""

    above: Whole
    below: Whole
    origins: tuple[Fraction, Fraction]


class Products(Generic[Name]):
    """Divergences of products; lines are named, and each is looked at once.

    Args:
        panels: Gives the two densities of a line by its name, accurate to `ACCURATE` bits.
        limits: Asked throughout.
    """

    def __init__(self, panels: Callable[[Name], OnPanels], limits: Limits) -> None:
        self._new_panels = panels
        self._limits = limits
        self._panels: dict[Name, OnPanels] = {}
        self._extents: dict[Name, tuple[Fraction, Fraction]] = {}
        self._lines: dict[tuple[Name, Fraction], _Line] = {}
        self._known: dict[object, Enclosure] = {}
        self._wholes: dict[object, tuple[Whole, Whole, Fraction, Fraction]] = {}

    def divergence(self, lines: Sequence[Name], growth: Enclosure, places: int) -> Enclosure:
        """Enclose δ(α).

        Args:
            lines: Their names.
            growth: α > 0.
            places: Of the grid, for the line that loses most; δ is off by about 1 / places².

        Raises:
            NoBounds: If densities are too different for panels, or the grid is too long.
            LimitReached: If the limits run out.
        """
        counts = Counter(lines)
        key = frozenset(counts.items()), places
        if (key, growth) not in self._known:
            self._known[key, growth] = self._found(counts, growth, places)
        return self._known[key, growth]

    def _found(self, counts: Counter[Name], growth: Enclosure, places: int) -> Enclosure:
        spans = {line: self._extent(line) for line in counts}
        widest = max(high - low for low, high in spans.values())
        if not widest:
            raise NoBounds("numbers lose next to nothing")
        step = widest / places
        if sum((high - low) * counts[k] for k, (low, high) in spans.items()) > step * _MOST_PLACES:
            raise NoBounds("too many numbers for the check's grid of losses")
        key = frozenset(counts.items()), places
        with precision(max(self._bits(line) for line in counts)):
            if key not in self._wholes:
                self._wholes[key] = self._composed(counts, step)
            above, below, over, under = self._wholes[key]
            scale = Scale(to_ball(step) / 2, _UNIT_BITS)
            alpha = ball_of(growth)
            ends = (
                below.at(alpha.log(), to_ball(-under), scale),
                above.at(alpha.log(), to_ball(-over), scale),
            )
            doubts = [self._left_out(counts, side) for side in (0, 1)]
            doubt = doubts[0] + alpha * doubts[1]
            found = to_enclosure(ends[0] - doubt), to_enclosure(ends[1] + doubt)
        if isinstance(found[0], NotEnclosed) or isinstance(found[1], NotEnclosed):
            raise NoBounds("losses are not finite on the check's grid")
        low = min(max(found[0].lower, UNIT.lower), UNIT.upper)
        return Enclosure(low, max(min(found[1].upper, UNIT.upper), low))

    def _left_out(self, counts: Counter[Name], side: int) -> arb:
        every = [self._panels[line].lacks[side] * n for line, n in counts.items()]
        most = arb(1)
        for line, n in counts.items():
            most *= (1 + self._panels[line].lacks[side]) ** n
        return sum(every, arb(0)) * most

    def _composed(
        self, counts: Counter[Name], step: Fraction
    ) -> tuple[Whole, Whole, Fraction, Fraction]:
        """Convolve; and return what is to be added to losses on the grid."""
        wholes: list[Whole | None] = [None, None]
        origins = [Fraction(0), Fraction(0)]
        for name, times in counts.items():
            line = self._line(name, step)
            for k, own in enumerate((line.above, line.below)):
                several = own.power(times, _CUT, self._limits)
                known = wholes[k]
                wholes[k] = several if known is None else known.times(several, _CUT, self._limits)
                origins[k] += times * line.origins[k]
        above, below = wholes
        assert above is not None and below is not None, "a product has factors"
        return above, below, origins[0], origins[1]

    def _line(self, name: Name, step: Fraction) -> _Line:
        if (name, step) not in self._lines:
            low, high = self._extents[name]
            count = int((high - low) / step) + 5
            grid = LossGrid(high + 2 * step, step, count)
            with precision(self._bits(name)):
                cells = LossCells(self._panels[name], grid, self._limits)
                sides = cells.above(), cells.below()
            self._lines[name, step] = _Line(
                _whole(sides[0], count, above=True),
                _whole(sides[1], count, above=False),
                (grid.origin, grid.origin + sides[1].slack),
            )
        return self._lines[name, step]

    def _extent(self, name: Name) -> tuple[Fraction, Fraction]:
        if name not in self._extents:
            panels = self._panels[name] = self._new_panels(name)
            with precision(self._bits(name)):
                low, high = extent(panels)
            self._extents[name] = Fraction(low), Fraction(high)
        return self._extents[name]

    def _bits(self, name: Name) -> int:
        return max(self._panels[name].bits, 2 * _UNIT_BITS)


def _whole(losses: Losses, count: int, *, above: bool) -> Whole:
    masses = [_units(mass, up=above) for mass in losses.masses]
    return Whole(-2 * count, masses, _units(losses.infinite, up=above), _UNIT_BITS, above)


def _units(mass: arb, *, up: bool) -> int:
    """A mass in units, rounded; it is a number, not a ball."""
    scaled = mass * 2**_UNIT_BITS
    ends = scaled.upper().ceil() if up else scaled.lower().floor()
    found = ends.unique_fmpz()
    if found is None:
        raise NoBounds("a mass is not finite")
    return max(int(found), 0)
