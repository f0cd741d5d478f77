"""Which input cells play the same part: swaps of two cells that permute the outputs.

In: the final states, inputs symbolic. Out: for a swap s of two cells, which outputs o have a
partner o' with p_u(o') = p_{s(u)}(o) for every input u. Nothing numerical happens here.

Proof. Write s(state) for a state with the two cells exchanged in its guards, conditions and in the
means of its samples. Evaluated at u it is the state evaluated at s(u). If a bijection t of the
samples satisfies law(t(a)) = s(law(a)) as forms, the guards g(x_a, …, cells) of the state at s(u)
have the probability of the guards g(x_t(a), …, s(cells)) at u, because samples are independent.
So when renaming by t and s turns the states of o into those of o' (as multisets of sets of guards
and conditions), p_u(o') = p_{s(u)}(o). Guards are compared as forms up to positive factors;
strictness changes them on a set of probability 0 only. Conditions are compared with strictness.

A state also needs choices to have some outcomes. These are independent of the samples: all that
counts is their probability, a node of a circuit (`events.circuits`) for every input. The image has
that of the exchanged input.

A state may be told by how many of some comparisons hold (`counting_sets`). They are renamed like
guards, and a state with as many of the renamed ones is its image. If it has guards besides, or is
told by comparisons otherwise, no swaps are looked for.

The bijection t that is tried sends the k-th sample of a law to the k-th sample of the exchanged
law; a swap that only another bijection would prove is not found, which costs time and nothing else.
Exchanging twice changes nothing, and neither does t: if it turns a guard into another, then that
one into the first.

Swaps of neighbours in a list of cells make all permutations of these. So where swaps match all
outputs, pairs (u, u') that agree up to a permutation of both have equal divergences, and where
swaps leave all outputs as they are, inputs that agree up to a permutation have one distribution
(`multiset`).

Swaps that match all outputs make others. As (a c) = (a b) (b c) (a b), and p_{s(u)}(o) = p_u(π(o))
for the partners π of a swap s, those of (a c) are π(ρ(π(o))) with π of (a b) and ρ of (b c).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from dipapprox.cache import Cache
from dipapprox.data_classes import Record
from dipapprox.events.instantiate import chances_of_states
from dipapprox.language.core import Input
from dipapprox.laws.distribution import Scale
from dipapprox.laws.family import Family
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.semantics.outcomes import ALWAYS, counting_sets
from dipapprox.semantics.state import (
    FinalState,
    FinalStates,
    Guard,
    InputCondition,
    SampleComparison,
    constraints_of,
    guard_of,
)

_Law = tuple[Family, Scale, LinearForm]
_State = tuple[frozenset[int], frozenset[InputCondition], int]
_Signature = frozenset[tuple[_State, int]]
"""The states of one output as a multiset; guards are numbers of forms, choices what they
have in `Chances.sets` (>= 0)."""


class Swap(Record):
    """What exchanging two cells does to the outputs."""

    # For every output, whether its probability stays the same function of the input.
    fixed: tuple[bool, ...]
    # For every output, whether it has a partner. All outputs with a partner can be paired at once:
    # classes of outputs with equal states are mapped to classes of the same size.
    matched: tuple[bool, ...]
    partners: tuple[int, ...]  # for every output, a partner; itself if there is none


_MOST = 500_000  # most final states times cells that symmetries are looked for in
_MOST_TOGETHER = 1_000_000  # most final states times pairs of cells that all cells are grouped for

_found: Cache[FinalStates, CellSymmetry] = Cache(4)


def symmetry_of(states: FinalStates) -> CellSymmetry | None:
    """Return the swaps of the cells of final states, remembered; None if that takes too much."""
    if len(states.states) * len(states.program.inputs) > _MOST:
        return None
    return _found.find(states, lambda: CellSymmetry(states))


class CellSymmetry:
    """The swaps of input cells, worked out when asked for.

    An output does not depend on other cells than the `relevant` ones, which its states mention.
    """

    def __init__(self, states: FinalStates) -> None:
        self._cells = states.program.inputs
        self._laws: tuple[_Law, ...] = tuple(
            (sample.family, sample.scale, sample.mean) for sample in states.samples
        )
        self._groups: dict[_Law, list[int]] = {}
        self._place: list[int] = []
        for sample, law in enumerate(self._laws):
            group = self._groups.setdefault(law, [])
            self._place.append(len(group))
            group.append(sample)
        self._forms: list[LinearForm] = []
        self._numbers: dict[LinearForm, int] = {}
        self._mentions: list[frozenset[str]] = []
        self._forms_about: dict[str, list[int]] = {}
        self._samples_about: dict[str, list[int]] = {}
        for sample, (_, _, mean) in enumerate(self._laws):
            for name in mean.inputs():
                self._samples_about.setdefault(name, []).append(sample)
        self._swaps: dict[tuple[int, int], Swap | None] = {}
        self._whole: dict[int, dict[int, Swap]] = {}  # those that match all outputs, by cells
        self._counts: dict[frozenset[int], int] = {}
        self._is_rigid = False
        self._chances = chances_of_states(states)
        self._states: list[list[_State]] = [[] for _ in states.outputs]
        self._read(states)
        self._signatures = tuple(_signature(each) for each in self._states)
        self._multiplicity = Counter(self._signatures)
        self._first = {own: k for k, own in reversed(list(enumerate(self._signatures)))}
        names = [self._names(each) for each in self._states]
        self.relevant = tuple(
            tuple(k for k, cell in enumerate(self._cells) if cell.name in mentioned)
            for mentioned in names
        )

    def swap(self, first: int, second: int) -> Swap | None:
        """Return what exchanging two cells does; None if it is not seen or their domains differ."""
        if self._is_rigid:
            return None
        key = min(first, second), max(first, second)
        if key not in self._swaps:
            found = self._swaps[key] = self._made_of_others(*key) or self._find(*key)
            if found is not None and all(found.matched):
                self._whole.setdefault(first, {})[second] = found
                self._whole.setdefault(second, {})[first] = found
        return self._swaps[key]

    def classes(self, output: int) -> tuple[tuple[int, ...], ...]:
        """Group the relevant cells of an output: its probability depends on the input only through
        how often each value occurs in each group."""
        return self.groups(self.relevant[output], lambda swap: swap.fixed[output])

    def groups(
        self, cells: Iterable[int], alike: Callable[[Swap], bool]
    ) -> tuple[tuple[int, ...], ...]:
        """Group cells: those that follow each other in a group have a swap with a property."""
        found: list[list[int]] = []
        for cell in cells:
            for group in found:
                swap = self.swap(group[-1], cell)
                if swap is not None and alike(swap):
                    group.append(cell)
                    break
            else:
                found.append([cell])
        return tuple(map(tuple, found))

    @cached_property
    def permuting(self) -> tuple[tuple[int, ...], ...]:
        """All cells, grouped: permutations in a group permute the outputs."""
        return self._of_all(lambda swap: all(swap.matched))

    def multiset(self, input: Input) -> Input:
        """Return the input that stands for all with its values in an order that changes nothing.

        They have equal distributions, at every eps.
        """
        found = list(input)
        for group in self.leaving:
            if len(group) > 1:
                values = sorted([input[cell] for cell in group], key=str)
                for cell, value in zip(group, values, strict=True):
                    found[cell] = value
        return tuple(found)

    @cached_property
    def leaving(self) -> tuple[tuple[int, ...], ...]:
        """All cells, grouped: permutations in a group leave all outputs as they are."""
        return self._of_all(lambda swap: all(swap.fixed))

    def _of_all(self, alike: Callable[[Swap], bool]) -> tuple[tuple[int, ...], ...]:
        """Group all cells; each is alone if that takes too much."""
        cells = range(len(self._cells))
        if len(cells) ** 2 * sum(map(len, self._states)) > _MOST_TOGETHER:
            return tuple((cell,) for cell in cells)
        return self.groups(cells, alike)

    def _read(self, states: FinalStates) -> None:
        # Others by identity: states share guards, and hashing fractions is slow.
        known: dict[int | SampleComparison, int] = {}
        place = {id(outputs): k for k, outputs in enumerate(states.outputs)}
        roots = self._chances.sets
        counting = counting_sets(states.sets, {state.compared for state in states.states})
        for state, root in zip(states.states, roots, strict=True):
            guards: list[int] = []
            for constraint in reversed(constraints_of(state.path)):
                key = constraint if isinstance(constraint, SampleComparison) else id(constraint)
                number = known.get(key)
                if number is None:
                    number = known[key] = self._number(guard_of(constraint))
                guards.append(number)
            if state.compared != ALWAYS:
                own, root = self._counted(states, state, counting.get(state.compared))
                guards += own
            conditions = frozenset(_exchanged(condition, {}) for condition in state.conditions)
            self._states[place[id(state.outputs)]].append((frozenset(guards), conditions, root))

    def _counted(
        self,
        states: FinalStates,
        state: FinalState,
        counting: tuple[frozenset[int], frozenset[int]] | None,
    ) -> tuple[list[int], int]:
        """Return the comparisons that tell a state, and a number < 0 for how many of them hold."""
        numbers = [self._number(each.guard) for each in states.comparisons]
        if counting is None or state.path is not None:
            self._is_rigid = True
            return numbers, -1
        choices, counts = counting
        number = self._counts.setdefault(counts, len(self._counts))
        return [numbers[choice] for choice in choices], -2 - number

    def _number(self, guard: Guard) -> int:
        return self._number_form(guard.form.normalised())

    def _number_form(self, form: LinearForm) -> int:
        number = self._numbers.setdefault(form, len(self._forms))
        if number == len(self._forms):
            self._forms.append(form)
            names = set(form.inputs())
            for sample in form.samples():
                names.update(self._laws[sample][2].inputs())
            self._mentions.append(frozenset(names))
            for name in names:
                self._forms_about.setdefault(name, []).append(number)
        return number

    def _names(self, states: Sequence[_State]) -> set[str]:
        diagrams = self._chances.diagrams
        found: set[str] = set()
        for guards, conditions, chosen in states:
            for guard in guards:
                found |= self._mentions[guard]
            if diagrams is not None and chosen >= 0:
                found.update(self._cells[place].name for place in diagrams.cells(chosen))
            for condition in conditions:
                found |= _cells_of(condition)
        return found

    def _made_of_others(self, first: int, second: int) -> Swap | None:
        """Return what exchanging two cells does, if swaps with a third one are known to tell."""
        own, other = self._whole.get(first, {}), self._whole.get(second, {})
        third = next((cell for cell in own if cell in other), None)
        if third is None:
            return None
        there, between = own[third].partners, other[third].partners
        partners = tuple(there[between[there[output]]] for output in range(len(there)))
        signatures = self._signatures
        fixed = tuple(signatures[k] == each for k, each in zip(partners, signatures, strict=True))
        return Swap(fixed, (True,) * len(partners), partners)

    def _find(self, first: int, second: int) -> Swap | None:
        cells = self._cells[first], self._cells[second]
        if cells[0].domain != cells[1].domain:
            return None
        exchange = {cells[0].name: cells[1].name, cells[1].name: cells[0].name}
        guards = self._exchanged_guards(exchange)
        fixed, matched, partners = [], [], []
        for output, states in enumerate(self._states):
            image = self._image(states, exchange, (first, second), guards)
            before = self._signatures[output]
            fixed.append(image == before)
            matched.append(
                image is not None and self._multiplicity[image] == self._multiplicity[before]
            )
            partners.append(output if image is None else self._first.get(image, output))
        return Swap(tuple(fixed), tuple(matched), tuple(partners))

    def _exchanged_guards(self, exchange: Mapping[str, str]) -> dict[int, int | None]:
        """Return the new number of every guard that changes; None if a sample has no partner."""
        moved: dict[Symbol, int] = {}
        lost: set[int] = set()
        for sample in _about(exchange, self._samples_about):
            family, scale, mean = law = self._laws[sample]
            partners = self._groups.get((family, scale, _renamed(mean, exchange, {})), [])
            if len(partners) == len(self._groups[law]):
                moved[sample] = partners[self._place[sample]]
            else:
                lost.add(sample)
        changed: dict[int, int | None] = {}
        for number in _about(exchange, self._forms_about):
            if number in changed:
                continue
            form = self._forms[number]
            if not lost.isdisjoint(form.samples()):
                changed[number] = None
                continue
            image = self._number_form(_renamed(form, exchange, moved).normalised())
            changed[number] = image
            changed[image] = number
        return changed

    def _image(
        self,
        states: Sequence[_State],
        exchange: Mapping[str, str],
        places: tuple[int, int],
        guards: Mapping[int, int | None],
    ) -> _Signature | None:
        diagrams = self._chances.diagrams
        found: list[_State] = []
        for numbers, conditions, chosen in states:
            moving = numbers & guards.keys()
            if moving:
                images = {image for number in moving if (image := guards[number]) is not None}
                if len(images) < len(moving):
                    return None
                numbers = numbers - moving | images
            if conditions:
                conditions = frozenset(_exchanged(each, exchange) for each in conditions)
            if diagrams is not None and chosen >= 0:
                chosen = diagrams.exchanged(chosen, *places)
            found.append((numbers, conditions, chosen))
        return _signature(found)


def _about(exchange: Mapping[str, str], numbered: Mapping[str, Sequence[int]]) -> list[int]:
    """Return the numbers of what mentions one of the exchanged cells, each once."""
    return list(dict.fromkeys(number for name in exchange for number in numbered.get(name, ())))


def _signature(states: Sequence[_State]) -> _Signature:
    return frozenset(Counter(states).items())


def _exchanged(condition: InputCondition, exchange: Mapping[str, str]) -> InputCondition:
    """Exchange cells, and make equal conditions look equal: a positive factor does not matter."""
    if condition.form is not None:
        form = _renamed(condition.form, exchange, {}).normalised()
        return InputCondition(form, condition.strict)
    assert condition.cell is not None
    name = exchange.get(condition.cell, condition.cell)
    return InputCondition(cell=name, values=condition.values)


def _cells_of(condition: InputCondition) -> frozenset[str]:
    if condition.form is not None:
        return frozenset(condition.form.inputs())
    assert condition.cell is not None
    return frozenset((condition.cell,))


def _renamed(
    form: LinearForm, exchange: Mapping[str, str], samples: Mapping[Symbol, int]
) -> LinearForm:
    return form.renamed(lambda s: exchange.get(s, s) if isinstance(s, str) else samples.get(s, s))
