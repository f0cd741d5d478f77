"""Privacy loss distributions on grids: whole numbers for masses, exact products, one-way rounding.

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

Cuts. The highest losses go to infinity and the lowest are put on the lowest one that is kept, when
bounding from above; both increase H. From below, they are left out.

Sources: Sommer, Meiser, Mohammadi, Privacy loss classes, 2019; Zhu, Dong, Wang 2022, theorem 10;
Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, Connect the dots, 2022.

What a loss distribution says: its H at factors e^ε, and where H falls to δ.

With sums over the losses above ε, A = Σ p + p_∞ and G = Σ q e^(ℓ₀ - ℓ) for the least ℓ₀ of them,

    H(e^ε) = A - e^(ε - ℓ₀) G,    so   H(e^ε) <= δ  exactly if  e^(ε - ℓ₀) >= (A - δ) / G.

A is a whole number. G is summed from the greatest loss down, G ↦ q + G e^-h, in whole numbers that
are rounded down to bound H from above, and up to bound it from below. There, as p and q differ, the
losses of one more step may be better; the sums over any losses are a bound.

Of losses in doubles, a mass is moved to a grid that is c times as wide

- from above, at ℓ = a + r h of a < ℓ < b = a + c h, to both ends: m >= p (1 - e^(-r h)) / (1 -
  e^(-c h)) to b, and the rest of p to a. As a function of α, p (1 - α e^-ℓ)₊ is convex, p at 0,
  p (1 - e^(-r h)) at e^a and 0 from e^b on: there the two are at least that, and linear between;
- from below to the nearest place ℓ', with its Q mass: q e^(ℓ' - ℓ), rounded up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from fractions import Fraction
from math import exp, fsum, log
from typing import TypeVar

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import enclosure_of, precision, to_ball, to_enclosure
from dipapprox.arithmetic.rounding import FLOOR, UNIT_ROUNDOFF, UP, Array, total_above
from dipapprox.composition.grid import GridStep
from dipapprox.data_classes import Record, replace

_Factor = TypeVar("_Factor")


class BoundSide(Enum):
    """From where a loss distribution bounds."""

    ABOVE = "above"
    BELOW = "below"


class GridLosses(Record):
    """Masses at losses of a grid, in units of 2^-bits."""

    step: GridStep
    side: BoundSide  # from where they bound
    bits: int
    places: Sequence[int]  # the losses, in steps, ascending; of products consecutive
    masses: Sequence[int]  # p >= 0
    others: Sequence[int]  # q >= 0; from above the same
    infinite: int  # the mass at infinity, >= 0

    @property
    def atoms(self) -> int:
        """How many losses there are, of a product from the least to the greatest."""
        return len(self.masses)

    def part(self, start: int, end: int) -> GridLosses:
        """Those from one number to another one."""
        masses = self.masses[start:end]
        others = masses if self.others is self.masses else self.others[start:end]
        return replace(self, places=self.places[start:end], masses=masses, others=others)


def ceiling(ball: arb, bits: int) -> int:
    """The least whole number surely not below ball * 2^bits."""
    return -floored(-ball, bits)


def floored(ball: arb, bits: int) -> int:
    """The greatest whole number surely not above ball * 2^bits."""
    mantissa, exponent = (int(part) for part in ball.lower().man_exp())
    shift = exponent + bits
    return mantissa << shift if shift >= 0 else mantissa >> min(-shift, mantissa.bit_length() + 1)


def multiplied(first: GridLosses, second: GridLosses) -> GridLosses:
    """The product (1) of consecutive losses, rounded."""
    bits, above = first.bits, first.side is BoundSide.ABOVE
    finite, rest = sum(first.masses), sum(second.masses)
    infinite = first.infinite * (rest + second.infinite) + finite * second.infinite
    infinite = rounded(infinite, bits, first.side)
    if not (first.masses and second.masses):
        return replace(first.part(0, 0), infinite=infinite)
    masses = _product(first.masses, second.masses, bits, up=above)
    others = masses if above else _product(first.others, second.others, bits, up=True)
    start = first.places[0] + second.places[0]
    places = range(start, start + len(masses))
    return replace(first, places=places, masses=masses, others=others, infinite=infinite)


def _product(first: Sequence[int], second: Sequence[int], bits: int, *, up: bool) -> list[int]:
    """Values Σ v_k 2^(w k), w bits for each that none of the product needs, multiply as rows do.

    All values are divided by 2^bits at once: a shift by what is no whole byte moves low bits of the
    next value into the last byte of each, which none needs, either; whole bytes are left out.

    Source: Harvey, Faster polynomial multiplication via multipoint Kronecker substitution, 2009.
    """
    most = sum(first) * sum(second) + (1 << bits)
    size, count = most.bit_length() // 8 + 2, len(first) + len(second) - 1

    def packed(values: Sequence[int]) -> fmpz:
        whole = b"".join([value.to_bytes(size, "little") for value in values])
        return fmpz(int.from_bytes(whole, "little"))

    one = packed(first)
    both = int(one * (one if second is first else packed(second)))
    if up:
        both += int.from_bytes(((1 << bits) - 1).to_bytes(size, "little") * count, "little")
    whole, part = divmod(bits, 8)
    return _unpacked((both >> part).to_bytes(size * count, "little"), size, whole)


def _unpacked(values: bytes, size: int, start: int) -> list[int]:
    """Whole numbers of so many bytes each, but for the first ones and the last one of these."""
    kept = np.frombuffer(values, np.uint8).reshape(-1, size)[:, start:-1]
    table = np.zeros((len(kept), -(-kept.shape[1] // 8) * 8), np.uint8)
    table[:, : kept.shape[1]] = kept
    words = table.view("<u8").T
    found: list[int] = words[-1].tolist()
    for word in words[-2::-1]:
        low: list[int] = word.tolist()
        some = any(found)
        found = [a << 64 | b for a, b in zip(found, low, strict=True)] if some else low
    return found


def raised(one: _Factor, times: int, product: Callable[[_Factor, _Factor], _Factor]) -> _Factor:
    """Return a power >= 1, by times - 1 products at most that each factor is in."""
    found = one
    for digit in bin(times)[3:]:
        found = product(found, found)
        if digit == "1":
            found = product(found, one)
    return found


def rounded(value: int, bits: int, side: BoundSide) -> int:
    """Return value / 2^bits, rounded away from what is bounded."""
    return -(-value >> bits) if side is BoundSide.ABOVE else value >> bits


LogMasses = dict[int | str, float]  # logarithms of masses by their place on a grid


def log_masses(losses: GridLosses) -> tuple[LogMasses, LogMasses]:
    """Return Q and P of a loss distribution as dp_accounting takes pairs: logarithms in doubles."""
    size = float(losses.step.loss(1))
    upper: LogMasses = {}
    lower: LogMasses = {}
    unit = losses.bits * log(2)
    for place, mass in zip(losses.places, losses.masses, strict=True):
        if mass:
            upper[place] = log(mass) - unit
            lower[place] = upper[place] - place * size
    if losses.infinite:
        upper["infinite"] = log(losses.infinite) - unit
    rest = 1 - fsum(map(exp, lower.values()))
    if rest > 0:
        lower["none"] = log(rest)
    return lower, upper


_GUARD_BITS = 32
_ZERO = Fraction(0)
_Sums = tuple[int, int, int]
"""Over the losses from one on, infinity included:

    that loss, in steps
    A, in units of 2^-bits
    G, in units of 2^-(bits + _GUARD_BITS)
