"""From a machine or a graph to balls around probabilities and numbers, at one eps.

Nodes are evaluated in the order of their numbers, each once, and forgotten when no other needs it.
Sums with Laplace noise alone have closed forms (`exact`), taken unless equal scales cancel.
What is enclosed for all inputs bounds delta of all pairs together (`pairs_within`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import chain, compress
from math import prod
from typing import Any

from dipapprox.kernel.balls import lower_at, precision, to_ball, upper_at
from dipapprox.kernel.errors import NotProved, Refused, Refuted, spend
from dipapprox.kernel.forward import outcomes
from dipapprox.kernel.grid import Accuracy, Leaves, Space, accuracy, mixed, rise
from dipapprox.kernel.judgements import Distributions
from dipapprox.kernel.machine import Input, Machine, all_inputs, changes_of
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.proofs import Proof, growth_bound, named
from dipapprox.kernel.signs import Signs

MOST_VALUES = 10**7  # of all functions that are kept at a time: a gigabyte


def most_factors(graph: Graph, scalars: Iterable[Node]) -> int:
    """Return how many functions are multiplied at most on the way to some scalars."""
    made = (graph.nodes[n] for n in graph.needed(scalars) if graph.discrete[n] is not None)
    return max((sum(node.data) for node in made if node.kind == "product"), default=1)


def evaluate(
    graph: Graph, scalars: Iterable[Node], eps: Fraction, accuracy: Accuracy
) -> dict[Node, Any]:
    """Return balls that contain scalars of a graph at eps > 0, or masses of sets."""
    wanted = set(scalars)
    if any(graph.discrete[number] is not None for number in wanted):
        raise Refuted("a function is no number")
    if eps <= 0:
        raise Refuted(f"eps must be > 0, got {eps}")
    parts = graph.needed(wanted)
    if _has_closed_forms(graph, parts):
        with suppress(NotProved), precision(2 * accuracy.precision):  # else there are panels
            exact = named("exact.exact_values")(graph, wanted, Signs.at(eps))
            found = {number: value.ball(eps) for number, value in exact.items()}
            if all(ball.rad() < to_ball(Fraction(1, 2**accuracy.bits)) for ball in found.values()):
                return found
    # How many nodes are still to be made of each; one more where it is wanted.
    uses = Counter([*wanted, *(part for own in parts.values() for part in own)])
    values: dict[Node, Any] = {}
    held = 0
    with precision(accuracy.precision):
        spaces = _spaces(graph, parts, eps, accuracy)
        for number in [each for each in parts if graph.nodes[each].kind == "total"]:
            (part,) = parts[number]
            if uses[part] == 1 and graph.nodes[part].kind == "product":
                parts[number] = parts.pop(part)  # nobody else needs the product
        for number in sorted(parts):
            own = parts[number]
            # The grid of a function, or those of what a number is the integral of.
            grids = [space for part in (number, *own) if (space := spaces.get(part))]
            values[number] = _value(graph, number, grids, [values[part] for part in own], eps)
            size = spaces[number].size if number in spaces else 0
            work = grids[0].size if grids and len(own) > 1 else size  # a product's in integrals
            spend((work * (1 + accuracy.bits // 200) // 2 + 10) * (1 + len(own) // 2))
            held += size
            if held > MOST_VALUES:
                raise Refused(f"more than {MOST_VALUES} values of functions at a time")
            for part in own:
                uses[part] -= 1
                if not uses[part]:
                    del values[part]
                    held -= spaces[part].size if part in spaces else 0
    return {number: values[number] for number in wanted}


def _has_closed_forms(graph: Graph, parts: Iterable[Node]) -> bool:
    """Whether there are sums with Laplace noise, which take many panels, and no other noise."""
    nodes = [graph.nodes[number] for number in parts]
    laws = [node.data[0].has_kink for node in nodes if node.kind in ("density", "convolved")]
    kinds = {node.kind for node in nodes}
    return "convolved" in kinds and all(laws) and kinds.isdisjoint(("excess", "sets"))


def enclosed(proof: Proof, eps: Fraction, inputs: Iterable[Input], bits: int) -> Distributions:
    """Enclose what comes out for some inputs."""
    graph, outputs, sums, rows = outcomes(proof.machine, Signs.at(eps), inputs)
    aim, places = accuracy(bits, most_factors(graph, chain(*sums))), bits + 16
    values, bounds = evaluate(graph, chain(*sums), eps, aim), {}
    with precision(aim.precision):
        balls = [sum((values[each] for each in own), to_ball(0)) for own in sums]
        lows = [max(lower_at(ball, places), 0) for ball in balls]
        highs = [min(upper_at(ball, places), 1 << places) for ball in balls]
    for input, row in rows.items():
        low, high = ([ends[k] for k in row] for ends in (lows, highs))
        if not sum(low) <= 1 << places <= sum(high):
            raise Refuted("probabilities that do not add up to 1")
        bounds[input] = low, high
    return Distributions(eps, places, outputs, bounds)


def pairs_within(found: Distributions, eps_prv: Fraction, delta: Fraction, machine: Machine) -> int:
    """Return how many pairs of finite inputs are adjacent, of which all have f_S <= delta.

    Inputs are read cell by cell. An output is told by the last cell that its bounds depend on.
    Beginnings of inputs are alike if, however they go on, the same is told of what is not told yet.
    So for two inputs side by side the most that is still to come depends on what their beginnings
    are alike to, on what these have taken of the radius, and on whether they differ.
    """
    if len(found.bounds) < prod(map(len, machine.finite)):
        raise Refuted("an input of a pair has no distribution")
    inputs, adjacency, layers = [*all_inputs(machine.finite)], machine.adjacency, list[Any]()
    spend(5 * len(inputs) * len(found.outputs))
    factor, divisor = growth_bound(eps_prv, found.places, above=False).as_integer_ratio()
    rows = (
        [(high, factor * low // divisor) for low, high in zip(*found.bounds[u], strict=True)]
        for u in inputs
    )
    columns = [*zip(*rows, strict=True)]
    alike = [0] * len(inputs)
    for place, domain in [*enumerate(machine.finite)][::-1]:
        size, numbers = len(domain), dict[Any, int]()
        # What depends on no cell is told by the first one.
        late = [not place or any(c[k::size] != c[::size] for k in range(1, size)) for c in columns]
        told = [*zip(alike, *compress(columns, late), strict=True)]
        columns = [c[::size] for c, is_late in zip(columns, late, strict=True) if not is_late]
        onward = zip(*[told[k::size] for k in range(size)], strict=True)
        alike = [numbers.setdefault(own, len(numbers)) for own in onward]
        layers.append((domain, [dict(zip(domain, own, strict=True)) for own in numbers]))
    states: dict[Any, tuple[int, int]] = {(0, 0, 0, False): (0, 1)}
    for domain, nodes in reversed(layers):
        before, states, changes = states, {}, changes_of(adjacency, domain)
        for (one, other, spent, differ), (most, count) in before.items():
            spend(len(changes))
            for u, v, price in changes:
                if adjacency.allows(spent + price):
                    (first, *ours), (second, *theirs) = nodes[one][u], nodes[other][v]
                    both = zip(ours, theirs, strict=True)
                    own = [high - low for (high, _), (_, low) in both]
                    key = first, second, spent + price, differ or u != v
                    spend(6 + len(own) // 8 + 50 * (key not in states))
                    known, others = states.get(key, (0, 0))
                    states[key] = max(known, most + sum([n for n in own if n > 0])), others + count
    apart = [state for (*_, differ), state in states.items() if differ]
    if any(most > delta * (1 << found.places) for most, _ in apart):
        raise Refuted("delta is not known to bound all pairs")
    return sum([count for _, count in apart])


def _spaces(
    graph: Graph, parts: Mapping[Node, Sequence[Node]], eps: Fraction, accuracy: Accuracy
) -> dict[Node, Space]:
    """Return the grid of each function; those that are combined, maybe through others, share it."""
    parent: dict[Node, Node] = {}

    def top(number: Node) -> Node:
        while parent[number] != number:
            parent[number] = number = parent[parent[number]]
        return number

    for number in sorted(parts):
        if graph.discrete[number] is not None:
            parent[number] = number
            # Scalars of mixes are numbers wherever they come from.
            for part in parts[number]:
                if part in parent:
                    parent[top(part)] = number
        elif graph.nodes[number].kind in ("excess", "sets"):
            *functions, _, _ = parts[number]
            for one, other in zip(functions[::2], functions[1::2], strict=True):
                parent[top(one)] = top(other)
    outer = {part for n, own in parts.items() if graph.nodes[n].kind != "running" for part in own}
    leaves: dict[Node, Leaves] = {}
    samples: dict[Node, int] = {}
    for number in parent:
        found = leaves.setdefault(top(number), Leaves(set(), set(), set()))
        kind, _, data = graph.nodes[number]
        samples[number] = max((samples.get(part, 0) for part in parts[number]), default=0)
        if kind == "density":
            found.laws.add(data[0])
            found.outer |= {data[0]} if number in outer else set()
        elif kind == "restrict":
            found.bounds.update(bound for bound in data if bound is not None)
        elif kind == "convolved":
            found.added.add(data[0])
            samples[number] += 1
            found.samples = max(found.samples, samples[number])
    made = {}
    for grid, own in leaves.items():
        space = named("grid.Lattice") if graph.discrete[grid] else named("panels.Panels")
        made[grid] = space(own, eps, accuracy)
    return {number: made[top(number)] for number in parent}


def _value(
    graph: Graph, number: Node, spaces: Sequence[Space], known: list[Any], eps: Fraction
) -> Any:
    (kind, _, data), space = graph.nodes[number], next(iter(spaces), None)
    match kind, space:
        case "density" | "restrict" | "running" | "convolved" | "total", Space():
            return getattr(space, kind)(*known, *data)
        case "product", _:
            return known[0] * known[1] if space is None else space.product(*known)
        case "excess" | "sets", _:
            *functions, p, q = known
            factors = list(zip(spaces[::2], functions[::2], functions[1::2], strict=True))
            if kind == "sets":
                return named("several.sets")(factors, p, q, *data)
            return named("excesses.excess")(factors, p, q, *data)
        case "rise", _:
            return rise(*known)
        case "mix", _:
            return mixed(zip(known[::2], known[1::2], strict=True))
        case "sum", _:
            return known[0] + known[1]
        case "rational", _:
            return to_ball(*data)
        case "weight", _:
            return data[0].ball(eps)
        case "star", _:
            if not known[0] < 1:
                raise NotProved("a loop that is not known to end")
            return 1 / (1 - known[0])
    raise Refuted(f"no node is {kind}")
