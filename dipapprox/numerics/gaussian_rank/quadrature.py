"""Gauss-Legendre rules in balls, with as many nodes as a proved error needs.

In: a function that is analytic and bounded on a strip round the real line. Out: its integral.

On a panel of half-length h the rule of n nodes, with the Bernstein ellipse that is as high as the
strip on either side, a, r - 1/r = 2 a / h, errs by at most 8 h b r^(1 - 2n) / (r - 1) if the
function is at most b in it (`arithmetic.legendre` has the proof).
"""

from __future__ import annotations

from collections.abc import Callable
from math import asinh, ceil, expm1, log, log2

from flint import arb, ctx

from dipapprox.arithmetic.precision import give_way
from dipapprox.cache import Cache

_MOST_NODES = 512
"""Of a rule; longer panels are divided."""

_REMEMBERED = 20_000
"""About how many nodes of rules are kept."""


def quadrature(
    value: Callable[[arb], arb], bound: arb, height: arb, first: arb, last: arb, bits: int
) -> arb:
    """Enclose ∫ from `first` to `last`, `first` < `last`.

    Args:
        value: Encloses the function, real on real balls.
        bound: Of its modulus where |imaginary part| <= `height`.
        height: Of the strip, > 0.
        first: Finite.
        last: Finite.
        bits: The rule's error shall be about 2**-bits.
    """
    panels, count = rule_for(float((last - first).mid()), float(height), float(bound.mid()), bits)
    half = (last - first) / (2 * panels)
    slope = height / half
    ratio = slope + (slope * slope + 1).sqrt()
    error = 8 * bound / (ratio - 1) * ratio ** (1 - 2 * count)
    total = arb(0)
    rule = _rule(count)
    for panel in range(panels):
        give_way()
        centre = first + (2 * panel + 1) * half
        for node, weight in rule:
            step = half * node
            total += weight * (value(centre + step) + value(centre - step))
        total += arb(0, error.upper())
    return total * half


def rule_for(length: float, height: float, bound: float, bits: int) -> tuple[int, int]:
    """Guess how many panels and nodes of each suffice; only the time depends on it."""
    panels = 1
    while True:
        half = max(length, 1e-30) / (2 * panels)
        ratio = asinh(height / half)  # its logarithm
        wanted = bits + 1 + log2(max(4 * length * bound, 1e-300) / expm1(min(ratio, 100.0)))
        count = 4 * max(ceil((wanted * log(2) / ratio + 1) / 8), 1)
        if count <= _MOST_NODES:
            return panels, count
        panels *= 2


_rules: Cache[tuple[int, int], tuple[tuple[arb, arb], ...]] = Cache(_REMEMBERED, len)


def _rule(count: int) -> tuple[tuple[arb, arb], ...]:
    """The positive nodes and their weights of the rule with an even number of nodes."""
    return _rules.find(
        (count, ctx.prec),
        lambda: tuple([arb.legendre_p_root(count, k, True) for k in range(count // 2)]),
    )
