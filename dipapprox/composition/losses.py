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
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from fractions import Fraction
from math import exp, fsum, log

import numpy as np
from flint import arb, fmpz

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import enclosure_of, precision, to_ball, to_enclosure
from dipapprox.composition.grid import GridStep
from dipapprox.composition.profile import BallProfile
from dipapprox.data_classes import Record, replace


class BoundSide(Enum):
    """From where a loss distribution bounds."""

    ABOVE = "above"
    BELOW = "below"


class Losses(Record):
    """Masses at losses of a grid, in units of 2^-bits."""

    step: GridStep
    side: BoundSide  # from where they bound
    bits: int
    places: Sequence[int]  # the losses, in steps, ascending; of products consecutive
    masses: Sequence[int]  # p >= 0
    others: Sequence[int]  # q >= 0; from above the same
    infinite: int  # the mass at infinity, >= 0
    steepness: float = 0.0  # about -d ln H(e^ε) / dε where it is asked; 0 if there is no telling

    @property
    def atoms(self) -> int:
        """How many losses there are, of a product from the least to the greatest."""
        return len(self.masses)

    def part(self, start: int, end: int) -> Losses:
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


def multiplied(first: Losses, second: Losses) -> Losses:
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


def rounded(value: int, bits: int, side: BoundSide) -> int:
    """Return value / 2^bits, rounded away from what is bounded."""
    return -(-value >> bits) if side is BoundSide.ABOVE else value >> bits


LogMasses = dict[int | str, float]  # logarithms of masses by their place on a grid


def log_masses(losses: Losses) -> tuple[LogMasses, LogMasses]:
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
_LARGEST_BUDGET = Fraction(2**14)
_Sums = tuple[int, int, int]
"""Over the losses from one on, infinity included:

    that loss, in steps
    A, in units of 2^-bits
    G, in units of 2^-(bits + _GUARD_BITS)
"""


def _sums(losses: Losses) -> Iterator[_Sums]:
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


def least_epsilon(losses: Losses, delta: Fraction) -> Fraction | None:
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


def deltas(losses: Losses, budgets: Sequence[Fraction]) -> list[Fraction]:
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


def _value(sums: _Sums, losses: Losses, budget: Fraction) -> Fraction:
    """Bound A - e^(ε - ℓ₀) G: H(e^ε) if the sums are over all losses above ε, else less."""
    place, mass, other = sums
    with precision(losses.bits + 64):
        power = (to_ball(budget) - losses.step.loss(place)).exp()
        rest = to_ball(Fraction(other, 1 << (losses.bits + _GUARD_BITS)))
        value = enclosure_of(to_ball(Fraction(mass, 1 << losses.bits)) - power * rest)
    return value.upper if losses.side is BoundSide.ABOVE else max(value.lower, _ZERO)


def deltas_of(profile: BallProfile, budgets: Sequence[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """Enclose H(e^ε) at every ε >= 0, of one profile, at the precision of the enclosing block."""
    found = []
    for budget in budgets:
        alpha = to_ball(budget).exp()
        point = profile.at(alpha)
        lower, upper = to_enclosure(point.first - alpha * point.second), to_enclosure(point.bound)
        low = _ZERO if isinstance(lower, NotEnclosed) else max(lower.lower, _ZERO)
        high = Fraction(1) if isinstance(upper, NotEnclosed) else min(upper.upper, Fraction(1))
        found.append((low, high))
    return found


def epsilon_of(
    profile: BallProfile, delta: Fraction, width: Fraction
) -> list[tuple[Fraction | None, Fraction | None]]:
    """Enclose the least ε >= 0 with H(e^ε) <= δ, of one profile, by bisection.

    Args:
        profile: At the precision of the enclosing block.
        width: 2^-16 of it is how far it goes.
    """
    most = Fraction(1)
    while deltas_of(profile, [most])[0][1] > delta:
        if most > _LARGEST_BUDGET:
            return [(_below(profile, delta, most, width), None)]
        most *= 2
    low, high = _ZERO, most
    while high - low > width / 2**16:
        middle = (low + high) / 2
        if deltas_of(profile, [middle])[0][1] <= delta:
            high = middle
        else:
            low = middle
    return [(_below(profile, delta, high, width), high)]


def _below(
    profile: BallProfile, delta: Fraction, most: Fraction, width: Fraction
) -> Fraction | None:
    """An ε at which H is surely above δ, or 0; None if H is so for all, as its limit is."""
    if profile.ends.infinite > to_ball(delta):
        return None
    low, high = _ZERO, most
    while high - low > width / 2**16:
        middle = (low + high) / 2
        if deltas_of(profile, [middle])[0][0] > delta:
            low = middle
        else:
            high = middle
    return low
