"""What a final state costs at given inputs: the least rate of noise that leads to it.

For a state {e: G e + H q + h <= 0}, of which real outputs are to be certain numbers, let
V(q) = min Σ rate |e|, where Gaussian noise is 0 and one-sided noise on its side; ∞ if there is no
such noise. Of integer noise V is the least over the integers. A flow proves V: y >= 0 with
|Σ_g y_g G_gi| at most the rate of noise i, and Σ_g y_g (H_g q + h_g) = V, or > 0 and the rates 0
where V = ∞.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil

from dipapprox.data_classes import dataclass
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm, Symbol, content
from dipapprox.linear.half_spaces import has_interior
from dipapprox.linear.programme import LinearProgramme, Optimum, UnknownSide
from dipapprox.proofs.cones import Cone

Point = tuple[Fraction, ...]
"""A value of every input."""

Shown = tuple[Fraction, ...]
"""A value of every real output."""


@dataclass(frozen=True, slots=True)
class PointCost:
    """V of a state at a point, with its proof.

    Attributes:
        cost: In multiples of eps; None for ∞.
        noise: The cheapest, by source of the cone; none where the cost is ∞.
        flow: By guard of the cone, then for each real output that it is no more, and no less.
    """

    cost: Fraction | None
    noise: tuple[Fraction, ...]
    flow: tuple[Fraction, ...]


class CostOfPoints:
    """The V of one final state.

    Args:
        cone: Of a state with Gaussian noise, and other noise of scales that are multiples of 1/eps.
        integers: Whether noise and inputs are integers; then points and shown numbers are, too.
    """

    def __init__(self, cone: Cone, integers: bool, limits: Limits) -> None:
        self._cone, self._integers, self._limits = cone, integers, limits
        self._programmes: dict[bool, LinearProgramme[Symbol]] = {}

    def at(self, point: Point, shown: Shown | None) -> PointCost:
        """Return V.

        Args:
            point: The inputs of the cone's part.
            shown: What the real outputs are to be; None if they may be anything.
        """
        self._limits.check()
        forms = self._forms(point, shown)
        found = self._programme(forms, shown is not None).solve([-form.constant for form in forms])
        if not isinstance(found, Optimum):
            return PointCost(None, (), found.flow)
        return PointCost(found.value, tuple(found.shift.values()), found.flow)

    def shown_at(self, point: Point, noise: Sequence[Fraction]) -> Shown:
        """Return the real outputs at some inputs and noise."""
        values = _values(self._cone, point) | dict(enumerate(noise))
        return tuple([form.at(values).constant for form in self._cone.shown])

    def is_open(self, point: Point) -> bool:
        """Whether the state has a positive probability."""
        if not self._integers:
            return is_open(self._cone, point)
        return self.at(point, None).cost is not None

    def _forms(self, point: Point, shown: Shown | None) -> list[LinearForm]:
        """Return forms <= 0 over the noise; of integers their values are multiples of its unit."""
        values = _values(self._cone, point)
        forms = [form.at(values) for form in self._cone.guards]
        if shown is not None:
            for form, value in zip(self._cone.shown, shown, strict=True):
                above = form.at(values) - LinearForm.constant_form(value)
                forms += [above, -above]
        return [_rounded(form) for form in forms] if self._integers else forms

    def _programme(self, forms: Sequence[LinearForm], is_shown: bool) -> LinearProgramme[Symbol]:
        if is_shown not in self._programmes:
            sources = self._cone.sources
            self._programmes[is_shown] = LinearProgramme(
                [form.terms for form in forms],
                {place: source.rate for place, source in enumerate(sources)},
                {place: source.side for place, source in enumerate(sources)},
                self._limits,
            )
        return self._programmes[is_shown]


def is_open(cone: Cone, point: Point) -> bool:
    """Whether an open set of real noises leads to a state; one-sided noise asks for more."""
    supports = [
        LinearForm.of({place: Fraction(-1 if source.side is UnknownSide.AT_LEAST_ZERO else 1)})
        for place, source in enumerate(cone.sources)
        if source.side is not UnknownSide.ANY
    ]
    values = _values(cone, point)
    return has_interior([*(form.at(values) for form in cone.guards), *supports])


def _rounded(form: LinearForm) -> LinearForm:
    """What form <= 0 says of integers: the constant is a multiple of the coefficients' content."""
    unit = content(c for _, c in form.terms) or Fraction(1)
    return LinearForm(form.terms, ceil(form.constant / unit) * unit)


def _values(cone: Cone, point: Point) -> dict[Symbol, Fraction]:
    return {name: point[k] for name, k in cone.inputs.items()}
