"""Two adjacent inputs between which outputs lose, and how better ones are climbed to.

What a final state costs at given inputs is the least rate of noise that leads to it. For a state
{e: G e + H q + h <= 0}, of which real outputs are to be certain numbers, let V(q) = min Σ rate |e|,
where Gaussian noise is 0 and one-sided noise on its side; ∞ if there is no such noise. Of integer
noise V is the least over the integers. A flow proves V: y >= 0 with |Σ_g y_g G_gi| at most the rate
of noise i, and Σ_g y_g (H_g q + h_g) = V, or > 0 and the rates 0 where V = ∞.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import Any, TypeVar

from dipapprox.data_classes import Record
from dipapprox.language.core import Adjacency, Value
from dipapprox.limits import check_limits
from dipapprox.linear.form import LinearForm, Symbol, content
from dipapprox.linear.half_spaces import has_interior
from dipapprox.linear.programme import Infeasible, LinearProgramme, Optimum, UnknownSide
from dipapprox.pairs.adjacency import allows
from dipapprox.proofs.cones import Cone, programme_of

Point = tuple[Fraction, ...]  # a value of every input
Shown = tuple[Fraction, ...]  # a value of every real output


PointCost = Optimum[Symbol] | Infeasible
"""V of a state at a point, in multiples of eps, the cheapest noise by source of the cone, and the
flow, by guard of the cone, then for each real output that it is no more, and no less; or V = ∞."""


class CostOfPoints:
    """The V of one final state.

    Args:
        cone: Of a state with Gaussian noise, and other noise of scales that are multiples of 1/eps.
        integers: Whether noise and inputs are integers; then points and shown numbers are, too.
    """

    def __init__(self, cone: Cone, integers: bool) -> None:
        self._cone, self._integers = cone, integers
        self._programmes: dict[bool, LinearProgramme[Symbol]] = {}

    def at(self, point: Point, shown: Shown | None) -> PointCost:
        """Return V.

        Args:
            point: The inputs of the cone's part.
            shown: What the real outputs are to be; None if they may be anything.
        """
        check_limits()
        forms = self._forms(point, shown)
        is_shown = shown is not None
        if is_shown not in self._programmes:
            rows = [form.terms for form in forms]
            self._programmes[is_shown] = programme_of(self._cone.sources, rows)
        return self._programmes[is_shown].solve([-form.constant for form in forms])

    def shown_at(self, point: Point, noise: Mapping[Symbol, Fraction]) -> Shown:
        """Return the real outputs at some inputs and noise."""
        values = _values(self._cone, point) | dict(noise)
        return tuple([form.at(values).constant for form in self._cone.shown])

    def is_open(self, point: Point) -> bool:
        """Whether the state has a positive probability."""
        if not self._integers:
            return is_open(self._cone, point)
        return isinstance(self.at(point, None), Optimum)

    def _forms(self, point: Point, shown: Shown | None) -> list[LinearForm]:
        """Return forms <= 0 over the noise; of integers their values are multiples of its unit."""
        values = _values(self._cone, point)
        forms = [form.at(values) for form in self._cone.guards]
        if shown is not None:
            for form, value in zip(self._cone.shown, shown, strict=True):
                above = form.at(values) - LinearForm.constant_form(value)
                forms += [above, -above]
        return [_rounded(form) for form in forms] if self._integers else forms


def is_open(cone: Cone, point: Point) -> bool:
    """Whether an open set of real noises leads to a state; one-sided noise asks for more."""
    supports = [
        LinearForm.of({place: Fraction(-1 if source.support is UnknownSide.AT_LEAST_ZERO else 1)})
        for place, source in enumerate(cone.sources)
        if source.support is not UnknownSide.ANY
    ]
    values = _values(cone, point)
    return has_interior([*(form.at(values) for form in cone.guards), *supports])


def _rounded(form: LinearForm) -> LinearForm:
    """What form <= 0 says of integers: the constant is a multiple of the coefficients' content."""
    unit = content(c for _, c in form.terms) or Fraction(1)
    return LinearForm(form.terms, ceil(form.constant / unit) * unit)


def _values(cone: Cone, point: Point) -> dict[Symbol, Fraction]:
    return {name: point[k] for name, k in cone.inputs.items()}


class LostOutput(Record):
    """What an output of a part loses between two inputs."""

    part: int  # the number of the part
    output: tuple[Value, ...]  # the values of its cells
    loss: Fraction | None  # in multiples of eps; None for ∞
    shown: Shown = ()  # what its real outputs are close to
    # As eps grows: of all states of the output at the second input; None where one is impossible.
    costs: tuple[PointCost | None, ...] = ()
    place: int = 0  # as eps grows: the number of the output among those of its part


