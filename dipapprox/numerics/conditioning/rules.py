"""Quadrature over the values of a separator: exact places, weights with the density, the error.

In: a separator s of law φ, between bounds, and the bound |g(u + i v)| <= exp(v² A / 2) of a
function g, 0 <= g <= 1 on the line. Out: places t_k, balls w_k and e, l with

    Σ w_k g(t_k) - e  <=  ∫ φ g  <=  Σ w_k g(t_k) + e + l.

The line is cut off where all but l of the law is kept, and at the kink of its density. On a panel
of half-width h with n nodes x_k of Gauss and Legendre, and for the ellipse of ratio r with the
semi-axes a, b, the rule errs by at most 8 h m r^(1 - 2n) / (r - 1) (`arithmetic.legendre`), m the
greatest |φ g| in it: m <= c e^(h² b² A / 2 + e) / σ, with the scale σ, and c e^e a bound of the
standard density on the ellipse in scales, as `RealFamily.ellipse` has it. No point of the ellipse
is further than h b from the line, or h (a - 1) beyond the panel, which ends at the mean if there is
a kink.

Places are rational, near the nodes. By Cauchy on the circle of radius 1 / √A, |g'| <= √(A e); so
|g(t) - g(x)| <= |t - x| (1 + A), because √(A e) <= 1 + A.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, inf, log, log2, sqrt

from flint import arb

from dipapprox.arithmetic.legendre import legendre_nodes
from dipapprox.arithmetic.precision import exact_fraction, to_ball
from dipapprox.data_classes import dataclass
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.tails import cutoff_interval
from dipapprox.numerics.conditioning.separators import Separator

_RATIOS = (2, 3, 4, 5, 6, 8, 10, 13, 17, 25, 40)

_WIDTHS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
"""Half-widths of panels that are tried, in lengths on which the integrand changes."""

_MOST_NODES = 64

_LARGEST = 2**200


@dataclass(frozen=True, slots=True)
class Panels:
    """How a separator's range is divided.

    Attributes:
        ends: Of the panels' runs: low, high, how many panels, the side of the mean (0 for Gauss).
        nodes: Of each panel.
        ratio: Of the ellipse.
    """

    runs: tuple[tuple[Fraction, Fraction, int, int], ...]
    nodes: int
    ratio: int

    @property
    def places(self) -> int:
        """How many values the separator takes."""
        return self.nodes * sum(count for _, _, count, _ in self.runs)


@dataclass(frozen=True, slots=True)
class Weighted:
    """A rule, see above.

    Attributes:
        places: t_k.
        weights: w_k.
        error: e.
        lost: l.
    """

    places: tuple[Fraction, ...]
    weights: tuple[arb, ...]
    error: arb
    lost: Fraction


def panels_for(separator: Separator, law: Distribution, bits: int) -> Panels | None:
    """Choose panels for an error of about 2**-bits; only the time depends on it.

    None if no rule does, or the numbers are beyond the range of doubles.
    """
    low, high = cutoff_interval(law, bits)
    low = low if separator.lower is None else max(low, separator.lower)
    high = high if separator.upper is None else min(high, separator.upper)
    if low >= high:
        return Panels((), 1, _RATIOS[0])
    runs = [(low, high, 0)]
    if law.real.has_kink:
        cut = min(max(law.mean, low), high)
        runs = [run for run in ((low, cut, -1), (cut, high, 1)) if run[0] < run[1]]
    if not all(abs(x) <= _LARGEST for x in (low, high, separator.strength, 1 / law.scale)):
        return None
    strength, scale = float(separator.strength), float(law.scale)
    length = 1 / sqrt(strength + 1 / scale**2)
    best: Panels | None = None
    for width in _WIDTHS:
        counts = [ceil(float(end - start) / (2 * width * length)) for start, end, _ in runs]
        half = max(
            float(end - start) / (2 * count)
            for (start, end, _), count in zip(runs, counts, strict=True)
        )
        for ratio in _RATIOS:
            wide, high_axis = (ratio + 1 / ratio) / 2, (ratio - 1 / ratio) / 2
            exponent = (half * high_axis) ** 2 * strength / 2
            exponent += law.real.ellipse(half * high_axis / scale, half * (wide - 1) / scale)
            if exponent == inf:
                break  # this ellipse, and larger ones, reach a pole
            digits = bits + 4 + exponent / log(2) + log2(max(sum(counts), 1))
            digits += log2(max(8 * half / scale, 2.0**-60))
            nodes = max(ceil((digits / log2(ratio) + 1) / 2), 2)
            found = Panels(
                tuple((s, e, c, side) for (s, e, side), c in zip(runs, counts, strict=True)),
                nodes,
                ratio,
            )
            if nodes <= _MOST_NODES and (best is None or found.places < best.places):
                best = found
    return best


def weighted(separator: Separator, law: Distribution, panels: Panels, bits: int) -> Weighted:
    """Build the rule at the working precision, with places to about 2**-(bits + 20)."""
    standard, scale = law.real, to_ball(law.scale)
    mean, strength = to_ball(law.mean), to_ball(separator.strength)
    unit = 1 << bits + 20 + max((1 + separator.strength).__ceil__().bit_length(), 1)
    nodes, gauss_weights = legendre_nodes(panels.nodes)
    ratio = arb(panels.ratio)
    wide, high = (ratio + 1 / ratio) / 2, (ratio - 1 / ratio) / 2
    factor = 8 * ratio ** (1 - 2 * panels.nodes) / (ratio - 1)
    places: list[Fraction] = []
    weights: list[arb] = []
    error = arb(0)
    for start, end, count, side in panels.runs:
        half_exact = (end - start) / (2 * count)
        half = to_ball(half_exact)
        exponent = (half * high) ** 2 * strength / 2
        exponent += standard.ellipse(half * high / scale, half * (wide - 1) / scale)
        error += count * factor * half * exponent.exp() * to_ball(standard.steep) / scale
        for panel in range(count):
            centre = to_ball(start + (2 * panel + 1) * half_exact)
            for node, weight in zip(nodes, gauss_weights, strict=True):
                x = centre + half * node
                place = Fraction(round(exact_fraction(x.mid()) * unit), unit)
                own = half * weight * standard.pdf((x - mean) / scale, side or 1) / scale
                places.append(place)
                weights.append(own)
                error += own * abs(x - to_ball(place)) * (1 + strength)
    return Weighted(tuple(places), tuple(weights), error, Fraction(2, 2**bits))
