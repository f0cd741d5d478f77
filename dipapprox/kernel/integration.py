"""Samples that nobody will look at again are integrated out of a measure.

1. Without inequalities the integral of its function goes to the scalar. If all inequalities of x
   are with one other sample y, they say L(y) <= x <= U(y), and f_y is multiplied by the integral of
   f_x from L to U (Fubini).
2. Where nobody looks at a component any more, and in every inequality the coefficients of x and y
   are p and q times the same integer, all of them say something of z = p x + q y alone: x and y
   become one sample z, and its function is the convolution of those of p x and q y (Fubini).
3. There, too, where x is bounded by several others, the component is split by which bound is the
   tightest: U1(y) <= U2(z), or U2(z) < U1(y). The parts are disjoint (up to a null set) and cover
   it; in each of them the other bound is implied.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

from dipapprox.kernel.errors import Refused
from dipapprox.kernel.measures import Atom, Component, Form, Inequality, Measure, Terms, assume
from dipapprox.kernel.nodes import Graph, Node

MOST_PIECES = 20_000
"""Most parts that components may be split into."""


def forget(graph: Graph, measure: Measure, used: Iterable[Atom]) -> Measure:
    """Integrate out all samples but those used, as far as single functions can say it."""
    kept = frozenset(used)
    scalar, components = measure.scalar, []
    for component in measure.components:
        if all(atom in kept for atom, _ in component.functions):
            components.append(component)
            continue
        left = _absorbed(graph, component, kept)
        if not any(atom in kept for atom, _ in left.functions):
            scalar = graph.times(scalar, _integral(graph, left))
        else:
            components.append(left)
    return Measure(scalar, tuple(components))


Around = dict[Atom, dict[Atom, list[Inequality]] | None]


def _around(component: Component) -> Around:
    """The inequalities of every sample by the other one in them; None if one has three samples."""
    found: Around = {atom: {} for atom, _ in component.functions}
    for inequality in component.bounds:
        atoms = [atom for atom, _ in inequality[0]]
        for atom, other in zip(atoms, atoms[::-1], strict=True):
            near = found[atom]
            if len(atoms) > 2:
                found[atom] = None
            elif near is not None:
                near.setdefault(other, []).append(inequality)
    return found


def _absorbed(graph: Graph, component: Component, kept: frozenset[Atom]) -> Component:
    """Integrate out unused samples with one neighbour each, until none is left.

    Whole laws come first: their integrals are known, and shared by many states.
    """
    found: Component | None = component
    while found is not None:
        component, found = found, _without_one(graph, found, kept)
    return component


def _without_one(graph: Graph, component: Component, kept: frozenset[Atom]) -> Component | None:
    around = _around(component)
    for atom, function in sorted(component.functions, key=lambda own: not graph.is_law(own[1])):
        near = around[atom]
        if atom in kept or near is None or [len(each) for each in near.values()] != [1]:
            continue
        ((other, (inequality,)),) = near.items()
        factor = _between(graph, function, atom, inequality)
        if factor is not None:
            return _multiplied(graph, component, atom, other, factor)
    return None


def _multiplied(
    graph: Graph, component: Component, atom: Atom, other: Atom, factor: Node
) -> Component:
    """Leave out a sample and all its inequalities; the function of another gets a factor."""
    kept = [own for own in component.functions if own[0] != atom]
    functions = [(a, graph.times(f, factor) if a == other else f) for a, f in kept]
    bounds = [b for b in component.bounds if all(a != atom for a, _ in b[0])]
    return Component(tuple(functions), tuple(bounds))


@dataclass(frozen=True, slots=True)
class _Line:
    """y -> slope * y + offset."""

    slope: Fraction
    offset: Fraction


def _lines(atom: Atom, inequality: Inequality) -> tuple[_Line | None, _Line | None]:
    """Solve low <= a x + b y <= high for x: its lower and its upper bound, lines in y."""
    terms, (low, high) = inequality
    coefficients = dict(terms)
    a = coefficients.pop(atom)
    ((_, b),) = coefficients.items()
    if a < 0:
        low, high = high, low
    lower = None if low is None else _Line(Fraction(-b, a), Fraction(low) / a)
    upper = None if high is None else _Line(Fraction(-b, a), Fraction(high) / a)
    return lower, upper


def _between(graph: Graph, function: Node, atom: Atom, inequality: Inequality) -> Node | None:
    """Return y -> integral of f between two lines; None where an integer is not on them."""
    lower, upper = _lines(atom, inequality)
    integers = graph.discrete[function]
    lines = [line for line in (lower, upper) if line is not None]
    if integers and not all(abs(e.slope) == 1 and e.offset.denominator == 1 for e in lines):
        return None
    if upper is None:
        if lower is None:
            return None
        return graph.moved(graph.running(function, False), lower.slope, lower.offset)
    whole = graph.running(function, True)
    up_to = graph.moved(whole, upper.slope, upper.offset)
    if lower is None:
        return up_to
    # On the integers L <= x <= U is x <= U without x <= L - 1.
    start = lower.offset - 1 if integers else lower.offset
    return graph.rise(up_to, graph.moved(whole, lower.slope, start))


def _integral(graph: Graph, component: Component) -> Node:
    """Return the integral of a component over all its samples."""
    pending, found, pieces = [(graph.one, component)], graph.zero, 0
    while pending:
        pieces += 1
        if pieces > MOST_PIECES:
            raise Refused(f"samples split into more than {MOST_PIECES} parts")
        value, part = pending.pop()
        part = _absorbed(graph, part, frozenset())
        around, rest = _around(part), []
        for atom, function in part.functions:
            if around[atom] == {}:
                value = graph.times(value, graph.total(function))
            else:
                rest.append((atom, function))
        if not rest:
            found = graph.plus(found, value)
            continue
        part = Component(tuple(rest), part.bounds)
        merged = _merged(graph, part) if any(len(b[0]) > 2 for b in part.bounds) else None
        if merged is not None:
            pending += [(value, each) for each in merged]
            continue
        for sign, smaller in _split(graph, part):
            pending.append((value if sign > 0 else graph.times(graph.minus_one, value), smaller))
    return found


def _merged(graph: Graph, component: Component) -> list[Component] | None:
    """Make one sample of two that inequalities have in one combination; [] for a null set."""
    known: dict[tuple[int, ...], tuple[Atom, int, Node]] = {}
    for atom, function in component.functions:
        column = [dict(terms).get(atom, 0) for terms, _ in component.bounds]
        # The first coefficient that is not 0 becomes > 0.
        factor = gcd(*column) * (1 if next(filter(None, column)) > 0 else -1)
        direction = tuple([c // factor for c in column])
        other, times, function_of = known.get(direction, (atom, 0, function))
        known[direction] = atom, factor, function
        if not times:
            continue
        together = graph.combined(function_of, times, function, factor)
        if together is None:
            continue
        new = 1 + max(atom for atom, _ in component.functions)
        functions = [own for own in component.functions if own[0] not in (atom, other)]
        parts = [Component((*functions, (new, together)))]
        for (terms, ends), coefficient in zip(component.bounds, direction, strict=True):
            own = {new: coefficient} if coefficient else {}
            others = {a: c for a, c in terms if a not in (atom, other)}
            form = tuple((a, Fraction(c)) for a, c in (others | own).items())
            for end, relation in zip(ends, (">=", "<="), strict=True):
                if end is not None:
                    cut = Form(-end, form), relation
                    parts = [each for part in parts for each in _where(graph, part, *cut)]
        return parts
    return None


def _split(graph: Graph, component: Component) -> list[tuple[int, Component]]:
    """Split at a sample with the fewest bounds: (1 or -1, component), which add up to it.

    Two bounds on the same side: the tighter of them is the first or the second one. One on each
    side, L(y) <= x <= U(z), G the integral of f_x from the left: the integral over x is
    G(U(z)) - G(L(y)) where L(y) <= U(z), else 0; on the integers G(U(z)) - G(L(y) - 1).
    """
    around = {atom: near for atom, near in _around(component).items() if near is not None}
    if not around:
        raise Refused("samples that only sums compare")
    atom = min(around, key=lambda atom: (sum(map(len, around[atom].values())), atom))
    function = dict(component.functions)[atom]
    integers = graph.discrete[function]
    sides: tuple[list[_Bound], list[_Bound]] = [], []
    for other, inequalities in around[atom].items():
        for terms, bounds in inequalities:
            for side, line in enumerate(_lines(atom, (terms, bounds))):
                if line is not None:
                    sides[side].append(_Bound(other, line, terms))
    for side, bounds_of_side in enumerate(sides):
        if len(bounds_of_side) > 1:
            first, second = bounds_of_side[:2]
            difference = _difference(first, second)
            # Where first <= second the second is loose as an upper bound, the first as a lower one.
            loose = (second, first) if side else (first, second)
            return [
                (1, part)
                for relation, bound in zip(("<=", ">"), loose, strict=True)
                for part in _where(
                    graph, _without(component, atom, bound, side), difference, relation
                )
            ]
    if not (sides[0] and sides[1]):
        raise Refused("integer samples compared after multiplication")
    lower, upper = sides[0][0], sides[1][0]
    whole = graph.running(function, True)
    start = lower.line.offset - 1 if integers else lower.line.offset
    found = []
    for sign, other, slope, offset in (
        (1, upper.other, upper.line.slope, upper.line.offset),
        (-1, lower.other, lower.line.slope, start),
    ):
        if integers and (abs(slope) != 1 or offset.denominator != 1):
            raise Refused("integer samples compared after multiplication")
        factor = graph.moved(whole, slope, offset)
        rest = _multiplied(graph, component, atom, other, factor)
        parts = _where(graph, rest, _difference(lower, upper), "<=")
        found += [(sign, part) for part in parts]
    return found


@dataclass(frozen=True, slots=True)
class _Bound:
    """A bound of a sample: a line in another one, from the inequality with these terms."""

    other: Atom
    line: _Line
    terms: Terms


def _difference(first: _Bound, second: _Bound) -> Form:
    """first - second."""
    one = Form(first.line.offset, ((first.other, first.line.slope),))
    other = Form(second.line.offset, ((second.other, second.line.slope),))
    return one.plus(other.scaled(Fraction(-1)))


def _without(component: Component, atom: Atom, bound: _Bound, side: int) -> Component:
    """Drop a lower (side 0) or upper (side 1) bound of a sample."""
    found = []
    for terms, (low, high) in component.bounds:
        if terms == bound.terms:
            is_low = (dict(terms)[atom] > 0) == (side == 0)
            low, high = (None, high) if is_low else (low, None)
            if low is None and high is None:
                continue
        found.append((terms, (low, high)))
    return Component(component.functions, tuple(found))


def _where(graph: Graph, component: Component, form: Form, relation: str) -> list[Component]:
    """Return the component where `form` relation 0 holds: at most one part."""
    if not form.terms:
        holds = form.constant <= 0 if relation == "<=" else form.constant > 0
        return [component] if holds else []
    parts = assume(graph, Measure(graph.one, (component,)), form, relation)
    return [part.components[0] for part in parts]
