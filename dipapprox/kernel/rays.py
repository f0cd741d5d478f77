"""Budgets that no machine can keep, at any eps: the rule of rays.

Inputs are read in turn, u_t = u + t w for t = 0, 1, …, where u_t and u_(t+1) are adjacent. S says
what is published in so many rounds; published random numbers are to lie between bounds.

Theorem. If S is possible at u, and on every run that publishes what S says a sum of multiples >= 0
of guards and bounds is a form sum a_i z_i + b t + d over the noise z_i (samples less their means)
with a_i z_i <= |z_i| / size_i and -b >= c, then no budget B < c serves at any eps > 0.

Where none of the sums has noise in it, but -b > 0, or b = 0 > d, no budget serves at all.

Proof. On S at u_t the sum is >= 0, so sum |z_i| / size_i >= c t - d for one of finitely many runs.
Noise that can be shifted has E exp(theta eps |z_i| / size_i) < inf for theta < 1 (`laws`: its tails
are those of exp(-|z|)), so Pr[S | u_t] <= K exp(-theta eps c t) for some K and all t (Markov).
If B served, Pr[S | u] <= e^(B eps t) Pr[S | u_t] <= K exp((B - theta c) eps t), which goes to 0 for
B / c < theta < 1, while Pr[S | u] > 0. With light tails alone theta may be any number: all may be
multiplied by it. Without noise Pr[S | u_t] = 0 for large t.

S is possible at u if there are values of the samples of one such run at which all its guards are
> 0, what is published lies inside the bounds, and all noise on its side: for densities are > 0 and
continuous around.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.expressions import form_of
from dipapprox.kernel.judgements import Judgement, NoBudget
from dipapprox.kernel.laws import FAMILIES, IntegerFamily
from dipapprox.kernel.measures import Form
from dipapprox.kernel.paths import Follower, Held, Path, Read, Sample
from dipapprox.kernel.reading import as_integer, as_list, as_name, as_number
from dipapprox.kernel.regions import ZERO, combined, number_form
from dipapprox.kernel.rounds import Rounds
from dipapprox.kernel.states import Stored, size_of

MOST_ROUNDS = 2_000
MOST_RUNS = 20_000
"""That publish the same."""

END = "the end"
"""Stands for what is seen when a program ends, in a tuple: no cell holds one."""

Word = tuple[Stored | tuple[str], ...]
"""What is published; random numbers are forms."""

Pair = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Turn:
    """One round of a run, or its body: the path; the held cells are its first atoms."""

    path: Path
    held: tuple[str, ...]


def ray(machine: Rounds, premises: Sequence[Judgement], step: Mapping[str, Any]) -> NoBudget:
    """Along a ray of inputs what is published becomes exponentially unlikely.

    Theorem (`rays`): if Pr[S | u_t] <= K e^(-theta eps c t) for every theta < 1, u_t and u_(t+1)
    are adjacent, and Pr[S | u_0] > 0, then no budget below c serves.

    Step: "paths" of a run that is possible with "samples", "inputs" and what they grow by, bounds
    for random numbers that are "shown", "multipliers" for every run that publishes the same.
    """
    if premises:
        raise BadProof("rays have no premises")
    runs = Runs(machine, Follower(machine))
    run, inputs, limits = read_run(runs, machine, step)
    require_possible(parted(run, inputs, limits), as_list(step["samples"], "samples"))
    alike = list(runs.alike(runs.word(run), len(run)))
    rows = as_list(step["multipliers"], "multipliers", len(alike))
    losses = []
    for each, json in zip(alike, rows, strict=True):
        spend(10)
        losses.append(_lost(each, inputs, limits, as_list(json, "multipliers", len(each))))
    known = [lost for lost in losses if lost is not None]
    if not losses or (known and min(known) <= 0):
        raise Refuted("nothing is lost on the ray")
    return NoBudget(min(known) if known else None)


def read_run(
    runs: Runs, machine: Rounds, step: Mapping[str, Any]
) -> tuple[list[Turn], dict[str, list[Pair]], list[Pair | None]]:
    """Read a run, its inputs, and the limits of everything that it publishes."""
    numbers = [as_integer(each, "a path") for each in as_list(step["paths"], "paths")]
    if not 0 < len(numbers) <= MOST_ROUNDS + 1:
        raise Refused("no round, or too many")
    run = runs.along(numbers)
    word = runs.word(run)
    bounds = [_pair(each) for each in as_list(step["shown"], "bounds")]
    if len(bounds) != sum(isinstance(each, Form) for each in word):
        raise BadProof("bounds of every random number that is published are wanted")
    own = iter(bounds)
    limits = [next(own) if isinstance(each, Form) else None for each in word]
    return run, _read_inputs(machine, step["inputs"]), limits


class Runs:
    """The runs of a machine, turn by turn."""

    def __init__(self, machine: Rounds, follower: Follower) -> None:
        self._machine = machine
        self._follower = follower
        self._known: dict[object, tuple[tuple[str, ...], list[Path]]] = {}

    def turns(self, before: Path | None) -> list[Turn]:
        """Return what may follow a path; None is the beginning."""
        machine = self._machine
        if before is None:
            if None not in self._known:
                self._known[None] = (), self._follower.start()
            return [Turn(path, ()) for path in self._known[None][1]]
        if machine.round is None:
            raise Refuted("there are no rounds")
        if before.ended:
            return [Turn(Path({}, (), (), machine.padding or (), True), ())]
        store = before.store
        held = tuple(sorted(name for name, value in store.items() if isinstance(value, Form)))
        values = {name: value for name, value in store.items() if name not in held}
        key = frozenset(values.items()), held
        if key not in self._known:
            self._known[key] = held, self._follower.round(values, held)
        return [Turn(path, held) for path in self._known[key][1]]

    def along(self, numbers: Sequence[int]) -> list[Turn]:
        """Return the run that takes these paths."""
        run: list[Turn] = []
        for number in numbers:
            turns = self.turns(run[-1].path if run else None)
            if not 0 <= number < len(turns):
                raise BadProof("there is no such path")
            run.append(turns[number])
        return run

    def word(self, run: Sequence[Turn]) -> Word:
        """Return what a run publishes."""
        said = tuple(value for turn in run for value in turn.path.said)
        if self._machine.padding is not None or not run[-1].path.ended:
            return said
        if not self._machine.ends:
            raise Refuted("runs that end are not seen")
        return (*said, (END,))

    def is_lost(self, turn: Turn) -> bool:
        """Whether a run that ends so is not seen at all."""
        machine = self._machine
        return turn.path.ended and not machine.ends and machine.padding is None

    def alike(self, word: Word, turns: int) -> Iterator[list[Turn]]:
        """Yield all runs of so many turns that publish a word, up to their random numbers."""
        waiting: list[list[Turn]] = [[]]
        count = 0
        while waiting:
            run = waiting.pop()
            spend(100)
            if len(run) == turns:
                if self._fits(self.word(run), word, whole=True):
                    yield run
                continue
            found = self.turns(run[-1].path if run else None)
            for turn in reversed(found):
                longer = [*run, turn]
                said = tuple(value for each in longer for value in each.path.said)
                if not self.is_lost(turn) and self._fits(said, word, whole=False):
                    waiting.append(longer)
            count += len(found)
            if count > MOST_RUNS:
                raise Refused(f"more than {MOST_RUNS} runs that publish alike")

    @staticmethod
    def _fits(said: Word, word: Word, whole: bool) -> bool:
        if len(said) > len(word) or (whole and len(said) < len(word)):
            return False
        return all(may_equal(a, b) for a, b in zip(said, word, strict=False))


def may_equal(one: Stored | tuple[str], other: Stored | tuple[str]) -> bool:
    """Whether two things that are published may be the same."""
    if isinstance(one, Form) or isinstance(other, Form):
        return not isinstance(one, str | tuple) and not isinstance(other, str | tuple)
    return one == other


def _lost(
    run: Sequence[Turn],
    inputs: Mapping[str, list[Pair]],
    limits: Sequence[Pair | None],
    listed: Sequence[object],
) -> Fraction | None:
    """Return c for a run, from its last turn to its first; None if it may be any number."""
    cells: dict[str, Fraction] = {}
    lost, rest, noisy, silent = ZERO, ZERO, False, True
    parts = parted(run, inputs, limits)
    for (turn, pairs, own), json in zip(reversed(parts), reversed(listed), strict=True):
        found = summed(turn, pairs, own, json, cells)
        require_price(found)
        cells, lost, rest = found.cells, lost + found.lost, rest + found.rest
        silent &= not found.noise
        noisy |= any(not FAMILIES[sample.family].is_light for sample, _ in found.noise)
    endless = (not noisy and lost > 0) or (silent and not lost and rest < 0)
    return None if endless else lost


@dataclass(frozen=True, slots=True)
class Summed:
    """A sum of multiples of guards, of a turn and of those after it.

    Attributes:
        cells: The coefficients of what cells held before the turn.
        lost, rest: What inputs of the turn add for every step on the ray, with a minus, and else.
        noise: The coefficients of the noise of its samples that are not 0.
    """

    cells: dict[str, Fraction]
    lost: Fraction
    rest: Fraction
    noise: tuple[tuple[Sample, Fraction], ...]


def summed(
    turn: Turn,
    pairs: Sequence[Pair],
    limits: Sequence[Pair | None],
    json: object,
    cells: Mapping[str, Fraction],
) -> Summed:
    """Add multiples of the guards of a turn, and what later ones say of its cells."""
    path = turn.path
    known = list(path.guards)
    for said, limit in zip(path.said, limits, strict=True):
        if limit is not None and not isinstance(said, str):
            form = form_of(said)
            known.append((form.plus(Form(-limit[0])), False))
            known.append((form.scaled(Fraction(-1)).plus(Form(limit[1])), False))
    total = combined(json, known)[0]
    for name, factor in cells.items():
        total = total.plus(number_form(path.store.get(name)).scaled(factor))
    before: dict[str, Fraction] = {}
    lost, noise, left = ZERO, list[tuple[Sample, Fraction]](), list(pairs)
    for number in reversed(range(len(path.atoms))):
        spend(size_of(total) + size_of(total.constant))
        factor = dict(total.terms).get(number, ZERO)
        match path.atoms[number]:
            case Held(name) if factor:
                before[name] = factor
            case Read():
                first, step = left.pop()
                total = total.plus(Form(factor * first))
                lost -= factor * step
            case Sample(mean=mean) as sample if factor:
                noise.append((sample, factor))
                total = total.plus(mean.scaled(factor))
    return Summed(before, lost, total.constant, tuple(noise))


def require_price(found: Summed) -> None:
    """Make sure that every coefficient a of noise z has a z <= |z| / size, or light tails."""
    for sample, factor in found.noise:
        law = FAMILIES[sample.family]
        if law.is_light:
            continue
        if not law.shifts or any(sign * factor * sample.size > 1 for sign in law.shifts):
            raise Refuted("noise is worth less than the multipliers say")


def parted(
    run: Sequence[Turn], inputs: Mapping[str, list[Pair]], limits: Sequence[Pair | None]
) -> list[tuple[Turn, list[Pair], Sequence[Pair | None]]]:
    """Return the turns of a run with the numbers that they read and limits of what they publish.

    Inputs that are not listed are 0, and stay.
    """
    found = []
    counts: dict[str, int] = {}
    start = 0
    for turn in run:
        pairs = []
        for atom in turn.path.atoms:
            if isinstance(atom, Read):
                number, own = counts.get(atom.name, 0), inputs.get(atom.name, [])
                counts[atom.name] = number + 1
                pairs.append(own[number] if number < len(own) else (ZERO, ZERO))
        end = start + len(turn.path.said)
        found.append((turn, pairs, limits[start:end]))
        start = end
    return found


def require_possible(
    run: Sequence[tuple[Turn, list[Pair], Sequence[Pair | None]]], samples: Sequence[object]
) -> list[dict[str, Fraction]]:
    """Make sure that a run is possible at the first inputs, where its samples have these values.

    Returns:
        What cells hold after every turn that hold something random.
    """
    values = iter([as_number(each, "a sample") for each in samples])
    found: list[dict[str, Fraction]] = []
    for turn, pairs, limits in run:
        path, left = turn.path, iter(pairs)
        known: list[Fraction] = []
        for atom in path.atoms:
            match atom:
                case Held(cell):
                    known.append(found[-1][cell])
                case Read():
                    known.append(next(left)[0])
                case Sample(family, mean, _):
                    value = next(values, None)
                    if value is None:
                        raise BadProof("a sample has no value")
                    noise, law = value - _at(mean, known), FAMILIES[family]
                    whole = isinstance(law, IntegerFamily)
                    if (whole and noise.denominator > 1) or not (law.shifts or law.is_light):
                        raise Refuted(f"such noise of {family} is not known to be possible")
                    if len(law.shifts) == 1 and noise * law.shifts[0] <= 0:
                        raise Refuted("noise on the wrong side")
                    known.append(value)
        if any(_at(form, known) <= 0 for form, _ in path.guards):
            raise Refuted("a guard does not hold")
        for said, limit in zip(path.said, limits, strict=True):
            if not isinstance(said, Form):
                continue
            if limit is None or not limit[0] < _at(said, known) < limit[1]:
                raise Refuted("what is published is not within its bounds")
        items = path.store.items()
        found.append({name: _at(form, known) for name, form in items if isinstance(form, Form)})
    if next(values, None) is not None:
        raise BadProof("more values than samples")
    return found


def _at(form: Form, values: Sequence[Fraction]) -> Fraction:
    return form.constant + sum([c * values[atom] for atom, c in form.terms], ZERO)


def _read_inputs(machine: Rounds, json: object) -> dict[str, list[Pair]]:
    """Read [name, [[first number, what it grows by], …]], and see whether such are adjacent."""
    found: dict[str, list[Pair]] = {}
    for each in as_list(json, "inputs"):
        name, listed = as_list(each, "an input", 2)
        if as_name(name, "an input") not in machine.inputs or name in found:
            raise BadProof("no input of this name, or it stands there twice")
        found[name] = [_pair(pair) for pair in as_list(listed, "numbers")]
        if machine.round is None and len(found[name]) != 1:
            raise BadProof("an input has one number")
        domain = machine.inputs[name]
        for first, grows in found[name]:
            if first not in domain or (grows and (domain.low, domain.high) != (None, None)):
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
    return found


def _pair(json: object) -> Pair:
    one, other = as_list(json, "two numbers", 2)
    return as_number(one, "a number"), as_number(other, "a number")
