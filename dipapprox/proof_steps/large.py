"""Two inputs between which an output loses much as eps grows: a step of the rule `ray`.

In: a machine with rounds, how many turns are taken, and what is read in them. Of all runs of so
many turns that publish the same, the one that needs the least noise at the first inputs is the
one that is possible there; multipliers show what all of them need at the second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from dipapprox.errors import NoCertificate
from dipapprox.kernel.laws import FAMILIES, IntegerFamily
from dipapprox.kernel.rounds import Rounds
from dipapprox.kernel.runs import Runs, Turn, is_whole
from dipapprox.limits import Limits
from dipapprox.linear.programme import LinearProgramme, Optimum, Side
from dipapprox.proof_steps.least_noise import Solved, at_inputs, is_light, never, solved
from dipapprox.proof_steps.machines import Json
from dipapprox.proof_steps.rays import MOST_ALIKE, step_fields
from dipapprox.proof_steps.whole_runs import (
    INPUTS,
    Shown,
    Whole,
    in_noise,
    shown_at,
    value_at,
    whole_run,
)

MOST_RUNS = 1_000
"""Of so many turns."""

MOST_WORDS = 20
"""Of which it is looked at what they lose."""

Numbers = Mapping[str, Sequence[Fraction]]
"""By input what is read of it, in turn."""

_ZERO = Fraction(0)


def large_step(
    machine: Rounds,
    turns: int,
    places: tuple[Numbers, Numbers],
    is_meant: Callable[[Sequence[Turn]], bool],
    numbers: Shown,
    limits: Limits,
    said: int = 0,
) -> tuple[Json, Fraction | None]:
    """Return a step, and the budget below which it shows that none serves; None for all of them.

    Args:
        machine: The machine.
        turns: How many are taken: the body is one.
        places: What is read: first where the output is likelier, then where it is not.
        is_meant: Whether what a run has published may be the output.
        numbers: Those that are published close to others.
        limits: Asked all the time.
        said: How much is published, at least.

    Raises:
        NoCertificate: If nothing is lost.
        NotProved: If the kernel cannot follow the runs.
    """
    runs = Runs(machine)
    first, second = places
    known: list[tuple[Fraction, int, list[int], list[Turn], Whole, Solved]] = []
    for paths, run in runs_of(runs, turns, is_meant):
        limits.check()
        if sum(len(turn.path.said) for turn in run) < said:
            continue
        bound = whole_run(run, numbers)
        found = solved(
            bound, at_inputs(bound, _reads(bound, first), _are_whole(machine, run)), limits
        )
        if found.cost is not None:
            known.append((found.cost, len(known), paths, run, whole_run(run), found))
    best: tuple[Json, Fraction] | None = None
    words = set[object]()
    for cost, _, paths, run, whole, found in sorted(known, key=lambda each: each[:2]):
        word = tuple([v if isinstance(v, str) else None for t in run for v in t.path.said])
        if (word, run[-1].path.ended) in words or len(words) == MOST_WORDS:
            continue
        toward = _inwards(machine, whole, found, first, limits)
        if toward is None:
            continue
        words.add((word, run[-1].path.ended))
        reads = _reads(whole, first)
        samples = _samples(whole, found.noise, reads)
        shown = shown_at(run, whole, {**dict(enumerate(samples)), **reads})
        rows, least = _needed(runs, machine, run, shown, second, limits)
        if least is not None and (least <= cost or (best is not None and best[1] >= least - cost)):
            continue
        grows = {
            name: [b - a for a, b in zip(values, second[name], strict=True)]
            for name, values in first.items()
        }
        pairs = list(zip(found.noise, toward, strict=True))
        fields = step_fields("large", paths, whole, grows, pairs, [*reads.values()])
        step: Json = {**fields, "parts": [], "multipliers": rows}
        if least is None:
            return step, None
        best = step, least - cost
    if best is None:
        raise NoCertificate("nothing is lost between the inputs that were found")
    return best


def runs_of(
    runs: Runs, turns: int, is_meant: Callable[[Sequence[Turn]], bool]
) -> Iterator[tuple[list[int], list[Turn]]]:
    """Yield runs with the numbers of their paths."""
    waiting: list[tuple[list[int], list[Turn]]] = [([], [])]
    count = 0
    while waiting:
        numbers, run = waiting.pop()
        if len(run) == turns:
            yield numbers, run
            continue
        for number, turn in enumerate(runs.turns(run[-1].path if run else None)):
            count += 1
            if count > MOST_RUNS:
                raise NoCertificate("too many runs")
            if is_meant([*run, turn]):
                waiting.append(([*numbers, number], [*run, turn]))


def _needed(
    runs: Runs, machine: Rounds, run: list[Turn], shown: Shown, second: Numbers, limits: Limits
) -> tuple[Json, Fraction | None]:
    """Return multipliers for all runs that publish the same, and what the cheapest costs."""
    alike = list(runs.alike(run, {}))
    if len(alike) > MOST_ALIKE:
        raise NoCertificate("too many runs publish the same")
    integers = all(_are_whole(machine, other) for other in alike)
    wholes = [whole_run(other, shown) for other in alike]
    found = [
        solved(each, at_inputs(each, _reads(each, second), integers), limits) for each in wholes
    ]
    listed: list[Json] = [each.rows for each in found]
    for number in sorted(range(len(found)), key=lambda k: found[k].cost or _ZERO):
        cost = found[number].cost
        if cost is None:
            continue
        plain = whole_run(alike[number])
        rest = at_inputs(plain, _reads(plain, second), False)
        reason = never(plain, [_ZERO] * len(rest), rest, integers, limits)
        if reason is None:
            return listed, cost
        listed[number] = reason
    return listed, None


def _are_whole(machine: Rounds, run: Sequence[Turn]) -> bool:
    return machine.whole and is_whole(run)


def _reads(whole: Whole, values: Numbers) -> dict[int, Fraction]:
    found = {}
    for place, (name, number) in enumerate(whole.reads):
        own = values.get(name, ())
        found[INPUTS + place] = own[number] if number < len(own) else _ZERO
    return found


def _samples(
    whole: Whole, noise: Sequence[Fraction], reads: Mapping[int, Fraction]
) -> list[Fraction]:
    """Return the values of samples."""
    known = dict(reads)
    for number, (sample, each) in enumerate(zip(whole.samples, noise, strict=True)):
        known[number] = value_at(sample.mean, known) + each
    return [known[number] for number in range(len(whole.samples))]


def _inwards(
    machine: Rounds, whole: Whole, found: Solved, first: Numbers, limits: Limits
) -> list[Fraction] | None:
    """Return where noise may be moved, so that all guards hold with something to spare.

    None if they do not: then the run has the probability 0.
    """
    if machine.whole and all(isinstance(FAMILIES[s.family], IntegerFamily) for s in whole.samples):
        return [_ZERO] * len(whole.samples)
    rows: list[list[tuple[int, Fraction]]] = []
    forms = [guard for own in whole.guards for guard in own]
    for (form, _), rest in zip(forms, at_inputs(whole, _reads(whole, first), False), strict=True):
        noise = in_noise(form, whole).noise
        if rest + sum((c * found.noise[k] for k, c in noise.items()), _ZERO):
            continue
        rows.append([(k, -c) for k, c in noise.items()])
    for number, sample in enumerate(whole.samples):
        shifts = FAMILIES[sample.family].shifts
        if len(shifts) == 1 and not is_light(sample) and not found.noise[number]:
            rows.append([(number, Fraction(-shifts[0]))])
    sides = dict.fromkeys(range(len(whole.samples)), Side.ANY)
    moved = LinearProgramme(rows, dict.fromkeys(sides, 1), sides, limits).solve([-1] * len(rows))
    return list(moved.shift.values()) if isinstance(moved, Optimum) else None
