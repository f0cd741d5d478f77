"""Budgets that no machine can keep: the rule of rays.

Inputs u are read in turn, u_t = u + t w, where u and u_1 are adjacent. S says what a run publishes
in so many rounds, where the noise of its samples is z; numbers within a small h > 0 of it.

Theorem. Let the run be possible at u, as close to z as wanted. On every run that publishes what S
says, let a sum of multiples >= 0 of guards and of what S says be a form

    sum of a_i z_i - c t + d    over the noise z_i (samples less their means)

with sign * a_i size_i <= 1 for the signs of the shifts of z_i (`laws`); left out are a_i z_i that
cannot be > 0. No budget B < c serves at any eps > 0, where c is the least of all these runs; and no
budget B < e - p serves every eps, where e is the least c - d, and p the sum of |z_i| / size_i at z.
Where all noise is light, c > 0 and c - d > 0 stand for any number; where there is none, d < 0 = c
does, too, and of guards alone, one of which is > 0, c = d = 0, or c - d = 0. Where inputs change by
any amount, u and u_N are adjacent for every N: of w and c multiples N w and N c serve as well, and
so any number.

Proof. On S the sum is >= 0, or -M h. So sum of a_i z_i >= c t - d - M h at u_t, for one of
finitely many runs. Noise that can be shifted has E exp(theta eps a_i z_i) <= K for theta < 1 and
all eps that are large, or one (`laws`), so Pr[S | u_t] <= K exp(-theta eps (c t - d - M h))
(Markov; with another K). If B served, Pr[S | u] <= e^(B eps t) Pr[S | u_t] for all t. At one eps
the right side goes to 0 for B / c < theta < 1, as t grows, but Pr[S | u] > 0. As eps grows, t = 1,
Pr[S | u] is at least exp(-eps sum of |z_i| / size_i) times a power of eps: densities are no less
on a ball of a radius proportional to 1 / eps around a point whose distance from z is, too. Then
theta goes to 1 and h to 0. Light noise has such a K for any multiple; at z it is 0 as eps grows.
What stands for any number may be multiplied by it; without noise Pr[S | u_t] = 0.

Other scales. z_i of scale size_i eps^k, k != -1, may have any a_i, without parts and at one eps.
If k > -1 for all of them, N a_i is small enough, for any N, as eps goes to 0; if k < -1, as it
grows. So where a sum has no z_i of scale size_i / eps, c > 0 stands for any number at some eps.

The run is possible close to z if all guards are > 0, and one-sided noise is on its side, at z + s y
for all small s > 0: densities are > 0 and continuous around. If all samples and all that cells hold
are integers, guards have to hold at z; and a form > 0 of multiples of 1 / l is at least 1 / l.

Parts. Let some parts of the run lead from a store to the same store, with the same numbers at z,
and what is published tell more: up to the last part, every run that publishes so far what it does,
publishes and reads in each turn as much, and is behind a part in the store in which it was before.
Then each part may be taken k times, and a run that publishes the same takes k parts for each, out
of those that such runs have there. Let no noise be left in the sums but in parts, and let what sums
say of cells at the ends of a part pass unchanged through all that may be taken in its place. Then
the sums of the runs that take one of the k add up to one of the whole run, and no budget below k c
serves, for any k: none serves, at any eps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from math import lcm
from typing import Any, NamedTuple

from dipapprox.kernel.errors import BadProof, Refused, Refuted, spend
from dipapprox.kernel.forms import NOTHING, Form, Stored, has_integers, only, over, total
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.laws import FAMILIES, IntegerFamily
from dipapprox.kernel.machine import Number
from dipapprox.kernel.paths import CERTAIN, Held, Path, Read, Sample
from dipapprox.kernel.reading import as_exact, as_integer, as_list, as_name, as_rows, as_word
from dipapprox.kernel.regions import combined, known_forms
from dipapprox.kernel.rounds import Follower, Rounds
from dipapprox.kernel.walk import Guard, form_of

MOST_ROUNDS = 2_000
MOST_RUNS = 20_000  # that publish the same
END = "the end"  # stands for what is seen when a program ends, in a tuple: no cell holds one
Word = tuple[Stored | tuple[str], ...]  # what is published; random numbers are forms

Pair = tuple[Number, Number]  # a number, and what is added for every step on the ray, or for s
Parts = Mapping[int, int]  # turns that may be taken again: the one behind the last, to the first


def along(runs: Follower, json: object) -> list[Path]:
    """Read the run that takes some paths."""
    numbers = [as_integer(each, "a path") for each in as_list(json, "paths")]
    if not 0 < len(numbers) <= MOST_ROUNDS + 1:
        raise Refused("no round, or too many")
    run: list[Path] = []
    for number in numbers:
        turns = runs.turns(run[-1] if run else None)
        if not 0 <= number < len(turns):
            raise BadProof("there is no such path")
        run.append(turns[number])
    return run


def word_of(machine: Rounds, run: Sequence[Path]) -> Word:
    """Return what a run publishes."""
    said = tuple(value for turn in run for value in turn.said)
    is_told = run[-1].ended and machine.round is not None and machine.padding is None
    return (*said, (END,)) if is_told else said


def runs_alike(runs: Follower, run: Sequence[Path], parts: Parts) -> Iterator[list[Path]]:
    """Yield all runs that publish the same in as many turns, up to their random numbers.

    Up to the last part that comes again, all of them have to keep step with the run.
    """
    machine = runs.machine
    word, last = word_of(machine, run), max(parts, default=0)
    if run[-1].ended and not machine.ends:
        raise Refuted("runs that end are not seen")
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
        found = runs.turns(known[-1] if known else None)
        for turn in reversed(found):
            if turn.ended and not machine.ends:
                continue  # such runs are not seen
            longer, said = [*known, turn], word_of(machine, [turn])
            if (END,) in said and (END,) not in word:
                continue  # however often parts come again, the run is not seen to end
            own = run[len(known)]
            # What the run publishes next does not matter: it is another thing in parts.
            same = len(known) < last and all(map(may_equal, said, own.said))
            if same and len(turn.said) != len(own.said):
                raise Refuted(f"what turn {len(known)} publishes does not tell enough of it")
            size = place + len(said)
            if size <= len(word) and all(map(may_equal, said, word[place:size])):
                if len(longer) <= last:
                    _require_step(longer, run, parts)
                waiting.append((longer, place + len(turn.said), size))
        count += len(found)
        if count > MOST_RUNS:
            raise Refused(f"more than {MOST_RUNS} runs that publish alike")


def _require_step(known: Sequence[Path], run: Sequence[Path], parts: Parts) -> None:
    """Make sure that the last turn, which publishes as a run in its place does, reads as much.

    Behind a part, it has to be in the state in which it was before.
    """
    place, last, own = len(known), known[-1], run[len(known) - 1]
    if sorted(last.reads) != sorted(own.reads):
        raise Refuted(f"what turn {place - 1} publishes does not tell enough of it")
    if place in parts and last.fixed != known[parts[place] - 1].fixed:
        raise Refuted("a part does not lead to where it began")


def may_equal(one: Stored | tuple[str], other: Stored | tuple[str]) -> bool:
    """Whether two things that are published may be the same."""
    if isinstance(one, Form) or isinstance(other, Form):
        return all(isinstance(each, Form | int | Fraction) for each in (one, other))
    return one == other


Inputs = Mapping[str, Sequence[Form]]  # what is read, by name: those that are not listed are 0
STEPS = -1  # an atom: the number of steps on the ray


class Flat(NamedTuple):
    """Turns of a run, as forms over the noise of their samples, `STEPS`, and what is `held`."""

    samples: list[Sample]  # atom k is the noise of the k-th
    held: Mapping[int, str]  # by atom, < -1
    atoms: list[list[Form]]  # of each turn
    cells: list[dict[str, Form]]  # likewise what cells hold behind it, if that is random


def flat(run: Sequence[Path], inputs: Inputs, start: int = 0) -> Flat:
    """Return the turns of a run from one on."""
    counts = Counter(name for turn in run[:start] for name in turn.reads)
    held = {-2 - k: name for k, name in enumerate(run[start].held)}
    found = Flat([], held, [], [])
    cells = {name: only(atom) for atom, name in held.items()}
    for turn in run[start:]:
        forms = list[Form]()
        for atom in turn.atoms:
            match atom:
                case Held(name):
                    forms.append(cells[name])
                case Read(name):
                    own = inputs.get(name, ())[counts[name] :]
                    forms.append(own[0] if own else NOTHING)
                    counts[name] += 1
                case Sample(mean=mean):
                    forms.append(over(mean, forms).plus(only(len(found.samples))))
                    found.samples.append(atom)
        found.atoms.append(forms)
        cells = {n: over(v, forms) for n, v in turn.store.items() if isinstance(v, Form)}
        found.cells.append(cells)
    return found


def guards_of(turn: Path, integers: bool) -> list[Guard]:
    """Return the guards of a turn over its atoms; `integers` says that all numbers are whole."""
    found = known_forms(turn)
    for place, (form, strict) in enumerate(found):
        if strict and integers:
            numbers = [form.constant, *(c for _, c in form.terms)]
            unit = Fraction(1, lcm(*(number.denominator for number in numbers)))
            found[place] = form.plus(Form(-unit)), False
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
        missing = name not in found if machine.round is None else 0 not in domain
        if missing:
            raise Refuted("an input that is not known, or 0, which it cannot be")
    pairs = [pair for each in found.values() for pair in each]
    start, after = tuple(a for a, _ in pairs), tuple(a + b for a, b in pairs)
    if not machine.adjacency.holds(start, after):
        raise Refuted("the inputs of a ray are not adjacent")
    return on_ray(found)


def on_ray(pairs: Mapping[str, Sequence[Pair]]) -> Inputs:
    """Return the inputs of a ray."""
    return {name: [total([(only(STEPS), b)], a) for a, b in own] for name, own in pairs.items()}


def as_pairs(json: object, what: str) -> list[Pair]:
    """Take a list of pairs of numbers."""
    return as_rows(json, what, as_exact, as_exact)


def read_parts(json: object, run: Sequence[Path]) -> Parts:
    """Read [first turn, the one behind the last] of every part."""
    found: dict[int, int] = {}
    last = 1
    for start, end in as_rows(json, "parts", as_integer, as_integer):
        if not last <= start < end <= len(run) or run[end - 1].ended:
            raise BadProof("parts follow each other behind the first turn")
        found[end], last = start, end
    return found


def ray(machine: Rounds, step: Mapping[str, Any]) -> Budgets:
    """Along a ray of inputs, or as eps grows, what is published becomes exponentially unlikely.

    Theorem (`rays`): Pr[S | u_t] <= K e^(-theta eps (c t - d)) for every theta < 1, u and u_1 are
    adjacent, and S is possible at u.

    Step: "eps": "every", or "large" (then nothing moves further than to u_1); "paths" of a run,
    "noise" [z, y] at which it is possible, "inputs", "parts" [first turn, the one behind the
    last], "multipliers" of all turns of every run that publishes the same.
    """
    run = along(machine.follower, step["paths"])
    if any(turn.weight is not CERTAIN for turn in run):
        raise Refused("choices on a ray")
    large = as_word(step["eps"], "eps", ("every", "large")) == "large"
    parts = read_parts(step["parts"], run)
    if parts and (large or machine.adjacency.norm not in ("linf", "increasing", "decreasing")):
        raise Refuted("inputs of parts that come again do not change together")
    inputs = read_inputs(machine, step["inputs"], large)
    runs = list(runs_alike(machine.follower, run, parts))
    turns = {id(turn): turn for each in runs for turn in each}
    integers = machine.whole and is_whole([*turns.values()])
    others = {a.power for t in turns.values() for a in t.atoms if isinstance(a, Sample)} - {-1}
    if others and (large or parts or min(others) < -1 < max(others)):
        raise Refused("a scale that is no multiple of 1 / eps")
    flats = lru_cache(4)(lambda run, start: flat(run, inputs, start))
    first = flats(tuple(run), 0)
    noise = as_pairs(as_list(step["noise"], "noise", len(first.samples)), "noise")
    near = require_possible(first.samples, noise, large)
    for places in parts.items():
        cells = (first.cells[place - 1] for place in places)
        before, after = ({name: over(form, near) for name, form in own.items()} for own in cells)
        if before != after:
            raise Refuted("a part does not lead to where it began")
    said: list[Number | None] = []
    for turn, atoms in zip(run, first.atoms, strict=True):
        for form, strict in guards_of(turn, integers):
            require_guard(over(over(form, atoms), near), strict, integers)
        values = [None if isinstance(each, str) else form_of(each) for each in turn.said]
        said += [None if v is None else over(over(v, atoms), near).constant for v in values]
    price = sum([max(z, -z) / s.size for s, (z, _) in zip(first.samples, noise, strict=True)], 0)
    rows = as_list(step["multipliers"], "multipliers", len(runs))
    ways = Alike(runs, flats, integers, said, parts)
    losses = []
    for each, json in zip(runs, rows, strict=True):
        spend(10)
        found = ways.lost(each, as_list(json, "multipliers", len(each)))
        lost, rest = (found.lost - found.rest, 0) if large else (found.lost, found.rest)
        noisy = any(not FAMILIES[s.family].is_light for s, _ in found.noise if s.power == -1)
        any_number = not (found.noise or lost) and rest <= 0 and (rest < 0 or found.strict)
        if not any_number and (noisy or lost <= 0):
            losses.append(lost - price if large else lost)
    if not runs or (losses and min(losses) <= 0):
        raise Refuted("nothing is lost on the ray")
    endless = parts or (machine.adjacency.is_free and not large)
    below = None if endless or not losses else Fraction(min(losses))
    return Budgets(None, below, not (large or others))


def require_possible(samples: Sequence[Sample], noise: Sequence[Pair], large: bool) -> list[Form]:
    """Make sure that samples are possible close to this noise.

    Return the noise as forms over s, and as the last one the number of steps on the ray: 0.
    """
    for sample, (value, side) in zip(samples, noise, strict=True):
        law = FAMILIES[sample.family]
        whole = not isinstance(law, IntegerFamily) or (value.denominator == 1 and not side)
        if not whole or not (law.shifts or law.is_light) or (large and law.is_light and value):
            raise Refuted(f"such noise of {sample.family} is not known to be possible")
        if len(law.shifts) == 1 and (law.shifts[0] * value, law.shifts[0] * side) <= (0, 0):
            raise Refuted("noise on the wrong side")
    return [*(total([(only(0), side)], value) for value, side in noise), NOTHING]


def require_guard(form: Form, strict: bool, integers: bool) -> None:
    """Make sure that a guard, over s, holds for small s > 0, or of integers for s = 0."""
    spare = form.constant or dict(form.terms).get(0, 0)
    if spare < 0 or (not spare and (strict or not integers)):
        raise Refuted("a guard does not hold")


class Summed(NamedTuple):
    """A sum of multiples of guards, of some turns and of those after them."""

    cells: Mapping[str, Number]  # the coefficients, not 0, of what cells held before the turns
    lost: Number = 0  # what inputs add for every step on the ray, with a minus
    rest: Number = 0  # what is added else
    noise: tuple[tuple[Sample, Number], ...] = ()  # coefficients, not 0, of that of samples
    strict: bool = False  # whether the sum is > 0, up to a set of probability 0


class Alike(NamedTuple):
    """Runs that publish the same: `said`, in which None stands for a name."""

    alike: Sequence[Sequence[Path]]
    flats: Callable[[tuple[Path, ...], int], Flat]  # the turns of a run from one on
    integers: bool
    said: Sequence[Number | None]
    parts: Parts

    def lost(self, run: Sequence[Path], rows: Sequence[object]) -> Summed:
        """Add multiples of the guards of a run: of its parts, and of what lies between them."""
        found = Summed({})
        ends = sorted({0, len(run), *self.parts, *self.parts.values()})
        for start, stop in reversed([*pairwise(ends)]):
            own = self._summed(run[:stop], rows[start:stop], found.cells, start)
            if stop in self.parts:
                begun, nothing = run[start - 1].fixed, [list[object]()] * (stop - start)
                alike = [each[:stop] for each in self.alike if each[start - 1].fixed == begun]
                for other, known in product(alike, (own.cells, found.cells)):
                    if self._summed(other, nothing, known, start) != Summed(known):
                        raise Refuted("a part changes what lies behind it")
            elif self.parts and own.noise:
                raise Refuted("noise outside of parts")
            lost, rest = found.lost + own.lost, found.rest + own.rest
            noise, strict = found.noise + own.noise, own.strict and not self.parts
            found = Summed(own.cells, lost, rest, noise, strict)
        return found

    def _summed(
        self, run: Sequence[Path], rows: Sequence[object], cells: Mapping[str, Number], start: int
    ) -> Summed:
        """Add multiples of guards from a turn on, and what later ones say of the cells behind."""
        turns = self.flats(tuple(run), start)
        place = sum(len(turn.said) for turn in run[:start])
        sums, strict, close = list[tuple[Form, Number]](), False, False
        for turn, atoms, json in zip(run[start:], turns.atoms, rows, strict=True):
            known = guards_of(turn, self.integers) if json else []
            guards = len(known)
            for value, number in zip(turn.said, self.said[place:], strict=False):
                if json and number is not None and not isinstance(value, str):
                    apart = form_of(value).plus(Form(-number))
                    known += [(apart, False), (apart.scaled(-1), False)]
            own, above = combined(json, known)
            strict |= above
            sums.append((over(own, atoms), 1))
            # Numbers that are published are close to others, which is no > 0.
            close |= any(number >= guards for number, _ in as_list(json, "multipliers"))
            place += len(turn.said)
        summed = total([*sums, *((turns.cells[-1][name], c) for name, c in cells.items())])
        before, noise = dict[str, Number](), list[tuple[Sample, Number]]()
        lost: Number = 0
        for atom, factor in summed.terms:
            if atom == STEPS:
                lost = -factor
            elif atom < 0:
                before[turns.held[atom]] = factor
            else:
                sample = turns.samples[atom]
                law, worth = FAMILIES[sample.family], factor * sample.size
                dear = sample.power == -1 and any(sign * worth > 1 for sign in law.shifts)
                if (dear or not law.shifts) and not law.is_light:
                    raise Refuted("noise is worth less than the multipliers say")
                if any(side * factor > 0 for side in law.sides):
                    noise.append((sample, factor))
        return Summed(before, lost, summed.constant, tuple(noise), strict and not close)