class TwoInputs(Record):
    """Two adjacent inputs, and what the outputs of some parts lose between them."""

    # The inputs; the outputs are likelier at the first.
    first: Point
    second: Point
    losses: tuple[LostOutput, ...]  # of the parts; a single one if it is ∞
    eps: Fraction | None = None  # where; 0 as it vanishes, None as it grows
    # Whether it is lost at every eps, as s grows, between first + s·change and one change more.
    is_ray: bool = False

    @property
    def change(self) -> Point:
        """How the inputs differ."""
        return tuple([b - a for a, b in zip(self.first, self.second, strict=True)])

    def along(self, steps: int) -> Point:
        """Return the inputs so many changes from the first ones."""
        return tuple([a + steps * b for a, b in zip(self.first, self.change, strict=True)])

    @property
    def loss(self) -> Fraction | None:
        """What is lost in multiples of eps; None for ∞."""
        known = [each.loss for each in self.losses if each.loss is not None]
        return sum(known, Fraction(0)) if len(known) == len(self.losses) else None

    @property
    def is_impossible(self) -> bool:
        """Whether no state of the output has a positive probability at the second input."""
        each = [cost for loss in self.losses for cost in loss.costs]
        return self.eps is None and not self.is_ray and all(cost is None for cost in each)

    @property
    def dearness(self) -> tuple[bool, Fraction]:
        """Greater where more is lost."""
        loss = self.loss
        return loss is None, loss or Fraction(0)


def lost_between(
    first: Point, second: Point, lost: Iterable[LostOutput], eps: Fraction | None = None
) -> TwoInputs | None:
    """Return what parts lose together: each by its dearest output, or one that loses ∞ alone.

    None if that is nothing.
    """
    dearest: dict[int, LostOutput] = {}
    for each in lost:
        known = dearest.get(each.part)
        if each.loss is None:
            return TwoInputs(first, second, (each,), eps)
        if each.loss > (0 if known is None else known.loss or 0):
            dearest[each.part] = each
    return TwoInputs(first, second, tuple(dearest.values()), eps) if dearest else None


Place = TypeVar("Place")


def climbed(
    place: Place, near: Callable[[Place], Iterable[Place]], height: Callable[[Place], Any]
) -> Place:
    """Return a place, above a given one, that nothing near it is above."""
    known: Place | None = None
    while known is not place:
        known, reached = place, height(place)
        place = next((each for each in near(place) if height(each) > reached), place)
    return place


STEPS = (Fraction(1), Fraction(1, 2), Fraction(1, 4))
"""By which inputs are moved, in multiples of the largest change; only the first for integers."""


class RealInputs(Record):
    """All inputs that there are, and which of them are adjacent."""

    adjacency: Adjacency  # of the program
    # By input the least and the greatest value; None for no bounds.
    bounds: tuple[tuple[Fraction, Fraction] | None, ...]
    sizes: tuple[Fraction, ...]  # of changes of an input, ascending
    integers: bool  # whether they are integers

    @property
    def radius(self) -> Fraction:
        """The largest change of an input."""
        return max(self.sizes, default=Fraction(0))

    @property
    def steps(self) -> tuple[Fraction, ...]:
        """By which they are moved, in multiples of the radius."""
        return STEPS[: 1 if self.integers else None]

    def has(self, place: int, value: Fraction) -> bool:
        """Whether an input may have a value."""
        bounds = self.bounds[place]
        return bounds is None or bounds[0] <= value <= bounds[1]

    def allows(self, first: Point, second: Point) -> bool:
        """Whether two points are different, and adjacent."""
        change = [b - a for a, b in zip(first, second, strict=True)]
        return any(change) and allows(self.adjacency, change)

    def near(self, first: Point, second: Point) -> Iterator[tuple[Point, Point]]:
        """Yield adjacent pairs of which one input is moved: of both points, or of one."""

        def moved(point: Point, place: int, move: Fraction) -> Point | None:
            value = point[place] + move
            kept = self.has(place, value)
            return (*point[:place], value, *point[place + 1 :]) if kept else None

        for step in self.steps:
            for place in range(len(first)):
                for move in (step * self.radius, -step * self.radius):
                    one, other = moved(first, place, move), moved(second, place, move)
                    for a, b in ((one, other), (first, other), (one, second)):
                        if a is not None and b is not None and self.allows(a, b):
                            yield a, b


def most_lost(places: Sequence[TwoInputs]) -> TwoInputs | None:
    """Return the inputs between which most is lost; None if there are none."""
    return max(places, key=lambda each: each.dearness, default=None)
