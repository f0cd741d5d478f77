"""Plans in the shape the quadrature wants: hoisted, grouped, cut off. Exact throughout.

In: a `Plan` (DiPApprox section 6, after Algorithm 5) over the samples of an event. Out: a `Node`
tree in which a variable is named by the number of integral signs around its own, so that factors
that differ in the names of their variables only are equal, and

    Π of k equal factors           becomes  factor ** k
    ∫ f(x) A B(x) dx               becomes  A ∫ f(x) B(x) dx          where A does not mention x
    ∫ f(x) dx                      becomes  a mass: a difference of distribution functions.

Truncation. Finite ends for the integrals that quadrature has to do, and where to begin new panels.
Exact.

In: a `Node`. Out: the same node with cut-offs for infinite ends and a bound of what they cost.

A `Nest` (an integral with something inside) needs finite ends. Write V for a plan's
value and V' for its value after replacing the infinite ends of some of its nests by cut-offs.

Claim: V' <= V <= V' + Σ over the cut ends of the mass the law has beyond the cut-off.

Proof. On its domain a sub-plan is the conditional probability, given the outer variables, that the
inner ones lie in one of several disjoint ranges: a number in [0, 1]. Cutting one end of one nest at
c takes ∫ beyond c of f·body away, which lies in [0, tail mass] because 0 <= body <= 1 - provided
that c lies beyond the nest's other end for all values of the outer variables, as otherwise the
range would be inverted. That body is in [0, 1] needs lower <= upper wherever the outer variables
lie, also after hoisting, which takes ranges away from around a nest. It holds: the constraint
lower <= upper mentions only variables that the nest's bounds mention. The builder put it on them,
or left it out as implied by the other constraints; eliminating a variable that is jumped over
projects the constraints onto the rest, and what they implied about the rest the projection still
implies. What stands around the nest multiplies by probabilities and adds over
disjoint ranges, so it passes the error on with a factor in [0, 1]. One end at a time gives the sum.

Hence each cut-off is moved out beyond the range of the nest's other end, which is affine, over the
box of the outer variables: exact interval arithmetic from the outermost variable inwards. The
inner domains only shrink, so lower <= upper stays true wherever the plan guaranteed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import assert_never

from dipapprox.data_classes import Record, replace
from dipapprox.events.event import Event
from dipapprox.integrals.integral import Add, Integral, Multiply, Plan
from dipapprox.laws.distribution import Distribution, cutoff_interval
from dipapprox.linear.form import LinearForm


class Nest(Record):
    """∫ density·body over one variable, between two affine ends over outer variables (by depth)."""

    law: Distribution
    lower: LinearForm | None
    upper: LinearForm | None
    lower_side: int
    upper_side: int
    depth: int = -1  # the name of the variable in the body
    body: Node | None = None  # None: nothing, all of it is a mass
    breaks: tuple[Fraction, ...] = ()  # where to begin new panels, ascending

    def ends(self) -> tuple[LinearForm, ...]:
        return tuple(end for end in (self.lower, self.upper) if end is not None)


class NodeProduct(Record):
    """Π factor ** power; empty: 1."""

    factors: tuple[tuple[Node, int], ...]


class NodeSum(Record):
    """Σ count * term; empty: 0."""

    terms: tuple[tuple[Node, int], ...]


Node = Nest | NodeProduct | NodeSum


def build_node(plan: Plan, event: Event, *, literal: bool = False) -> Node:
    """Rename, hoist and group; see the module's rules. If `literal`, nothing is hoisted."""
    return _build(plan, event, {}, 0, literal)


def _build(plan: Plan, event: Event, depths: Mapping[int, int], depth: int, literal: bool) -> Node:
    match plan:
        case Multiply(factors):
            own = (_build(f, event, depths, depth, literal) for f in factors)
            parts = (f.factors if isinstance(f, NodeProduct) else ((f, 1),) for f in own)
            return _simplest(_counted(parts))
        case Add(terms):
            own = (_build(t, event, depths, depth, literal) for t in terms)
            return NodeSum(_counted(t.terms if isinstance(t, NodeSum) else ((t, 1),) for t in own))
        case Integral(level, body):
            lower, upper = (
                None if end is None else end.renamed(lambda symbol: depths[int(symbol)])
                for end in (level.lower, level.upper)
            )
            law = event.samples[level.variable]
            mass = Nest(law, lower, upper, level.lower_side, level.upper_side)
            if body is None:
                return mass
            inner = _build(body, event, {**depths, level.variable: depth}, depth + 1, literal)
            if literal:
                return replace(mass, depth=depth, body=inner)
            parts_of = inner.factors if isinstance(inner, NodeProduct) else ((inner, 1),)
            inside = tuple(item for item in parts_of if depth in variables(item[0]))
            outside = tuple(item for item in parts_of if depth not in variables(item[0]))
            core = replace(mass, depth=depth, body=_simplest(inside)) if inside else mass
            return _simplest(((core, 1), *outside))
        case _:
            assert_never(plan)


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
        case Nest(body=body):
            return () if body is None else ((body, 1),)
        case NodeProduct(items) | NodeSum(items):
            return items
        case _:
            assert_never(node)


