"""Budgets that serve: the step of a potential, and budgets of programs that publish little.

Potentials of machines without rounds are shifts of the samples of every path, for all changes of
its inputs: linear in these, or by cases. Paths that differ in guards only share them where they
can. Every sample moves with its mean, and by a number besides; or, where a number is published that
it is the last sample of, so that this stays what it is. A guard that holds for the changes that are
worst for it holds for all: so the cheapest numbers are a linear programme. Where its dual says that
no single change is worst for all guards, the ends of an input have cases of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product

from dipapprox.errors import NoCertificate
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.errors import budget as work
from dipapprox.kernel.forms import Form, has_integers, only, over
from dipapprox.kernel.laws import BOTH, FAMILIES, IntegerFamily
from dipapprox.kernel.machine import Number, read_machine
from dipapprox.kernel.paths import Path, Read, Sample, between
from dipapprox.kernel.potential import in_common
from dipapprox.kernel.regions import joined, known_forms, order_of
from dipapprox.kernel.rounds import Rounds
from dipapprox.kernel.served import all_numbers
from dipapprox.limits import check_limits
from dipapprox.linear.programme import SIDES, LinearProgramme, Optimum, UnknownSide
from dipapprox.proof_steps.heads import START, node_of, step_of
from dipapprox.proof_steps.machines import Json, form_json, number_json
from dipapprox.proof_steps.potentials import PotentialSearch

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
            try:
                own = Shifts(machine, path, budget, ask)
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
        self._machine, self._path = machine, path
        self._budget, self._ask = budget, ask
        self._ranges = machine.changes(path)
        self._reads = [k for k, atom in enumerate(path.atoms) if isinstance(atom, Read)]
        # How much more an atom is: a form over changes and what samples move beside their means.
        self._moved: list[Form] = []
        for number, atom in enumerate(path.atoms):
            mean = image(atom.mean, self._moved) if isinstance(atom, Sample) else _NOTHING
            self._moved.append(only(number).plus(mean))
        kept = [form for form, _ in path.guards]
        for said in path.said:
            if isinstance(said, Form):
                kept += self._fixed(image(said, self._moved))
        self._rows = [image(form, self._moved) for form in kept]
        self._programme = self._cheapest()
        self._chosen: list[list[Form]] = []
        self._kept = dict[int, bool]()

    def case(self) -> Json:
        """Return the case of the path."""
        if self._machine.is_alone and self._ranges:
            alone = dict.fromkeys(self._ranges, 0)
            return [self._between({o: 0 for o in alone if o != k}) for k in alone]
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

    def _fixed(self, published: Form) -> list[Form]:
        """Let the last sample in a number that is published keep it where it is; return what has to
        be >= 0 where there is none."""
        *_, (last, factor) = published.terms or ((-1, 1),)
        if last < 0 or isinstance(self._path.atoms[last], Read):
            return [published, published.scaled(-1)]
        rest = Form(0, published.terms[:-1]).scaled(Fraction(-1) / factor)
        put = {number: only(number) for number in range(len(self._path.atoms))} | {last: rest}
        self._moved = [over(form, put) for form in self._moved]
        return []

    def _cheapest(self) -> LinearProgramme[int]:
        """Return the programme of the cheapest shifts: what samples move beside their means, or
        more than that, by numbers behind all atoms."""
        rates, sides, count = dict[int, Number | None](), dict[int, UnknownSide](), len(self._moved)
        for number, atom in enumerate(self._path.atoms):
            if not isinstance(atom, Sample):
                continue
            signs = FAMILIES[atom.family].shifts if atom.power == -1 else ()
            more = self._moved[number].plus(image(atom.mean, self._moved).scaled(-1))
            rate = 1 / atom.size if signs else None
            if more == only(number):
                rates[number], sides[number] = rate, SIDES[tuple(sorted(signs or BOTH))]
                continue
            rates[count + number], sides[count + number] = rate, UnknownSide.AT_LEAST_ZERO
            for sign in BOTH:
                most = only(count + number) if sign in signs else _NOTHING
                self._rows.append(most.plus(more.scaled(-sign)))
        rows = [[(k, -c) for k, c in row.terms if k not in self._ranges] for row in self._rows]
        if any(k in self._reads for row in rows for k, _ in row):
            raise NoCertificate("inputs that may change by any amount are compared")
        return LinearProgramme(rows, rates, sides)

    def _between(self, fixed: Mapping[int, Number]) -> Json:
        """Return a case for changes of which some are fixed."""
        ranges = {**self._ranges, **{k: (value, value) for k, value in fixed.items()}}
        changes = [[(k, c) for k, c in row.terms if k in ranges] for row in self._rows]
        least = [sum(min(c * end for end in ranges[k]) for k, c in row) for row in changes]
        found = self._programme.solve(least, self._ask)
        if isinstance(found, Optimum) and found.value <= self._budget:
            return self._written(found, fixed)
        pays = [
            (k, flow * c) for flow, row in zip(found.flow, changes, strict=True) for k, c in row
        ]

        def gap(number: int) -> Number:
            """How much less all rows together ask for than each of its own worst change."""
            own, ends = [c for k, c in pays if k == number], ranges[number]
            return min(sum(own) * end for end in ends) - sum(
                min(c * end for end in ends) for c in own
            )

        number = max(ranges, key=gap, default=None)
        if number is None or not gap(number):
            raise NoCertificate("no shifts were found for the budget")
        if len(self._chosen) >= MOST_CASES:
            raise NoCertificate("changes of the inputs have too many cases")
        values = self._machine.extremes(self._ranges[number])
        return {
            "input": number,
            "cases": [self._between({**fixed, number: value}) for value in values],
        }

    def _written(self, found: Optimum[int], fixed: Mapping[int, Number]) -> Json:
        put = {k: Form(fixed[k]) if k in fixed else only(k) for k in self._reads}
        put.update((k, Form(number)) for k, number in found.shift.items())
        shifts = [over(form, put) for form in self._moved]
        self._chosen.append(shifts)
        moved: list[Json] = []
        for atom, shift in zip(self._path.atoms, shifts, strict=True):
            if isinstance(atom, Sample):
                whole = isinstance(FAMILIES[atom.family], IntegerFamily)
                if whole and not (has_integers(shift) and has_integers(atom.mean)):
                    raise NoCertificate("an integer would be shifted, or drawn around a fraction")
                moved.append(form_json(shift) if shift.terms else number_json(shift.constant))
        return {"to": None, "moves": [[0, moved]]}


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
    for loose, quiet, facts in (*product((False,), *[(False, True)] * 2), (True, False, False)):
        search = PotentialSearch(machine, budget, facts, quiet, loose)
        if quiet and not search.quiet:
            continue
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
