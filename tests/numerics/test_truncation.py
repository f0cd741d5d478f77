"""From plans to truncated trees: hoisting, grouping, cut-offs that never invert a range."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.events.event import Event
from dipapprox.integrals.optimizer import plan
from dipapprox.integrals.strategy import Strategy
from dipapprox.laws.distribution import Distribution
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.nested.nest import (
    Nest,
    Node,
    build_node,
    children,
    open_ends,
    truncate,
    variables,
)
from tests.families import REAL_FAMILIES


def below(lesser: int, greater: int) -> LinearForm:
    return LinearForm.symbol(lesser) - LinearForm.symbol(greater)


def nests(node: Node) -> list[Nest]:
    found = [node] if isinstance(node, Nest) else []
    return found + [nest for child, _ in children(node) for nest in nests(child)]


laws = st.builds(
    Distribution,
    st.sampled_from(REAL_FAMILIES),
    st.fractions(-50, 50, max_denominator=4),
    st.sampled_from([Fraction(1, 1000), Fraction(1), Fraction(3, 2), Fraction(500)]),
)


@given(st.lists(laws, min_size=2, max_size=5), st.data(), st.integers(4, 60))
def test_cut_offs_make_all_ends_finite_and_invert_nothing(
    samples: list[Distribution], data: st.DataObject, bits: int
) -> None:
    pairs = [(i, j) for j in range(1, len(samples)) for i in [data.draw(st.integers(0, j - 1))]]
    event = Event(tuple(samples), tuple(below(*pair) for pair in pairs))
    tree = build_node(plan(event, Strategy.LEAST_NESTING, Limits()), event)
    truncated = truncate(tree, bits)
    assert open_ends(truncated) == 0
    assert not variables(truncated)
    before, after = nests(tree), nests(truncated)
    assert len(before) == len(after)
    _check_ranges(truncated, tree, ())


def _check_ranges(
    truncated: Node, original: Node, boxes: tuple[tuple[Fraction, Fraction], ...]
) -> None:
    """A new end lies beyond the other end's whole range, over boxes of the outer variables."""
    if isinstance(truncated, Nest):
        assert isinstance(original, Nest)
        lower, upper = truncated.span.lower, truncated.span.upper
        assert lower is not None and upper is not None
        padded = boxes + ((Fraction(0), Fraction(0)),) * (truncated.depth - len(boxes))
        low, high = (each.extent(lambda k: padded[int(k)]) for each in (lower, upper))
        if original.span.lower is None or original.span.upper is None:
            assert low[1] <= high[0]
        assert list(truncated.breaks) == sorted(set(truncated.breaks))
        boxes = (*padded[: truncated.depth], (low[0], high[1]))
    for (child, _), (old, _) in zip(children(truncated), children(original), strict=True):
        _check_ranges(child, old, boxes)
