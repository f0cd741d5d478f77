"""Products of many loss distributions by Fourier transforms, in doubles.

Masses p_k of a run are tilted to t_k = p_k e^(g (k - k0)) / s, with k0 and s such that they sum to
about 1; so what leads to the H that is asked for keeps its digits, however small it is. They are
rounded to the safe side, and are exact from there. Products of tilted masses are tilted products:
what T runs have at Σ k is Π t = p e^(g (Σ k - T k0)) / s^T. On a circle of N places what is outside
a window of N places counts as if it were inside; with θ > 0 it is, of the tilted masses at R =
Σ (k - k0),

    Σ over R >= b <= (Σ t_k e^(θ (k - k0)))^T e^(-θ b),    and with -θ for R <= -b.             (1)

Transforms. u = 2^-53. Products of complex doubles are off by at most 3 u (Brent, Percival,
Zimmermann, Error bounds on complex floating-point multiplication, 2007), and sums by u; roots of
unity w, products of two that are off by 2 u, by 7.1 u. A step of the transform makes x + w y, x - w
y of two numbers. Let A be the sum of the moduli of all that a number is made of after s steps: its
error is at most ((1 + 12 u)^s - 1) A, as that of the next one is at most ((1 + 12 u)^s - 1) (A_x +
A_y) + 11.2 u (1 + 12 u)^s (A_x + A_y). So all of a transform is off by γ Σ |x_k| at most, γ = 12.1
u log2 N. With errors of at most e in ẑ, b = |ẑ| + e, and T products of doubles,

    |fl(ẑ^T) - z^T| <= b^T (T e / b + 3.1 u T),                                                 (2)

likewise for products of powers, where T e / b adds up. The inverse transform of what has errors
E_k is off by (1 / N) Σ (E_k + γ b_k^T) at most. What numbers below 2^-700 add is added.

Of T runs k are taken together, of T / k each, on a grid that is c times as wide (`losses`): runs
on steps of h add T h² / 6 to the variance of losses, these add k (c h)² / 6.

Source: Koskela, Jälkö, Honkela, Computing tight differential privacy guarantees using FFT, 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import ceil, exp, log, prod
from operator import mul

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dipapprox.arithmetic.double_functions import exponential
from dipapprox.arithmetic.precision import precision
from dipapprox.arithmetic.rounding import (
    FLOOR,
    SAFE,
    UNIT_ROUNDOFF,
    UP,
    Array,
    sound_arithmetic,
    total_above,
    total_below,
)
from dipapprox.composition.losses import (
    LARGEST,
    BoundSide,
    GridLosses,
    NoDoubles,
    Spread,
    as_double,
    raised,
)
from dipapprox.data_classes import Record
from dipapprox.limits import check_limits, current

_Complex = NDArray[np.complex128]

_STEEPEST, _COARSEST = 600.0, 4.0
"""Of exponents: more is no double; and of g."""

_FURTHEST = 2**29  # places, in modulus: by doubles of 24 bits they are multiplied exactly
_OUTSIDE = 38.0  # about -ln of what is tilted and outside the window
_SECTIONS = 32
_GOLDEN = (5**0.5 - 1) / 2
_ABSOLUTE = 2.0**-700  # more than all that is below `FLOOR` adds up to
_MANY = 2**20  # runs that are multiplied on two grids
_BLOCKS = 4096  # of losses, for what is guessed


@sound_arithmetic()
def transformed(
    factors: Sequence[tuple[GridLosses, int]], steepness: float, share: float
) -> Spread | None:
    """Return the composition of runs, on the grid or a wider one; None if doubles do not do.

    Args:
        factors: At least one, each a number of times, on one grid, of one unit and side.
        steepness: λ; 0 if none is known.
        share: Of the mass of one run, that may go.
    """
    times = sum(times for _, times in factors)
    try:
        runs = [(Spread.of(one, share), times) for one, times in factors]
        groups, parts = ceil(times**0.5 / 2), int(times**0.25 / 2)
        often = [(one, count // groups) for one, count in runs if count >= groups]
        if times >= _MANY and often:
            several = share * sum(count for _, count in often)
            found = [(_multiplied(often, steepness, several).wider(parts), groups)]
            found += [(one.wider(parts), count % groups) for one, count in runs if count % groups]
            runs = found
        whole = _multiplied(runs, steepness, share * times)
        if float(whole.others.max()) * 2.0 ** factors[0][0].bits < LARGEST:
            return whole
    except NoDoubles:
        pass
    return None


def _multiplied(factors: Sequence[tuple[Spread, int]], steepness: float, share: float) -> Spread:
    """Multiply, each a number of times, and cut off about such a share."""
    check_limits()
    (one, _), *_ = factors
    growth = _short(steepness * float(one.step.loss(1)))
    if growth > _COARSEST:
        raise NoDoubles
    middles = [_middle(own, growth) for own, _ in factors]
    above = one.side is BoundSide.ABOVE
    known = [
        [
            _tilted(own.places - middle, values, growth, times, up=up)
            for (own, times), values, middle in zip(factors, each, middles, strict=True)
        ]
        for each, up in (
            ([own.masses for own, _ in factors], above),
            ([own.others for own, _ in factors], True),
        )[above:]
    ]
    window = _Window.about(known[0])
    if window.size > current().atoms:
        raise NoDoubles
    found = [_power(each, window) for each in known]
    away = sum(middle * times for middle, (_, times) in zip(middles, factors, strict=True))
    return _untilted(factors, known, found, window, growth, away).without_end(share)


class _Tilted(Record):
    """Tilted masses of a run."""

    places: NDArray[np.int64]  # k - k0
    masses: Array  # t >= 0
    scale: float  # s
    times: int  # T

    def moments(self, sign: int) -> Callable[[float], float]:
        """About ln Σ t e^(θ (k - k0)), hardly less, for any θ of a sign."""
        starts = np.arange(0, len(self.places), -(-len(self.places) // _BLOCKS))
        masses = np.add.reduceat(self.masses, starts)
        places = (np.maximum if sign > 0 else np.minimum).reduceat(self.places, starts)

        def moment(tilt: float) -> float:
            exponents = tilt * places
            top = float(exponents.max())
            return top + log(float(masses @ np.exp(exponents - top)) + FLOOR)

        return moment

    def bound(self, tilt: float) -> float:
        """More than Σ t e^(θ (k - k0)), for θ of 24 bits."""
        powers = exponential(np.asarray(tilt * self.places, float))
        return float(total_above(self.masses * powers)) * UP + FLOOR


def _middle(one: Spread, growth: float) -> int:
    """k0: about where masses that are tilted from there sum to 1."""
    if not growth:
        return 0
    with np.errstate(divide="ignore"):
        exponents = np.log(one.masses) + growth * one.places
    top = float(exponents.max())
    if not np.isfinite(top):
        raise NoDoubles
    return round((top + log(float(np.exp(exponents - top).sum()))) / growth)


def _tilted(
    places: NDArray[np.int64], masses: Array, growth: float, times: int, *, up: bool
) -> _Tilted:
    """Tilt masses; `exponential` and four roundings are off by 2^-48 of them."""
    exponents = growth * places
    if np.abs(places).max() > _FURTHEST // 2 or exponents.max() > _STEEPEST:
        raise NoDoubles
    found = masses * exponential(np.asarray(exponents, float))
    scale = float(found.sum())
    if not 2.0**-20 < scale < 2.0**20:
        raise NoDoubles
    found /= scale
    if up:
        found = np.maximum(found * (1 + 2.0**-47), FLOOR)
    else:
        found = np.where((found < FLOOR) | (exponents < -_STEEPEST), 0, found * (1 - 2.0**-47))
    return _Tilted(places, found, scale, times)


class _Window(Record):
    """Places R of a product, and more than what is tilted and outside of them."""

    start: int  # the first place
    size: int  # n, a power of 2
    lower: arb  # of the places before them
    upper: arb  # of those after them

    @property
    def end(self) -> int:
        return self.start + self.size

    @classmethod
    def about(cls, factors: Sequence[_Tilted]) -> _Window:
        (down, low), (up, high) = (_reach(factors, sign) for sign in (-1, 1))
        span = max(ceil(up) + ceil(down) + 1, 8)
        size = 1 << (span - 1).bit_length()
        start = -ceil(down) - (size - span) // 2
        if max(abs(start), abs(start + size)) > _FURTHEST // 2:
            raise NoDoubles
        ends = (-low, start - 1), (high, start + size)
        return cls(start, size, *(_outside(factors, tilt, place) for tilt, place in ends))


def _reach(factors: Sequence[_Tilted], sign: int) -> tuple[float, float]:
    """Return the b at which (1) is about e^-38, on one side, and the θ for which that is so."""
    furthest = max(float(np.abs(each.places).max()) for each in factors)
    moments = [(each.moments(sign), each.times) for each in factors]

    def reach(place: float) -> float:
        tilt = exp(place)
        whole = sum(times * moment(sign * tilt) for moment, times in moments)
        return (whole + _OUTSIDE) / tilt

    place = least_place(reach, log(1e-10), log(_STEEPEST / max(furthest, 1.0)), _SECTIONS)
    return reach(place), _short(exp(place))


def _outside(factors: Sequence[_Tilted], tilt: float, place: int) -> arb:
    """(1): of places on the side of the tilt, from one on."""
    with precision(96):
        found = (-arb(tilt) * place).exp()
        for each in factors:
            found *= arb(each.bound(tilt)) ** each.times
        return found.upper()


def _power(factors: Sequence[_Tilted], window: _Window) -> tuple[Array, float]:
    """Return tilted products on a circle, from the window's first place on, and their error."""
    size, u = window.size, UNIT_ROUNDOFF
    gamma = 12.1 * u * size.bit_length()
    total = sum(each.times for each in factors)
    product, most = np.ones(size, complex), np.ones(size)
    doubt = np.full(size, 4.0 * u * total)
    for each in factors:
        spots = each.places % size
        values = np.bincount(spots, each.masses, size).astype(complex)
        joined = int(np.bincount(spots).max()) - 1
        error = float(total_above(each.masses)) * (2 * joined * u + 1.1 * gamma) + _ABSOLUTE
        spectrum = _transform(values)
        modulus = np.sqrt(spectrum.real**2 + spectrum.imag**2) * UP + error
        doubt += each.times * error / modulus
        product = product * raised(spectrum, each.times, mul)
        most = most * raised(modulus, each.times, mul)
    most *= 1 + 4 * u * total
    off = float(total_above(most * (doubt + gamma) + _ABSOLUTE)) * SAFE / size
    found = _transform(product.conj()).real / size
    return np.roll(found, -(window.start % size)), off


