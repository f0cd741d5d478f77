"""What tests of evaluators share: graphs, and what to compare with."""

from collections.abc import Iterable
from fractions import Fraction

from flint import arb
from hypothesis import strategies as st

from dipapprox.kernel.balls import precision
from dipapprox.kernel.evaluate import evaluate
from dipapprox.kernel.grid import Accuracy, accuracy
from dipapprox.kernel.laws import Law
from dipapprox.kernel.nodes import Graph, Node
from kernel.ends import lower, upper

ONE = Fraction(1)
FINE = accuracy(60)


COARSE = (
    # Exact but for what is beyond the grid.
    FINE._replace(bits=1),
    *(
        Accuracy(
            bits, terms, (Fraction(smooth), Fraction(growth)), (Fraction(kinked), Fraction(growth))
        )
        for bits, terms, smooth, kinked, growth in [
            (3, 2, 2, 3, 1),
            (8, 3, 1, 2, 0),
            (20, 5, 4, 1, 0),
            (40, 9, 1, 1, "1/2"),
            # Whose polynomials are constant, and whose are short.
            (60, 1, 1, 1, "1/8"),
            (60, 3, 4, 4, 1),
        ]
    ),
)
"""Whose enclosures are wide, and right nevertheless."""


def law(
    family: str, mean: int | Fraction = 0, coefficient: int | Fraction = 1, power: int = 0
) -> Law:
    """A law, with the scale 1 unless said otherwise."""
    return Law(family, Fraction(mean), Fraction(coefficient), power)


def enclosed(
    graph: Graph, scalars: Iterable[Node], eps: Fraction = ONE, asked: Accuracy = FINE
) -> list[tuple[Fraction, Fraction]]:
    scalars = list(scalars)
    found = evaluate(graph, scalars, eps, asked)
    with precision(300):
        return [(lower(found[scalar]), upper(found[scalar])) for scalar in scalars]


def holds(ends: tuple[Fraction, Fraction], value: Fraction | arb, width: float) -> bool:
    """Whether a number lies between two others that are near each other."""
    low, high = ends
    if isinstance(value, arb):
        with precision(300):
            inside = lower(value) <= high and low <= upper(value)
    else:
        inside = low <= value <= high
    return inside and high - low <= width


def cuts(
    graph: Graph, density: Node, places: list[int | Fraction]
) -> dict[tuple[Fraction | None, Fraction | None], Node]:
    """The integrals of a density between any two places, or from or up to one."""
    ends = [None, *map(Fraction, places)]
    pairs = [(low, high) for low in ends for high in ends if low is not None or high is not None]
    return {pair: graph.total(graph.restrict(density, *pair)) for pair in pairs}


def meet(one: tuple[Fraction, Fraction], other: tuple[Fraction, Fraction]) -> bool:
    """Whether two intervals have a point in common."""
    return one[0] <= other[1] and other[0] <= one[1]


small = st.fractions(min_value=-4, max_value=4, max_denominator=4)
scales = st.sampled_from([Fraction(1, 3), Fraction(1), Fraction(5, 2)])


@st.composite
def densities(draw: st.DrawFn, families: list[str], graph: Graph) -> Node:
    family = draw(st.sampled_from(families))
    mean = draw(st.integers(-4, 4)) if family.startswith("D") else draw(small)
    return graph.density(Law(family, Fraction(mean), draw(scales), draw(st.sampled_from([0, -1]))))


@st.composite
def totals(draw: st.DrawFn, families: list[str]) -> tuple[Graph, list[Node]]:
    """A graph with a few functions of all kinds, and their integrals with a density each."""
    graph = Graph()
    leaves = [draw(densities(families, graph)) for _ in range(draw(st.integers(1, 3)))]
    bounded, found = list(leaves), list(leaves)
    # `bounded`: those with a finite integral, whose running integrals there are.
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["product", "running", "rise", "mix", "restrict", "moved"]))
        one, other = draw(st.sampled_from(bounded)), draw(st.sampled_from(found))
        match kind:
            case "product":
                new = graph.times(one, other)
                bounded.append(new)
            case "running":
                new = graph.running(one, draw(st.booleans()))
            case "rise":
                # A sum of two is not below one of them.
                sum_of_both = graph.mix([(graph.one, one), (graph.rational(Fraction(1, 3)), other)])
                new = graph.add("rise", [sum_of_both, one])
            case "mix":
                weight = graph.total(graph.times(one, one))
                new = graph.mix([(weight, one), (graph.rational(Fraction(2, 3)), other)])
            case "restrict":
                ends = sorted([draw(small), draw(small)])
                low, high = draw(
                    st.sampled_from([(ends[0], ends[1]), (None, ends[1]), (ends[0], None)])
                )
                new = graph.restrict(other, low, high)
                if other in bounded:
                    bounded.append(new)
            case _:
                whole = families[0].startswith("D")
                slope = Fraction(-1) if whole else draw(st.sampled_from([-1, 2, Fraction(-1, 2)]))
                offset = Fraction(draw(st.integers(-2, 2)))
                new = graph.moved(other, Fraction(slope), offset)
                if other in bounded:
                    bounded.append(new)
        found.append(new)
    return graph, [graph.total(graph.times(leaves[0], function)) for function in found]
