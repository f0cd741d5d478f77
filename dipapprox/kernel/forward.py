"""A machine run for some inputs: which outputs there are, and what each comes to.

A state is a store, whose cells hold values or linear forms of samples, and the measure of all
runs that lead there (`measures`). Statements turn states into states; what a condition does not
decide splits a state into parts that are disjoint and cover it up to null sets. Samples that no
cell holds any more are integrated out, and states whose stores are the same become one: measures
add. So the outputs' scalars add up to the probabilities of the outputs, exactly as functions of
eps.

Many inputs are run at once, as long as they agree in the cells that are read. A mean that is a cell
may wait: its sample has the density t -> f(t - q), f that of the law around 0. All that is done to
measures holds of functions, whatever they are, so for every number q; scalars are `told` it last.

Loops. A loop's heads are the states before its condition, without their scalars: stores with the
functions and inequalities of the samples that they hold. One turn is linear in the scalar: it takes
a head to finitely many heads and ends, each with a weight >= 0. The measure of an end is the sum,
over all finite courses that lead there, of the products of their weights. Heads are left out one
after the other (Kleene 1956; Kemeny and Snell, Finite Markov Chains, on absorbing chains): a course
from i to j by way of k goes to k, returns there any number of times, and goes on, so that

    w_ij + w_ik (1 + w_kk + w_kk^2 + ...) w_kj

are the courses from i to j by way of heads that are left out. The series converges where w_kk < 1,
which whoever evaluates it has to know. A set of heads that is never left has one that is the last
to be left out: it leads nowhere, or to itself alone, and the loop is refused. Else the courses end,
but for a null set (there are finitely many heads). A loop that ends for certain is no special case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from dipapprox.kernel.errors import BadProof, NotProved, Refused, spend
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.forms import UNTOLD, Atom, Form, Stored, copied, only
from dipapprox.kernel.laws import Law
from dipapprox.kernel.machine import Block, Input, Machine, Number, Output, Tree, Value
from dipapprox.kernel.measures import Component, Measure, assume, forget
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.signs import Signs
from dipapprox.kernel.walk import NEGATED, Noise, Walk, Where, cells_of, name_of, number_of

MOST_HEADS = 2_000  # most heads of one loop

TOGETHER, FEW = 64, 4
"""Most inputs that are run together, and of which means are told at once."""

MOST_KNOWN = 20_000  # how many measures are remembered with what became of them
Scalars = tuple[Node, ...]  # they add up to a probability


@dataclass(slots=True)
class State:
    """All runs with this store, of which `forms` are the forms. Who splits it copies them.

    They are the same for all of some inputs: cells in which these differ are untold, none was read.
    """

    store: dict[str, Stored]
    measure: Measure
    inputs: tuple[Input, ...]
    forms: dict[str, Form] = field(default_factory=dict)

    def part(self, measure: Measure) -> State:
        """Return part of the runs."""
        return State(copied(self.store), measure, self.inputs, dict(self.forms))


class Ended(NamedTuple):
    """All runs that end with these outputs."""

    finite: tuple[Value, ...]
    reals: tuple[Number | Form, ...]
    measure: Measure
    inputs: Sequence[Input]


class Run(Walk[State]):
    """The runs of a machine for its inputs, at eps whose signs are known, on one graph."""

    def __init__(self, machine: Machine, signs: Signs, graph: Graph) -> None:
        super().__init__()
        self.machine, self.graph = machine, graph
        self._signs: Signs = signs
        self._domains = {name: frozenset(domain) for name, domain in machine.outputs}
        own = [*self._domains]
        # Of one name it is no tuple; what they hold is of their domains.
        self._outputs: Any = itemgetter(*own) if own[1:] else lambda s: tuple([s[n] for n in own])
        self._places = {name: place for place, (name, _) in enumerate(machine.inputs)}
        self._all = tuple([("cell", name) for name in self._places])
        self._read: dict[int, list[Tree]] = {}
        # Inputs have beginnings in common.
        self._assume = lru_cache(MOST_KNOWN)(partial(assume, graph))
        self._without = lru_cache(MOST_KNOWN)(partial(forget, graph))
        self._ended: list[Ended] = []
        self.numbers: dict[Output, int] = {}  # outputs may be long: each once

    def outcomes(self, inputs: Sequence[Input]) -> dict[Input, dict[int, list[Node]]]:
        """Run the machine, whose outputs have finitely many values.

        Return, by input and number of an output that some state ends with, scalars that add up to
        its chance.
        """
        if self.machine.reals:
            raise Refused("outputs are real numbers")
        found: dict[Input, dict[int, list[Node]]] = {input: {} for input in inputs}
        for end in self.ends(inputs):
            spend(len(end.inputs))
            scalar = self._without(end.measure, frozenset()).scalar
            if scalar != self.graph.zero:
                number = self.numbers.setdefault(end.finite, len(self.numbers))
                for input in end.inputs:
                    found[input].setdefault(number, []).append(scalar)
        for input, ended in found.items():
            told = self.graph.told([scalar for own in ended.values() for scalar in own], input)
            for number, own in ended.items():
                ended[number] = [told[scalar] for scalar in own]
        return found

    def ends(self, inputs: Sequence[Input]) -> list[Ended]:
        """Run the machine: what it ends with, real outputs as forms of samples."""
        self._ended = []
        start = State(dict.fromkeys(self._places, UNTOLD), Measure(self.graph.one), ())
        self._enter(start, inputs)
        self._block((*self.machine.body, ("exit",)), [start])
        return self._ended

    def _enter(self, state: State, inputs: Sequence[Input]) -> None:
        """Tell the cells in which some inputs agree."""
        state.inputs = tuple(inputs)
        for name, (value, *others) in zip(self._places, zip(*inputs, strict=True), strict=True):
            if state.store.get(name) is UNTOLD and not any(other != value for other in others):
                state.store[name] = value

    def _told(self, tree: Tree, states: list[State]) -> list[State]:
        if id(tree) not in self._read:
            self._read[id(tree)] = cells_of(tree)
        waiting, found = states[::-1], list[State]()
        while waiting:
            state = waiting.pop()
            cells = self._read[id(tree)] if len(state.inputs) > 1 else []
            if tree[:1] == ("draw",) and cells[-1:] == [tree[3]] and len(state.inputs) > FEW:
                cells = cells[:-1]
            names = (name_of(cell, state.store, self._turn) for cell in cells)
            untold = next((name for name in names if state.store.get(name) is UNTOLD), None)
            if untold is None:
                found.append(state)
                continue
            groups: dict[Value, list[Input]] = {}
            for input in state.inputs:
                groups.setdefault(input[self._places[untold]], []).append(input)
            parts = [*[state.part(state.measure) for _ in groups][1:], state]
            for part, own in zip(parts, groups.values(), strict=True):
                self._enter(part, own)
            waiting += parts
        return found

    def _end(self, state: State) -> None:
        try:
            finite = self._outputs(state.store)
        except KeyError as name:
            raise NotProved(f"output {name} ends without a value") from None
        reals = [state.store.get(name) for name in self.machine.reals]
        numbers = tuple([x for x in reals if x is not None and not isinstance(x, str)])
        if len(numbers) < len(reals):
            raise NotProved("a real output ends without a number")
        used = [atom for x in numbers if isinstance(x, Form) for atom, _ in x.terms]
        measure = self._without(state.measure, frozenset(used))
        self._ended.append(Ended(finite, numbers, measure, state.inputs))

    def _assign(self, state: State, name: str, value: Stored) -> None:
        domain = self._domains.get(name)
        if domain is not None and (isinstance(value, Form) or value not in domain):
            raise NotProved(f"'{name}' gets a value that is not in its domain")
        state.store[name] = value
        state.forms.pop(name, None)
        if isinstance(value, Form):
            state.forms[name] = value

    def _mean(self, tree: Tree, state: State) -> Stored:
        name = self._name(tree, state) if cells_of(tree)[-1:] == [tree] else ""
        is_told = state.store.get(name) is not UNTOLD
        return self._value(tree, state) if is_told else only(~self._places[name])

    def _sample(self, state: State, noise: Noise, mean: Number | Form, where: Where) -> Form:
        family, coefficient, power = noise
        if isinstance(mean, Form):
            ((atom, _), *_) = mean.terms
            if atom >= 0:
                raise NotProved("a mean that is random")
            means = {number_of(input[~atom], {}, 0) for input in state.inputs}
            untold = [mean.scaled(-1)]
        else:
            means, untold = {mean}, []
        law, *_ = [Law(family, Fraction(each), coefficient, power) for each in means]
        centred = law.affine(Fraction(1), -law.mean) if untold else law
        function = self.graph.density(centred, Fraction(1), *untold)
        components = state.measure.components
        spend(len(components))
        atom = 1 + max([a for c in components for a, _ in c.functions], default=-1)
        state.measure = Measure(state.measure.scalar, (*components, Component(((atom, function),))))
        return only(atom)

    def _split(self, state: State, form: Form, relation: str) -> tuple[list[State], list[State]]:
        spend(2 * len(state.measure.components))
        holds, fails = (
            self._assume(state.measure, form, each) for each in (relation, NEGATED[relation])
        )
        # One of them takes the store, the others a copy.
        found = [state.part(m) for m in [*holds, *fails][1:]]
        for state.measure in [*holds, *fails][:1]:
            found.insert(0, state)
        return found[: len(holds)], found[len(holds) :]

    def _weighted(self, state: State, weight: Ratio) -> State:
        scalar = self.graph.times(state.measure.scalar, self.graph.add("weight", (), weight))
        return state.part(Measure(scalar, state.measure.components))

    def _loop(self, condition: Tree, body: Block, states: list[State]) -> list[State]:
        before, found = self._ended, list[State]()
        for _, own in groupby(self._told(self._all, states), attrgetter("inputs")):
            for end, scalar in self._absorbed(condition, body, own):
                measure = Measure(scalar, end.measure.components)
                if isinstance(end, State):
                    found.append(replace(end, measure=measure))
                else:
                    before.append(end._replace(measure=measure))
        self._ended = before
        return found

    def _absorbed(
        self, condition: Tree, body: Block, states: Iterable[State]
    ) -> list[tuple[Any, Node]]:
        """Return what a loop ends with, each with its scalar: the sum over all courses."""
        graph, heads, ends = self.graph, list[State](), list[Any]()
        numbers: dict[object, int] = {}
        # Where a turn from each head leads: to heads from 1 on, and to ends, as -1, -2, …; the loop
        # is entered from 0.
        onward: list[dict[int, Node]] = [{}]

        def add(source: int, target: int, weight: Node) -> None:
            known = onward[source].get(target, graph.zero)
            onward[source][target] = graph.plus(known, weight)

        def reach(source: int, states: Iterable[State]) -> None:
            for key, head, scalar in map(self._head, states):
                number = numbers.setdefault(key, len(onward))
                if number == len(onward):
                    if number > MOST_HEADS:
                        raise Refused(f"a loop with more than {MOST_HEADS} states at its head")
                    onward.append({})
                    heads.append(head)
                add(source, number, scalar)

        reach(0, states)
        # The list grows while it is gone through.
        for place, head in enumerate(heads, 1):
            self._ended = []
            holds, fails = self._divided(condition, [head])
            reach(place, self._block(body, holds))
            left: list[State | Ended] = [*fails, *self._ended]
            for end in left:
                ends.append(end)
                add(place, -len(ends), end.measure.scalar)
        for middle in range(1, len(onward)):
            targets = onward[middle]
            back = targets.pop(middle, graph.zero)
            if not targets:
                raise NotProved("a loop that is not known to end")
            for source in (0, *range(middle + 1, len(onward))):
                to = onward[source].pop(middle, graph.zero)
                if to == graph.zero:
                    continue
                spend(len(targets))
                through = graph.times(to, graph.star(back))
                for target, weight in targets.items():
                    add(source, target, graph.times(through, weight))
        return [(ends[-1 - number], scalar) for number, scalar in onward[0].items()]

    def _head(self, state: State) -> tuple[object, State, Node]:
        """Return what it has in common with others of one head, it with the scalar 1, its own."""
        measure = self._without(state.measure, frozenset(held(state)))
        key, renamed = canonical(replace(state, measure=measure))
        components = renamed.measure.components
        functions = tuple([component.functions for component in components])
        whole = replace(renamed, measure=Measure(self.graph.one, components))
        return (key, functions), whole, measure.scalar

    def _forget(self, state: State, names: Sequence[str]) -> None:
        super()._forget(state, names)
        if [name for name in names if state.forms.pop(name, None)]:
            state.measure = self._without(state.measure, frozenset(held(state)))

    def _joined(self, states: list[State]) -> list[State]:
        if len(states) < 2:
            return states
        near: dict[object, list[State]] = {}
        counts = Counter(state.inputs for state in states)
        for state in states:
            if state.measure.scalar != self.graph.zero:
                items = state.store.items() if counts[state.inputs] > 1 else ()
                values = [item for item in items if item[0] not in state.forms]
                # Fractions are hashed slowly.
                spend(4 * sum([type(value) is Fraction for _, value in values]))
                near.setdefault((state.inputs, frozenset(values)), []).append(state)
        found = [own if len(own) < 2 else self._merged(own) for own in near.values()]
        return [state for own in found for state in own]

    def _merged(self, states: list[State]) -> list[State]:
        found: dict[object, list[State]] = {}
        for state in states:
            key, renamed = canonical(state)
            alike = found.setdefault(key, [])
            spend(2 * len(alike))
            for number, other in enumerate(alike):
                together = self._sum(other.measure, renamed.measure)
                if together is not None:
                    alike[number] = replace(other, measure=together)
                    break
            else:
                alike.append(renamed)
        return [state for alike in found.values() for state in alike]

    def _sum(self, first: Measure, second: Measure) -> Measure | None:
        """Add two measures that differ in one function of one sample at most."""
        both = zip(first.components, second.components, strict=True)
        match [pair for pair in both if pair[0] != pair[1]]:
            case []:
                return Measure(self.graph.plus(first.scalar, second.scalar), first.components)
            case [(Component([(atom, one)]) as old, Component([(_, other)]))] if (
                self.graph.discrete[one] == self.graph.discrete[other]
            ):
                new = self.graph.mix([(first.scalar, one), (second.scalar, other)])
                found = [Component(((atom, new),)) if c == old else c for c in first.components]
                return Measure(self.graph.one, tuple(found))
        return None


def outcomes(
    machine: Machine, signs: Signs, inputs: Iterable[Input]
) -> tuple[Graph, tuple[Output, ...], list[Scalars], dict[Input, list[int]]]:
    """Run the machine for some inputs: on a graph, all outputs with their probabilities.

    These are sums, each once; and for each input the places of its sums, in the order of outputs.
    """
    run = Run(machine, signs, graph := Graph())
    found: dict[Input, dict[int, Scalars]] = {}
    waiting = iter(inputs)
    while batch := list(islice(waiting, TOGETHER)):
        spend(100 * len(batch))
        if len({*batch}) < len(batch) or not found.keys().isdisjoint(batch):
            raise BadProof("an input twice")
        for input, ended in run.outcomes(batch).items():
            found[input] = {number: tuple(own) for number, own in ended.items()}
    spend(8 * len(run.numbers) * len(found))
    places: dict[Scalars, int] = {}
    rows = {
        input: [places.setdefault(own.get(k, ()), len(places)) for k in range(len(run.numbers))]
        for input, own in found.items()
    }
    return graph, tuple(run.numbers), list(places), rows


def held(state: State) -> set[Atom]:
    """The samples that cells hold."""
    spend(sum([len(form.terms) for form in state.forms.values()]) // 4)
    return {atom for form in state.forms.values() for atom, _ in form.terms}


def canonical(state: State) -> tuple[object, State]:
    """Number the samples by where the store has them; return what alike states have in common."""
    order: dict[int, int] = {}
    forms = sorted(state.forms.items(), key=lambda own: own[0])
    spend(2 * sum([len(c.functions) + 4 * len(c.bounds) for c in state.measure.components]))
    spend(len(state.store) // 4 + 2 * sum([len(form.terms) for _, form in forms]))
    for _, form in forms:
        for atom, _ in form.terms:
            order.setdefault(atom, len(order))
    for component in state.measure.components:
        for atom, _ in component.functions:
            order.setdefault(atom, len(order))
    components = [*state.measure.components]
    if any(atom != number for atom, number in order.items()):
        found = {
            name: Form(form.constant, tuple(sorted([(order[a], c) for a, c in form.terms])))
            for name, form in forms
        }
        state = State(state.store | found, state.measure, state.inputs, found)
        components = [_renumbered(component, order) for component in components]
    components.sort(key=lambda component: component.functions[0])
    shape = tuple([(tuple([atom for atom, _ in c.functions]), c.bounds) for c in components])
    measure = Measure(state.measure.scalar, tuple(components))
    key = state.inputs, frozenset(state.store.items()), shape
    return key, State(state.store, measure, state.inputs, state.forms)


def _renumbered(component: Component, order: Mapping[int, int]) -> Component:
    """A component in the new numbers."""
    functions = [(order[a], f) for a, f in component.functions]
    bounds = [(tuple(sorted([(order[a], c) for a, c in own])), m) for own, m in component.bounds]
    return Component(tuple(sorted(functions)), tuple(sorted(bounds)))