"""


def _sums(losses: GridLosses) -> Iterator[_Sums]:
    """Yield the sums from every loss on, from the greatest down."""
    bits, above = losses.bits + _GUARD_BITS, losses.side is BoundSide.ABOVE
    with precision(bits + 32):
        factor = enclosure_of(losses.step.factor(-1) * arb(2) ** bits)
    ratio = factor.lower.__floor__() if above else factor.upper.__ceil__()
    up = 0 if above else (1 << bits) - 1
    mass, other = losses.infinite, 0
    rows = (reversed(each) for each in (losses.places, losses.masses, losses.others))
    for place, p, q in zip(*rows, strict=True):
        mass += p
        other = (q << _GUARD_BITS) + ((other * ratio + up) >> bits)
        yield place, mass, other


def least_epsilon(losses: GridLosses, delta: Fraction) -> Fraction | None:
    """Bound the least ε >= 0 with H(e^ε) <= δ, from the side of the losses; None for infinity.

    From above, H is at most δ at the ε returned; from below, it is at least δ at all lesser ε.
    """
    step, aim = losses.step, delta * (1 << losses.bits)
    if losses.infinite > aim:
        return None
    most = (aim * (1 << _GUARD_BITS)).__floor__()
    found: _Sums | None = None
    bottom: int | None = None
    near: list[_Sums] = []
    for sums in _sums(losses):
        place, mass, other = sums
        # At its least loss, H = A - G.
        near = [*near[-1:], sums]
        if place < 0 or (mass << _GUARD_BITS) - other > most:
            bottom = place
            break
        found = sums

    def solved(sums: _Sums) -> Enclosure | None:
        """Where A - e^(ε - ℓ₀) G is δ; None if it is less everywhere."""
        at, mass, other = sums
        rest = Fraction(other, 1 << _GUARD_BITS)
        share = (mass - aim) / rest if rest else _ZERO
        return enclosure_of(step.loss(at) + to_ball(share).log()) if share > 0 else None

    with precision(losses.bits + 64):
        if losses.side is BoundSide.BELOW:
            places = [each.lower for each in map(solved, near) if each is not None]
            return max([_ZERO, *places])
        if found is None:
            # H is at most δ from the greatest loss on, and nothing more is known where that is < 0.
            return _ZERO
        # Without any G there, A is at most δ: nothing above the next loss matters.
        where = solved(found)
        least = _ZERO if bottom is None else enclosure_of(step.loss(bottom)).upper
        if where is None:
            return max(least, _ZERO)
        return max(min(max(where.upper, least), enclosure_of(step.loss(found[0])).upper), _ZERO)


def deltas(losses: GridLosses, budgets: Sequence[Fraction]) -> list[Fraction]:
    """Bound H(e^ε) at every ε >= 0, from the side of the losses."""
    unit = Fraction(1, 1 << losses.bits)
    order = sorted(range(len(budgets)), key=lambda k: budgets[k], reverse=True)
    found = [losses.infinite * unit] * len(budgets)
    with precision(losses.bits + 64):
        size = losses.step.loss(1)
        places = [to_ball(budgets[k]) / size for k in order]
    after = (0, losses.infinite, 0)
    waiting = 0
    for sums in _sums(losses):
        place, _, _ = sums
        while waiting < len(order) and not places[waiting] < place:
            budget = budgets[order[waiting]]
            # Where balls leave open whether this loss counts, the greater sum is the right one.
            told = losses.side is BoundSide.ABOVE and places[waiting] > place
            found[order[waiting]] = max(
                _value(each, losses, budget) for each in ((after,) if told else (after, sums))
            )
            waiting += 1
        if waiting == len(order):
            break
        after = sums
    for k in order[waiting:]:
        found[k] = _value(after, losses, budgets[k])
    return found


def _value(sums: _Sums, losses: GridLosses, budget: Fraction) -> Fraction:
    """Bound A - e^(ε - ℓ₀) G: H(e^ε) if the sums are over all losses above ε, else less."""
    place, mass, other = sums
    with precision(losses.bits + 64):
        power = (to_ball(budget) - losses.step.loss(place)).exp()
        rest = to_ball(Fraction(other, 1 << (losses.bits + _GUARD_BITS)))
        value = to_enclosure(to_ball(Fraction(mass, 1 << losses.bits)) - power * rest)
    if isinstance(value, NotEnclosed):  # of an ε far beyond: more than 0 is taken off
        return Fraction(mass, 1 << losses.bits) if losses.side is BoundSide.ABOVE else _ZERO
    return value.upper if losses.side is BoundSide.ABOVE else max(value.lower, _ZERO)


MOST_BITS = 900  # of units of masses that are doubles
LARGEST = 2.0**900


class NoDoubles(Exception):
    """Doubles do not do."""


class Spread(Record):
    """Losses in doubles, in units of 1, from a side: see `losses`."""

    step: GridStep  # of their grid
    side: BoundSide  # from where they bound
    places: NDArray[np.int64]  # in steps, each once
    masses: Array  # p
    others: Array  # q; from above the same
    infinite: float  # the mass at infinity

    @classmethod
    def of(cls, one: GridLosses, share: float) -> Spread:
        """Round a run, but for its greatest losses, that have about such a share of its mass."""
        above = one.side is BoundSide.ABOVE
        if one.bits > MOST_BITS or not one.masses:
            raise NoDoubles
        places = np.array(one.places, np.int64)
        p, q = (np.ldexp(np.array(m, float), -one.bits) for m in (one.masses, one.others))
        infinite = float(one.infinite) * 2.0**-one.bits
        infinite = infinite * UP if above else infinite / UP
        down, up = 1 - 2.0**-51, 1 + 2.0**-51
        whole = cls(one.step, one.side, places, p * (up if above else down), q * up, infinite)
        return whole.without_end(share)

    def without_end(self, share: float) -> Spread:
        """Cut off the greatest losses, of about so much mass."""
        above = self.side is BoundSide.ABOVE
        kept = len(self.masses) - int(
            np.searchsorted(np.cumsum(self.masses[::-1]), share, side="right")
        )
        kept = max(kept, 1)
        infinite = self.infinite
        if above:
            infinite = (infinite + float(total_above(self.masses[kept:]))) * UP
        own = self.places[:kept], self.masses[:kept], self.others[:kept]
        return Spread(self.step, self.side, *own, infinite)

    def centred(self, weights: Array) -> Spread:
        """From below, move all to where losses are, in the mean: any place is right."""
        known = self.masses > 0
        if not known.any():
            return self
        off = np.average(np.log(self.masses[known] / self.others[known]), weights=weights[known])
        move = round(float(off) / float(self.step.loss(1)))
        with precision(96):
            factor = as_double(self.step.factor(move)) * UP
        if not factor < LARGEST:
            return self
        own = self.places + move, self.masses, np.maximum(self.others * factor, FLOOR)
        return Spread(self.step, self.side, *own, self.infinite)

    def wider(self, parts: int) -> Spread:
        """Move all to steps so many times as wide."""
        above, step = self.side is BoundSide.ABOVE, self.step
        near = self.places if above else self.places + parts // 2
        low, rest = np.divmod(near, parts)
        with precision(96):
            if above:
                whole = 1 - step.factor(-parts)
                moved = [(1 - step.factor(-k)) / whole for k in range(parts)]
                less = [1 - each for each in moved]
            else:
                moved = [step.factor(parts // 2 - k) for k in range(parts)]
                less = [arb(1)] * parts
            more, less_ = (np.array([as_double(x) for x in each]) for each in (moved, less))
        start, count = int(low[0]), int(low[-1] - low[0]) + 2
        joined = int(np.bincount(low - start).max())
        up = UP + 2 * joined * UNIT_ROUNDOFF

        def put(values: Array, to: NDArray[np.int64]) -> Array:
            return np.asarray(np.bincount(to - start, values, count), float)

        places = np.arange(start, start + count)
        if above:
            p = put(self.masses * less_[rest], low) + put(self.masses * more[rest], low + 1)
            p = p * up
            return Spread(step.wider(parts), self.side, places, p, p, self.infinite)
        p, q = put(self.masses, low) / up, put(self.others * more[rest], low) * up
        return Spread(step.wider(parts), self.side, places, p, q, self.infinite)


def as_double(ball: arb, *, up: bool = True) -> float:
    """A double above what is enclosed, if it is > 0; or not above it, if it is."""
    return float(ball.upper()) * UP if up else float(ball.lower()) / UP
