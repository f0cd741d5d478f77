"""Plans in the shape the quadrature wants: hoisted, grouped, cut off. Exact throughout.

In: a `Plan` (DiPApprox section 6, after Algorithm 5) over the samples of an event. Out: a `Node`
tree in which a variable is named by the number of integral signs around its own, so that factors
that differ in the names of their variables only are equal, and

    Π of k equal factors           becomes  factor ** k
    ∫ f(x) A B(x) dx               becomes  A ∫ f(x) B(x) dx          where A does not mention x
    ∫ f(x) dx                      becomes  a `Mass`: a difference of distribution functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import assert_never

from dipapprox.data_classes import dataclass
from dipapprox.events.event import Event
from dipapprox.integrals.integral import Add, Integral, Level, Multiply, Plan
from dipapprox.laws.distribution import Distribution
from dipapprox.linear.form import LinearForm


@dataclass(frozen=True, slots=True)
class NestRange:
    """The range of one variable: a law between two affine ends over outer variables (by depth)."""

    law: Distribution
    lower: LinearForm | None
    upper: LinearForm | None
    lower_side: int
    upper_side: int

    def ends(self) -> tuple[LinearForm, ...]:
        """The finite ends."""
        return tuple(end for end in (self.lower, self.upper) if end is not None)


@dataclass(frozen=True, slots=True)
class Mass:
    """The mass of a span."""

    span: NestRange


@dataclass(frozen=True, slots=True)
class Nest:
    """∫ over the span of density·body. `breaks`: where to begin new panels, ascending."""

    span: NestRange
    depth: int
    body: Node
    breaks: tuple[Fraction, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeProduct:
    """Π factor ** power; empty: 1."""

    factors: tuple[tuple[Node, int], ...]


@dataclass(frozen=True, slots=True)
class NodeSum:
    """Σ count * term; empty: 0."""

    terms: tuple[tuple[Node, int], ...]


Node = Mass | Nest | NodeProduct | NodeSum


def build_node(plan: Plan, event: Event, *, literal: bool = False) -> Node:
    """Rename, hoist and group; see the module's rules.

    Args:
        plan: What to build.
        event: Gives the laws.
        literal: Leave every integral where the plan has it: nothing is hoisted.
    """
    return _build(plan, event, {}, 0, literal)


def _build(plan: Plan, event: Event, depths: Mapping[int, int], depth: int, literal: bool) -> Node:
    match plan:
        case Multiply(factors):
            return _product(_build(f, event, depths, depth, literal) for f in factors)
        case Add(terms):
            return _group_sum(_build(t, event, depths, depth, literal) for t in terms)
        case Integral(level, body):
            if body is None:
                return Mass(_span(level, event, depths))
            inner = _build(body, event, {**depths, level.variable: depth}, depth + 1, literal)
            span = _span(level, event, depths)
            return Nest(span, depth, inner) if literal else _nest(span, depth, inner)
        case _:
            assert_never(plan)


def _span(level: Level, event: Event, depths: Mapping[int, int]) -> NestRange:
    def renamed(form: LinearForm | None) -> LinearForm | None:
        return None if form is None else form.renamed(lambda symbol: depths[int(symbol)])

    lower, upper = renamed(level.lower), renamed(level.upper)
    law = event.samples[level.variable]
    return NestRange(law, lower, upper, level.lower_side, level.upper_side)


def _nest(span: NestRange, depth: int, body: Node) -> Node:
    factors = body.factors if isinstance(body, NodeProduct) else ((body, 1),)
    inside = tuple(item for item in factors if depth in variables(item[0]))
    outside = tuple(item for item in factors if depth not in variables(item[0]))
    core: Node = Nest(span, depth, _simplest(inside)) if inside else Mass(span)
    return _simplest(((core, 1), *outside))


def _product(factors: Iterable[Node]) -> Node:
    return _simplest(
        _counted(f.factors if isinstance(f, NodeProduct) else ((f, 1),) for f in factors)
    )


def _group_sum(terms: Iterable[Node]) -> Node:
    return NodeSum(_counted(t.terms if isinstance(t, NodeSum) else ((t, 1),) for t in terms))


def _counted(parts: Iterable[Sequence[tuple[Node, int]]]) -> tuple[tuple[Node, int], ...]:
    """Add up the exponents, or the coefficients, of equal nodes."""
    counts: dict[Node, int] = {}
    for part in parts:
        for node, count in part:
            counts[node] = counts.get(node, 0) + count
    return tuple(counts.items())


def _simplest(factors: tuple[tuple[Node, int], ...]) -> Node:
    if len(factors) == 1 and factors[0][1] == 1:
        return factors[0][0]
    return NodeProduct(factors)


def children(node: Node) -> tuple[tuple[Node, int], ...]:
    """The nodes directly inside, with their multiplicity."""
    match node:
        case Mass():
            return ()
        case Nest(_, _, body):
            return ((body, 1),)
        case NodeProduct(items) | NodeSum(items):
            return items
        case _:
            assert_never(node)


def variables(node: Node) -> frozenset[int]:
    """The depths of the free variables."""
    inner = frozenset(chain.from_iterable(variables(child) for child, _ in children(node)))
    match node:
        case Mass(span):
            return inner | _mentioned(span)
        case Nest(span, depth, _):
            return (inner - {depth}) | _mentioned(span)
        case _:
            return inner


def _mentioned(span: NestRange) -> frozenset[int]:
    return frozenset(chain.from_iterable(end.samples() for end in span.ends()))
