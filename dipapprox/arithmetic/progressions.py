"""Sequences of balls whose quotients make a geometric sequence: laws of integers."""

from __future__ import annotations

from collections.abc import Iterator

from flint import arb

from dipapprox.limits import asking


def products(value: arb, ratio: arb, growth: arb | int, count: int) -> Iterator[arb]:
    """Yield value, value * ratio, value * ratio² * growth, …: each ratio is `growth` the last.

    `count` more follow the first; `ratio` is that of the second and the first.
    """
    yield value
    for _ in asking(range(count)):
        value = value * ratio
        ratio = ratio * growth
        yield value
