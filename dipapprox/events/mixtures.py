"""Final states that are told by comparisons; out, what each is at an input: a sum of events.

In: a state with a set of outcomes of comparisons (`spent_samples`), and an input. Every combination
of outcomes in the set is an event: the state's guards, and each comparison or its complement. At an
input many combinations have equal probabilities: given the other samples, comparisons of *one
kind*, with equal sides but for the sample, which has equal laws, may trade places. So a combination
matters by its *tally* only: how often each kind has each outcome. Tallies are counted along the
decision diagram, those of a node from those of its children:

    tallies(node) = Σ_k tallies(child_k) + (kind of the choice, k)          as multisets

A program that counts N comparisons of two kinds has no more than (a + 1)(b + 1) tallies with
a + b = N, instead of 2^N combinations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.events.canonical import IMPOSSIBLE, Solutions, law_key
from dipapprox.events.event import Event, Mixture, Star
from dipapprox.events.instantiate import Instantiator
from dipapprox.language.core import Input
from dipapprox.laws.distribution import Distribution
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.semantics.outcomes import ALWAYS, NEVER, UNION, reachable
from dipapprox.semantics.state import FinalStates, guards_of

_ENDS = (NEVER, ALWAYS)
_MOST_TALLIES = 200_000  # of all sets at one input: a second of work, and a few hundred megabytes


class _Instance(Record, eq=False):
    """The comparisons of a program at an input: laws of samples, forms, and kinds of these.

    Its number is equal where all of it is; tallies say for each set how many combinations have one.
    """

    number: int
    laws: Sequence[Distribution]
    forms: Sequence[LinearForm]
    kinds: Sequence[int]
    tallies: Mapping[int, Mapping[int, int]]


class Mixtures:
    def __init__(
        self, states: FinalStates, instantiator: Instantiator, solutions: Solutions
    ) -> None:
        self._states = states
        self._instantiator = instantiator
        self._solutions = solutions
        self._nodes = reachable(states.sets, {state.compared for state in states.states})
        self._width = len(states.comparisons).bit_length()
        self._numbers: dict[Hashable, int] = {}
        self._instances: dict[Input, _Instance] = {}
        self._tallies: dict[tuple[int, ...], Mapping[int, Mapping[int, int]]] = {}
        self._known: dict[Hashable, int] = {}
        self._about: dict[int, list[int]] = {}

    def __len__(self) -> int:
        instances = len(self._instances) * (1 + len(self._states.samples))
        return instances + len(self._tallies) * len(self._nodes)

    def solution(self, number: int, input: Input) -> int:
        """Return the solution of a state at an input that meets its conditions; or LimitReached."""
        instance = self._instance(input)
        state = self._states.states[number]
        numbers = self._instantiator.numbers(input)
        base = tuple([guard.form.at(numbers) for guard in guards_of(state.path)])
        key = state.compared, base, instance.number
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._mixture(base, state.compared, instance)
        return known

    def _mixture(self, base: tuple[LinearForm, ...], compared: int, instance: _Instance) -> int:
        """Add up the events of all tallies."""
        solutions, last = self._solutions, IMPOSSIBLE
        terms: list[tuple[int, tuple[tuple[Event | Star, int], ...]]] = []
        for tally, count in instance.tallies[compared].items():
            told = self._representative(tally, instance, self._mentioned(compared))
            found = self._event((*base, *told), instance)
            numbers = solutions.all[found]
            if numbers is None:
                continue
            powers = Counter(numbers)
            factors: list[tuple[Event | Star, int]] = []
            for event, power in powers.items():
                factor = solutions.events[event]
                if not isinstance(factor, Event | Star):
                    raise BrokenInvariant("guards became a choice")
                factors.append((factor, power))
            terms.append((count, tuple(factors)))
            last = found
        if not terms or (len(terms) == 1 and terms[0][0] == 1):
            return last
        return solutions.alone(Mixture(tuple(terms)))

    def _event(self, forms: tuple[LinearForm, ...], instance: _Instance) -> int:
        samples = sorted({sample for form in forms for sample in form.samples()})
        local: dict[Symbol, Symbol] = {sample: k for k, sample in enumerate(samples)}
        laws = [self._solutions.law(instance.laws[sample]) for sample in samples]
        return self._solutions.event(laws, [form.renamed(local.__getitem__) for form in forms])

    def _mentioned(self, compared: int) -> list[int]:
        """Return the comparisons that a set is about.

        They alone may trade places: another of the same kind may have its sample in the guards of
        the state, where it is not spent.
        """
        found = self._about.get(compared)
        if found is None:
            sets = self._states.sets
            heads = {
                sets[number][0] for number in reachable(sets, {compared}) if number not in _ENDS
            }
            found = self._about[compared] = sorted(heads - {UNION})
        return found

    def _representative(
        self, tally: int, instance: _Instance, choices: Sequence[int]
    ) -> list[LinearForm]:
        """Return one combination of outcomes of these choices that has a tally, as guards."""
        left: dict[int, int] = {}  # by kind and outcome
        digit, place = (1 << self._width) - 1, 0
        while tally:
            left[place] = tally & digit
            tally >>= self._width
            place += 1
        found = []
        for choice in choices:
            form, kind = instance.forms[choice], instance.kinds[choice]
            for outcome in (0, 1):
                if left.get(2 * kind + outcome, 0):
                    left[2 * kind + outcome] -= 1
                    found.append(-form if outcome else form)
                    break
        if any(left.values()):
            raise BrokenInvariant("a tally has more outcomes than its set has comparisons")
        return found

    def _instance(self, input: Input) -> _Instance:
        found = self._instances.get(input)
        if found is None:
            numbers = self._instantiator.numbers(input)
            laws = self._instantiator.laws(numbers)
            forms, kinds = [], []
            known: dict[Hashable, int] = {}
            for comparison in self._states.comparisons:
                form = comparison.guard.form.at(numbers)
                others = LinearForm(
                    tuple([term for term in form.terms if term[0] != comparison.sample]),
                    form.constant,
                )
                own = form.coefficient(comparison.sample)
                key = own, others, law_key(laws[comparison.sample])
                forms.append(form)
                kinds.append(known.setdefault(key, len(known)))
            alike = tuple(kinds)
            if alike not in self._tallies:
                self._tallies[alike] = self._counted(alike)
            whole = tuple(map(law_key, laws)), tuple(forms)
            number = self._numbers.setdefault(whole, len(self._numbers))
            found = _Instance(number, laws, forms, kinds, self._tallies[alike])
            self._instances[input] = found
        return found

    def _counted(self, kinds: Sequence[int]) -> Mapping[int, Mapping[int, int]]:
        """Count for every set how many combinations have a tally."""
        found: dict[int, dict[int, int]] = {NEVER: {}, ALWAYS: {0: 1}}
        size = 0
        for number in self._nodes:
            if number in found:
                continue
            choice, outcomes, children = self._states.sets[number]
            units = [0] * len(children)
            if choice != UNION:
                units = [1 << self._width * (2 * kinds[choice] + k) for k in outcomes]
            own: dict[int, int] = {}
            for unit, child in zip(units, children, strict=True):
                for tally, count in found[child].items():
                    own[tally + unit] = own.get(tally + unit, 0) + count
            found[number] = own
            size += len(own)
            if size > _MOST_TALLIES:
                raise LimitReached(
                    f"more than {_MOST_TALLIES} different combinations of comparisons at one input"
                )
        return found
