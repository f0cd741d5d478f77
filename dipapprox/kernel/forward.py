"""A machine run for one input: which outputs there are, and what each comes to.

A state is a store, whose cells hold values or linear forms of samples, and the measure of all
runs that lead there (`measures`). Statements turn states into states; what a condition does not
decide splits a state into parts that are disjoint and cover it up to null sets. Samples that no
cell holds any more are integrated out, and states whose stores are the same become one: measures
add. So the outputs' scalars add up to the probabilities of the outputs, exactly as functions of
eps.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import cast

from dipapprox.kernel.adjacency import Input, Number, Value
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import NotProved, Refused
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.expressions import NEGATED, compared, divided, name_of, number_of, value_of
from dipapprox.kernel.integration import forget
from dipapprox.kernel.laws import Law
from dipapprox.kernel.loops import Heads
from dipapprox.kernel.machine import Block, Machine, Tree
from dipapprox.kernel.measures import Atom, Component, Form, Measure, assume, draw
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.published import Cuts, Label, Published, parted, publish
from dipapprox.kernel.signs import Signs
from dipapprox.kernel.states import State, Stored, canonical, copied, held
from dipapprox.kernel.weights import weight_of

MOST_STATES = 50_000
"""Most states at a time."""

MOST_CELLS = 5_000_000
"""Most cells of all states at a time."""

MOST_STEPS = 3_000_000
"""Most statements that are executed."""

MOST_KNOWN = 20_000
"""How many measures are remembered with what became of them: inputs have beginnings in common."""


class Run:
    """The runs of a machine for its inputs, at eps whose signs are known, on one graph."""

    def __init__(self, machine: Machine, signs: Signs, graph: Graph) -> None:
        self.machine = machine
        self.graph = graph
        self._signs = signs
        self._domains = {name: frozenset(domain) for name, domain in machine.outputs}
        self._outputs = [name for name, _ in machine.outputs]
        self._laws: dict[tuple[object, ...], Node] = {}
        self._split: dict[object, tuple[list[Measure], list[Measure]]] = {}
        self._forgotten: dict[object, Measure] = {}
        self._steps = 0
        self._shift = 0
        self._cuts: Cuts = ()
        self._ended: dict[tuple[Value, ...], list[Node]] = {}
        self._published: dict[Label, list[Published]] | None = None

    def outcomes(self, input: Input, cuts: Cuts = ()) -> dict[tuple[Value, ...], list[Node]]:
        """Run the machine; real outputs are told as far as cuts of each part them (`parted`).

        Returns:
            For every output that some state ends with the scalars that add up to its probability.
        """
        if len(cuts) != len(self.machine.reals):
            raise Refused("outputs are real numbers, and other ones are cut")
        self._cuts, self._ended, self._published = cuts, {}, None
        self._follow(input)
        return self._ended

    def published(self, input: Input) -> dict[Label, list[Published]]:
        """Run a machine with real outputs: by label, measures that add up."""
        if not self.machine.reals:
            raise Refused("no outputs are real numbers")
        found: dict[Label, list[Published]] = {}
        self._published = found
        self._follow(input)
        return found

    def _follow(self, input: Input) -> None:
        names = [name for name, _ in self.machine.inputs]
        store: dict[str, Stored] = dict(zip(names, input, strict=True))
        start = State(store, frozenset(), Measure(self.graph.one))
        states = self._block(self.machine.body, [start])
        for state in states:
            self._end(state)

    def _end(self, state: State) -> None:
        output = tuple(map(state.store.get, self._outputs))
        if None in output:
            raise NotProved("an output ends without a value")
        # Output cells hold values of their domains.
        known = cast("tuple[Value, ...]", output)
        reals = [state.store.get(name) for name in self.machine.reals]
        numbers = [value for value in reals if value is not None and not isinstance(value, str)]
        if len(numbers) < len(reals):
            raise NotProved("a real output ends without a number")
        if self._published is not None:
            label, found = publish(self.graph, state.measure, known, numbers)
            self._published.setdefault(label, []).extend(found)
            return
        for cells, part in parted(self.graph, state.measure, numbers, self._cuts):
            scalar = self._forget(part, frozenset()).scalar
            if scalar != self.graph.zero:
                self._ended.setdefault((*known, *cells), []).append(scalar)

    # --- statements --------------------------------------------------------------------------

    def _block(self, block: Block, states: list[State]) -> list[State]:
        spend(4)
        for statement in block:
            if not states:
                break
            states = self._statement(statement, states)
        return states

    def _statement(self, statement: Tree, states: list[State]) -> list[State]:
        self._steps += len(states)
        cells = sum([len(state.store) for state in states])
        spend(4 * len(states) + cells // 8)
        if cells > MOST_CELLS:
            raise Refused(f"more than {MOST_CELLS} cells of all states")
        if self._steps > MOST_STEPS or len(states) > MOST_STATES:
            raise Refused("more states or steps than the kernel follows")
        match statement:
            case "set", target, value:
                for state in states:
                    self._assign(state, target, value_of(value, state.store, self._shift))
            case "draw", target, family, mean, scale:
                for state in states:
                    law = family, number_of(mean, state.store, self._shift), *scale
                    self._assign(state, target, self._sample(state, law))
            case "if", condition, then, otherwise:
                yes, no = divided(condition, states, self._compared)
                states = self._block(then, yes) + self._block(otherwise, no)
            case ("exit",):
                for state in states:
                    self._end(state)
                return []
            case "choose", target, options, proportional:
                states = [
                    after
                    for state in states
                    for after in self._choose(state, target, options, proportional)
                ]
            case "repeat", turns, _, _, body:
                before = self._shift
                for turn in range(turns):
                    self._shift = turn
                    states = self._block(body, states)
                self._shift = before
            case "while", condition, body:
                states = self._loop(condition, body, states)
            case "forget", names:
                for state in states:
                    self._drop(state, names)
            case _:
                raise NotProved("not a statement")
        return states if len(states) < 2 else self._joined(states)

    def _loop(self, condition: Tree, body: Block, states: list[State]) -> list[State]:
        """Follow a loop: a turn from every state at its head, then all courses (`loops`)."""
        before, heads = self._ended, Heads(self.graph)
        if self._published is not None:
            raise Refused("loops that end by chance, before numbers are published")
        heads.reach(0, states)
        left: list[State | tuple[Value, ...]] = []
        for place, head in heads.waiting():
            self._ended = {}
            holds, fails = divided(condition, [head], self._compared)
            heads.reach(place, self._block(body, holds))
            for state in fails:
                heads.leave(place, len(left), state.measure.scalar)
                left.append(state)
            for output, scalars in self._ended.items():
                for scalar in scalars:
                    heads.leave(place, len(left), scalar)
                    left.append(output)
        self._ended, found = before, []
        for end, scalar in heads.solved().items():
            last = left[end]
            if isinstance(last, State):
                measure = Measure(scalar, last.measure.components)
                found.append(State(last.store, last.random, measure))
            else:
                self._ended.setdefault(last, []).append(scalar)
        return found

    def _drop(self, state: State, names: tuple[str, ...]) -> None:
        """Let cells hold nothing, and integrate out what no cell holds any more."""
        for name in names:
            state.store.pop(name, None)
        if not state.random.isdisjoint(names):
            state.random = state.random.difference(names)
            state.measure = self._forget(state.measure, frozenset(held(state)))

    def _forget(self, measure: Measure, used: frozenset[Atom]) -> Measure:
        key = measure, used
        found = self._forgotten.get(key)
        if found is None:
            if len(self._forgotten) > MOST_KNOWN:
                self._forgotten.clear()
            found = self._forgotten[key] = forget(self.graph, measure, used)
        return found

    def _joined(self, states: list[State]) -> list[State]:
        found: dict[object, list[State]] = {}
        for state in states:
            if state.measure.scalar == self.graph.zero:
                continue
            key, renamed = canonical(state)
            alike = found.setdefault(key, [])
            for number, other in enumerate(alike):
                together = self._sum(other.measure, renamed.measure)
                if together is not None:
                    alike[number] = State(other.store, other.random, together)
                    break
            else:
                alike.append(renamed)
        return [state for alike in found.values() for state in alike]

    def _sum(self, first: Measure, second: Measure) -> Measure | None:
        """Add two measures that differ in one function of one sample at most."""
        differ = [
            k
            for k, (a, b) in enumerate(zip(first.components, second.components, strict=True))
            if a != b
        ]
        if not differ:
            scalar = self.graph.plus(first.scalar, second.scalar)
            return Measure(scalar, first.components)
        if len(differ) > 1 or len(first.components[differ[0]].functions) > 1:
            return None
        components = list(first.components)
        ((atom, one),), ((_, other),) = (m.components[differ[0]].functions for m in (first, second))
        if self.graph.discrete[one] != self.graph.discrete[other]:
            return None
        mixed = self.graph.mix([(first.scalar, one), (second.scalar, other)])
        components[differ[0]] = Component(((atom, mixed),))
        return Measure(self.graph.one, tuple(components))

    def _assign(self, state: State, target: Tree, value: Stored) -> None:
        name = name_of(target, state.store, self._shift)
        domain = self._domains.get(name)
        if domain is not None and (isinstance(value, Form) or value not in domain):
            raise NotProved(f"'{name}' gets a value that is not in its domain")
        state.store[name] = value
        if isinstance(value, Form):
            state.random |= {name}
        elif name in state.random:
            state.random -= {name}

    def _sample(self, state: State, key: tuple[str, Number, Fraction, int]) -> Form:
        """A fresh sample, which is one of the state from here on."""
        function = self._laws.get(key)
        if function is None:
            family, mean, coefficient, power = key
            law = Law(family, Fraction(mean), coefficient, power)
            function = self._laws[key] = self.graph.density(law)
        components = state.measure.components
        spend(len(components))
        atom = 1 + max([a for c in components for a, _ in c.functions], default=-1)
        state.measure = draw(state.measure, atom, function)
        return Form(Fraction(0), ((atom, Fraction(1)),))

    def _choose(
        self, state: State, target: Tree, options: Sequence[Tree], proportional: bool
    ) -> list[State]:
        signs, total = self._signs, Ratio.constant(Fraction(0))
        weights = [weight_of(weight, signs, state.store, self._shift) for _, _, weight in options]
        for weight in weights:
            if not signs.tell(weight.numerator, positive=False):
                raise NotProved("weights that are not known to be >= 0")
            total = total + weight
        if proportional:
            inverse = signs.inverse(total)
            weights = [weight * inverse for weight in weights]
        elif not signs.is_zero((total + Ratio.constant(Fraction(-1))).numerator):
            raise NotProved("probabilities that do not add up to 1")
        found = []
        for (_, expression, _), weight in zip(options, weights, strict=True):
            if not signs.is_zero(weight.numerator):
                scalar = self.graph.times(state.measure.scalar, self.graph.weight(weight))
                measure = Measure(scalar, state.measure.components)
                after = State(copied(state.store), state.random, measure)
                self._assign(after, target, value_of(expression, state.store, self._shift))
                found.append(after)
        return found

    # --- conditions --------------------------------------------------------------------------

    def _compared(
        self, relation: str, left: Tree, right: Tree, state: State
    ) -> tuple[list[State], list[State]]:
        one, other = (value_of(each, state.store, self._shift) for each in (left, right))
        form = compared(relation, one, other)
        if isinstance(form, bool):
            return ([state], []) if form else ([], [state])
        key = state.measure, form, relation
        if key not in self._split:
            holds, fails = (
                assume(self.graph, state.measure, form, each)
                for each in (relation, NEGATED[relation])
            )
            if len(self._split) > MOST_KNOWN:
                self._split.clear()
            self._split[key] = holds, fails
        holds, fails = self._split[key]
        parts = _parts(state, [*holds, *fails])
        return parts[: len(holds)], parts[len(holds) :]


def _parts(state: State, measures: list[Measure]) -> list[State]:
    """A state for each measure; one of them takes the store, the others a copy."""
    found = [State(copied(state.store), state.random, measure) for measure in measures[1:]]
    return [State(state.store, state.random, measure) for measure in measures[:1]] + found
