"""Real outputs at the end of a run: which are numbers, and the density of the others.

A state ends with a label and measures that add up. The label is the finite outputs and, of the
real ones y, those that hold a number, or are one beside multiples of others before. The rest has a
density on the affine space that this says, told by numbers z = sum of share_i y_i, as many as the
space has dimensions: z determines y there and is determined by it. Measures of different labels
are singular to each other: spaces that differ meet in a null set of one of the densities. What is
told of the samples of a z is z alone, so these are one sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple

from dipapprox.kernel.errors import Refused, spend
from dipapprox.kernel.forms import Atom, Form, only, size_of
from dipapprox.kernel.forward import Run
from dipapprox.kernel.machine import Input, Number, Value
from dipapprox.kernel.measures import Component, Measure, forget, integrals
from dipapprox.kernel.nodes import Graph, Node

Told = Value | tuple[Form, Number] | None
"""A number; of what multiples of outputs add up to one; None where an output has a density."""

Label = tuple[Told, ...]
"""The finite outputs, then what is told of the real ones."""

MOST_TIMES = 1_000
"""A sum of so many equal measures stays one."""


class Published(NamedTuple):
    """scalar * product of functions, one for each z_i; `shares` are those of each, in order."""

    shares: tuple[Form, ...]
    scalar: Node
    functions: tuple[Node, ...]


def published(run: Run, input: Input) -> dict[Label, list[Published]]:
    """Run a machine with real outputs: by label, measures that add up."""
    if not run.machine.reals:
        raise Refused("no outputs are real numbers")
    found: dict[Label, list[Published]] = {}
    for end in run.ends((input,)):
        label, parts = _publish(run.graph, end.measure, end.finite, end.reals)
        found.setdefault(label, []).extend(parts)
    return found


def added_up(graph: Graph, terms: Sequence[Published]) -> list[Published]:
    """Add up terms of one label that differ in one function: p f h + p' f' h = (p f + p' f') h."""
    found = [*terms]
    for place in range(len(found[0].functions)):
        alike: dict[tuple[Any, ...], list[Published]] = {}
        spend(10 * len(found))
        for each in found:
            others = each.functions[:place], each.functions[place + 1 :]
            alike.setdefault((each.shares, *others), []).append(each)
        found = []
        for (shares, before, after), own in alike.items():
            scalar, *more = {each.scalar for each in own}
            common = graph.one if more else scalar
            rest = (graph.one if each.scalar == common else each.scalar for each in own)
            mixed = graph.mix(zip(rest, (each.functions[place] for each in own), strict=True))
            node = graph.nodes[mixed]
            if node.kind == "mix" and len(node.parts) == 2:
                common, mixed = graph.times(common, node.parts[0]), node.parts[1]
            found.append(Published(shares, common, (*before, mixed, *after)))
    return found


def _publish(
    graph: Graph, measure: Measure, output: Sequence[Value], reals: Sequence[Number | Form]
) -> tuple[Label, list[Published]]:
    """Return what a state with these outputs ends with."""
    told, numbers = _numbers(reals)
    label, shares = (*output, *told), tuple([share for _, share in numbers])
    uses = Counter([atom for form, _ in numbers for atom, _ in form.terms])
    parts = list[tuple[int, Fraction, Fraction]]()
    for form, _ in numbers:
        terms = dict(form.terms)
        if len(terms) > 1:
            scale = lcm(*[c.denominator for c in terms.values()])
            whole = {atom: int(c * scale) for atom, c in terms.items()}
            others = uses - Counter(whole.keys())
            together = _summed(graph, measure, whole, others)
            if together is None:
                return label, []
            measure, atom = together
            terms = {atom: Fraction(1, scale)}
        atom, slope = terms.popitem()
        parts.append((atom, Fraction(slope), Fraction(form.constant)))
    measure = forget(graph, measure, [atom for atom, _, _ in parts])
    alone = dict(c.functions[0] for c in measure.components if len(c.functions) == 1)
    functions = []
    for atom, slope, start in parts:
        function = alone.get(atom)
        if function is None or graph.discrete[function]:
            raise Refused("published numbers are compared with each other, or integers")
        # The density of slope x + c is that of x at (z - c) / slope, by |slope|.
        density = graph.moved(function, 1 / slope, -start / slope)
        functions.append(graph.scaled(density, 1 / abs(slope)))
    found, sums = [], [(measure.scalar, tuple(functions))]
    node = graph.nodes[functions[0]] if len(functions) == 1 else None
    if node is not None and node.kind == "mix":
        pairs = zip(node.parts[::2], node.parts[1::2], strict=True)
        sums = [(graph.times(measure.scalar, own), (each,)) for own, each in pairs]
    for scalar, own in sums:
        factor = graph.nodes[scalar]
        times = factor.data[0] if factor.kind == "rational" else Fraction(1)
        if functions and times.denominator == 1 and 1 < times < MOST_TIMES:
            found += [Published(shares, graph.one, own)] * int(times)
        elif scalar != graph.zero:
            found.append(Published(shares, scalar, own))
    return label, found


def _numbers(reals: Sequence[Number | Form]) -> tuple[list[Told], list[tuple[Form, Form]]]:
    """Return what is told of real outputs, and all z, each with what it is of these.

    By Gauss and Jordan: every z has a sample that no other has.
    """
    told, found = list[Told](), list[tuple[Form, Form]]()
    for place, value in enumerate(reals):
        if not isinstance(value, Form):
            told.append(value)
            continue
        own = value, only(place)
        for each in found:
            own = _without(own, each)
        if own[0].terms:
            told.append(None)
            found = [*(_without(each, own) for each in found), own]
        else:
            told.append((own[1], own[0].constant))
    return told, found


def _without(one: tuple[Form, Form], other: tuple[Form, Form]) -> tuple[Form, Form]:
    """Take a multiple of another number off one, so that it has not its last sample."""
    pivot, slope = other[0].terms[-1]
    factor = -dict(one[0].terms).get(pivot, 0) / Fraction(slope)
    spend(2 + sum(size_of(form) for form in (*one, *other)))
    first, second = (form.plus(more.scaled(factor)) for form, more in zip(one, other, strict=True))
    return first, second


def _summed(
    graph: Graph, measure: Measure, form: Mapping[Atom, int], used: Container[Atom]
) -> tuple[Measure, Atom] | None:
    """Make one sample of a sum of multiples of some that is all that is told of them.

    Args:
        used: Samples that something else is told of.

    Returns:
        Its number, too; None for a null set.
    """
    own = [c for c in measure.components if any(atom in form for atom, _ in c.functions)]
    functions = sorted(each for c in own for each in c.functions)
    if any(atom in used or graph.discrete[function] for atom, function in functions):
        raise Refused("published numbers have samples in common, or integers")
    whole = Component(tuple(functions), tuple(sorted(each for c in own for each in c.bounds)))
    found = [(scalar, f) for scalar, f in integrals(graph, whole, form) if scalar != graph.zero]
    if not found:
        return None
    new = 1 + max(atom for c in measure.components for atom, _ in c.functions)
    others = [c for c in measure.components if c not in own]
    return Measure(measure.scalar, (*others, Component(((new, graph.mix(found)),)))), new