def _untilted(
    factors: Sequence[tuple[Spread, int]],
    known: Sequence[Sequence[_Tilted]],
    found: Sequence[tuple[Array, float]],
    window: _Window,
    growth: float,
    away: int,
) -> Spread:
    """Return bounds of what tilted products stand for, on the side of the runs.

    Places from a first one on are kept, below which what is in doubt would be a mass of 1. From
    above, all that is not surely on them, or beyond, is on the first one besides.
    """
    one, above = factors[0][0], factors[0][0].side is BoundSide.ABOVE
    (values, off), (others, other) = found[0], found[-1]
    logarithm = sum(each.times * log(each.scale) for each in known[0])
    zero = round(logarithm / growth) if growth else 0
    if max(abs(window.start - zero), abs(window.end - zero)) > _FURTHEST:
        raise NoDoubles
    exponents = np.asarray(-growth * (np.arange(window.start, window.end) - zero), float)
    doubtful = min(max(-log(off * window.size), 0.0), _STEEPEST)
    first = int(np.count_nonzero(exponents > doubtful))
    if first == window.size:
        raise NoDoubles
    exponents = exponents[first:]
    factor = exponential(exponents)
    totals = total_above if above else total_below
    with precision(256):
        sizes = [
            (-arb(growth) * zero).exp()
            * prod((arb(run.scale) ** run.times for run in own), start=arb(1))
            for own in known
        ]
        masses = [(arb(float(totals(run.masses))), arb(run.infinite), n) for run, n in factors]
        finite = prod((p**times for p, _, times in masses), start=arb(1))
        whole = prod(((p + rest) ** times for p, rest, times in masses), start=arb(1))
        beyond = window.upper * sizes[0] * (-arb(growth) * (window.end - zero)).exp()
        infinite = max(as_double(whole - finite + above * beyond, up=above), 0.0)
        least, most = as_double(sizes[0], up=False), as_double(sizes[-1])
        outside, cap = as_double(window.lower + window.upper), as_double(whole)
    if not most * float(factor.max()) < LARGEST:
        raise NoDoubles
    less = np.maximum(values[first:] - (off + outside) * UP, 0) * factor * (least / UP)
    more = np.maximum((np.maximum(others[first:], 0) + other) * factor * (most * UP), FLOOR)
    places = np.arange(window.start + first, window.end) + away
    if not above:
        less[exponents < -_STEEPEST] = 0
        spread = Spread(one.step, one.side, places, less, more, infinite)
        return spread.centred(np.maximum(values[first:], 0))
    more = np.minimum(more, cap)
    # Tilted masses were raised by 2^-46 of them at most.
    sure = float(total_below(less[exponents >= -_STEEPEST]))
    sure *= max(1 - 2.0**-45 * sum(times for _, times in factors), 0.0)
    more[0] = min(more[0] + max(cap - sure, 0.0) * UP + _ABSOLUTE, cap)
    return Spread(one.step, one.side, places, more, more, infinite)


