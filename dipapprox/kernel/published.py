"""Real outputs at the end of a run: which are numbers, and the density of the others.

A state ends with a label and measures that add up. The label is the finite outputs and, of the
real ones y, those that hold a number; measures of different labels are singular to each other, as
a number is a null set of densities. The others have a density, told by numbers z, a sample each:
z_i = y_i - sum of share_ij z_j over j < i. So z determines y and is determined by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dipapprox.kernel.adjacency import Input, Number, Value
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import Refused
from dipapprox.kernel.forms import Form
from dipapprox.kernel.forward import Run
from dipapprox.kernel.integration import forget
from dipapprox.kernel.measures import Measure
from dipapprox.kernel.nodes import Graph, Node

Label = tuple[Value | None, ...]
"""The finite outputs, then the real ones: a number, or None where it has a density."""

MOST_TIMES = 1_000
"""A sum of so many equal measures stays one."""


@dataclass(frozen=True, slots=True)
class Published:
    """scalar * product of functions, one for each z_i; `shares` are those of each, in order."""

    shares: tuple[tuple[Number, ...], ...]
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
    label: list[Value | None] = list(output)
    shares, parts = list[tuple[Number, ...]](), list[tuple[int, Fraction, Fraction]]()
    for value in reals:
        label.append(None if isinstance(value, Form) else value)
        if isinstance(value, Form):
            spend(2 * len(parts))
            terms, constant, row = dict(value.terms), value.constant, list[Number]()
            for atom, slope, start in parts:
                row.append(terms.pop(atom) / slope if atom in terms else 0)
                if row[-1]:
                    constant -= row[-1] * start
            if len(terms) != 1:
                raise Refused("a published number has no sample of its own, or more than one")
            shares.append(tuple(row))
            parts.append((*terms.popitem(), constant))
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
        if functions and times in range(2, MOST_TIMES):
            found += [Published(tuple(shares), graph.one, own)] * int(times)
        elif scalar != graph.zero:
            found.append(Published(tuple(shares), scalar, own))
    return tuple(label), found
