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
2. A sample that nobody will look at again is integrated out: `forget`, in `integration`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from operator import itemgetter

from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import Refused
from dipapprox.kernel.nodes import Bounds, Graph, Node, both

Atom = int
"""A sample, by its number in a measure."""


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


def draw(measure: Measure, atom: Atom, function: Node) -> Measure:
    """Add an independent sample."""
    return Measure(measure.scalar, (*measure.components, Component(((atom, function),))))


def assume(graph: Graph, measure: Measure, form: Form, relation: str) -> list[Measure]:
    """Return disjoint parts, together the measure where `form`, of samples, relation 0 holds."""
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
    terms, scale = _primitive(form)
    bound = -form.constant * scale
    if scale < 0:
        relation = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(relation, relation)
    low = bound if relation in (">", ">=", "=") else None
    high = bound if relation in ("<", "<=", "=") else None
    if integers:
        low = None if low is None else _next_integer(low, relation == ">")
        high = None if high is None else -_next_integer(-high, relation == "<")
    functions = sorted(own for c in components for own in c.functions)
    spend(len(functions))
    bounds = dict(own for c in components for own in c.bounds)
    if len(terms) == 1:
        # Primitive and > 0: the coefficient is 1.
        ((atom, _),) = terms
        functions = [(a, graph.restrict(f, low, high) if a == atom else f) for a, f in functions]
    else:
        low, high = bounds[terms] = both(bounds.get(terms, (None, None)), (low, high))
        if low is not None and high is not None and (low > high if integers else low >= high):
            return []
    merged = Component(tuple(functions), tuple(sorted(bounds.items(), key=itemgetter(0))))
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
