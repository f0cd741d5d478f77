"""Unnormalised measures on the samples that a run still uses, and how they change.

A measure is a scalar times a product of components; a component is a few samples, a function of
each, and inequalities between them:

    scalar * prod_c  [ prod_i f_i(x_i) * 1(sum_i a_i x_i <= bound for each inequality) ]

with respect to the product of Lebesgue measure (real samples) and counting (integer samples).
Every change leaves what it stands for the same, up to null sets. A sample gets an inequality:
`assume`. One about a single sample restricts its function. For a real sample < and <= are the same,
as the measure has a density in it: where a linear form that contains it is a number, is a null set
(Fubini). For integers the form is primitive, and bounds are rounded to the next integers inside.

A sample that nobody will look at again is integrated out: `forget`.

1. Without inequalities the integral of its function goes to the scalar. If all inequalities of x
   are with one other sample y, they say L(y) <= x <= U(y), and f_y is multiplied by the integral of
   f_x from L to U (Fubini).
2. Where nobody looks at a component any more, and in every inequality the coefficients of x and y
   are p and q times the same integer, all of them say something of z = p x + q y alone: x and y
   become one sample z, and its function is the convolution of those of p x and q y (Fubini).
   So it is where one number is told that says something of p x + q y alone.
3. There, too, where x is bounded by several others, the component is split by which bound is the
   tightest: U1(y) <= U2(z), or U2(z) < U1(y). The parts are disjoint (up to a null set) and cover
   it; in each of them the other bound is implied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import reduce
from math import ceil, floor, gcd, lcm
from operator import itemgetter
from typing import NamedTuple

from dipapprox.kernel.errors import Refused, spend
from dipapprox.kernel.forms import HOLDS, Atom, Form
from dipapprox.kernel.nodes import Graph, Node

Terms = tuple[tuple[Atom, int], ...]  # a form without its constant: primitive integers
Inequality = tuple[Terms, Fraction]  # such a form, and what it is at most


class Component(NamedTuple):
    """Samples that inequalities connect."""

    functions: tuple[tuple[Atom, Node], ...]  # (sample, its function), ascending
    bounds: tuple[Inequality, ...] = ()  # of forms of two samples or more, each once, ascending


class Measure(NamedTuple):
    """scalar * product of components, which have no samples in common."""

    scalar: Node
    components: tuple[Component, ...] = ()


def assume(graph: Graph, measure: Measure, form: Form, relation: str) -> list[Measure]:
    """Return disjoint parts, together the measure where `form` relation 0 holds."""
    if not form.terms:
        return [measure] if HOLDS[relation](form.constant, 0) else []
    if ">" in relation:
        return assume(graph, measure, form.scaled(-1), relation.replace(">", "<"))
    involved = {atom for atom, _ in form.terms}
    components = [c for c in measure.components if any(a in involved for a, _ in c.functions)]
    functions = dict(own for c in components for own in c.functions)
    kinds = {graph.discrete[functions[atom]] for atom in involved}
    if kinds == {True, False}:
        raise Refused("real and integer samples in one comparison")
    integers = kinds == {True}
    match relation:
        case "=" | "!=" if not integers:
            return [measure] if relation == "!=" else []
        case "!=":
            return [part for each in "<>" for part in assume(graph, measure, form, each)]
        case "=":
            below = assume(graph, measure, form, "<=")
            return [part for each in below for part in assume(graph, each, form, ">=")]
    terms, most = _inequality(form, integers, relation == "<")
    spend(len(functions))
    bounds = dict(own for c in components for own in c.bounds)
    if len(terms) == 1:
        # Primitive: the coefficient is 1 or -1.
        ((atom, sign),) = terms
        ends = (None, most) if sign > 0 else (-most, None)
        functions[atom] = graph.restrict(functions[atom], *ends)
    else:
        bounds[terms] = most = min(most, bounds.get(terms, most))
        opposite_most = bounds.get(tuple([(a, -c) for a, c in terms]))
        if opposite_most is not None:
            rest = most + opposite_most
            if rest < 0 or not (rest or integers):
                return []
    ordered = sorted(bounds.items(), key=itemgetter(0))
    merged = Component(tuple(sorted(functions.items())), tuple(ordered))
    others = [c for c in measure.components if c not in components]
    return [Measure(measure.scalar, (*others, merged))]


def _inequality(form: Form, integers: bool, strict: bool) -> Inequality:
    """Return what says form <= 0, or form < 0; of integers, form <= the next integer."""
    scale = lcm(*[c.denominator for _, c in form.terms])
    whole = [(a, c.numerator * (scale // c.denominator)) for a, c in form.terms]
    divisor = gcd(*[c for _, c in whole])
    most = Fraction(-form.constant * scale, divisor)
    if integers:
        most = Fraction(ceil(most) - 1 if strict else floor(most))
    return tuple([(a, c // divisor) for a, c in whole]), most


def forget(graph: Graph, measure: Measure, used: Iterable[Atom]) -> Measure:
    """Integrate out all samples but those used, as far as single functions can say it."""
    kept = frozenset(used)
    scalar, components = measure.scalar, []
    for component in measure.components:
        own = [atom in kept for atom, _ in component.functions]
        if any(own):
            components.append(component if all(own) else _absorbed(graph, component, kept)[0])
        else:
            values = (value for value, _ in integrals(graph, component, {}))
            scalar = graph.times(scalar, reduce(graph.plus, values, graph.zero))
    return Measure(scalar, tuple(components))


Bound = tuple[Terms, Fraction, int, Atom, int]
"""Of a sample x: the inequality a x + b y <= most that says so; most, a, y, b."""

Sides = tuple[list[Bound], list[Bound]]  # lower and upper bounds
Near = dict[Atom, Sides | None]  # of every sample; None if it has inequalities of three


def _sides(component: Component) -> Near:
    """Tell what bounds every sample."""
    found: Near = {atom: ([], []) for atom, _ in component.functions}
    spend(5 * len(found) + 10 * len(component.bounds))
    for terms, most in component.bounds:
        for (atom, a), (other, b) in zip(terms, terms[::-1], strict=True):
            sides = found[atom]
            if len(terms) > 2:
                found[atom] = None
            elif sides is not None:
                sides[a > 0].append((terms, most, a, other, b))
    return found


def _line(bound: Bound) -> Form:
    _, most, a, other, b = bound
    return Form(most / a, ((other, Fraction(-b, a)),))


def _absorbed(graph: Graph, component: Component, kept: frozenset[Atom]) -> tuple[Component, Near]:
    """Integrate out unused samples with one inequality each, until none is left; return sides, too.

    Whole laws come first, the last ones before others: many states share their integrals.
    """
    found: Component | None = component
    while found is not None:
        component, found = found, None
        sides = _sides(component)
        last = component.functions[::-1]
        for atom, function in sorted(last, key=lambda own: not graph.is_law(own[1])):
            near = sides[atom]
            if atom not in kept and near is not None and found is None:
                found = _without_one(graph, component, atom, function, near)
    return component, sides


def _without_one(
    graph: Graph, component: Component, atom: Atom, function: Node, near: Sides
) -> Component | None:
    """Integrate out a sample if its bounds are one, or one on each side, and parallel."""
    lower, upper = near
    # Inequalities are primitive.
    slopes = {(other, b if a > 0 else -b, abs(a)) for _, _, a, other, b in lower + upper}
    if len(slopes) != 1:
        return None
    ((other, _, _),) = slopes
    factor = _running(graph, function, _line((upper or lower)[0]), bool(upper))
    if lower and upper and factor is not None:
        before = _running(graph, function, _line(lower[0]), True, before=True)
        factor = None if before is None else graph.add("rise", [factor, before])
    return None if factor is None else _multiplied(graph, component, atom, other, factor)


def _running(
    graph: Graph, function: Node, line: Form, from_left: bool, before: bool = False
) -> Node | None:
    """Return y -> the integral of f up to a line, or from there on; None for no line of integers.

    Up to what is before it, that is: on the integers L <= x is x without x <= L - 1.
    """
    ((_, slope),), offset = line.terms, line.constant
    if graph.discrete[function]:
        if abs(slope) != 1 or offset.denominator != 1:
            return None
        offset -= before
    return graph.moved(graph.running(function, from_left), Fraction(slope), Fraction(offset))


def _multiplied(
    graph: Graph, component: Component, atom: Atom, other: Atom, factor: Node
) -> Component:
    """Leave out a sample and all its inequalities; the function of another gets a factor."""
    kept = [own for own in component.functions if own[0] != atom]
    functions = [(a, graph.times(f, factor) if a == other else f) for a, f in kept]
    bounds = [b for b in component.bounds if all(a != atom for a, _ in b[0])]
    return Component(tuple(functions), tuple(bounds))


def integrals(
    graph: Graph, component: Component, told: Mapping[Atom, int]
) -> Iterator[tuple[Node, Node]]:
    """Yield scalars, each with the density of what is told, if anything; they add up to it."""
    pending = [(graph.one, component, told)]
    while pending:
        spend(100)
        value, part, told = pending.pop()
        (part, sides), rest = _absorbed(graph, part, frozenset(told)), []
        for atom, function in part.functions:
            if atom not in told and sides[atom] == ([], []):
                value = graph.times(value, graph.total(function))
            else:
                rest.append((atom, function))
        part = Component(tuple(rest), part.bounds)
        if len(rest) == len(told) < 2:
            density = graph.one
            for atom, function in rest:
                slope = Fraction(1, told[atom])
                density = graph.scaled(graph.moved(function, slope, Fraction(0)), abs(slope))
            yield value, density
            continue
        wide = told or any(len(b[0]) > 2 for b in part.bounds)
        merged = _merged(graph, part, told) if wide else None
        if merged is not None:
            pending += [(value, *each) for each in merged]
            continue
        free = {atom: own for atom, own in sides.items() if atom not in told}
        for sign, each in _split(graph, part, free):
            if told and sign != graph.one:
                raise Refused("a sum of samples that others bound on both sides")
            pending.append((graph.times(sign, value), each, told))


def _merged(
    graph: Graph, component: Component, told: Mapping[Atom, int]
) -> list[tuple[Component, Mapping[Atom, int]]] | None:
    """Make one sample of two, sums first, that all is said of in one way; [] for a null set."""
    known: dict[tuple[int, ...], tuple[Atom, int, Node]] = {}
    for atom, function in sorted(component.functions, key=lambda own: graph.is_law(own[1])):
        column = [dict(terms).get(atom, 0) for terms, _ in component.bounds]
        column += [told.get(atom, 0)]
        # The first coefficient that is not 0 becomes > 0.
        factor = gcd(*column) * (1 if next(filter(None, column)) > 0 else -1)
        direction = tuple([c // factor for c in column])
        other, times, function_of = known.get(direction, (atom, 0, function))
        known[direction] = atom, factor, function
        if not times:
            continue
        if times < 0:
            # Alike sums are one function, whichever way round they are bounded.
            times, factor, direction = -times, -factor, tuple([-c for c in direction])
        together = graph.combined(function_of, times, function, factor)
        if together is None:
            continue
        new = 1 + max(atom for atom, _ in component.functions)
        functions = [own for own in component.functions if own[0] not in (atom, other)]
        rest = {a: c for a, c in told.items() if a not in (atom, other)}
        rest |= {new: direction[-1]} if direction[-1] else {}
        parts = [Component((*functions, (new, together)))]
        for (terms, most), coefficient in zip(component.bounds, direction, strict=False):
            own = {new: coefficient} if coefficient else {}
            others = {a: c for a, c in terms if a not in (atom, other)}
            form = Form(-most, tuple((a, Fraction(c)) for a, c in (others | own).items()))
            parts = [each for part in parts for each in _where(graph, part, form, "<=")]
        return [(part, rest) for part in parts]
    return None


def _split(graph: Graph, component: Component, near: Near) -> list[tuple[Node, Component]]:
    """Split at a sample with the fewest bounds: (1 or -1, component), whose products add up to it.

    Two bounds on the same side: the tighter of them is the first or the second one. One on each
    side, L(y) <= x <= U(z), G the integral of f_x from the left: the integral over x is
    G(U(z)) - G(L(y)) where L(y) <= U(z), else 0; on the integers G(U(z)) - G(L(y) - 1).
    """
    sides = {atom: own for atom, own in near.items() if own not in (None, ([], []))}
    if not sides:
        raise Refused("samples that only sums compare")
    atom = min(sides, key=lambda atom: (sum(map(len, sides[atom])), atom))
    function, found = dict(component.functions)[atom], list[tuple[Node, Component]]()
    for side, bounds in enumerate(sides[atom]):
        if len(bounds) > 1:
            first, second = bounds[:2]
            difference = _line(first).plus(_line(second).scaled(-1))
            # Where first <= second the second is loose as an upper bound, the first as a lower one.
            loose = (second, first) if side else (first, second)
            for relation, (terms, *_) in zip(("<=", ">"), loose, strict=True):
                kept = tuple([b for b in component.bounds if b[0] != terms])
                parts = _where(graph, Component(component.functions, kept), difference, relation)
                found += [(graph.one, part) for part in parts]
            return found
    lines = [_line(bound) for bounds in sides[atom] for bound in bounds]
    for sign, line in zip((graph.minus_one, graph.one), lines, strict=False):
        factor = _running(graph, function, line, True, before=sign != graph.one)
        if factor is None or len(lines) < 2:
            raise Refused("integer samples compared after multiplication")
        rest = _multiplied(graph, component, atom, line.terms[0][0], factor)
        apart = lines[0].plus(lines[1].scaled(-1))
        found += [(sign, part) for part in _where(graph, rest, apart, "<=")]
    return found


def _where(graph: Graph, component: Component, form: Form, relation: str) -> list[Component]:
    """Return the component where `form` relation 0 holds: at most one part."""
    parts = assume(graph, Measure(graph.one, (component,)), form, relation)
    return [part.components[0] for part in parts]
