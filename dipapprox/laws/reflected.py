"""Mirror images: the law of -Z in terms of that of Z."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dipapprox.errors import BrokenInvariant
from dipapprox.laws.family import Family, Real, RealFamily, Speeds
from dipapprox.laws.libraries import panels

if TYPE_CHECKING:
    from flint import arb

    from dipapprox.arithmetic.boxes import Box
    from dipapprox.laws.panels import Array, OnPanels


class Reflected(RealFamily):
    """The family of -Z, Z of a family with an analytic density that stands in the same module."""

    def __init__(
        self, base: RealFamily, name: str, constant: str, title: str, moments_below: Fraction | None
    ) -> None:
        self.__module__ = type(base).__module__  # where pickles look for the constant
        self._base = base
        self.name, self.constant, self.title = name, constant, title
        self.moments_below = moments_below
        self.sides = tuple([-side for side in reversed(base.sides)])
        self.shifts = tuple([-side for side in reversed(base.shifts)])
        self.is_exponential, self.is_normal = base.is_exponential, base.is_normal
        if base.has_kink:
            raise BrokenInvariant("a density with a kink has no mirror image here")
        self.has_kink, self.steep, self.curved = False, base.steep, base.curved
        self.bend, self.panel, self.even_panel = base.bend, base.panel, base.even_panel

    @property
    def mirror(self) -> RealFamily:
        """The family itself."""
        return self._base

    @property
    def difference(self) -> Family | None:
        """Z' - Z."""
        found = self._base.difference
        return None if found is None else found.mirror

    @property
    def drift(self) -> Fraction:
        return self._base.drift

    def far(self, bits: int) -> Fraction:
        """The same: it is for both sides."""
        return self._base.far(bits)

    def excess(self, cut: Fraction) -> Fraction:
        return self._base.excess(cut)

    def speeds(self, speed: Fraction) -> Speeds:
        """The same, the other way."""
        return self._base.speeds(-speed)

    # --- balls -------------------------------------------------------------------------------

    def pdf(self, z: arb, side: int) -> arb:
        """At -z."""
        return self._base.pdf(-z, -side)

    def survival(self, z: arb, side: int) -> arb:
        """What is below -z."""
        return self._base.cdf(-z, -side)

    def pdf_bound(self, box: Box, side: int) -> arb:
        """On the mirror image of the box."""
        return self._base.pdf_bound(box.mirrored, -side)

    def survival_bound(self, box: Box, side: int) -> arb:
        return self._base.cdf_bound(box.mirrored, -side)

    def series(self, center: Fraction, half: Fraction, degree: int) -> tuple[list[arb], arb]:
        """In -u."""
        found, rest = self._base.series(-center, half, degree)
        return [-c if k % 2 else c for k, c in enumerate(found)], rest

    def cutoff_guess(self, bits: int, side: int) -> arb:
        """On the other side."""
        return self._base.cutoff_guess(bits, -side)

    def log_moment(self, t: arb) -> arb:
        """At -t: bases of mirror images know that, too."""
        return self._base.log_moment(-t)

    def ellipse(self, high: Real, beyond: Real) -> Real:
        """The same: it is for panels anywhere."""
        return self._base.ellipse(high, beyond)

    # --- doubles -----------------------------------------------------------------------------

    def on_panels(self, t: Array, center: Array, half: Array) -> OnPanels:
        """On the mirror images; negation is exact."""
        return self._base.on_panels(-t, -center, half)

    def on_boxes(self, edges: Array, heights: Array) -> tuple[Array, Array, Array]:
        """Likewise, from the right."""
        turned = panels.on_all(heights, edges)[:, ::-1]
        density, below, above = self._base.on_boxes(-edges[:, ::-1], turned)
        return density[:, ::-1], above[:, ::-1], below[:, ::-1]

    def at_differences(self, z: Array, differences: Array) -> Array:
        """At -z."""
        return self._base.at_differences(-z, -differences)

    def moved(self, middle: Array, reach: float, by: Array) -> Array:
        return self._base.moved(-middle, reach, by)
