"""Unnormalised measures on the samples that a run still uses, and how they change.

A measure is a scalar times a product of components; a component is a few samples, a function of
each, and inequalities between them:

    scalar * prod_c  [ prod_i f_i(x_i) * 1(sum_i a_i x_i <= bound for each inequality) ]

with respect to the product of Lebesgue measure (real samples) and counting (integer samples).
Every change below leaves what it stands for the same, up to null sets:

1. A sample gets an inequality: `assume`. One about a single sample restricts its function. For a
   real sample < and <= are the same, as the measure has a density in it: the set where a linear
   form that contains it attains a given value is a null set (Fubini). For integer samples the form
   is made primitive, and bounds are rounded to the next integers inside, exactly.
2. A sample that nobody will look at again is integrated out: `forget`, in `integration`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, gcd, lcm
from operator import itemgetter

from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import Refused
from dipapprox.kernel.forms import HOLDS, Atom, Form
from dipapprox.kernel.nodes import Graph, Node

Terms = tuple[tuple[Atom, int], ...]
"""A form without its constant: primitive integers."""

Inequality = tuple[Terms, Fraction]
"""Such a form, and what it is at most."""


@dataclass(frozen=True, slots=True)
class Component:
    """Samples that inequalities connect.

    Attributes:
        functions: (sample, its function), ascending.
        bounds: Of forms of two samples or more, each once, ascending.
    """

    functions: tuple[tuple[Atom, Node], ...]
    bounds: tuple[Inequality, ...] = ()


@dataclass(frozen=True, slots=True)
class Measure:
    """scalar * product of components, which have no samples in common."""

    scalar: Node
    components: tuple[Component, ...] = ()


def assume(graph: Graph, measure: Measure, form: Form, relation: str) -> list[Measure]:
    """Return disjoint parts, together the measure where `form` relation 0 holds."""
    if not form.terms:
        return [measure] if HOLDS[relation](form.constant, 0) else []
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
        case ">" | ">=":
            opposite = form.scaled(Fraction(-1))
            return assume(graph, measure, opposite, "<" if relation == ">" else "<=")
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
    most = -form.constant * Fraction(scale, divisor)
    if integers:
        most = Fraction(ceil(most) - 1 if strict else floor(most))
    return tuple([(a, c // divisor) for a, c in whole]), most