def _transform(values: _Complex) -> _Complex:
    """Return the sums of x_j e^(-2 pi i j k / N), N a power of 2."""
    size = len(values)
    roots = _roots(size)
    found = values.reshape(1, size)
    while (length := len(found)) < size:
        half = size // length // 2
        turned = found[:, half:] * roots[::half, None]
        both = np.empty((2 * length, half), complex)
        np.add(found[:, :half], turned, out=both[:length])
        np.subtract(found[:, :half], turned, out=both[length:])
        found = both
    return found.ravel()


@lru_cache(maxsize=4)
def _roots(size: int) -> _Complex:
    """e^(-2 pi i k / N) for all k < N / 2, as products of two from balls."""
    fine = 1 << (size.bit_length() // 2)
    with precision(96):
        turns = ([arb(-2 * k) / size for k in many] for many in (range(fine), range(0, size, fine)))
        inner, outer = (
            np.array([complex(float(t.cos_pi().mid()), float(t.sin_pi().mid())) for t in own])
            for own in turns
        )
    return np.outer(outer, inner).ravel()[: size // 2]


def least_place(value: Callable[[float], float], low: float, high: float, sections: int) -> float:
    """Return about where a function that falls and then rises is least, by golden sections."""
    one, two = (low + share * (high - low) for share in (1 - _GOLDEN, _GOLDEN))
    left, right = value(one), value(two)
    for _ in range(sections):
        if left < right:
            high, two, right = two, one, left
            one = high - _GOLDEN * (high - low)
            left = value(one)
        else:
            low, one, left = one, two, right
            two = low + _GOLDEN * (high - low)
            right = value(two)
    return low


def _short(value: float) -> float:
    return float(np.float32(value))