def variables(node: Node) -> frozenset[int]:
    """The depths of the free variables."""
    found = frozenset(chain.from_iterable(variables(child) for child, _ in children(node)))
    if not isinstance(node, Nest):
        return found
    return (found - {node.depth}).union(*(end.samples() for end in node.ends()))


Interval = tuple[Fraction, Fraction]


def walk(node: Node, times: int = 1) -> Iterator[tuple[Node, int]]:
    """Yield a node and all inside, each with its multiplicity."""
    yield node, times
    for child, power in children(node):
        yield from walk(child, times * power)


def open_ends(node: Node) -> int:
    """Count the infinite ends of nests, with multiplicity: the cut-offs that are needed."""
    nests = ((each, times) for each, times in walk(node) if isinstance(each, Nest))
    return sum(times * (2 - len(each.ends())) for each, times in nests if each.body is not None)


def ranges(node: Node) -> list[Nest]:
    """Return the nests and masses inside: a range of a variable each."""
    return [each for each, _ in walk(node) if isinstance(each, Nest)]


def resolution(node: Node) -> Fraction:
    """The length on which something changes: the least scale, seen from any outer variable."""
    found = []
    for each in ranges(node):
        steepest = [abs(c) for end in each.ends() for _, c in end.terms]
        found.append(each.law.scale / max([Fraction(1), *steepest]))
    return min(found, default=Fraction(1))


def truncate(node: Node, bits: int, boxes: tuple[Interval, ...] = ()) -> Node:
    """Replace the infinite ends of nests by cut-offs with tails of at most 2**-bits each.

    The value then drops by at most open_ends(node) * 2**-bits, by the module's claim. Breaks are
    put round the places where something is much narrower than the range of the variable. The node
    is over variables 0 … len(boxes) - 1, whose exact ranges are the boxes.
    """
    match node:
        case NodeProduct(items) | NodeSum(items):
            return type(node)(tuple((truncate(each, bits, boxes), n) for each, n in items))
        case Nest(body=None):
            return node
        case Nest(depth=depth, body=body):
            cut, box = _cut(node, bits, boxes)
            # A hoisted nest can be less deep than its name: the boxes between are never asked for.
            padded = boxes + ((Fraction(0), Fraction(0)),) * (depth - len(boxes))
            assert body is not None
            cut = replace(cut, body=truncate(body, bits, (*padded[:depth], box)))
            return replace(cut, breaks=_breaks(cut, box))
        case _:
            assert_never(node)


def _cut(nest: Nest, bits: int, boxes: tuple[Interval, ...]) -> tuple[Nest, Interval]:
    """Make both ends finite and return the exact hull of the range."""
    low, high = cutoff_interval(nest.law, bits)
    lower = None if nest.lower is None else nest.lower.extent(lambda k: boxes[int(k)])
    upper = None if nest.upper is None else nest.upper.extent(lambda k: boxes[int(k)])
    if lower is None:
        end = low if upper is None else min(low, upper[0])
        nest = replace(nest, lower=LinearForm.constant_form(end))
        lower = (end, end)
    if upper is None:
        end = max(high, lower[1])
        nest = replace(nest, upper=LinearForm.constant_form(end))
        upper = (end, end)
    return nest, (min(lower[0], upper[0]), max(lower[1], upper[1]))


_NARROW = 64  # a place needs breaks if the range is this many times wider than what happens there
_REACH = 8  # breaks are put this many scales to either side of a place


def _breaks(nest: Nest, box: Interval) -> tuple[Fraction, ...]:
    points = {
        point
        for place, scale in _places(nest)
        if scale * _NARROW < box[1] - box[0]
        for point in (place - _REACH * scale, place + _REACH * scale)
        if box[0] < point < box[1]
    }
    return tuple(sorted(points))


def _places(nest: Nest) -> set[tuple[Fraction, Fraction]]:
    """Where, as a function of the nest's variable, and on which length the integrand changes."""
    found = {(nest.law.mean, nest.law.scale)}
    for each in () if nest.body is None else ranges(nest.body):
        for end in each.ends():
            if end.samples() != (nest.depth,):
                continue
            slope = end.coefficient(nest.depth)
            found |= {((p - end.constant) / slope, s / abs(slope)) for p, s in _places(each)}
    return found
