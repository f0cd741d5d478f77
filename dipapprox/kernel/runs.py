"""Runs of machines with rounds: those that publish the same, and what they read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from dipapprox.kernel.errors import BadProof, Refused, Refuted, spend
from dipapprox.kernel.forms import Form, Stored, has_integers, only, over
from dipapprox.kernel.laws import FAMILIES, IntegerFamily
from dipapprox.kernel.paths import Held, Path, Read, Sample
from dipapprox.kernel.reading import as_integer, as_list, as_name, as_number, as_rows
from dipapprox.kernel.regions import ZERO, known_forms
from dipapprox.kernel.rounds import Follower, Rounds
from dipapprox.kernel.walk import Guard, form_of

MOST_ROUNDS = 2_000
MOST_RUNS = 20_000  # that publish the same
END = "the end"  # stands for what is seen when a program ends, in a tuple: no cell holds one
Word = tuple[Stored | tuple[str], ...]  # what is published; random numbers are forms

Pair = tuple[Fraction, Fraction]
"""A number, and what is added to it: for every step on the ray, or for s."""

Parts = Mapping[int, int]
"""Turns of a run that may be taken again: the one behind the last, to the first."""


class Runs(Follower):
    """The runs of a machine, turn by turn: the paths of its body, and of every round."""

    def __init__(self, machine: Rounds) -> None:
        super().__init__(machine)
        self._known: dict[object, list[Path]] = {}

    def turns(self, before: Path | None) -> list[Path]:
        """Return what may follow a path; None is the beginning."""
        if before is None:
            return self.start()
        if self._machine.round is None:
            raise Refuted("there are no rounds")
        if before.ended:
            return [Path({}, (), (), self._machine.padding or (), True)]
        spend(4 * len(before.store))
        values = {n: value for n, value in before.store.items() if not isinstance(value, Form)}
        held = tuple(sorted(before.store.keys() - values.keys()))
        key = frozenset(values.items()), held
        if key not in self._known:
            self._known[key] = self.round(values, held)
        return self._known[key]

    def along(self, json: object) -> list[Path]:
        """Read the run that takes some paths."""
        numbers = [as_integer(each, "a path") for each in as_list(json, "paths")]
        if not 0 < len(numbers) <= MOST_ROUNDS + 1:
            raise Refused("no round, or too many")
        run: list[Path] = []
        for number in numbers:
            turns = self.turns(run[-1] if run else None)
            if not 0 <= number < len(turns):
                raise BadProof("there is no such path")
            run.append(turns[number])
        return run

    def word(self, run: Sequence[Path]) -> Word:
        """Return what a run publishes."""
        said = tuple(value for turn in run for value in turn.said)
        machine = self._machine
        is_told = run[-1].ended and machine.round is not None and machine.padding is None
        return (*said, (END,)) if is_told else said

    def alike(self, run: Sequence[Path], parts: Parts) -> Iterator[list[Path]]:
        """Yield all runs that publish the same in as many turns, up to their random numbers.

        Up to the last part that comes again, all of them have to keep step with the run.
        """
        machine, word = self._machine, self.word(run)
        tells_end = (END,) in word
        if run[-1].ended and not machine.ends:
            raise Refuted("runs that end are not seen")
        last = max(parts, default=0)
        # What cells said, and all that is said: perhaps the end, too.
        waiting: list[tuple[list[Path], int, int]] = [([], 0, 0)]
        count = 0
        while waiting:
            known, place, size = waiting.pop()
            spend(100 + len(known) // 8)
            if len(known) == len(run):
                if size == len(word):
                    yield known
                continue
            found = self.turns(known[-1] if known else None)
            for turn in reversed(found):
                longer = [*known, turn]
                if turn.ended and not machine.ends:
                    continue  # such runs are not seen
                said = self.word([turn])
                if (END,) in said and not tells_end:
                    continue  # however often parts come again, the run is not seen to end
                if len(longer) <= last:
                    self._require_pace(turn, run, len(longer) - 1)
                size = place + len(said)
                if size <= len(word) and all(map(may_equal, said, word[place:size])):
                    if len(longer) <= last:
                        _require_step(longer, run, parts)
                    waiting.append((longer, place + len(turn.said), size))
            count += len(found)
            if count > MOST_RUNS:
                raise Refused(f"more than {MOST_RUNS} runs that publish alike")

    def _require_pace(self, turn: Path, run: Sequence[Path], number: int) -> None:
        """Make sure that a turn publishes other things than this one of a run, or as many.

        What the run publishes next does not matter: if parts come again, that is another thing.
        """
        own = run[number]
        alike = all(map(may_equal, self.word([turn]), own.said))
        if alike and len(turn.said) != len(own.said):
            raise Refuted(f"what turn {number} publishes does not tell enough of it")


def _require_step(known: Sequence[Path], run: Sequence[Path], parts: Parts) -> None:
    """Make sure that the last turn, which publishes as a run in its place does, reads as much.

    Behind a part, it has to be in the state in which it was before.
    """
    place = len(known)
    last, own = known[-1], run[place - 1]
    if sorted(last.reads) != sorted(own.reads):
        raise Refuted(f"what turn {place - 1} publishes does not tell enough of it")
    if place in parts and last.fixed != known[parts[place] - 1].fixed:
        raise Refuted("a part does not lead to where it began")


def may_equal(one: Stored | tuple[str], other: Stored | tuple[str]) -> bool:
    """Whether two things that are published may be the same."""
    if isinstance(one, Form) or isinstance(other, Form):
        return not isinstance(one, str | tuple) and not isinstance(other, str | tuple)
    return one == other


Inputs = Mapping[str, Sequence[Form]]  # what is read, by name: those that are not listed are 0
STEPS = -1  # an atom: the number of steps on the ray


@dataclass(frozen=True, slots=True)
class Flat:
    """Turns of a run, as forms over the noise of their samples, `STEPS`, and what is `held`."""

    samples: list[Sample]  # atom k is the noise of the k-th
    held: Mapping[int, str]  # by atom, < -1
    guards: list[list[Guard]]  # of each turn
    said: list[list[Form | None]]  # likewise what is published; None stands for a name
    cells: list[dict[str, Form]]  # likewise what cells hold behind it, if that is random


def flat(run: Sequence[Path], inputs: Inputs, integers: bool, start: int = 0) -> Flat:
    """Return the turns of a run from one on; `integers` says that all numbers are whole."""
    counts = Counter(name for turn in run[:start] for name in turn.reads)
    held = {-2 - k: name for k, name in enumerate(run[start].held)}
    found = Flat([], held, [], [], [])
    cells = {name: only(atom) for atom, name in held.items()}
    for turn in run[start:]:
        forms: list[Form] = []
        for atom in turn.atoms:
            match atom:
                case Held(name):
                    forms.append(cells[name])
                case Read(name):
                    own = inputs.get(name, ())[counts[name] :]
                    forms.append(own[0] if own else Form(ZERO))
                    counts[name] += 1
                case Sample(mean=mean):
                    forms.append(over(mean, forms).plus(only(len(found.samples))))
                    found.samples.append(atom)
        guards = []
        for form, strict in known_forms(turn):
            numbers = [form.constant, *(c for _, c in form.terms)]
            unit = Fraction(1, lcm(*(number.denominator for number in numbers)))
            known = over(form, forms)
            more = strict and integers
            guards.append((known.plus(Form(-unit)) if more else known, strict and not more))
        found.guards.append(guards)
        said = [None if isinstance(each, str) else form_of(each) for each in turn.said]
        found.said.append([None if form is None else over(form, forms) for form in said])
        items = turn.store.items()
        cells = {name: over(form, forms) for name, form in items if isinstance(form, Form)}
        found.cells.append(cells)
    return found


def is_whole(run: Sequence[Path]) -> bool:
    """Whether all samples are integers, and all that cells hold, if inputs are."""
    samples = [atom for turn in run for atom in turn.atoms if isinstance(atom, Sample)]
    stored = [form for turn in run for form in turn.store.values() if isinstance(form, Form)]
    forms = [*(sample.mean for sample in samples), *stored]
    whole = all(isinstance(FAMILIES[sample.family], IntegerFamily) for sample in samples)
    return whole and all(map(has_integers, forms))


def read_inputs(machine: Rounds, json: object, large: bool) -> Inputs:
    """Read [name, [[first number, what it grows by, once if `large`], …]], adjacent ones."""
    found: dict[str, list[Pair]] = {}
    for name, pairs in as_rows(json, "inputs", as_name, as_pairs):
        if name not in machine.inputs or name in found:
            raise BadProof("no input of this name, or it stands there twice")
        found[name] = pairs
        if machine.round is None and len(found[name]) != 1:
            raise BadProof("an input has one number")
        domain = machine.inputs[name]
        for first, grows in found[name]:
            end = domain.high if grows > 0 else domain.low
            leaves = first + grows not in domain if large else grows and end is not None
            if first not in domain or leaves:
                raise Refuted("a ray leaves the bounds of an input")
            if machine.whole and (first.denominator > 1 or grows.denominator > 1):
                raise Refuted("an input that is no integer")
    for name, domain in machine.inputs.items():
        # In a stream 0 comes after those that are listed.
        missing = name not in found if machine.round is None else ZERO not in domain
        if missing:
            raise Refuted("an input that is not known, or 0, which it cannot be")
    pairs = [pair for each in found.values() for pair in each]
    start, after = tuple(a for a, _ in pairs), tuple(a + b for a, b in pairs)
    if not machine.adjacency.holds(start, after):
        raise Refuted("the inputs of a ray are not adjacent")
    return on_ray(found)


def on_ray(pairs: Mapping[str, Sequence[Pair]]) -> Inputs:
    """Return the inputs of a ray."""
    return {name: [line(pair, STEPS) for pair in own] for name, own in pairs.items()}


def line(pair: Pair, atom: int) -> Form:
    """Return a number and a multiple of an atom."""
    return Form(pair[0]).plus(only(atom).scaled(pair[1]))


def as_pairs(json: object, what: str) -> list[Pair]:
    """Take a list of pairs of numbers."""
    return as_rows(json, what, as_number, as_number)


def read_parts(json: object, run: Sequence[Path]) -> Parts:
    """Read [first turn, the one behind the last] of every part."""
    found: dict[int, int] = {}
    last = 1
    for start, end in as_rows(json, "parts", as_integer, as_integer):
        if not last <= start < end <= len(run) or run[end - 1].ended:
            raise BadProof("parts follow each other behind the first turn")
        found[end], last = start, end
    return found
