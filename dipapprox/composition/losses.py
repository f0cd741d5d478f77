"""Privacy loss distributions on a grid: whole numbers for masses, exact products, one-way rounding.

P masses p and Q masses e^-ℓ q at losses ℓ, and a P mass at infinity, stand for the function

    H(α) = Σ_ℓ (p - α e^-ℓ q)₊ + p_∞.

From above q is p, and is not kept: H grows with every p, with p_∞ and with every ℓ (infinity being
the greatest). So rounding masses up, and moving masses to greater losses, only increases H. From
below what has about the loss ℓ is joined into one outcome at ℓ, whose P and Q masses are both kept:
joining outcomes decreases H, but moves no mass, and so costs no more than a squared step. p is
rounded down there, q up, and both are left out together. Masses need not sum to 1.

Composition adds losses: p, and q, multiply as polynomials do, each by itself. Of what is joined in
the product all is in it; from above,

    H_{μ*ν}(α) = Σ μ(ℓ) H_ν(α e^-ℓ) + μ(∞) ν(everything),                                     (1)

and what has lost infinity in one factor has in the product. (1) is monotone in H_ν, as μ >= 0; and
the product is the same the other way round. So for true pairs μ', ν' with H_μ' <= H_μ, H_ν' <= H_ν
at all α >= 0,

    H_{μ'*ν'} <= H_{μ'*ν} <= H_{μ*ν}.

Adaptivity: let the second mechanism depend on what the first one gave, y, but be dominated by ν
whatever y is. The composition has Σ_y μ'(y) H_{ν'(y)}(α e^-ℓ(y)) <= Σ_y μ'(y) H_ν(α e^-ℓ(y)): the
same bound. Lower bounds are for mechanisms that are run independently of each other, which is one
of the ways to run them.

Cuts. Of a product the highest losses go to infinity and the lowest are put on the lowest one that
is kept, when bounding from above; both increase H. From below, they are left out.

Sources: Sommer, Meiser, Mohammadi, Privacy loss classes, 2019; Zhu, Dong, Wang 2022, theorem 10.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from fractions import Fraction
from math import exp, log

from dipapprox.composition.packed import Falling, PackedRow, divided, product, row_of
from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import Limits

_AT_ONCE = 1024


class BoundSide(Enum):
    """From where a loss distribution bounds."""

    ABOVE = "above"
    BELOW = "below"


@dataclass(frozen=True, slots=True)
class LossDistribution:
    """Masses at losses (start + 2 k) / 2 steps, k = 0, 1, …, in units of 2^-bits.

    Attributes:
        start: The lowest loss, in half steps.
        row: The masses p, >= 0, ascending in their losses.
        other: The masses q, likewise; from above the same row.
        finite: The sum of the masses p.
        infinite: The mass at infinity, >= 0.
        bits: Of the unit.
        side: From where it bounds.
    """

    start: int
    row: PackedRow
    other: PackedRow
    finite: int
    infinite: int
    bits: int
    side: BoundSide

    @property
    def total(self) -> int:
        """All mass: H(0)."""
        return self.finite + self.infinite

    @property
    def atoms(self) -> int:
        """How many losses there are, from the least to the greatest."""
        return self.row.length

    def masses(self) -> list[int]:
        """The masses p, ascending in their losses."""
        return self.row.values()

    def falling(self) -> Iterator[tuple[int, int]]:
        """Yield the masses (p, q), descending in their losses."""
        end = self.atoms
        while end:
            start = max(end - _AT_ONCE, 0)
            rows = (self.row,) if self.other is self.row else (self.row, self.other)
            values = [row.part(start, end).values()[::-1] for row in rows]
            yield from zip(values[0], values[-1], strict=True)
            end = start


def loss_distribution(
    start: int,
    masses: Sequence[int],
    infinite: int,
    bits: int,
    side: BoundSide,
    cut: int = 0,
    others: Sequence[int] | None = None,
) -> LossDistribution:
    """Make a loss distribution, cutting off at most mass `cut` at either end.

    Args:
        start: The lowest loss, in half steps.
        masses: p >= 0, ascending in their losses.
        infinite: The mass at infinity, >= 0.
        bits: Of the unit.
        side: From where it bounds.
        cut: In the unit.
        others: q >= 0, likewise; None: the same masses.
    """

    def kept(values: Sequence[int]) -> PackedRow:
        total = sum(values)
        return row_of(values, _slot(total, total, 2 * len(values), bits))

    row = kept(masses)
    other = row if others is None or side is BoundSide.ABOVE else kept(others)
    return _cut(LossDistribution(start, row, other, sum(masses), infinite, bits, side), cut)


def _slot(first: int, second: int, atoms: int, bits: int) -> int:
    """Bits for all mass of a product of so much by so much, before it is rounded and after that."""
    return max(first * second + (atoms << bits), first, second).bit_length() + 1


def _cut(losses: LossDistribution, cut: int, low_end: Falling | None = None) -> LossDistribution:
    """Cut off at most so much at either end, or what else may be at the low one."""
    row, side, infinite = losses.row, losses.side, losses.infinite
    low, below = row.first_below(cut, low_end)
    high, above = row.part(low, row.length).last_below(cut)
    kept = row.part(low, row.length - high)
    finite = losses.finite - below - above
    if side is BoundSide.BELOW:
        other = losses.other.part(low, row.length - high)
    else:
        infinite += above
        if kept.length:
            kept, finite = PackedRow(kept.number + below, kept.length, kept.slot), finite + below
        else:
            infinite += below
        other = kept
    return LossDistribution(
        losses.start + 2 * low, kept, other, finite, infinite, losses.bits, side
    )


def composed(
    first: LossDistribution,
    second: LossDistribution,
    cut: int,
    limits: Limits,
    low_end: Falling | None = None,
) -> LossDistribution:
    """Return the composition of two, on one grid.

    Args:
        first: Of the first mechanism.
        second: Of the second, of the same unit and side.
        cut: Most mass that may be cut off at either end, in their unit.
        limits: Asked beforehand.
        low_end: What else may be cut off at the low end, from the start of the product on.

    Raises:
        LimitReached: If time or memory is used up, or there are too many atoms.
    """
    bits, side = first.bits, first.side
    if (second.bits, second.side) != (bits, side):
        raise BrokenInvariant("loss distributions of different units are composed")
    limits.check()
    limits.check_atoms(first.atoms + second.atoms)
    infinite = first.infinite * second.total + first.finite * second.infinite
    row = other = _multiplied(first.row, second.row, bits, up=side is BoundSide.ABOVE)
    if side is BoundSide.BELOW:
        other = _multiplied(first.other, second.other, bits, up=True)
    start, infinite = first.start + second.start, rounded(infinite, bits, side)
    whole = LossDistribution(start, row, other, row.total, infinite, bits, side)
    return _cut(whole, cut, low_end)


def _multiplied(first: PackedRow, second: PackedRow, bits: int, *, up: bool) -> PackedRow:
    """The product of two rows over 2^bits, rounded."""
    needed = _slot(first.total, second.total, first.length + second.length, bits)
    slot = max(needed, first.slot, second.slot)
    one = first.wider(slot)
    return divided(product(one, one if first is second else second.wider(slot)), bits, up=up)


def rounded(value: int, bits: int, side: BoundSide) -> int:
    """Return value / 2^bits, rounded away from what is bounded."""
    return -(-value >> bits) if side is BoundSide.ABOVE else value >> bits


@dataclass(frozen=True, slots=True)
class Cuts:
    """What is cut off of compositions, at the ends.

    At the low end that may be more: mass m at loss ℓ after t of T runs is part of H at e^ε by less
    than m P(the other runs lose ε - ℓ), by Chernoff's bound m e^(λ ℓ) / M^t times M^T e^(-λ ε), for
    every λ > 0 and the moment M = Σ p e^(λ ℓ) of one run. All cuts are safe; these are cheap.

    Attributes:
        share: Mass of one run's share that may be cut off at either end of every product: of the
            composition of t runs, t times that. In units of 1.
        growth: λ times a step; 0 for no more at the low end.
        place: ε in steps.
    """

    share: Fraction
    growth: float = 0.0
    place: float = 0.0

    def of(self, bits: int, times: int) -> int:
        """Return what may be cut off of the composition of so many runs, in units of 2^-bits."""
        return int(self.share * (1 << bits) * times)

    def moment(self, one: LossDistribution) -> float:
        """Return about ln M of a single run, of finite losses."""
        if not self.growth or not one.finite:
            return 0.0
        top = one.start + 2 * one.atoms
        falling = enumerate(one.falling(), 1)
        inner = sum(mass * exp(-self.growth * k) for k, (mass, _) in falling)
        return log(inner / one.finite) + self.growth * top / 2 if inner else 0.0

    def low_end(self, start: int, cut: int, others: float) -> Falling | None:
        """Return what may be cut off from a loss on, where so much may be cut off at both ends.

        Args:
            start: The loss, in half steps.
            cut: What may be cut off, in some unit.
            others: About ln M of all other runs.
        """
        if not self.growth or not cut:
            return None
        return Falling(log(cut) - others + self.growth * (self.place - start / 2), self.growth)


def power(
    one: LossDistribution, times: int, cuts: Cuts, limits: Limits, others: float = 0.0
) -> LossDistribution:
    """Return the composition of a mechanism with itself, by squaring.

    Args:
        one: A single run.
        times: How many, >= 1.
        cuts: What is cut off.
        limits: As for `composed`.
        others: About ln M of runs that are not among these.
    """
    found, count, moment = one, 1, cuts.moment(one)
    for digit in bin(times)[3:]:
        for other in (found, one) if digit == "1" else (found,):
            count = count * 2 if other is found else count + 1
            cut = cuts.of(one.bits, count)
            low_end = cuts.low_end(
                found.start + other.start, cut, others + (times - count) * moment
            )
            found = composed(found, other, cut, limits, low_end)
    return found
