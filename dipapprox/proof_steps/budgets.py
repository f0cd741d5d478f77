"""Budgets as proofs: potentials and rays that the kernel replays.

Two inputs between which an output loses much are a step of the rules `ray` and `trace`. As eps
grows: in, a machine, how many turns are taken, and what is read in them. Of all runs of so many
turns that publish the same, the one that needs the least noise at the first inputs is the one that
is possible there; multipliers show what all of them need at the second. At one eps, or as it
vanishes, the kernel finds how likely an output is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import chain, islice, product

from dipapprox.automata.model import Automaton, Transition, is_real
from dipapprox.data_classes import Record, replace
from dipapprox.errors import NoCertificate
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.errors import budget as bounded
from dipapprox.kernel.forms import Form
from dipapprox.kernel.laws import FAMILIES, IntegerFamily
from dipapprox.kernel.paths import Path
from dipapprox.kernel.rays import Inputs, along, is_whole
from dipapprox.kernel.rounds import Follower, Rounds, read_rounds
from dipapprox.kernel.traces import trace
from dipapprox.language.core import Program, Value
from dipapprox.limits import check_limits
from dipapprox.linear.programme import LinearProgramme, Optimum, UnknownSide
from dipapprox.privacy.run import Replayed
from dipapprox.privacy.verdict import Answer
from dipapprox.proof_steps import rays
from dipapprox.proof_steps.automata import STATE, machines_of
from dipapprox.proof_steps.machines import Json, number_json, read_by, value_json
from dipapprox.proof_steps.potentials import Dearer, PotentialSearch
from dipapprox.proof_steps.rays import Growth, Part, ray_step
from dipapprox.proof_steps.serving import MOST_ENTRIES, potential_step
from dipapprox.proof_steps.verdicts import WrittenProof, first_replayed

MOST_RUNS = 50  # runs of one walk that are tried
MOST_REPEATED = 8  # turns of what is repeated
_BUDGETS = tuple(map(Fraction, (3, 10, 30)))  # what runs are looked for that lose more
_LITTLE = Fraction(1, 1_000_000)
_MOST_TURNS_TAKEN = 1_000  # in runs of so many turns
_MOST_WORDS = 20  # of which it is looked at what they lose
Numbers = Mapping[str, Sequence[Fraction]]  # by input what is read of it, in turn


class DearestInputs(Record):
    """Two inputs between which an output loses the most."""

    # What is read, by name; the output is likelier at the first.
    first: dict[str, list[Fraction]]
    second: dict[str, list[Fraction]]
    # Values of the finite output cells, by name; others are as they come.
    output: dict[str, Value]
    # What is published, if it is known; None stands for a number.
    word: tuple[str | None, ...] | None = None
    eps: Fraction | None = None  # where: 0 as it vanishes, None as it grows
    # What the inputs grow by, of a program without rounds, if they are on a ray.
    grows: dict[str, Fraction] | None = None


class KnownRun(Record):
    """A run of an automaton, perhaps round cycles, and how its inputs may change."""

    steps: tuple[Transition, ...]
    changes: tuple[int, ...]  # of the steps that read


class BudgetBounds(Record):
    """What is to be proved of a subject."""

    serves: Fraction | None = None  # a budget that serves; None for none
    # A budget that does not; None for none, or if `serves` is None for all of them.
    fails: Fraction | None = None
    between: DearestInputs | None = None  # where the most is lost, if it is known
    # Known ones that lose the most; where no budget serves, those that come again.
    runs: Sequence[KnownRun] = ()


def replayed(subject: Program | Automaton, stops_are_seen: bool, bounds: BudgetBounds) -> Replayed:
    """Replay a proof that a budget serves, and if possible that none below `fails` does; or that
    `fails` does not.

    For other arguments see `machines_of`.
    """
    wanted = [bounds]
    if bounds.serves is not None and bounds.fails is not None:
        wanted.append(replace(bounds, fails=None))
    failed = list[Json]()

    def written(machine: Json, own: BudgetBounds) -> WrittenProof:
        failed.append(machine)
        claim, steps = _written(machine, own)
        failed.remove(machine)
        return WrittenProof(machine, claim, tuple(steps))

    ways = (
        partial(written, machine, own)
        for own in wanted
        for machine in machines_of(subject, stops_are_seen, _claim(own))
        if machine not in failed  # where nothing can be written, nothing can be written of less
    )
    return first_replayed(ways)


def _claim(bounds: BudgetBounds) -> dict[str, Json]:
    """Return what is claimed of a budget, if no more is lost than is known."""
    at_least = None if bounds.fails is None else number_json(bounds.fails)
    if bounds.serves is None:
        return {"verdict": Answer.NOT_DP.value, "budget": at_least}
    claim: dict[str, Json] = {"verdict": Answer.DP.value, "budget": number_json(bounds.serves)}
    return {**claim, "at least": at_least if bounds.fails else None}


def _written(machine: Json, bounds: BudgetBounds) -> tuple[Json, list[Json]]:
    read, fails = read_by(read_rounds, machine), bounds.fails
    if bounds.serves is None:
        ways: list[_Search] = []
        if read.round is not None and (fails is None or bounds.runs):
            ways.append(_cycles)
        if read.round is None or fails is not None:
            ways.append(_loss)
        known = fails or Fraction(0)
        step, lost = _dearest((partial(way, read, known, bounds) for way in ways), fails)
        if lost is not None and (fails is None or lost <= fails):
            raise NoCertificate("a ray was found, which loses no more than the budget")
        return _claim(bounds), [step]
    steps = [potential_step(read, bounds.serves)]
    claim = _claim(replace(bounds, fails=None))
    if not fails:
        return claim, steps
    try:
        step, lost = _loss(read, fails - _LITTLE, bounds)
    except (NoCertificate, NotProved):
        return claim, steps  # that it serves is proved
    if lost is None or lost < fails:
        return claim, steps
    least: Json = {"rule": "least budget", "from": [-1, -2]}
    return {**claim, "at least": number_json(lost)}, [*steps, step, least]


_Lost = tuple[Json, Fraction | None]
"""A step, and the budget below which it shows that none serves; None for all of them."""

_Search = Callable[[Rounds, Fraction, BudgetBounds], _Lost]
"""Finds what loses more than a budget, or as much as possible."""


def _dearest(attempts: Iterable[Callable[[], _Lost]], budget: Fraction | None) -> _Lost:
    """Return what loses more than a budget, None is above all numbers, or the most."""
    missing: NoCertificate | NotProved = NoCertificate("nothing is known that loses so much")
    best: tuple[Json, Fraction] | None = None
    for attempt in attempts:
        try:
            step, lost = attempt()
        except (NoCertificate, NotProved) as none:
            missing = none
            continue
        if lost is None or (budget is not None and lost > budget):
            return step, lost
        if best is None or lost > best[1]:
            best = step, lost
    if best is None:
        raise missing
    return best


def _loss(machine: Rounds, budget: Fraction, bounds: BudgetBounds) -> _Lost:
    # A ray says more: that it is lost at every eps.
    on_ray = bounds.between is not None and bounds.between.grows is not None
    ways = (_ray, _between) if on_ray else (_between, _ray)
    return _dearest((partial(way, machine, budget, bounds) for way in ways), budget)


def _between(machine: Rounds, budget: Fraction, bounds: BudgetBounds) -> _Lost:
    """Return a step of two inputs."""
    known = bounds.between
    if known is None:
        raise NoCertificate("no inputs are known between which so much is lost")
    places, word = (known.first, known.second), known.word
    if word is not None:

        def is_part(run: Sequence[Path]) -> bool:
            names = [v if isinstance(v, str) else None for turn in run for v in turn.said]
            return tuple(names) == word[: len(names)]

        size = len(word)
        ways = (
            partial(_large_step, machine, turns, places, is_part, {}, size)
            for turns in range(1, size + 2)
        )
        return _dearest(ways, budget)

    def is_meant(run: Sequence[Path]) -> bool:
        shown = dict(zip(machine.first, run[0].said, strict=True))
        return all(
            isinstance(shown.get(name), Form) or shown.get(name) == value
            for name, value in known.output.items()
        )

    if known.eps is not None:
        lost = None if not bounds.fails and bounds.serves is None else bounds.fails
        if not set(machine.first) <= known.output.keys():
            raise NoCertificate("random numbers are published")
        inputs = [[number_json(own[name][0]) for name in machine.inputs] for own in places]
        seen = [value_json(known.output[name]) for name in machine.first]
        step: dict[str, Json] = {"rule": "trace", "from": [], "events": [[*inputs, seen]]}
        step["budget"] = None if lost is None else number_json(lost)
        step["eps"] = number_json(known.eps)
        with bounded():
            trace(machine, step)
        return step, lost
    values = [known.output.get(name) for name in machine.first]
    numbers = {k: Fraction(v) for k, v in enumerate(values) if isinstance(v, int | Fraction)}
    return _large_step(machine, 1, places, is_meant, numbers)


def _ray(machine: Rounds, budget: Fraction, bounds: BudgetBounds) -> _Lost:
    """Return a step of a ray."""
    runs = _runs(machine, budget, bounds)
    return _dearest((partial(ray_step, machine, *run) for run in runs), budget)


def _cycles(machine: Rounds, budget: Fraction, bounds: BudgetBounds) -> _Lost:
    """Return a step that shows that no budget serves."""
    ways = chain.from_iterable(_along(machine, known) for known in bounds.runs)
    known = islice(ways, MOST_RUNS)
    nothing = BudgetBounds()
    budgets = _BUDGETS if bounds.fails is None else ()  # else there are other proofs, too
    walks = (_runs(machine, each, nothing) for each in budgets)
    runs = chain(known, chain.from_iterable(walks))
    folded = (each for run in runs for each in _folded(machine, *run))
    tried = (partial(ray_step, machine, run, own, parts) for run, own, parts in folded)
    return _dearest(tried, budget)


def _along(machine: Rounds, known: KnownRun) -> Iterator[tuple[list[int], Growth]]:
    """Yield the paths of a run; the same step takes the same path each time."""
    runs = machine.follower
    (name,) = machine.inputs
    waiting: list[tuple[list[int], Path, dict[Transition, int]]] = [([0], runs.turns(None)[0], {})]
    while waiting:
        numbers, last, chosen = waiting.pop()
        if len(numbers) > len(known.steps):
            for sign in (-1, 1):
                yield numbers, {name: [Fraction(sign * change) for change in known.changes]}
            continue
        step = known.steps[len(numbers) - 1]
        shown = None if is_real(step.output) else step.output
        for number, turn in enumerate(runs.turns(last)):
            said = [value if isinstance(value, str) else None for value in turn.said]
            fits = said == [shown] and turn.store.get(STATE) == step.target
            if fits and chosen.get(step, number) == number:
                waiting.append(([*numbers, number], turn, {**chosen, step: number}))


def _folded(
    machine: Rounds, numbers: Sequence[int], grows: Growth
) -> Iterator[tuple[list[int], Growth, list[Part]]]:
    """Yield a run with what is repeated in it there once, for some lengths of what is repeated."""
    turns = along(machine.follower, list(numbers))
    left = {name: list(values) for name, values in grows.items()}
    if any(len(own) < sum(turn.reads.count(name) for turn in turns) for name, own in left.items()):
        return  # the body reads, too: no step of the run says how that grows
    read: list[list[tuple[str, Fraction]]] = []
    for turn in turns:
        read.append([(name, left[name].pop(0)) for name in turn.reads])
    held = [{n: v for n, v in t.store.items() if not isinstance(v, Form)} for t in turns]
    labels = list(zip(numbers, read, [{}, *held], strict=False))
    for size in range(1, MOST_REPEATED + 1):
        kept = labels[:1]
        parts: list[Part] = []
        place = 1
        while place < len(labels):
            block, times = labels[place : place + size], 1
            while labels[place + times * size : place + (times + 1) * size] == block:
                times += 1
            if times == 1:
                kept.append(labels[place])
                place += 1
                continue
            # Cells that nobody reads hold the same behind the second time only.
            kept += block
            parts.append((len(kept), len(kept) + size))
            kept += block
            place += size * times
        if parts:
            own: dict[str, list[Fraction]] = {}
            for _, pairs, _ in kept:
                for name, value in pairs:
                    own.setdefault(name, []).append(value)
            yield [number for number, _, _ in kept], own, parts


def _runs(
    machine: Rounds, budget: Fraction, bounds: BudgetBounds
) -> Iterator[tuple[list[int], Growth]]:
    """Yield runs that may lose more than a budget, with what their inputs grow by.

    If no ray is known of a machine without rounds, all of its inputs grow, or one does.
    """
    if machine.round is None:
        paths = machine.follower.turns(None)
        known = bounds.between
        if known is None or known.grows is None:
            ends = {name: machine.change(name) or (-1, 1) for name in machine.inputs}
            rays = [{name: (each[side],) for name, each in ends.items()} for side in (1, 0)]
            rays += [{name: (end,)} for name, each in ends.items() for end in each]
            guessed = (([path], ray) for ray in rays for path in range(len(paths)))
            yield from islice(guessed, MOST_RUNS)
            return
        for number, path in enumerate(paths):
            said = dict(zip(machine.first, path.said, strict=True))
            if all(said.get(name) == value for name, value in known.output.items()):
                yield [number], {name: (value,) for name, value in known.grows.items()}
        return
    for own in bounds.runs:
        yield from _along(machine, own)
    for facts in (True, False):
        try:
            PotentialSearch(machine, budget, facts, most=MOST_ENTRIES).step()
        except NoCertificate as none:
            if not isinstance(none, Dearer):
                continue
            grown: dict[str, list[Fraction]] = {}
            for way, changes in none.walk:
                for name, change in zip(way.path.reads, changes, strict=True):
                    grown.setdefault(name, []).append(Fraction(change))
            ways = product(*(way.numbers for way, _ in none.walk))
            for numbers in islice(ways, MOST_RUNS):
                yield list(numbers), grown


# --- between two inputs ---------------------------------------------------------------------------


def _large_step(
    machine: Rounds,
    turns: int,
    places: tuple[Numbers, Numbers],
    is_meant: Callable[[Sequence[Path]], bool],
    numbers: rays.Shown,
    said: int = 0,
) -> tuple[Json, Fraction | None]:
    """Return a step, and the budget below which it shows that none serves; None for all of them.

    Args:
        turns: How many are taken: the body is one.
        places: What is read: first where the output is likelier, then where it is not.
        is_meant: Whether what a run has published may be the output.
        numbers: Those that are published close to others.
        said: How much is published, at least.
    """
    runs = machine.follower
    first, second = places
    known: list[tuple[Fraction, int, list[int], list[Path], rays.Solved]] = []
    for paths, run in _runs_of(runs, turns, is_meant):
        check_limits()
        if sum(len(turn.said) for turn in run) < said:
            continue
        bound = rays.whole_run(run, _at(first), machine.whole and is_whole(run), numbers)
        found = rays.solved(bound)
        if found.cost is not None:
            known.append((found.cost, len(known), paths, run, found))
    best: tuple[Json, Fraction] | None = None
    words = set[object]()
    for cost, _, paths, run, found in sorted(known, key=lambda each: each[:2]):
        word = tuple([v if isinstance(v, str) else None for t in run for v in t.said])
        if (word, run[-1].ended) in words or len(words) == _MOST_WORDS:
            continue
        whole, noise = rays.whole_run(run, _at(first)), rays.known_values(found.noise)
        toward = _inwards(machine, whole, noise)
        if toward is None:
            continue
        words.add((word, run[-1].ended))
        shown = rays.shown_at(whole, noise)
        rows, least = rays.needed(runs, run, _at(second), shown, every_step=False)
        if least is not None and (least <= cost or (best is not None and best[1] >= least - cost)):
            continue
        ends = {name: list(zip(own, second[name], strict=True)) for name, own in first.items()}
        ray = {name: [(a, b - a) for a, b in own] for name, own in ends.items()}
        pairs = list(zip(found.noise, toward, strict=True))
        step = rays.written_ray("large", paths, ray, pairs, rows)
        if least is None:
            return step, None
        best = step, least - cost
    if best is None:
        raise NoCertificate("nothing is lost between the inputs that were found")
    return best


def _runs_of(
    runs: Follower, turns: int, is_meant: Callable[[Sequence[Path]], bool]
) -> Iterator[tuple[list[int], list[Path]]]:
    """Yield runs with the numbers of their paths."""
    waiting: list[tuple[list[int], list[Path]]] = [([], [])]
    count = 0
    while waiting:
        numbers, run = waiting.pop()
        if len(run) == turns:
            yield numbers, run
            continue
        for number, turn in enumerate(runs.turns(run[-1] if run else None)):
            count += 1
            if count > _MOST_TURNS_TAKEN:
                raise NoCertificate("too many runs")
            if is_meant([*run, turn]):
                waiting.append(([*numbers, number], [*run, turn]))


def _at(numbers: Numbers) -> Inputs:
    return {name: [Form(value) for value in values] for name, values in numbers.items()}


def _inwards(
    machine: Rounds, whole: rays.Whole, noise: Mapping[int, Fraction]
) -> list[Fraction] | None:
    """Return where noise may be moved, so that all guards hold with something to spare.

    None if they do not: then the run has the probability 0.
    """
    if machine.whole and all(isinstance(FAMILIES[s.family], IntegerFamily) for s in whole.samples):
        return [Fraction(0)] * len(whole.samples)
    rows = [
        [(k, -c) for k, c in whole.noise_of(form)]
        for form in whole.forms
        if not rays.value_at(form, noise)
    ]
    for number, sample in enumerate(whole.samples):
        shifts = FAMILIES[sample.family].shifts
        if len(shifts) == 1 and not FAMILIES[sample.family].is_light and not noise[number]:
            rows.append([(number, Fraction(-shifts[0]))])
    sides = dict.fromkeys(range(len(whole.samples)), UnknownSide.ANY)
    moved = LinearProgramme(rows, dict.fromkeys(sides, 1), sides).solve([-1] * len(rows))
    return list(moved.shift.values()) if isinstance(moved, Optimum) else None
