"""Differences within an l1 radius, of inputs with ranges of their own: vertices."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from dipapprox import Options, parse
from dipapprox.pairs.boxes.vertices import vertex_pairs
from dipapprox.semantics.execution import execute

PARTS = st.fractions(Fraction(1, 4), 3, max_denominator=4)


def program(weights: list[Fraction], widths: list[Fraction], radius: Fraction) -> str:
    names = [f"q{k}" for k in range(len(widths))]
    inputs = "\n".join(
        f"input {name} in real 0..{width}" for name, width in zip(names, widths, strict=True)
    )
    mean = " + ".join(f"{w} * {name}" for w, name in zip(weights, names, strict=True))
    return f"{inputs}\noutput y in real\nadjacent l1 {radius}\ny <- Gauss({mean}, 2 / eps)\n"


def largest(weights: list[Fraction], widths: list[Fraction], radius: Fraction) -> Fraction:
    """The radius is spent where it counts most (a fractional knapsack)."""
    found = Fraction(0)
    for weight, width in sorted(zip(weights, widths, strict=True), reverse=True):
        step = min(width, radius)
        found, radius = found + weight * step, radius - step
    return found


@given(st.lists(st.tuples(PARTS, PARTS), min_size=1, max_size=4), PARTS)
@example([(Fraction(1), Fraction(1)), (Fraction(1), Fraction(2))], Fraction(3))
def test_the_largest_change_is_among_vertices(
    parts: list[tuple[Fraction, Fraction]], radius: Fraction
) -> None:
    weights, widths = [list(each) for each in zip(*parts, strict=True)]
    states = execute(
        parse(program(weights, widths, radius)), True, Options().limits, real_outputs=True
    )
    changes = []
    for u, v in vertex_pairs(states):
        own = [Fraction(x) - Fraction(y) for x, y in zip(u, v, strict=True)]
        assert sum(map(abs, own)) <= radius
        assert all(abs(x) <= width for x, width in zip(own, widths, strict=True))
        changes.append(abs(sum(w * x for w, x in zip(weights, own, strict=True))))
    assert max(changes) == largest(weights, widths, radius)
