"""Unnormalised measures on the samples that a run still uses, and how they change.

A measure is a scalar times a product of components; a component is a few samples, a function of
each, and inequalities between them:

    scalar * prod_c  [ prod_i f_i(x_i) * 1(lower <= sum_i a_i x_i <= upper for each inequality) ]

with respect to the product of Lebesgue measure (real samples) and counting (integer samples).
Every change below leaves what it stands for the same, up to null sets:

1. A sample gets an inequality: `assume`. One about a single sample restricts its function. For a
   real sample < and <= are the same, as the measure has a density in it: the set where a linear
   form that contains it attains a given value is a null set (Fubini). For integer samples the form
   is made primitive, and bounds are rounded to the next integers inside, exactly.
2. A sample that nobody will look at again is integrated out: `forget`. Without inequalities its
   integral goes to the scalar. If all its inequalities are with one other sample y, they say
   L(y) <= x <= U(y), and f_y is multiplied by the integral of f_x from L to U (Fubini).
3. Where nobody looks at a component any more, and a sample x is bounded by several others, the
   component is split by which bound is the tightest: U1(y) <= U2(z), or U2(z) < U1(y). The parts
   are disjoint (up to a null set) and cover it; in each of them the other bound is implied.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

from dipapprox.kernel.errors import Refused
from dipapprox.kernel.nodes import Graph, Node

Atom = int
"""A sample, by its number in a measure."""

MOST_PIECES = 20_000
"""Most parts that components may be split into."""


@dataclass(frozen=True, slots=True)
class Form:
    """constant + sum of coefficient * sample, coefficients != 0, by ascending sample."""

    constant: Fraction
    terms: tuple[tuple[Atom, Fraction], ...] = ()

    def plus(self, other: Form) -> Form:
        """self + other."""
        if not other.terms:
            return Form(self.constant + other.constant, self.terms)
        found = dict(self.terms)
        for atom, coefficient in other.terms:
            found[atom] = found.get(atom, Fraction(0)) + coefficient
        terms = tuple(sorted((atom, c) for atom, c in found.items() if c))
        return Form(self.constant + other.constant, terms)

    def scaled(self, factor: Fraction) -> Form:
        """factor * self."""
        if not factor:
            return Form(Fraction(0))
        return Form(factor * self.constant, tuple([(a, factor * c) for a, c in self.terms]))


Bounds = tuple[Fraction | None, Fraction | None]
"""Of a form, both included; None is no bound."""

Terms = tuple[tuple[Atom, int], ...]
"""A form without its constant: primitive integers, the first one > 0."""

Inequality = tuple[Terms, Bounds]


@dataclass(frozen=True, slots=True)
class Component:
    """Samples that inequalities connect.

    Attributes:
        functions: (sample, its function), ascending.
        bounds: (form of two samples or more, its bounds), ascending.
    """

    functions: tuple[tuple[Atom, Node], ...]
    bounds: tuple[Inequality, ...] = ()


@dataclass(frozen=True, slots=True)
class Measure:
    """scalar * product of components, which have no samples in common."""

    scalar: Node
    components: tuple[Component, ...] = ()

    def of(self, atom: Atom) -> Component:
        """Return the component of a sample."""
        for component in self.components:
            if any(atom == own for own, _ in component.functions):
                return component
        raise KeyError(atom)


def draw(measure: Measure, atom: Atom, function: Node) -> Measure:
    """Add an independent sample."""
    return Measure(measure.scalar, (*measure.components, Component(((atom, function),))))


def assume(graph: Graph, measure: Measure, form: Form, relation: str) -> list[Measure]:
    """Return disjoint parts, together the measure where `form` relation 0 holds.

    Args:
        graph: Of the functions.
        measure: What is known.
        form: With samples.
        relation: One of <, <=, >, >=, =, !=.
    """
    involved = {atom for atom, _ in form.terms}
    components = [c for c in measure.components if any(a in involved for a, _ in c.functions)]
    kinds = {
        graph.discrete[function]
        for component in components
        for atom, function in component.functions
        if atom in involved
    }
    if kinds == {True, False}:
        raise Refused("real and integer samples in one comparison")
    integers = kinds == {True}
    if relation == "!=":
        if not integers:
            return [measure]
        below = assume(graph, measure, form, "<")
        return [*below, *assume(graph, measure, form, ">")]
    if relation == "=" and not integers:
        return []
    primitive, scale = _primitive(form)
    bound = -form.constant * scale
    if scale < 0:
        relation = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(relation, relation)
    low = bound if relation in (">", ">=", "=") else None
    high = bound if relation in ("<", "<=", "=") else None
    if integers:
        low = None if low is None else _next_integer(low, relation == ">")
        high = None if high is None else -_next_integer(-high, relation == "<")
    merged = _bounded(graph, _union(components), primitive, (low, high), integers)
    if merged is None:
        return []
    others = [c for c in measure.components if c not in components]
    return [Measure(measure.scalar, (*others, merged))]


def _primitive(form: Form) -> tuple[Terms, Fraction]:
    """Return primitive integer coefficients, the first > 0, and what they are multiplied by."""
    below = lcm(*(c.denominator for _, c in form.terms))
    whole = [int(c * below) for _, c in form.terms]
    divisor = gcd(*whole) * (1 if whole[0] > 0 else -1)
    terms = tuple([(a, w // divisor) for (a, _), w in zip(form.terms, whole, strict=True)])
    return terms, Fraction(below, divisor)


def _next_integer(bound: Fraction, strict: bool) -> Fraction:
    """The least integer >= bound, or > bound."""
    found = -(-bound.numerator // bound.denominator)
    return Fraction(found + 1 if strict and found == bound else found)


def _union(components: list[Component]) -> Component:
    functions = tuple(sorted(pair for c in components for pair in c.functions))
    return Component(functions, tuple(sorted((b for c in components for b in c.bounds), key=_key)))


def _key(bound: Inequality) -> Terms:
    return bound[0]


def _bounded(
    graph: Graph, component: Component, terms: Terms, bounds: Bounds, integers: bool
) -> Component | None:
    """Add an inequality; None if it leaves nothing but a null set."""
    if len(terms) == 1:
        # Primitive and > 0: the coefficient is 1.
        atom = terms[0][0]
        functions = tuple(
            [(a, graph.restrict(f, *bounds) if a == atom else f) for a, f in component.functions]
        )
        return Component(functions, component.bounds)
    found = dict(component.bounds)
    low, high = found.get(terms, (None, None))
    low = bounds[0] if low is None else low if bounds[0] is None else max(low, bounds[0])
    high = bounds[1] if high is None else high if bounds[1] is None else min(high, bounds[1])
    if low is not None and high is not None and (low > high or (low == high and not integers)):
        return None
    found[terms] = low, high
    return Component(component.functions, tuple(sorted(found.items(), key=_key)))


# --- integrating out -----------------------------------------------------------------------------


def forget(graph: Graph, measure: Measure, used: Iterable[Atom]) -> Measure:
    """Integrate out what is not used any more, as far as single functions can say it.

    Args:
        graph: Of the functions.
        measure: What is known.
        used: The samples that will be looked at.
    """
    kept = frozenset(used)
    scalar, components = measure.scalar, []
    for component in measure.components:
        if all(atom in kept for atom, _ in component.functions):
            components.append(component)
            continue
        left = _absorbed(graph, component, kept)
        if not any(atom in kept for atom, _ in left.functions):
            scalar = graph.by(scalar, _integral(graph, left))
        else:
            components.append(left)
    return Measure(scalar, tuple(components))


def _neighbours(component: Component, atom: Atom) -> dict[Atom, list[Inequality]] | None:
    """The inequalities of a sample by the other one in them; None if one has three samples."""
    found: dict[Atom, list[Inequality]] = {}
    for terms, bounds in component.bounds:
        if any(atom == own for own, _ in terms):
            if len(terms) > 2:
                return None
            other = terms[0][0] if terms[1][0] == atom else terms[1][0]
            found.setdefault(other, []).append((terms, bounds))
    return found


def _absorbed(graph: Graph, component: Component, kept: frozenset[Atom]) -> Component:
    """Integrate out unused samples with one neighbour each, until none is left.

    Whole laws come first: their integrals are known, and shared by many states.
    """
    progress = True
    while progress:
        progress = False
        waiting = sorted(component.functions, key=lambda own: not graph.is_law(own[1]))
        for atom, function in waiting:
            if atom in kept:
                continue
            around = _neighbours(component, atom)
            if around is None or len(around) != 1:
                continue
            ((other, inequalities),) = around.items()
            if len(inequalities) > 1:
                continue
            factor = _between(graph, function, atom, *inequalities[0])
            if factor is None:
                continue
            functions = tuple(
                [
                    (a, graph.times(f, factor) if a == other else f)
                    for a, f in component.functions
                    if a != atom
                ]
            )
            component = Component(
                functions, tuple([b for b in component.bounds if b != inequalities[0]])
            )
            progress = True
            break
    return component


@dataclass(frozen=True, slots=True)
class _Line:
    """y -> slope * y + offset."""

    slope: Fraction
    offset: Fraction


def _lines(atom: Atom, terms: Terms, bounds: Bounds) -> tuple[_Line | None, _Line | None]:
    """Solve low <= a x + b y <= high for x: its lower and its upper bound, lines in y."""
    coefficients = dict(terms)
    a = coefficients.pop(atom)
    ((_, b),) = coefficients.items()
    low, high = bounds
    if a < 0:
        low, high = high, low
    lower = None if low is None else _Line(Fraction(-b, a), Fraction(low) / a)
    upper = None if high is None else _Line(Fraction(-b, a), Fraction(high) / a)
    return lower, upper


def _between(graph: Graph, function: Node, atom: Atom, terms: Terms, bounds: Bounds) -> Node | None:
    """Return y -> integral of f between two lines; None where an integer is not on them."""
    lower, upper = _lines(atom, terms, bounds)
    integers = graph.discrete[function]
    lines = [line for line in (lower, upper) if line is not None]
    if integers and not all(abs(e.slope) == 1 and e.offset.denominator == 1 for e in lines):
        return None
    if upper is None:
        assert lower is not None
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
        rest = []
        for atom, function in part.functions:
            if _neighbours(part, atom) == {}:
                value = graph.by(value, graph.total(function))
            else:
                rest.append((atom, function))
        if not rest:
            found = graph.plus(found, value)
            continue
        for sign, smaller in _split(graph, Component(tuple(rest), part.bounds)):
            pending.append((value if sign > 0 else graph.by(graph.minus_one, value), smaller))
    return found


def _split(graph: Graph, component: Component) -> list[tuple[int, Component]]:
    """Split at a sample with the fewest bounds: (1 or -1, component), which add up to it.

    Two bounds on the same side: the tighter of them is the first or the second one. One on each
    side, L(y) <= x <= U(z), G the integral of f_x from the left: the integral over x is
    G(U(z)) - G(L(y)) where L(y) <= U(z), else 0; on the integers G(U(z)) - G(L(y) - 1).
    """
    counts = [
        (sum(len(each) for each in around.values()), atom)
        for atom, _ in component.functions
        if (around := _neighbours(component, atom)) is not None
    ]
    if not counts:
        raise Refused("samples that only sums compare")
    atom = min(counts)[1]
    function = dict(component.functions)[atom]
    integers = graph.discrete[function]
    sides: tuple[list[_Bound], list[_Bound]] = [], []
    for other, inequalities in (_neighbours(component, atom) or {}).items():
        for terms, bounds in inequalities:
            for side, line in enumerate(_lines(atom, terms, bounds)):
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
        functions = tuple(
            [
                (a, graph.times(f, factor) if a == other else f)
                for a, f in component.functions
                if a != atom
            ]
        )
        bounds_left = tuple([b for b in component.bounds if all(a != atom for a, _ in b[0])])
        rest = Component(functions, bounds_left)
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
