"""Budgets that serve: the step of a potential, and budgets of programs that publish little.

Potentials of machines without rounds are shifts of the samples of every path, for all changes of
its inputs: linear in these, or by cases. Paths that differ in guards only share them where they
can. A sample is shifted by a number, or by what its mean changes and a number; numbers are 0 and,
with either sign, what some mean changes by at most, or what makes up for a guard of weighted
samples. Tried from cheap to dear; where no such shifts serve all changes between two ends, the ends
have cases of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from operator import itemgetter

from dipapprox.errors import NoCertificate
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.errors import budget as work
from dipapprox.kernel.forms import Form, only, over
from dipapprox.kernel.laws import FAMILIES
from dipapprox.kernel.machine import Number, read_machine
from dipapprox.kernel.paths import Path, Sample, between
from dipapprox.kernel.potential import in_common
from dipapprox.kernel.regions import joined, known_forms, order_of
from dipapprox.kernel.rounds import Rounds
from dipapprox.kernel.served import all_numbers
from dipapprox.limits import check_limits
from dipapprox.proof_steps.heads import START, node_of, step_of
from dipapprox.proof_steps.machines import Json, form_json, number_json
from dipapprox.proof_steps.potentials import PotentialSearch

MOST_TRIED = 100_000  # shifts of samples, for one case
MOST_CASES = 5_000  # of one path
MOST_SHARED = 20  # other paths whose cases are tried for one
_NOTHING = Form(Fraction(0))


def alone_step(machine: Rounds, budget: Fraction, ask: Callable[[], None]) -> Json:
    """Return a step that proves that a budget serves a machine without rounds.

    What is asked all the time may raise what ends the search.
    """
    cases: list[Json] = []
    known: dict[object, list[tuple[int, Shifts]]] = {}
    numbers: dict[Form, int] = {}
    for number, (_, path) in enumerate(joined(machine.follower.turns(None), ())):
        alike = known.setdefault(in_common(machine, path), [])
        guards = {numbers.setdefault(form, len(numbers)): form for form, _ in path.guards}
        shared = next((k for k, own in alike[-MOST_SHARED:] if own.serves(guards)), None)
        if shared is None:
            own = Shifts(machine, path, budget, ask)
            try:
                cases.append(own.case())
            except NoCertificate:
                if order_of(known_forms(path)) is not None:
                    raise
                cases.append(None)
            else:
                alike.append((number, own))
        else:
            cases.append(shared)
    return step_of([node_of(START, [[number_json(budget), []]], cases)], [])


class Shifts:
    """The search for shifts on one path of a machine without rounds."""

    def __init__(
        self, machine: Rounds, path: Path, budget: Fraction, ask: Callable[[], None]
    ) -> None:
        self._machine = machine
        self._path = path
        self._budget = budget
        self._ask = ask
        self._ranges = machine.changes(path)
        self._inputs = [*self._ranges]
        self._demands: dict[int, list[tuple[Form, bool]]] = {}
        for form, _ in path.guards:
            self._demands.setdefault(form.terms[-1][0], []).append((form, False))
        for said in path.said:
            if isinstance(said, Form):
                self._demands.setdefault(said.terms[-1][0], []).append((said, True))
        compared = {k for form, _ in path.guards for k, _ in form.terms}
        self._compared = [k for k in self._inputs if k in compared]
        self._levels = self._all_levels()
        self._tried = 0
        self._known: dict[object, list[tuple[Fraction, Form]]] = {}
        self._chosen: list[list[Form]] = []
        self._kept = dict[int, bool]()

    def case(self) -> Json:
        """Return the case of the path."""
        if self._machine.is_alone and self._inputs:
            alone = dict.fromkeys(self._inputs, 0)
            return [self._parted(k, {o: alone[o] for o in alone if o != k}) for k in alone]
        return self._between({})

    def serves(self, guards: Mapping[int, Form]) -> bool:
        """Whether the shifts of the case meet the guards of another path, by number, too."""
        for number, form in guards.items():
            if number not in self._kept:
                moved = (between(image(form, shifts), self._ranges) for shifts in self._chosen)
                self._kept[number] = all(least >= 0 for least, _ in moved)
            if not self._kept[number]:
                return False
        return True

    def _parted(self, number: int, others: Mapping[int, Number]) -> Json:
        """Return cases of an input, where some others change by known amounts."""
        values = self._machine.extremes(self._ranges[number])
        cases = [self._between({**others, number: value}) for value in values]
        return {"input": number, "cases": cases}

    def _between(self, fixed: Mapping[int, Number]) -> Json:
        """Return a case for changes of which some are fixed."""
        if len(self._chosen) >= MOST_CASES:
            raise NoCertificate("changes of the inputs have too many cases")
        self._tried, self._known = 0, {}
        shifts: list[Form] = []
        if self._found(fixed, shifts, Fraction(0)):
            self._chosen.append(shifts)
            moved: list[Json] = []
            for atom, shift in zip(self._path.atoms, shifts, strict=True):
                if isinstance(atom, Sample):
                    moved.append(form_json(shift) if shift.terms else number_json(shift.constant))
            return {"to": None, "moves": [[0, moved]]}
        for number in self._inputs:
            if number not in fixed:
                return self._parted(number, fixed)
        raise NoCertificate("no shifts were found for the budget")

    def _found(self, fixed: Mapping[int, Number], shifts: list[Form], spent: Fraction) -> bool:
        """Whether the samples that have no shifts yet can be shifted; then they have some."""
        number = len(shifts)
        if number == len(self._path.atoms):
            return True
        self._ask()
        for cost, shift in self._options(number, fixed, shifts):
            if spent + cost > self._budget:
                break
            self._tried += 1
            if self._tried > MOST_TRIED:
                return False
            shifts.append(shift)
            if self._holds(number, shifts) and self._found(fixed, shifts, spent + cost):
                return True
            del shifts[number:]
        return False

    def _options(
        self, number: int, fixed: Mapping[int, Number], shifts: Sequence[Form]
    ) -> list[tuple[Fraction, Form]]:
        atom = self._path.atoms[number]
        if not isinstance(atom, Sample):
            known = number in fixed
            shift = Form(fixed[number]) if known else only(number)
            return [(Fraction(0), shift)]
        change, compared = image(atom.mean, shifts), tuple([shifts[k] for k in self._compared])
        key = number, change, compared
        if key in self._known:
            return self._known[key]
        # What is compared together with an input may make up for its change.
        others = [shift.scaled(Fraction(-1)) for shift in compared]
        signs, found = FAMILIES[atom.family].shifts, dict[Form, Fraction]()
        signs = signs if atom.power == -1 else ()
        for level in self._levels:
            for shift in (each.plus(Form(level)) for each in (change, _NOTHING, *others)):
                low, high = between(shift.plus(change.scaled(Fraction(-1))), self._ranges)
                if (high > 0 and 1 not in signs) or (low < 0 and -1 not in signs):
                    continue
                found[shift] = max(high, -low) / atom.size
        options = sorted([(cost, shift) for shift, cost in found.items()], key=itemgetter(0))
        self._known[key] = options
        return options

    def _all_levels(self) -> list[Fraction]:
        """The numbers that samples are shifted by."""
        most = {k: Fraction(max(high, -low)) for k, (low, high) in self._ranges.items()}
        found = {Fraction(0), *(most[k] for k in self._compared)}
        for number, atom in enumerate(self._path.atoms):
            if isinstance(atom, Sample):
                parts = [abs(c * most[k]) for k, c in atom.mean.terms if k in self._ranges]
                most[number] = sum(parts, Fraction(0))
                found |= {most[number], *parts}
        for form, _ in self._path.guards:
            weights = {abs(Fraction(c)) for _, c in form.terms}
            lost = sum((abs(most.get(k, Fraction(0)) * c) for k, c in form.terms), Fraction(0))
            found |= {lost / weight for weight in weights if len(weights) > 1}
        return sorted(found | {-level for level in found})

    def _holds(self, number: int, shifts: Sequence[Form]) -> bool:
        """Whether what depends on the atoms up to one is as it has to be."""
        for form, exact in self._demands.get(number, ()):
            moved = image(form, shifts)
            if exact and moved != _NOTHING:
                return False
            if between(moved, self._ranges)[0] < 0:
                return False
        return True


def image(form: Form, shifts: Sequence[Form]) -> Form:
    """Return how much a form is shifted when its atoms are."""
    return over(Form(Fraction(0), form.terms), shifts)


MOST_ENTRIES = 20_000  # of vectors, where a proof or a walk is looked for that nobody has asked for
_MOST_WORK = 5_000_000  # of a search that nobody has asked for: some seconds


def potential_step(machine: Rounds, budget: Fraction) -> Json:
    """Return a step that proves that a budget serves."""
    if machine.round is None:
        return alone_step(machine, budget, check_limits)
    missing = NoCertificate("there is nothing to try")
    for quiet, facts in product((False, True), repeat=2):
        search = PotentialSearch(machine, budget, facts, quiet)
        if quiet and not search.quiet:
            break
        try:
            return search.step()
        except NoCertificate as none:
            missing = none
    raise missing


def served_step(machine: Json, budget: Fraction, eps: Fraction | None) -> dict[str, Json]:
    """Return a step, but for the claim, that a budget of all numbers between the inputs serves.

    Args:
        machine: Of finite verdicts.
        budget: What may be needed.
        eps: Where; None for every ε.
    """
    read = read_machine(machine)
    missing = "inputs are no numbers"
    for whole in (False, True):
        try:
            with work(_MOST_WORK):
                step = potential_step(all_numbers(read, whole, eps), budget)
        except (NoCertificate, NotProved) as obstacle:
            missing = str(obstacle)
        else:
            assert isinstance(step, dict)
            return {"rule": "served", "from": [], "whole": whole, "nodes": step["nodes"]}
    raise NoCertificate(missing)
